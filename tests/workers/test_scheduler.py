"""Who runs the periodic steps, and what if that process dies or a step fails?"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable

from sqlalchemy import RowMapping

from dlq_console.hub.core import HubCore
from dlq_console.workers.scheduler import SHORTEST_LEASE, Scheduler, SchedulerThread, run_steps
from dlq_console.workers.steps import STEPS, Step
from tests.services.process import wait_until
from tests.services.reaper import kill_group
from tests.workers.table import FREE_AGAIN_SECONDS, SOON, Table

NAMES = {step.name for step in STEPS}


def test_only_one_of_two_schedulers_runs_a_step(table: Table) -> None:
    ran: list[str] = []
    first = _scheduler(table, _step("count", lambda: ran.append("a")))
    second = _scheduler(table, _step("count", lambda: ran.append("b")))
    for _ in range(10):
        first.run_due_steps()
        second.run_due_steps()
    assert ran == ["a"] * 10


def test_leader_that_was_silent_for_its_lease_is_followed_by_another(table: Table) -> None:
    ran: list[str] = []
    first = _scheduler(table, _step("count", lambda: ran.append("a")))
    second = _scheduler(table, _step("count", lambda: ran.append("b")))
    first.run_due_steps()
    table.hub.clock.advance(SHORTEST_LEASE - 1)
    second.run_due_steps()
    assert ran == ["a"]
    table.hub.clock.advance(2)
    second.run_due_steps()
    first.run_due_steps()
    assert ran == ["a", "b"]


def test_each_step_has_a_leader_of_its_own(table: Table) -> None:
    ran: list[str] = []
    first = _scheduler(table, _step("one", lambda: ran.append("a one")))
    both = _scheduler(
        table, _step("one", lambda: ran.append("b one")), _step("two", lambda: ran.append("b two"))
    )
    first.run_due_steps()
    both.run_due_steps()
    assert ran == ["a one", "b two"]


def test_error_of_a_step_is_recorded_and_the_others_go_on(table: Table) -> None:
    faults = [ValueError("no such column")]
    ran: list[str] = []

    def fails_once() -> None:
        if faults:
            raise faults.pop()

    scheduler = _scheduler(table, _step("fails", fails_once), _step("works", lambda: ran.append("works")))
    scheduler.run_due_steps()
    assert ran == ["works"]
    assert _row(table, "fails")["last_error"] == "ValueError: no such column"
    assert _row(table, "works")["last_error"] is None
    scheduler.run_due_steps()
    assert _row(table, "fails")["last_error"] is None


def test_step_runs_again_only_after_its_period(sqlite_table: Table) -> None:
    ran: list[str] = []
    scheduler = _scheduler(sqlite_table, _step("rare", lambda: ran.append("rare"), every=3600))
    for _ in range(5):
        scheduler.run_due_steps()
    assert ran == ["rare"]


def test_step_that_takes_long_turns_holds_up_no_other(sqlite_table: Table) -> None:
    inside, ran, stop = threading.Event(), threading.Event(), threading.Event()

    def takes_long(_hub: HubCore) -> int:
        inside.set()
        return int(ran.wait(SOON))

    def short() -> None:
        if inside.is_set():
            ran.set()

    steps = (Step("long", takes_long, 0, apart=True), _step("short", short))
    thread = threading.Thread(target=run_steps, args=(sqlite_table.hub, stop, steps))
    thread.start()
    assert ran.wait(SOON / 2)
    stop.set()
    thread.join(SOON)
    assert _led_by(sqlite_table) == {}


def test_scheduler_that_ends_lets_another_one_lead_at_once(table: Table) -> None:
    stopped = threading.Event()
    stopped.set()
    ran: list[str] = []
    first = _scheduler(table, _step("count", lambda: ran.append("a")))
    second = _scheduler(table, _step("count", lambda: ran.append("b")))
    first.run_due_steps()
    first.run_until(stopped)
    second.run_due_steps()
    assert ran == ["a", "b"]


def test_thread_runs_the_steps_and_ends_when_told(sqlite_table: Table) -> None:
    thread = SchedulerThread(sqlite_table.hub)
    wait_until(lambda: _led_by(sqlite_table).keys() == NAMES, SOON, "every step to be led")
    thread.stop()
    assert _led_by(sqlite_table) == {}


def test_survivor_leads_after_the_leader_was_killed(postgres_table: Table) -> None:
    table = postgres_table
    first = table.start_worker()
    wait_until(lambda: _led_by(table).keys() == NAMES, SOON, "the first worker to lead every step")
    leader = set(_led_by(table).values())
    second = table.start_worker()
    assert len(leader) == 1
    kill_group(first.pid)
    # The rarer a step, the longer a dead process may lead it.
    wait_until(lambda: _led_by(table)["relay"] not in leader, FREE_AGAIN_SECONDS, "the second worker to lead")
    assert second.running


def test_program_of_steps_alone_rescues_and_stops_when_told(sqlite_table: Table) -> None:
    table = sqlite_table
    worker = table.start_worker("--slots", "1", "--no-scheduler")
    event_id = table.enqueue("waits")
    table.process_of(event_id)
    steps = table.start_process("--only-scheduler")
    kill_group(worker.pid)
    assert table.reached(event_id, "failed", timeout=FREE_AGAIN_SECONDS).attempts == 1
    assert steps.stop(signal.SIGTERM) == 0
    assert _led_by(table) == {}


def _step(name: str, act: Callable[[], None], *, every: float = 0) -> Step:
    def run(_hub: HubCore) -> int:
        act()
        return 1

    return Step(name, run, every)


def _scheduler(table: Table, *steps: Step) -> Scheduler:
    return Scheduler(table.hub, steps)


def _row(table: Table, name: str) -> RowMapping:
    (row,) = table.rows("SELECT * FROM {step} WHERE name = :name", name=name)
    return row


def _led_by(table: Table) -> dict[str, str]:
    rows = table.rows("SELECT name, owner FROM {step} WHERE owner IS NOT NULL")
    return {row["name"]: row["owner"] for row in rows}
