"""How fast is a bulk run, and when is it over? Without the time that it stood still, and without what its canary takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from dlq_console import Hub
from dlq_console.hub.bulk import BulkRun
from dlq_console.settings import read_settings
from dlq_console.store.filters import EventFilter
from tests.hub.line import Line
from tests.store.filling import fill


@pytest.fixture
def line(sqlite_url: str) -> Iterator[Line]:
    """A line of events whose handler works."""
    hub = Hub(read_settings(database_url=sqlite_url))
    line = Line(hub)
    line.registered = True
    yield line
    hub.close()


@pytest.fixture
def either(hub: Hub) -> Line:
    """A line of events on each engine."""
    return Line(hub)


def _frozen(line: Line, number: int, *, action: str = "discard", **terms: Any) -> int:
    """A run that is about to let its first items go; to put aside is what it does unless told otherwise."""
    kind = {"status": "dead", "kind": "order.create", "account": "filial-sp"}
    fill(line.hub.store, [kind | {"entity_id": str(one)} for one in range(number)])
    run_id = line.start(EventFilter(), action=action, **terms)
    line.freeze(run_id)
    return run_id


def _pass(line: Line, seconds: int, each: int = 1) -> None:
    """Time goes by, and whatever may be let go is."""
    for _ in range(seconds // each):
        line.hub.clock.advance(each)
        line.turn()


def _run_all(line: Line, seconds: int, each: int) -> None:
    """The same, and what was let go runs to its end."""
    for _ in range(seconds // each):
        line.turn()
        line.hub.run_due(limit=1_000)
        line.hub.clock.advance(each)
        line.turn()


def _stood(run: BulkRun) -> float:
    assert run.frozen_at is not None
    assert run.moved_seconds is not None
    return ((run.finished_at or run.now) - run.frozen_at).total_seconds() - run.moved_seconds


def test_pace_and_end_leave_out_the_time_on_pause(either: Line) -> None:
    run_id = _frozen(either, 310, rate=5)
    _pass(either, 8)
    either.hub.bulk.pause(run_id, actor="ana")
    either.hub.clock.advance(120)
    paused = either.hub.bulk.get(run_id)
    assert (paused.pace, paused.eta_seconds) == (None, None)
    resumed = either.hub.bulk.resume(run_id, actor="ana")
    assert _stood(resumed) == pytest.approx(120, abs=2)
    # Nothing has ended since, so it is the pace that was asked for.
    to_go = resumed.total - resumed.done
    assert (resumed.pace, resumed.pace_of) == (5, "set")
    assert resumed.eta_seconds == pytest.approx(to_go / 5)
    _pass(either, 8)
    run = either.hub.bulk.get(run_id)
    assert run.pace_of == "recent"
    assert run.pace == pytest.approx(5, rel=0.3)
    assert run.eta_seconds == pytest.approx((run.total - run.done) / 5, rel=0.4)


def test_a_run_that_was_cancelled_on_pause_took_as_long_as_it_moved(line: Line) -> None:
    run_id = _frozen(line, 100, rate=5)
    _pass(line, 4)
    line.hub.bulk.pause(run_id, actor="ana")
    line.hub.clock.advance(60)
    line.hub.bulk.resume(run_id, actor="ana")
    _pass(line, 4)
    line.hub.bulk.pause(run_id, actor="ana")
    line.hub.clock.advance(600)
    run = line.hub.bulk.cancel(run_id, actor="ana")
    assert run.state == "cancelled"
    assert _stood(run) == pytest.approx(660, abs=4)
    assert run.pace_of == "all"
    assert run.pace == pytest.approx(run.done / (run.moved_seconds or 0))


def test_time_in_which_it_had_stopped_by_itself_is_left_out(line: Line) -> None:
    line.registered = False
    run_id = _frozen(line, 4, action="reprocess", canary=[2])
    _run_all(line, 2, each=1)
    assert line.hub.bulk.get(run_id).state == "stopped"
    line.hub.clock.advance(3_600)
    line.registered = True
    line.hub.bulk.resume(run_id, actor="ana")
    _run_all(line, 3, each=1)
    run = line.hub.bulk.get(run_id)
    assert run.state == "done"
    assert _stood(run) == pytest.approx(3_600, abs=4)


def test_time_in_which_a_person_looks_at_a_drift_is_left_out(line: Line) -> None:
    ids = line.dead(range(5))
    run_id = line.start(EventFilter(), action="discard", expected_count=5)
    line.hub.discard(ids[0], actor="ana", note="by hand")
    line.freeze(run_id)
    line.hub.clock.advance(3_600)
    assert _stood(line.hub.bulk.get(run_id)) == pytest.approx(3_600, abs=2)
    line.hub.bulk.resume(run_id, actor="ana")
    _pass(line, 2)
    run = line.hub.bulk.get(run_id)
    assert run.state == "done"
    assert _stood(run) == pytest.approx(3_600, abs=2)


def test_a_canary_is_not_taken_for_the_pace(line: Line) -> None:
    run_id = _frozen(line, 320, action="reprocess", rate=5, canary=[1, 5])
    # The first one takes its time.
    _run_all(line, 6, each=6)
    run = line.hub.bulk.get(run_id)
    assert (run.stage, run.done, run.pace, run.eta_seconds) == (1, 1, None, None)
    while (run := line.hub.bulk.get(run_id)).stage < 2:
        assert run.eta_seconds is None
        _run_all(line, 1, each=1)
    assert run.pace_of == "set"
    assert run.eta_seconds == pytest.approx((run.total - run.done) / 5)
    _run_all(line, 6, each=1)
    assert line.hub.bulk.get(run_id).pace_of == "recent"


def test_an_average_of_seconds_says_nothing_about_the_end(line: Line) -> None:
    run_id = _frozen(line, 100, action="reprocess", window=5)
    _run_all(line, 1, each=1)
    run = line.hub.bulk.get(run_id)
    assert (run.pace_of, run.eta_seconds) == ("all", None)
    _run_all(line, 6, each=1)
    run = line.hub.bulk.get(run_id)
    assert run.pace_of == "recent"
    assert run.eta_seconds == pytest.approx((run.total - run.done) / (run.pace or 1))


def test_what_is_called_the_pace_is_that_of_the_last_minute(line: Line) -> None:
    run_id = _frozen(line, 200, action="reprocess", window=2)
    _run_all(line, 45, each=5)
    assert line.hub.bulk.get(run_id).pace == pytest.approx(2 / 5, rel=0.3)
    _run_all(line, 80, each=20)
    run = line.hub.bulk.get(run_id)
    assert run.pace_of == "recent"
    assert run.pace == pytest.approx(2 / 20, rel=0.3)


def test_items_that_take_minutes_are_told_by_their_average(line: Line) -> None:
    run_id = _frozen(line, 20, action="reprocess", window=1)
    _run_all(line, 1_500, each=300)
    line.hub.clock.advance(60)
    run = line.hub.bulk.get(run_id)
    assert run.pace_of == "all"
    assert run.pace == pytest.approx(run.done / 1_560, rel=0.05)
    assert run.eta_seconds == pytest.approx((run.total - run.done) / (run.pace or 1))


def test_what_waits_for_a_closed_account_has_no_pace_and_begins_anew_behind_it(line: Line) -> None:
    run_id = _frozen(line, 60, action="reprocess", rate=5)
    _run_all(line, 2, each=1)
    line.hub.pause_account("filial-sp", actor="ana")
    run = line.hub.bulk.get(run_id)
    assert (run.limited_by, run.pace, run.eta_seconds) == ("closed", None, None)
    line.hub.clock.advance(3_600)
    line.hub.resume_account("filial-sp", actor="ana")
    _run_all(line, 7, each=1)
    run = line.hub.bulk.get(run_id)
    assert run.pace_of == "recent"
    assert run.pace == pytest.approx(5, rel=0.5)
