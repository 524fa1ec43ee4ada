"""Can one account, or a kind that nobody knows, hold up the rest?"""

from __future__ import annotations

import threading
from statistics import quantiles

from dlq_console import NewEvent
from tests.services.process import wait_until
from tests.workers.table import SOON, Table, moment

#: How long 95 of 100 events of an account may wait at most, whatever another account does (seconds).
LONGEST_WAIT = 2
#: One event every so many seconds, for 10 seconds.
STEADY_EVENTS, STEADY_EVERY = 200, 0.05


def test_500_hanging_events_of_one_account_do_not_delay_another(table: Table) -> None:
    hanging = [
        NewEvent(kind="hangs", account="filial-a", entity_id=str(n), payload={"folder": str(table.folder)})
        for n in range(500)
    ]
    table.hub.enqueue_many(hanging)
    table.start_worker("--slots", "4", "--stop-patience", "0")
    running = "SELECT count(*) FROM {event} WHERE account = 'filial-a' AND status = 'running'"
    wait_until(lambda: table.value(running) == 3, SOON, "the hanging account to take its share")

    others = _enqueued_steadily(table, "filial-b")
    assert {table.ended(id_).status for id_ in others} == {"done"}
    waits = [
        (moment(attempt["started_at"]) - moment(attempt["due_at"])).total_seconds()
        for attempt in table.rows("SELECT due_at, started_at FROM {attempt} WHERE account = 'filial-b'")
    ]
    assert len(waits) == len(others)
    # The requirement itself.
    assert quantiles(waits, n=20)[-1] < LONGEST_WAIT
    # Not one event of A has ended, and A never got the fourth slot.
    assert table.rows(
        "SELECT status, count(*) AS events FROM {event} WHERE account = 'filial-a' GROUP BY status ORDER BY status"
    ) == [{"status": "pending", "events": 497}, {"status": "running", "events": 3}]
    assert table.value("SELECT max(lease_epoch) FROM {event} WHERE account = 'filial-a'") == 1
    assert len(list(table.folder.glob("started.*"))) == 3


def _enqueued_steadily(table: Table, account: str) -> list[int]:
    """Put events in, one after the other, as customers do."""
    pause = threading.Event()
    ids = []
    for _ in range(STEADY_EVENTS):
        ids.append(table.enqueue("noop", account=account))
        pause.wait(STEADY_EVERY)
    return ids


def test_kind_without_a_handler_waits_for_a_worker_that_has_one(sqlite_table: Table) -> None:
    table = sqlite_table
    ignorant = table.start_worker("--app", "")
    event_id = table.enqueue("noop")
    _looked_at(table, event_id, epoch=1)
    event = table.hub.get(event_id)
    assert (event.attempts, event.total_attempts, event.reason) == (0, 0, None)
    assert table.attempts(event_id) == []
    ignorant.stop()

    table.start_worker()
    table.change("UPDATE {event} SET next_run_at = due_at WHERE id = :id", id=event_id)
    event = table.ended(event_id)
    assert (event.status, event.attempts) == ("done", 1)


def test_kind_that_no_worker_had_a_handler_for_during_an_hour_is_dead(table: Table) -> None:
    worker = table.start_worker("--app", "")
    event_id = table.enqueue("order.create")
    _looked_at(table, event_id, epoch=1)
    hour = 3_600_000_000 if table.hub.store.sqlite else "interval '1 hour'"
    table.change(
        f"UPDATE {{event}} SET due_at = due_at - {hour}, next_run_at = due_at WHERE id = :id", id=event_id
    )
    event = table.ended(event_id)
    assert (event.status, event.reason) == ("dead", "no_handler")
    assert event.last_error == 'No worker had a handler for "order.create" for an hour.'
    assert worker.running


def _looked_at(table: Table, event_id: int, *, epoch: int) -> None:
    def given_back() -> bool:
        event = table.hub.get(event_id)
        return event.lease_epoch == epoch and event.status == "pending"

    wait_until(given_back, SOON, "a worker to take the event and to give it back")
