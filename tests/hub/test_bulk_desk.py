"""Does a run put on the desk of many events what a person would, and refuse what a person could not?"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from dlq_console import Hub, PayloadRefused
from dlq_console.clock import utc_now
from dlq_console.hub.bulk import BulkRun
from dlq_console.hub.origins import Via, acting
from dlq_console.store import people
from dlq_console.store.desk import MAX_TAGS, Marks, marks
from tests.hub.line import EVERYTHING, Line

PASSWORD = "only-for-tests-0123"
DUE = utc_now() + timedelta(days=2)


@pytest.fixture
def line(hub: Hub) -> Line:
    """A line of events on each engine, and three people of whom one sees a single account."""
    for name, accounts in (("ana", None), ("bruno", None), ("rita", ("filial-rj",))):
        people.add_user(hub.store, name, PASSWORD, role="operator", accounts=accounts)
    return Line(hub)


def run(line: Line, action: str, **arguments: Any) -> BulkRun:
    """Such a run over everything, to its end."""
    return line.finish(line.start(action=action, note=None, arguments=arguments))


def marks_of(line: Line, ids: list[int]) -> list[Marks]:
    found = marks(line.hub.store, ids)
    return [found[event_id] for event_id in ids]


def causes(line: Line, run_id: int) -> dict[int, str | None]:
    return {item.event_id: item.cause for item in line.hub.bulk.items(run_id, "refused").items}


def test_every_event_is_assigned_with_an_audit_row_of_its_own(line: Line) -> None:
    ids = line.dead(range(20))
    with acting(Via.API, "10.0.0.7"):
        run_id = line.start(action="assign", arguments={"to": "Ana", "due": DUE})
    ended = line.finish(run_id)
    assert (ended.state, ended.succeeded, ended.refused) == ("done", 20, 0)
    assert ended.arguments == {"to": "ana", "due": DUE.isoformat(), "reassign": False}
    assert {(each.assignee, each.due_at) for each in marks_of(line, ids)} == {("ana", DUE)}
    start, *each = line.acts(run_id)
    assert (start["action"], "ana" in start["after"]) == ("bulk_start", True)
    assert sorted(row["event_id"] for row in each) == ids
    told = {
        (row["actor"], row["action"], row["note"], row["before"], row["via"], row["address"]) for row in each
    }
    assert told == {("maria", "assign", "fixed", None, "api", "10.0.0.7")}
    assert all(row["after"].startswith("ana due ") for row in each)
    assert set(line.statuses(ids)) == {"dead"}


def test_what_somebody_else_sees_to_is_refused_unless_it_is_meant(line: Line) -> None:
    hers, free = line.dead(range(2))
    line.hub.assign(hers, "bruno", actor="bruno")
    preview = line.hub.bulk.preview("assign", arguments={"to": "ana"}, ids=[hers, free], actor="maria")
    assert preview.refused == {"assigned": 1}
    first = run(line, "assign", to="ana")
    assert (first.succeeded, causes(line, first.id)) == (1, {hers: "assigned"})
    assert [each.assignee for each in marks_of(line, [hers, free])] == ["bruno", "ana"]
    assert run(line, "assign", to="ana", reassign=True).succeeded == 2
    assert [each.assignee for each in marks_of(line, [hers, free])] == ["ana", "ana"]
    assert run(line, "assign", to=None).succeeded == 2
    assert [each.assignee for each in marks_of(line, [hers, free])] == [None, None]


def test_nobody_is_given_what_they_may_not_see(line: Line) -> None:
    foreign, own = *line.dead([1], account="filial-sp"), *line.dead([2], account="filial-rj")
    asked = {"to": "rita"}
    assert line.hub.bulk.preview("assign", EVERYTHING, arguments=asked, actor="maria").refused == {
        "not_allowed": 1
    }
    ended = run(line, "assign", **asked)
    assert (ended.succeeded, causes(line, ended.id)) == (1, {foreign: "not_allowed"})
    assert [each.assignee for each in marks_of(line, [foreign, own])] == [None, "rita"]


def test_whoever_may_not_log_in_any_more_is_given_nothing(line: Line) -> None:
    ids = line.dead(range(3))
    run_id = line.start(action="assign", arguments={"to": "ana"})
    people.disable_user(line.hub.store, "ana")
    ended = line.finish(run_id)
    assert (ended.state, ended.refused, set(causes(line, run_id).values())) == ("done", 3, {"not_allowed"})
    assert {each.assignee for each in marks_of(line, ids)} == {None}


def test_tags_are_added_and_others_stay(line: Line) -> None:
    plain, tagged, full = line.dead(range(3))
    line.hub.tag(tagged, ["erp"], actor="ana")
    line.hub.tag(full, [f"t{number}" for number in range(MAX_TAGS)], actor="ana")
    asked = {"tags": ["Urgent", "erp"]}
    assert line.hub.bulk.preview("tag", EVERYTHING, arguments=asked, actor="maria").refused == {
        "too_many_tags": 1
    }
    ended = run(line, "tag", **asked)
    assert (ended.succeeded, causes(line, ended.id)) == (2, {full: "too_many_tags"})
    assert [each.tags for each in marks_of(line, [plain, tagged])] == [("erp", "urgent")] * 2
    assert len(marks_of(line, [full])[0].tags) == MAX_TAGS


def test_a_snooze_is_set_and_taken_off_again(line: Line) -> None:
    ids = line.dead(range(3))
    assert run(line, "snooze", until=DUE).succeeded == 3
    assert {each.snoozed_until for each in marks_of(line, ids)} == {DUE}
    assert run(line, "snooze", until=None).succeeded == 3
    assert {each.snoozed_until for each in marks_of(line, ids)} == {None}


def test_what_is_no_dead_letter_any_more_is_left_alone(line: Line) -> None:
    done, again = line.dead(range(2))
    run_id = line.start(action="tag", arguments={"tags": ["urgent"]})
    line.freeze(run_id)
    line.hub.reprocess(again, actor="ana")
    line.hub.run(again)
    line.hub.discard(done, actor="ana", note="no")
    ended = line.finish(run_id)
    # That somebody has tried it meanwhile does not take it out of the selection.
    assert (ended.succeeded, causes(line, run_id)) == (1, {done: "not_dead"})
    assert [each.tags for each in marks_of(line, [done, again])] == [(), ("urgent",)]


@pytest.mark.parametrize(
    ("action", "arguments"),
    [("discard", None), ("tag", {"tags": ["urgent"]})],
)
def test_what_does_not_run_again_waits_for_no_account(
    line: Line, action: str, arguments: dict[str, Any] | None
) -> None:
    line.dead(range(3))
    line.hub.pause_account("filial-sp", actor="ana")
    run_id = line.start(action=action, arguments=arguments)
    line.freeze(run_id)
    assert line.hub.bulk.get(run_id).limited_by is None
    assert line.finish(run_id).succeeded == 3


@pytest.mark.parametrize(
    ("action", "arguments", "sentence"),
    [
        ("assign", None, "assign needs to"),
        ("assign", {"to": "nobody-here"}, "no user nobody-here"),
        ("assign", {"to": "ana", "due": "soon"}, "due: write a moment"),
        ("assign", {"to": "ana", "due": "2030-01-01"}, "due: it has no time zone"),
        ("assign", {"to": "ana", "reassign": "yes"}, "reassign: write true or false"),
        ("tag", {"tags": []}, "name at least one"),
        ("tag", {"tags": "urgent"}, "send a list"),
        ("tag", {"tags": ["a,b"]}, "a comma separates"),
        ("snooze", {"until": "2020-01-01T00:00:00Z"}, "must lie ahead"),
        ("snooze", {"until": DUE, "to": "ana"}, "snooze takes no to"),
        ("discard", {"to": "ana"}, "discard takes no to"),
        ("reprocess", ["to"], "write an object"),
    ],
)
def test_an_argument_that_cannot_be_meant_is_refused_before_anything_is_written(
    line: Line, action: str, arguments: Any, sentence: str
) -> None:
    with pytest.raises(PayloadRefused, match=sentence):
        line.start(action=action, arguments=arguments)
    assert line.hub.bulk.listed() == []
