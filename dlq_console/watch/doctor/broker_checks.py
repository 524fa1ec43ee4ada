"""Does what the table sent lie where a worker takes it from?"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from dlq_console.health.findings import BROKER, TOTAL, Finding, Level
from dlq_console.store import examining, snapshots
from dlq_console.store.dispatched import dispatched
from dlq_console.store.snapshots import Snapshot
from dlq_console.watch.broker_figures import BrokerAway, queues_in_use, read_broker
from dlq_console.watch.doctor.patient import Patient

#: Queues that one finding each is told of.
MOST_TOLD = 20
#: Messages by which broker and table may differ while some are on their way, and the share of all.
FEW_MESSAGES, SMALL_SHARE = 50, 0.2
#: Figures older than this, in seconds, say nothing about now.
CURRENT = 120.0


def rabbitmq(patient: Patient) -> Iterator[Finding]:
    """Whether RabbitMQ answers, and has the queues to which something was sent, each with somebody who listens.

    Every message goes to its queue by name, so there is no binding of the hub's own that could be missing.
    """
    url = patient.settings.broker_url
    if not url.startswith("amqp"):
        return
    sent = queues_in_use(patient.hub, dispatched(patient.store))
    try:
        found = read_broker(url, list(sent))
    except BrokerAway as away:
        yield Finding(
            id="broker_away", level=Level.FAULT, figures={"place": _place(url), "reason": str(away)}
        )
        return
    missing = [name for name, one in found.queues.items() if one.missing and sent[name]]
    for queue in missing[:MOST_TOLD]:
        yield Finding(
            id="queue_missing",
            level=Level.FAULT,
            figures={"queue": queue, "number": sent[queue]},
            command="rabbitmqctl list_queues name",
        )
    deaf = [name for name, one in found.queues.items() if one.ready and one.consumers == 0]
    for queue in deaf[:MOST_TOLD]:
        yield Finding(
            id="queue_unserved",
            level=Level.FAULT,
            figures={"queue": queue, "number": found.queues[queue].ready},
            command="rabbitmqctl list_queues name messages consumers",
        )


def queues(patient: Patient) -> Iterator[Finding]:
    """Whether messages lie in Redis while no Celery worker of the hub lives. Redis itself does not know who listens."""
    kept = _figures(patient)
    if kept is None or patient.settings.broker_url.startswith("amqp"):
        return
    ready = {name: value["ready"] for name, value in kept.values.items() if name != TOTAL and value["ready"]}
    if ready and not any(worker.mode == "celery" for worker in examining.living_workers(patient.store)):
        queue = max(ready, key=lambda name: ready[name])
        yield Finding(
            id="queue_unserved",
            level=Level.FAULT,
            figures={"queue": queue, "number": ready[queue]},
            command="dlq-console worker",
        )


def difference(patient: Patient) -> Iterator[Finding]:
    """Whether the broker holds far more, or far less, than the table has sent."""
    kept = _figures(patient)
    if kept is None:
        return
    told = kept.values[TOTAL]
    if not told["complete"]:
        return
    both = told["sent"] + told["ready"]
    if abs(told["difference"]) > max(FEW_MESSAGES, SMALL_SHARE * both):
        figures = {"broker": told["ready"] + (told["unacked"] or 0), "table": told["sent"] + told["running"]}
        yield Finding(id="broker_more" if told["difference"] > 0 else "broker_less", figures=figures)


def _figures(patient: Patient) -> Snapshot | None:
    """What a step read of the broker; None where that says nothing about now."""
    if not patient.settings.broker_url:
        return None
    kept = snapshots.look(patient.store, BROKER)
    return kept if kept.away is None and kept.age < CURRENT and TOTAL in kept.values else None


def _place(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.hostname or 'localhost'}:{parts.port or 5672}"
