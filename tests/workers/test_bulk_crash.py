"""Does a bulk run survive the death of the process that brings it on, and two of them at once, with nothing done twice?"""

from __future__ import annotations

import sys
from collections import Counter

import pytest
import requests

from dlq_console.hub.bulk import BulkRun
from dlq_console.store import people
from dlq_console.store.filters import EventFilter
from tests.services.process import Child, StartChild, free_port, wait_until
from tests.services.reaper import kill_group
from tests.store import filling
from tests.web.desk import SECRET_KEY
from tests.workers.table import SOON, Table

STEPS = "tests.workers.bulk_steps"
EVERYTHING = EventFilter()
#: A run of so many at this pace is under way for four seconds: long enough to be killed in the middle.
ITEMS, RATE = 200, 40
#: A pace at which a run is under way for as long as any test waits.
SLOW, SOME = 5, 10


def steps(table: Table) -> Child:
    """A process that brings bulk runs on."""
    child = table.start_process(module=STEPS)
    child.wait_for_line("bulk steps run")
    return child


def reached(table: Table, run_id: int, what: str, number: int) -> BulkRun:
    """The run once one of its figures has come so far."""

    def look() -> BulkRun | None:
        run = table.hub.bulk.get(run_id)
        return run if getattr(run, what) >= number else None

    run = wait_until(look, 3 * SOON, f"{what} of run {run_id} to be {number}")
    assert run is not None
    return run


def start(table: Table, **values: float) -> int:
    return table.hub.bulk.start("reprocess", EVERYTHING, actor="maria", note="fixed", window=1000, **values)  # type: ignore[arg-type]


def acts_per_event(table: Table, run_id: int) -> Counter[int]:
    template = "SELECT event_id FROM {audit} WHERE bulk_id = :id AND action = 'reprocess'"
    return Counter(row["event_id"] for row in table.rows(template, id=run_id))


def cycles(table: Table) -> Counter[int]:
    return Counter(row["cycle"] for row in table.rows("SELECT cycle FROM {event}"))


def test_another_process_goes_on_where_one_was_killed_while_it_froze(table: Table) -> None:
    ids = filling.dead(table.hub.store, 1_500)
    run_id = start(table)
    first = steps(table)
    run = reached(table, run_id, "total", 50)
    kill_group(first.pid)
    assert run.frozen_at is None, "it was not killed in the middle"
    steps(table)
    run = reached(table, run_id, "released", 1_000)
    assert run.total == len(ids)
    positions = [row["position"] for row in table.rows("SELECT position FROM {bulk_item}")]
    assert sorted(positions) == ids


def test_another_process_goes_on_where_one_was_killed_while_it_let_items_go(table: Table) -> None:
    ids = filling.dead(table.hub.store, ITEMS)
    run_id = start(table, rate=RATE)
    first = steps(table)
    run = reached(table, run_id, "released", ITEMS // 5)
    kill_group(first.pid)
    assert run.remaining > 0, "it was not killed in the middle"
    steps(table)
    reached(table, run_id, "released", ITEMS)
    assert acts_per_event(table, run_id) == Counter(ids)
    assert cycles(table) == {1: ITEMS}


def test_two_processes_at_once_let_nothing_go_twice_and_keep_the_pace(table: Table) -> None:
    ids = filling.dead(table.hub.store, ITEMS)
    run_id = start(table, rate=RATE)
    first, second = steps(table), steps(table)
    run = reached(table, run_id, "released", ITEMS)
    assert run.frozen_at is not None
    # One second may be saved up at the start.
    assert (run.now - run.frozen_at).total_seconds() >= ITEMS / RATE - 1.1
    assert acts_per_event(table, run_id) == Counter(ids)
    assert cycles(table) == {1: ITEMS}
    assert first.running
    assert second.running


def test_a_run_goes_on_after_the_console_that_took_it_was_killed(
    sqlite_table: Table, start_child: StartChild
) -> None:
    table = sqlite_table
    ids = filling.dead(table.hub.store, ITEMS)
    token, port = people.add_token(table.hub.store, "shift", role="operator"), free_port()
    console = start_child(
        [sys.executable, "-m", "dlq_console", "serve", "--bind", f"127.0.0.1:{port}", "--workers", "1"],
        env={"DLQ_DATABASE_URL": table.url, "DLQ_SECRET_KEY": SECRET_KEY},
    )
    console.wait_for_line("Listening at")
    answer = requests.post(
        f"http://127.0.0.1:{port}/api/v1/bulk",
        json={"action": "reprocess", "all": True, "note": "fixed", "window": 1000, "rate": RATE},
        headers={"Authorization": f"Bearer {token}"},
        timeout=SOON,
    )
    assert answer.status_code == 202, answer.text
    run_id = answer.json()["id"]
    steps(table)
    run = reached(table, run_id, "released", ITEMS // 5)
    kill_group(console.pid)
    assert run.remaining > 0, "it was not killed in the middle"
    reached(table, run_id, "released", ITEMS)
    assert acts_per_event(table, run_id) == Counter(ids)


@pytest.mark.parametrize("verb", ["pause", "cancel"])
def test_nothing_is_let_go_once_a_person_has_stopped_it(table: Table, verb: str) -> None:
    filling.dead(table.hub.store, ITEMS)
    run_id = start(table, rate=SLOW)
    steps(table), steps(table)
    reached(table, run_id, "released", SOME)
    stopped = getattr(table.hub.bulk, verb)(run_id, actor="ana")
    assert stopped.remaining > 0
    # Two more turns of each would have let more go by now.
    other = start(table, rate=SLOW)
    reached(table, other, "released", SOME)
    assert table.hub.bulk.get(run_id).released == stopped.released
