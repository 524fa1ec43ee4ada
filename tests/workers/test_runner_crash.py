"""What becomes of an event whose worker, or the process that runs it, is killed or frozen in mid-run?"""

from __future__ import annotations

import os
import signal

from tests.services.process import Child, wait_until
from tests.services.reaper import kill_group
from tests.workers.table import FREE_AGAIN_SECONDS, SOON, Table, is_alive


def test_event_of_a_killed_worker_is_free_again_within_its_lease(table: Table) -> None:
    first = table.start_worker("--slots", "1", "--no-scheduler")
    event_id = table.enqueue("waits")
    table.process_of(event_id)
    second = table.start_worker("--slots", "1")
    kill_group(first.pid)
    table.process_of(event_id, 2)  # waits for as long as the product promises, not longer
    lost = table.attempts(event_id)
    assert [attempt["outcome"] for attempt in lost] == ["lost"]
    assert lost[0]["error"] == (
        "The worker died or stopped answering while it was running this event (attempt 1 of 3)."
    )
    table.go()
    event = table.ended(event_id)
    assert (event.status, event.attempts) == ("done", 2)
    assert table.outcomes(event_id) == ["lost", "done"]
    assert second.running


def test_child_processes_end_by_themselves_when_their_worker_is_killed(sqlite_table: Table) -> None:
    table = sqlite_table
    worker = table.start_worker("--slots", "2")
    busy = table.process_of(table.enqueue("waits"))
    idle = table.ended(table.enqueue("noop", account="filial-rj")).result["pid"]
    assert is_alive(busy)
    assert is_alive(idle)
    worker.kill()
    wait_until(lambda: not is_alive(busy), SOON, "the busy child to end")
    wait_until(lambda: not is_alive(idle), SOON, "the idle child to end")
    # Whoever led the periodic steps let go of them, so that another worker need not wait for a lease.
    wait_until(
        lambda: table.value("SELECT count(*) FROM {step} WHERE owner IS NOT NULL") == 0,
        SOON,
        "the leader leases to be given back",
    )


def test_frozen_worker_changes_nothing_after_another_one_has_run_its_event(table: Table) -> None:
    frozen = table.start_worker("--slots", "1", "--no-scheduler")
    event_id = table.enqueue("waits")
    table.process_of(event_id)
    frozen.pause()
    second = table.start_worker("--slots", "1")
    table.process_of(event_id, 2)
    table.go(2)
    done = table.ended(event_id)
    assert (done.status, done.result, done.attempts) == ("done", {"attempt": 2}, 2)

    table.go(1)
    frozen.resume()
    frozen.wait_for_line(rf"event {event_id}: (its lease was lost|epoch 1 no longer owns it)")
    assert table.hub.get(event_id) == done
    assert table.outcomes(event_id) == ["lost", "done"]
    _still_works(table, frozen, alone_after=second)


def test_late_result_is_refused_when_only_the_parent_was_frozen(sqlite_table: Table) -> None:
    table = sqlite_table
    worker = table.start_worker("--slots", "1")
    event_id = table.enqueue("waits")
    table.process_of(event_id)
    worker.send(signal.SIGSTOP)  # nobody keeps the lease alive; the child and the periodic steps go on
    table.reached(event_id, "failed", timeout=FREE_AGAIN_SECONDS)
    table.go(1)
    worker.wait_for_line(rf"event {event_id}: epoch 1 no longer owns it, its result is refused")
    assert table.hub.get(event_id).result is None

    worker.send(signal.SIGCONT)
    table.go(2)
    event = table.ended(event_id)
    assert (event.status, event.result) == ("done", {"attempt": 2})
    assert table.outcomes(event_id) == ["lost", "done"]


def test_frozen_child_is_stopped_at_the_time_limit_of_its_event(table: Table) -> None:
    worker = table.start_worker("--slots", "1")
    event_id = table.enqueue("late_once")
    child = table.process_of(event_id)
    os.kill(child, signal.SIGSTOP)
    event = table.ended(event_id)
    assert (event.status, event.attempts) == ("done", 2)
    assert [(a["outcome"], a["error_type"]) for a in table.attempts(event_id)] == [
        ("failed", "TimeLimitExceeded"),
        ("done", None),
    ]
    assert not is_alive(child)
    assert worker.running


def test_idle_child_that_is_killed_costs_no_event_an_attempt(sqlite_table: Table) -> None:
    table = sqlite_table
    worker = table.start_worker("--slots", "1")
    os.kill(table.ended(table.enqueue("noop")).result["pid"], signal.SIGKILL)
    event = table.ended(table.enqueue("noop"))
    assert (event.status, event.total_attempts) == ("done", 1)
    assert worker.running


def test_two_workers_never_run_one_event_twice(table: Table) -> None:
    for _ in range(2):
        table.start_worker("--slots", "4")
    # A handler that finds the note of another run of the same claim fails, and a second claim leaves a second note.
    ids = [table.enqueue("noted", account=f"filial-{number % 3}") for number in range(300)]
    wait_until(
        lambda: table.value("SELECT count(*) FROM {event} WHERE status IN ('pending', 'running')") == 0,
        FREE_AGAIN_SECONDS,
        "300 events to end",
    )
    assert table.value("SELECT count(*) FROM {event} WHERE status = 'done' AND lease_epoch = 1") == len(ids)
    assert [id_ for id_ in ids if table.starts(id_) != 1] == []
    assert table.value("SELECT count(*) FROM {attempt} WHERE outcome = 'done'") == len(ids)
    assert table.value("SELECT count(DISTINCT worker) FROM {attempt}") == 2


def _still_works(table: Table, worker: Child, *, alone_after: Child) -> None:
    alone_after.stop()
    event = table.ended(table.enqueue("noop"))
    assert event.status == "done"
    (attempt,) = table.attempts(event.id)
    assert f":{worker.pid}:" in attempt["worker"]
