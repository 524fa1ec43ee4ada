"""When does a bulk run let go, stop, refuse and end? Its rules, which are the same on every engine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from dlq_console import ActionNotAllowed, Hub, PayloadRefused
from dlq_console.settings import read_settings
from dlq_console.store.bulk.runs import Stop, read_stop
from dlq_console.store.filters import EventFilter
from tests.hub.line import Line


@pytest.fixture
def line(sqlite_url: str) -> Iterator[Line]:
    """A line of events."""
    hub = Hub(read_settings(database_url=sqlite_url))
    yield Line(hub)
    hub.close()


def test_no_more_are_let_go_than_the_window_holds(line: Line) -> None:
    line.dead(range(30))
    run_id = line.start(window=7)
    line.freeze(run_id)
    for _ in range(3):
        line.turn()
    run = line.hub.bulk.get(run_id)
    assert (run.released, run.remaining, run.limited_by) == (7, 23, "window")


def test_what_died_after_the_start_is_counted_apart_and_left_alone(line: Line) -> None:
    line.dead(range(3))
    run_id = line.start()
    line.hub.clock.advance(1)
    late = line.dead(["late"])
    line.registered = True
    run = line.finish(run_id)
    assert (run.total, run.succeeded, run.late.number) == (3, 3, 1)
    assert line.statuses(late) == ["dead"]


def test_what_dies_again_is_not_taken_up_again_by_its_run(line: Line) -> None:
    line.dead(range(5))
    run_id = line.start(stop_share=1)
    run = line.finish(run_id)
    assert (run.state, run.died_same, run.late.number) == ("done", 5, 5)
    assert len(line.ran) == 5


def test_run_that_is_paused_while_it_freezes_goes_on_freezing(line: Line) -> None:
    line.dead(range(3))
    run_id = line.start()
    line.hub.bulk.pause(run_id, actor="ana")
    assert line.turn() == 0
    assert line.hub.bulk.resume(run_id, actor="ana").state == "freezing"
    line.registered = True
    assert line.finish(run_id).succeeded == 3


@pytest.mark.parametrize("verb", ["pause", "resume", "cancel"])
def test_run_that_is_over_cannot_be_acted_upon(line: Line, verb: str) -> None:
    line.dead([1])
    run_id = line.start()
    line.finish(run_id)
    with pytest.raises(ActionNotAllowed, match=f"is done; {verb} is not allowed now") as refused:
        getattr(line.hub.bulk, verb)(run_id, actor="ana")
    assert refused.value.status == "done"


def test_a_canary_stage_begins_when_all_of_the_one_before_have_ended(line: Line) -> None:
    line.dead(range(20))
    line.registered = True
    run_id = line.start(canary=[1, 3])
    line.freeze(run_id)
    seen = []
    while (run := line.hub.bulk.get(run_id)).state == "running":
        seen.append((run.stage, run.stage_released))
        line.turn()
        line.turn()  # nothing more is let go before they have ended
        seen.append((run.stage, line.hub.bulk.get(run_id).stage_released))
        line.hub.run_due()
        line.turn()
    assert run.succeeded == 20
    assert {1, 3} <= {released for stage, released in seen if stage < 2}
    assert max(released for stage, released in seen if stage == 0) == 1
    assert max(released for stage, released in seen if stage == 1) == 3


def test_items_of_a_canary_get_one_attempt_and_the_rest_what_their_kind_says(line: Line) -> None:
    ids = line.dead(range(4))
    line.registered = True
    run_id = line.start(canary=[2])
    line.finish(run_id)
    assert [line.hub.get(event_id).max_attempts for event_id in ids] == [1, 1, 6, 6]


def test_run_stops_by_itself_when_too_many_die_again_and_a_person_lets_it_go_on(line: Line) -> None:
    ids = line.dead(range(30))
    run_id = line.start(canary=[1, 10])
    run = line.finish(run_id)
    assert (run.state, run.cause, run.died_same, run.remaining) == ("stopped", "died_again", 1, 29)
    assert line.statuses(ids).count("dead") == 30
    (stop,) = [row for row in line.acts(run_id) if row["action"] == "bulk_stop"]
    assert (stop["actor"], stop["note"], read_stop(stop["after"])) == ("hub", None, Stop(1, 1))
    line.registered = True
    line.hub.bulk.resume(run_id, actor="ana")
    run = line.finish(run_id)
    assert (run.state, run.succeeded, run.died_same) == ("done", 29, 1)


def test_run_without_a_canary_stops_too(line: Line) -> None:
    line.dead(range(100))
    run = line.finish(line.start(window=20))
    assert (run.state, run.died_same, run.remaining) == ("stopped", 20, 80)


def test_stop_share_of_one_never_stops(line: Line) -> None:
    line.dead(range(30))
    assert line.finish(line.start(stop_share=1)).died_same == 30


def test_pace_lets_go_no_more_than_its_share_of_a_second(line: Line) -> None:
    line.dead(range(30))
    run_id = line.start(rate=5)
    line.freeze(run_id)
    line.turn()
    assert line.hub.bulk.get(run_id).released == 5
    line.turn()
    assert line.hub.bulk.get(run_id).released < 10
    line.hub.clock.advance(0.6)
    line.turn()
    assert 8 <= line.hub.bulk.get(run_id).released <= 10
    line.hub.clock.advance(3600)  # what was not used is lost
    line.turn()
    assert line.hub.bulk.get(run_id).released <= 15


def test_item_that_is_discarded_after_it_was_let_go_is_told_apart(line: Line) -> None:
    (id_,) = line.dead([1])
    run_id = line.start()
    line.freeze(run_id)
    line.turn()
    line.hub.discard(id_, actor="ana", note="no")
    line.finish(run_id)
    assert [item.cause for item in line.hub.bulk.items(run_id, "refused").items] == ["discarded"]


def test_item_that_was_taken_back_after_it_was_let_go_is_told_apart(line: Line) -> None:
    (id_,) = line.dead([1])
    run_id = line.start()
    line.freeze(run_id)
    line.turn()
    assert line.hub.cancel_send(id_, actor="ana").status == "dead"
    line.finish(run_id)
    assert [item.cause for item in line.hub.bulk.items(run_id, "refused").items] == ["taken_back"]


def test_item_that_died_and_was_put_back_before_the_next_look_counts_as_died_again(line: Line) -> None:
    (id_,) = line.dead([1])
    run_id = line.start()
    line.freeze(run_id)
    line.turn()
    line.hub.run_due()
    line.hub.reprocess(id_, actor="ana")
    line.turn()
    assert line.hub.bulk.get(run_id).died_same == 1


def test_empty_selection_is_done_at_once(line: Line) -> None:
    run = line.finish(line.start(EventFilter(kind=("nothing",))))
    assert (run.state, run.total) == ("done", 0)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"action": "delete"}, "action: write one of reprocess, discard."),
        ({"action": "discard", "note": " "}, "note: say why"),
        ({"note": None}, "note: say why"),
        ({"rate": 0}, "rate: "),
        ({"rate": float("nan")}, "rate: "),
        ({"window": 0}, "window: "),
        ({"window": True}, "window: "),
        ({"canary": []}, "canary: "),
        ({"canary": [0]}, "canary: "),
        ({"canary": ["a"]}, "canary: "),
        ({"stop_share": 1.5}, "stop_share: "),
        ({"flt": EventFilter(status=("done",))}, "status: a bulk run acts upon dead events"),
        ({"ids": [1]}, "filter: give a filter or ids"),
        ({"flt": None, "ids": []}, "ids: choose 1 to"),
        ({"flt": None, "ids": [True]}, "ids: write whole numbers"),
        ({"selection_token": "forged"}, "selection_token: it is none of this console"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_one_sentence(
    line: Line, values: dict[str, Any], sentence: str
) -> None:
    line.dead(range(11))
    with pytest.raises(PayloadRefused, match=sentence):
        line.start(**values)
    assert line.hub.bulk.listed() == []


def test_run_of_some_accounts_touches_no_other_and_is_shown_to_nobody_else(line: Line) -> None:
    line.dead(range(3), account="filial-sp")
    foreign = line.dead(range(3), account="filial-rj")
    line.registered = True
    run_id = line.start(accounts=("filial-sp",))
    line.finish(run_id)
    assert set(line.statuses(foreign)) == {"dead"}
    assert [run.id for run in line.hub.bulk.listed(accounts=("filial-sp", "filial-mg"))] == [run_id]
    assert line.hub.bulk.listed(accounts=("filial-rj",)) == []
