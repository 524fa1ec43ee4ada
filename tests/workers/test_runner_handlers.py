"""What may a handler do to the process it runs in, without harm to the worker or to other events?"""

from __future__ import annotations

import signal

import pytest

from tests.services.process import wait_until
from tests.workers.faulty import SHORT_LIMIT
from tests.workers.table import SOON, Table, is_alive


@pytest.mark.parametrize(
    ("kind", "how"),
    [("killed", "was killed by SIGKILL"), ("vanishes", "ended by itself with exit status 0")],
)
def test_event_that_ends_its_process_every_time_is_dead_orphaned_after_its_attempts(
    table: Table, kind: str, how: str
) -> None:
    worker = table.start_worker("--slots", "1")
    deadly = table.ended(table.enqueue(kind))
    assert (deadly.status, deadly.reason) == ("dead", "orphaned")
    assert (deadly.attempts, deadly.total_attempts) == (3, 3)
    assert deadly.last_error == f"The worker {how} while it was running this event (attempt 3 of 3)."
    assert table.outcomes(deadly.id) == ["lost", "lost", "lost"]
    assert [attempt["number"] for attempt in table.attempts(deadly.id)] == [1, 2, 3]
    assert table.ended(table.enqueue("noop")).status == "done"
    assert worker.running


def test_sys_exit_in_a_handler_is_an_answer_of_its_event_and_the_process_lives(sqlite_table: Table) -> None:
    table = sqlite_table
    table.start_worker("--slots", "1")
    event = table.ended(table.enqueue("exits"))
    assert (event.status, event.reason, event.attempts) == ("dead", "unclassified", 1)
    assert event.last_error == "The handler ended its process with sys.exit(3); raise an error instead."
    assert table.ended(table.enqueue("noop")).result == {"pid": table.process_of(event.id)}


def test_memory_error_in_a_handler_is_tried_again_and_the_process_lives(sqlite_table: Table) -> None:
    table = sqlite_table
    table.start_worker("--slots", "1")
    event = table.ended(table.enqueue("out_of_memory"))
    assert (event.status, event.reason, event.error_type) == ("dead", "exhausted", "MemoryError")
    assert table.outcomes(event.id) == ["failed", "failed", "dead"]
    assert table.ended(table.enqueue("noop")).result == {"pid": table.process_of(event.id, 3)}


def test_run_past_its_time_limit_is_stopped_and_tried_again(sqlite_table: Table) -> None:
    table = sqlite_table
    table.start_worker("--slots", "1")
    event = table.ended(table.enqueue("overtime"))
    assert (event.status, event.reason, event.error_type) == ("dead", "exhausted", "TimeLimitExceeded")
    assert event.last_error == f"The run was stopped at its time limit of {SHORT_LIMIT} seconds."
    assert table.outcomes(event.id) == ["failed", "dead"]
    # A sleeping function cannot be interrupted, so each run ended with its process.
    assert table.process_of(event.id, 1) != table.process_of(event.id, 2)


@pytest.mark.parametrize("kind", ["overtime.async", "overtime.blocks_loop"])
def test_async_run_past_its_time_limit_is_stopped_and_holds_up_no_other(
    sqlite_table: Table, kind: str
) -> None:
    table = sqlite_table
    table.start_worker("--slots", "1")
    event = table.ended(table.enqueue(kind))
    assert (event.status, event.reason, event.error_type) == ("dead", "exhausted", "TimeLimitExceeded")
    assert event.last_error == f"The run was stopped at its time limit of {SHORT_LIMIT} seconds."
    assert table.outcomes(event.id) == ["failed", "dead"]
    after = table.ended(table.enqueue("noop.async"))
    assert (after.status, after.attempts) == ("done", 1)
    # What was told to stop may not have done so: its process is gone, whatever it does.
    assert not is_alive(table.process_of(event.id, 2))


def test_programs_that_a_handler_started_end_with_it_at_its_time_limit(sqlite_table: Table) -> None:
    table = sqlite_table
    worker = table.start_worker("--slots", "1")
    event = table.ended(table.enqueue("overtime.with_programs"))
    assert table.outcomes(event.id) == ["failed", "dead"]
    for epoch in (1, 2):
        for what in ("program", "forked"):
            _is_gone(table.process_of(event.id, epoch, what=what))
    assert worker.running


def test_death_of_a_process_is_seen_at_once_although_what_it_forked_lives_on_and_that_is_ended_too(
    sqlite_table: Table,
) -> None:
    table = sqlite_table
    table.start_worker("--slots", "1")
    event = table.ended(table.enqueue("dies.with_programs"))  # its time limit is longer than this waits
    assert table.outcomes(event.id) == ["lost", "done"]
    for what in ("program", "forked"):
        _is_gone(table.process_of(event.id, what=what))


def test_handler_may_share_its_work_among_processes(sqlite_table: Table) -> None:
    sqlite_table.start_worker("--slots", "1")
    event = sqlite_table.ended(sqlite_table.enqueue("shares_work"))
    assert (event.result, event.attempts) == ({"lengths": [1, 2, 3]}, 1)


def test_copy_of_a_process_that_a_handler_forked_ends_however_early_it_is_told_to(
    sqlite_table: Table,
) -> None:
    sqlite_table.start_worker("--slots", "1")
    event = sqlite_table.ended(sqlite_table.enqueue("ends_its_copy"))
    assert (event.result, event.attempts) == ({"ended_by": signal.SIGTERM}, 1)


def test_program_that_a_handler_starts_can_be_stopped_by_signals(sqlite_table: Table) -> None:
    sqlite_table.start_worker("--slots", "1")
    event = sqlite_table.ended(sqlite_table.enqueue("starts_program"))
    assert event.result == {"ignores": []}


def test_keyboard_interrupt_of_a_handler_is_an_answer_of_its_event(sqlite_table: Table) -> None:
    sqlite_table.start_worker("--slots", "1")
    event = sqlite_table.ended(sqlite_table.enqueue("interrupts"))
    assert (event.status, event.reason, event.error_type) == ("dead", "unclassified", "KeyboardInterrupt")
    assert event.attempts == 1


def test_handler_that_writes_into_pipes_of_the_worker_harms_only_its_own_event(postgres_table: Table) -> None:
    table = postgres_table
    worker = table.start_worker("--slots", "1")
    event = table.reached(table.enqueue("writes_everywhere"), "done", "dead")
    assert event.reason in (None, "orphaned")
    assert table.ended(table.enqueue("noop")).status == "done"
    assert worker.running


def test_copy_of_a_process_that_a_handler_forked_answers_for_nobody(sqlite_table: Table) -> None:
    table = sqlite_table
    table.start_worker("--slots", "1")
    forked = [table.enqueue("forks") for _ in range(3)]
    others = [table.enqueue("noop") for _ in range(10)]
    assert {table.ended(id_).status for id_ in (*forked, *others)} == {"done"}
    assert {table.ended(id_).total_attempts for id_ in others} == {1}


def _is_gone(pid: int) -> None:
    wait_until(lambda: not is_alive(pid), SOON, f"process {pid} to end")
