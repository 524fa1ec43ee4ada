"""How much lies in the broker's queues, beside what the table says lies there?

The broker is asked by a step, never by a page, and never through Celery's `inspect`, which waits for every worker and
leaves reply keys behind. The table is the truth: a broker that holds less has lost messages, which are sent again; one
that holds more has doubles, which are refused, or somebody else's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dlq_console.clock import monotonic
from dlq_console.health.findings import BROKER, TOTAL
from dlq_console.hub.core import HubCore
from dlq_console.redact import redact_text
from dlq_console.store import snapshots
from dlq_console.store.dispatched import Dispatched, dispatched
from dlq_console.store.lane_names import SERIAL_LANE

if TYPE_CHECKING:
    from kombu import Connection
    from redis import Redis

#: Seconds for one exchange with the broker, and for all of them.
SOCKET_TIMEOUT, PATIENCE = 2.0, 4.0
#: A queue of each priority is a list of its own in Redis; as the client library names them.
STEPS, SEPARATOR = (0, 3, 6, 9), "\x06\x16"
#: Where that library keeps what was handed out and not acknowledged: one hash for all queues.
UNACKED = "unacked"
#: Queues of which figures are kept.
MOST_QUEUES = 2_000


class BrokerAway(Exception):
    """The broker does not answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueFigures:
    """One queue.

    Attributes:
        ready: messages that wait in it.
        consumers: who listens; None where the broker does not tell.
        missing: whether there is no such queue. Redis has none that is empty, which is no fault there.
    """

    ready: int = 0
    consumers: int | None = None
    missing: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerFigures:
    """What a broker told.

    Attributes:
        queues: by name.
        unacked: handed out and not acknowledged, of all queues together; None where the broker does not tell.
        complete: whether every queue was asked for; there was not time for more.
    """

    queues: Mapping[str, QueueFigures]
    unacked: int | None = None
    complete: bool = True


def read_broker(url: str, queues: Sequence[str]) -> BrokerFigures:
    """Ask the broker for some queues.

    Raises:
        BrokerAway: it does not answer in time.
    """
    try:
        return _read_rabbit(url, queues) if url.startswith("amqp") else _read_redis(url, queues)
    except Exception as error:
        # Client libraries raise whatever they like.
        raise BrokerAway(redact_text(f"{type(error).__name__}: {error}"[:500])) from error


def redis_client(url: str) -> Redis:
    """A client that gives up soon and tries nothing twice; the caller closes it."""
    from redis import Redis  # clients are loaded only where they are used
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    return Redis.from_url(
        url,
        socket_timeout=SOCKET_TIMEOUT,
        socket_connect_timeout=SOCKET_TIMEOUT,
        retry=Retry(NoBackoff(), 0),
        decode_responses=True,
    )


def _read_redis(url: str, queues: Sequence[str]) -> BrokerFigures:
    with redis_client(url) as client, client.pipeline(transaction=False) as pipeline:
        for queue in queues:
            for step in STEPS:
                pipeline.llen(f"{queue}{SEPARATOR}{step}" if step else queue)
        pipeline.hlen(UNACKED)
        *lengths, unacked = pipeline.execute()
    depth = [sum(lengths[first : first + len(STEPS)]) for first in range(0, len(lengths), len(STEPS))]
    return BrokerFigures(
        queues={queue: QueueFigures(ready=ready) for queue, ready in zip(queues, depth, strict=True)},
        unacked=int(unacked),
    )


def rabbit_connection(url: str) -> Connection:
    """A connection that gives up soon; the caller opens and releases it."""
    from kombu import Connection  # as above

    return Connection(
        url,
        connect_timeout=SOCKET_TIMEOUT,
        heartbeat=0,
        transport_options={"read_timeout": SOCKET_TIMEOUT, "write_timeout": SOCKET_TIMEOUT, "max_retries": 0},
    )


def _read_rabbit(url: str, queues: Sequence[str]) -> BrokerFigures:
    from amqp.exceptions import NotFound  # as above

    until = monotonic() + PATIENCE
    found: dict[str, QueueFigures] = {}
    with rabbit_connection(url) as connection:
        connection.ensure_connection(max_retries=0)
        channel: Any = connection.channel()
        for queue in queues:
            if monotonic() > until:
                break
            try:
                told = channel.queue_declare(queue=queue, passive=True)
                found[queue] = QueueFigures(ready=told.message_count, consumers=told.consumer_count)
            except NotFound:
                # The broker closes the channel on which a queue was asked for that there is not.
                found[queue] = QueueFigures(missing=True)
                channel = connection.channel()
    return BrokerFigures(queues=found, complete=len(found) == len(queues))


# What is asked for, and what is kept of it


def queues_in_use(hub: HubCore, sent: Iterable[Dispatched]) -> dict[str, int]:
    """The queues on which messages may lie, each with how many the table says were sent there and wait."""
    names: dict[str, int] = {}
    for one in sent:
        plain = one.sent - one.serial
        if plain or not one.serial:
            queue = hub.routes.queue(one.account)
            names[queue] = names.get(queue, 0) + plain
        if one.serial:
            queue = hub.routes.queue(one.account, SERIAL_LANE)
            names[queue] = names.get(queue, 0) + one.serial
    return dict(list(names.items())[:MOST_QUEUES])


def take_snapshot(hub: HubCore) -> int:
    """Write down how much lies in the queues of the broker; returns how many figures have changed.

    Away is kept as away: what was read last stands with its age, and nothing becomes zero.
    """
    if not hub.settings.broker_url:
        return 0
    sent = dispatched(hub.store)
    queues = queues_in_use(hub, sent)
    # What lay in a queue whose account has no work any more is still told.
    before = snapshots.look(hub.store, BROKER).values
    left = [name for name, value in before.items() if name != TOTAL and value["ready"]]
    asked = list(dict.fromkeys([*queues, *left]))[:MOST_QUEUES]
    try:
        found = read_broker(hub.settings.broker_url, asked)
    except BrokerAway as away:
        snapshots.keep_away(hub.store, BROKER, str(away))
        return 0
    return snapshots.keep(hub.store, BROKER, _values(found, sent))


def _values(found: BrokerFigures, sent: Sequence[Dispatched]) -> dict[str, Any]:
    queues = {
        name: {"ready": one.ready, "consumers": one.consumers, "missing": one.missing}
        for name, one in found.queues.items()
    }
    ready = sum(one.ready for one in found.queues.values())
    waiting, running = sum(one.sent for one in sent), sum(one.running for one in sent)
    # Where the broker tells what is being worked on, that belongs to both sides of the comparison.
    told = ready + (found.unacked or 0)
    known = waiting + (running if found.unacked is not None else 0)
    return queues | {
        TOTAL: {
            "ready": ready,
            "unacked": found.unacked,
            "sent": waiting,
            "running": running,
            "difference": told - known,
            "complete": found.complete,
        }
    }
