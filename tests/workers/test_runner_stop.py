"""What does a worker do with its events when it is told to stop?"""

from __future__ import annotations

import os
import signal

import pytest

from tests.services.process import Child, wait_until
from tests.workers.table import SOON, Table, is_alive


def test_stopping_worker_finishes_what_runs_and_claims_nothing_more(table: Table) -> None:
    worker = table.start_worker("--slots", "2")
    running = table.enqueue("waits")
    table.process_of(running)
    worker.send(signal.SIGTERM)
    _wait_until_stopping(table, worker)
    later = table.enqueue("noop")
    table.go()
    assert worker.wait_for_exit() == 0
    assert table.hub.get(running).status == "done"
    waiting = table.hub.get(later)
    assert (waiting.status, waiting.total_attempts, waiting.lease_epoch) == ("pending", 0, 0)
    assert table.value("SELECT count(*) FROM {worker}") == 0


def test_interrupt_from_the_keyboard_stops_as_gently(sqlite_table: Table) -> None:
    table = sqlite_table
    worker = table.start_worker("--slots", "1")
    running = table.enqueue("waits")
    table.process_of(running)
    os.killpg(worker.pid, signal.SIGINT)  # a terminal sends it to the whole group
    _wait_until_stopping(table, worker)
    table.go()
    assert worker.wait_for_exit() == 0
    assert table.hub.get(running).status == "done"


def test_event_that_outlasts_the_patience_is_given_back_unspent(table: Table) -> None:
    worker = table.start_worker("--slots", "1", "--stop-patience", "0.5")
    event_id = table.enqueue("waits")
    table.process_of(event_id)
    assert worker.stop(timeout=SOON) == 0
    event = table.hub.get(event_id)
    assert (event.status, event.attempts, event.total_attempts) == ("pending", 0, 0)
    assert event.lease_owner is None
    assert table.attempts(event_id) == []

    table.go()
    table.start_worker("--slots", "1")
    event = table.ended(event_id)
    assert (event.status, event.attempts, event.lease_epoch) == ("done", 1, 2)


def test_second_signal_stops_at_once_and_gives_the_events_back(sqlite_table: Table) -> None:
    table = sqlite_table
    worker = table.start_worker("--slots", "1", "--stop-patience", "3600")
    event_id = table.enqueue("waits")
    table.process_of(event_id)
    worker.send(signal.SIGTERM)
    _wait_until_stopping(table, worker)
    worker.send(signal.SIGTERM)
    assert worker.wait_for_exit() == 0
    event = table.hub.get(event_id)
    assert (event.status, event.total_attempts) == ("pending", 0)


@pytest.mark.parametrize("how", ["killed", "stopped"])
def test_worker_leaves_no_program_of_a_handler_behind(sqlite_table: Table, how: str) -> None:
    table = sqlite_table
    worker = table.start_worker("--slots", "1", "--stop-patience", "0.5")
    event_id = table.enqueue("hangs.with_programs")
    programs = [table.process_of(event_id, what=what) for what in ("program", "forked")]
    assert all(is_alive(pid) for pid in programs)
    if how == "killed":
        worker.kill()
    else:
        worker.send(signal.SIGTERM)
        assert worker.wait_for_exit() == 0
    wait_until(lambda: not any(is_alive(pid) for pid in programs), SOON, "the programs to end")


def test_worker_whose_row_was_forgotten_announces_itself_again(sqlite_table: Table) -> None:
    table = sqlite_table
    worker = table.start_worker("--slots", "3", "--accounts", "filial-sp,filial-rj")
    (before,) = table.rows("SELECT * FROM {worker}")
    table.change("DELETE FROM {worker}")
    worker.wait_for_line("announces itself again")
    (after,) = wait_until(lambda: table.rows("SELECT * FROM {worker}"), SOON, "the worker's row to be there")
    for column in ("id", "mode", "host", "pid", "version", "slots", "accounts", "state"):
        assert after[column] == before[column]
    # One that stops is gone soon, and is to be forgotten.
    assert worker.stop(timeout=SOON) == 0
    assert table.value("SELECT count(*) FROM {worker}") == 0


def _wait_until_stopping(table: Table, worker: Child) -> None:
    worker.wait_until(
        lambda: table.value("SELECT state FROM {worker}") == "stopping",
        SOON,
        "the worker to say that it stops",
    )
