"""Does a Celery worker give every account its own queue and its share, whatever its name and whatever the others do?"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from pathlib import Path
from statistics import quantiles
from typing import Any

import pytest
from kombu import Connection

from dlq_console import NewEvent, PayloadRefused
from tests.workers.celery_table import CeleryTable, celery_table
from tests.workers.table import FREE_AGAIN_SECONDS, SOON, moment
from tests.workers.test_runner_fairness import LONGEST_WAIT

#: Few, because every one of them costs the machine that it is measured on.
EVENTS_OF_B, EVERY = 30, 0.1
LONGEST_NAME = 120
ODD_NAMES = (
    "a", "A", "a.serial", "a.", ".a", "a.b", "a,b", "a, b", "a b", "á", "Filial São Paulo, Ltda.", "東京支店", "🏭",
    "~2c~", "a~2c~b", "*", "#", "a|b", "a/b", "%2e", "shard.0", "-", "_", "'\"`$(a)", "\\", "a:b",
    "x" * LONGEST_NAME, "É" * LONGEST_NAME, "É" * (LONGEST_NAME - 1) + "È",
)  # fmt: skip


@pytest.mark.parametrize(
    ("broker", "named"),
    [("redis_url", True), ("rabbit_url", False)],
    ids=["Redis, accounts named by option", "RabbitMQ, accounts found"],
)
def test_each_account_has_its_own_queue_and_its_events_run_once_whatever_its_name(
    postgres_url: str, tmp_path: Path, request: pytest.FixtureRequest, broker: str, named: bool
) -> None:
    with celery_table(postgres_url, request.getfixturevalue(broker), tmp_path) as celery:
        with pytest.raises(PayloadRefused, match="300 characters are more than the limit of 120"):
            celery.enqueue("noted", account="x" * 300)
        plain = {name: celery.enqueue("noted", account=name) for name in ODD_NAMES}
        queues = {celery.hub.get(id_).queue for id_ in plain.values()}
        assert len(queues) == len(ODD_NAMES)
        # Each message lies in the queue of its account and in no other.
        assert _waiting(celery, queues) == dict.fromkeys(queues, 1)
        options = [part for name in ODD_NAMES for part in ("--accounts", _quoted(name))] if named else []
        celery.start_celery(*options)
        serial = {
            name: celery.hub.enqueue(
                "noted", account=name, entity_id="1", payload={"folder": str(celery.folder)}, serial=True
            ).id
            for name in ODD_NAMES
        }
        assert len(queues | {celery.hub.get(id_).queue for id_ in serial.values()}) == 2 * len(ODD_NAMES)
        for ids in (plain, serial):
            for name, id_ in ids.items():
                event = celery.ended(id_, timeout=FREE_AGAIN_SECONDS)
                assert (event.account, event.status, event.attempts) == (name, "done", 1)
                assert celery.starts(id_) == 1


def test_500_hanging_events_of_one_account_do_not_delay_another(
    postgres_url: str, redis_url: str, tmp_path: Path
) -> None:
    with celery_table(postgres_url, redis_url, tmp_path) as celery:
        hanging = [
            NewEvent(
                kind="hangs",
                account="filial-a",
                entity_id=str(n),
                payload={"folder": str(tmp_path / "notes")},
            )
            for n in range(500)
        ]
        worker = celery.start_celery("--concurrency", "4")
        # One after the other: a fair share is kept without a lock, so that claims of the same instant may overstep it.
        for one in hanging[:3]:
            (made,) = celery.hub.enqueue_many([one])
            celery.reached(made.id, "running", timeout=2 * SOON)
        celery.hub.enqueue_many(hanging[3:])
        # A worker takes up the queue of an account that it has not known within a second or so.
        assert celery.ended(celery.enqueue("noop", account="filial-b")).status == "done"

        others = _enqueued_steadily(celery, "filial-b")
        assert {celery.ended(id_).status for id_ in others} == {"done"}
        waits = [
            (moment(attempt["started_at"]) - moment(attempt["due_at"])).total_seconds()
            for attempt in celery.rows("SELECT due_at, started_at FROM {attempt} WHERE account = 'filial-b'")
        ]
        # The first one, for which the queue had to be taken up, counts as well.
        assert len(waits) == len(others) + 1
        # The requirement itself.
        assert quantiles(waits, n=20)[-1] < LONGEST_WAIT
        # Not one event of A has ended, and A never got the fourth slot.
        assert celery.rows(
            "SELECT status, count(*) AS events FROM {event} WHERE account = 'filial-a' GROUP BY status ORDER BY status"
        ) == [{"status": "pending", "events": 497}, {"status": "running", "events": 3}]
        assert celery.value("SELECT max(lease_epoch) FROM {event} WHERE account = 'filial-a'") == 1
        # Not stopped: what hangs would be waited for.
        worker.kill()


def _enqueued_steadily(celery: CeleryTable, account: str) -> list[int]:
    """Put events in, one after the other, as customers do."""
    pause = threading.Event()
    ids = []
    for _ in range(EVENTS_OF_B):
        ids.append(celery.enqueue("noop", account=account))
        pause.wait(EVERY)
    return ids


def _waiting(celery: CeleryTable, queues: Iterable[str]) -> dict[str, int]:
    """How many messages lie in each queue, as the broker itself counts them."""
    with Connection(celery.broker_url) as connection:
        channel: Any = connection.channel()  # each transport has its own
        return {name: channel.queue_declare(name, passive=True).message_count for name in queues}


def _quoted(name: str) -> str:
    """As a person writes it who wants to be sure."""
    return '"' + name.replace('"', '""') + '"'
