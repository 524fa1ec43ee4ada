"""Does a bulk run do to many events what was asked, to those only, once, and in order?"""

from __future__ import annotations

from datetime import timedelta

import pytest

from dlq_console import Hub, NewEvent
from dlq_console.clock import utc_now
from dlq_console.hub.origins import Via, acting
from dlq_console.store.bulk import forgetting, freezing
from dlq_console.store.desk import marks
from dlq_console.store.filters import EventFilter
from tests.hub.line import KIND, Line
from tests.hub.recording import Recorder


@pytest.fixture
def line(hub: Hub) -> Line:
    """A line of events on each engine."""
    return Line(hub)


def test_every_dead_event_of_the_filter_runs_again_and_no_other(line: Line) -> None:
    ids = line.dead(range(30))
    other = line.dead(["other"], account="filial-rj")
    line.registered = True
    run = line.finish(line.start(EventFilter(account=("filial-sp",))))
    assert (run.state, run.total, run.succeeded, run.remaining) == ("done", 30, 30, 0)
    assert set(line.statuses(ids)) == {"done"}
    assert line.statuses(other) == ["dead"]


def test_each_event_is_as_after_a_reprocess_by_hand(line: Line) -> None:
    (by_hand, by_run) = line.dead(["hand", "run"])
    line.hub.reprocess(by_hand, actor="maria", note="fixed")
    line.start(EventFilter(entity="run"))
    line.turn(), line.turn()
    one, other = line.hub.get(by_hand), line.hub.get(by_run)
    for name in (
        "status",
        "reason",
        "cycle",
        "attempts",
        "lease_epoch",
        "finished_at",
        "died_again",
        "expires_at",
    ):
        assert getattr(one, name) == getattr(other, name), name


def test_every_event_has_an_audit_row_of_its_own_that_names_the_run(line: Line) -> None:
    ids = line.dead(range(12))
    line.registered = True
    run_id = line.start()
    line.finish(run_id)
    start, *each = line.acts(run_id)
    assert (start["actor"], start["action"], start["note"]) == ("maria", "bulk_start", "fixed")
    assert sorted(row["event_id"] for row in each) == ids
    assert {
        (row["actor"], row["action"], row["note"], row["before"], row["after"], row["account"])
        for row in each
    } == {("maria", "reprocess", "fixed", "dead", "pending", "filial-sp")}


def test_the_acts_of_a_run_come_from_where_it_was_asked_for(line: Line) -> None:
    line.dead(range(3))
    with acting(Via.API, "10.0.0.7"):
        run_id = line.start(action="discard")
    line.finish(run_id)
    assert [(row["via"], row["address"]) for row in line.acts(run_id)] == [("api", "10.0.0.7")] * 4


def test_items_end_as_succeeded_died_same_and_died_different(line: Line) -> None:
    line.dead(range(20))
    line.registered = True
    line.errors = {"1": "Customer 5521 is not registered.", "2": "The order is locked by its month."}
    run_id = line.start(stop_share=1)
    run = line.finish(run_id)
    assert (run.succeeded, run.died_same, run.died_different) == (18, 1, 1)
    (same,) = line.hub.bulk.items(run_id, "died_same").items
    (different,) = line.hub.bulk.items(run_id, "died_different").items
    assert (same.entity_id, different.entity_id) == ("1", "2")


def test_an_event_that_somebody_dealt_with_meanwhile_is_refused_with_its_cause(line: Line) -> None:
    discarded, changed, _ = line.dead(range(3))
    run_id = line.start()
    line.freeze(run_id)
    line.hub.discard(discarded, actor="ana", note="cancelled")
    line.hub.reprocess(changed, actor="ana")
    line.hub.run(changed)
    line.registered = True
    run = line.finish(run_id)
    assert (run.succeeded, run.refused) == (1, 2)
    causes = {item.event_id: item.cause for item in line.hub.bulk.items(run_id, "refused").items}
    assert causes == {discarded: "not_dead", changed: "changed"}


def test_an_event_in_doubt_is_left_to_a_person(line: Line, hub: Hub) -> None:
    (doubtful,) = line.dead([1])
    _set(hub, doubtful, reason="in_doubt", doubts=1)
    run_id = line.start()
    run = line.finish(run_id)
    assert run.refused == 1
    assert [item.cause for item in hub.bulk.items(run_id, "refused").items] == ["in_doubt"]
    assert line.statuses([doubtful]) == ["dead"]


@pytest.mark.parametrize(("policy", "cause"), [("latest_wins", "superseded"), ("ask", "stale")])
def test_an_event_that_a_newer_one_has_overtaken_is_refused(line: Line, policy: str, cause: str) -> None:
    line.handle("price.update", replay_policy=policy)
    (old, alone) = line.dead(["7", "8"], kind="price.update")
    line.registered = True
    line.hub.run(
        line.hub.enqueue("price.update", account="filial-sp", entity_id="7", payload={"price": 12}).id
    )
    run_id = line.start()
    run = line.finish(run_id)
    assert (run.succeeded, run.refused) == (1, 1)
    assert [item.cause for item in line.hub.bulk.items(run_id, "refused").items] == [cause]
    assert line.statuses([old, alone]) == ["dead", "done"]


def test_a_lane_is_run_in_its_original_order_whatever_the_window(line: Line) -> None:
    line.handle("stock.move", order="key", on_dead="skip")
    line.dead(range(20), kind="stock.move", ordering_key="sku")
    line.registered = True
    run = line.finish(line.start(window=3))
    assert run.succeeded == 20
    assert line.ran == [str(number) for number in range(20)]


def test_a_lane_whose_events_died_out_of_order_is_run_in_the_order_in_which_they_came_in(line: Line) -> None:
    line.handle("stock.move", order="key", on_dead="skip")
    first, _, _ = line.dead(range(3), kind="stock.move", ordering_key="sku")
    line.hub.clock.advance(60)
    line.hub.reprocess(first, actor="ana")
    line.hub.run(first)
    line.ran.clear()
    line.registered = True
    line.finish(line.start(window=1))
    assert line.ran == ["0", "1", "2"]


def test_items_of_a_closed_account_stay_dead_and_do_not_hold_up_the_others(line: Line) -> None:
    closed = line.dead(range(10), account="filial-rj")
    line.dead(range(10), account="filial-sp")
    line.hub.pause_account("filial-rj", actor="ana")
    line.registered = True
    run_id = line.start(window=5)
    line.freeze(run_id)
    for _ in range(10):
        line.turn()
        line.hub.run_due()
    run = line.hub.bulk.get(run_id)
    assert (run.succeeded, run.released, run.remaining, run.limited_by) == (10, 0, 10, "closed")
    assert set(line.statuses(closed)) == {"dead"}
    line.hub.resume_account("filial-rj", actor="ana")
    assert line.finish(run_id).succeeded == 20


def test_two_runs_over_the_same_events_run_each_of_them_once(line: Line) -> None:
    line.dead(range(25))
    line.registered = True
    first, second = line.start(), line.start()
    line.freeze(first), line.freeze(second)
    one, other = line.finish(first), line.finish(second)
    assert one.succeeded + other.succeeded == 25
    assert one.refused + other.refused == 25
    assert sorted(line.ran, key=int) == [str(number) for number in range(25)]


def test_paused_run_lets_nothing_go_and_goes_on_when_resumed(line: Line) -> None:
    line.dead(range(20))
    line.registered = True
    run_id = line.start(window=5)
    line.freeze(run_id)
    line.turn()
    assert line.hub.bulk.pause(run_id, actor="ana").state == "paused"
    line.hub.run_due()
    assert line.turn() == 5  # what was let go has ended
    run = line.hub.bulk.get(run_id)
    assert (run.state, run.cause, run.succeeded, run.remaining) == ("paused", "person", 5, 15)
    line.hub.bulk.resume(run_id, actor="ana")
    assert line.finish(run_id).succeeded == 20
    assert [row["action"] for row in line.acts(run_id) if row["event_id"] is None] == [
        "bulk_start", "bulk_pause", "bulk_resume",
    ]  # fmt: skip


def test_cancelled_run_leaves_dead_what_was_not_let_go_and_is_over_once_the_rest_has_ended(
    line: Line,
) -> None:
    ids = line.dead(range(20))
    line.registered = True
    run_id = line.start(window=5)
    line.freeze(run_id)
    line.turn()
    run = line.hub.bulk.cancel(run_id, actor="ana", note="wrong filter")
    assert (run.state, run.released, run.finished_at) == ("cancelled", 5, None)
    run = line.finish(run_id)
    assert (run.state, run.succeeded, run.remaining) == ("cancelled", 5, 15)
    assert line.statuses(ids).count("dead") == 15


def test_discard_puts_every_event_aside_without_waiting(line: Line) -> None:
    ids = line.dead(range(30))
    run = line.finish(line.start(action="discard", note="test orders", window=1))
    assert (run.state, run.succeeded) == ("done", 30)
    assert set(line.statuses(ids)) == {"discarded"}
    assert line.ran == []


def test_events_that_were_chosen_one_by_one_are_written_down_at_once(line: Line) -> None:
    one, _, three = line.dead(range(3))
    line.registered = True
    run_id = line.hub.bulk.start("reprocess", ids=[three, one, one, 999], actor="maria")
    run = line.hub.bulk.get(run_id)
    assert (run.state, run.total, run.late.number) == ("running", 2, 0)
    assert line.finish(run_id).succeeded == 2


def test_what_was_put_aside_for_later_is_in_sight_again_once_it_was_let_go(line: Line) -> None:
    (id_,) = line.dead([1])
    line.hub.snooze(id_, utc_now() + timedelta(days=1), actor="ana")
    line.start()
    line.turn(), line.turn()
    assert marks(line.hub.store, [id_])[id_].snoozed_until is None


@pytest.mark.parametrize("chunk", [2, 5])
def test_selection_is_whole_however_small_its_chunks(line: Line, chunk: int) -> None:
    for account in ("filial-rj", "filial-sp"):
        line.dead(range(6), account=account)
    run_id = line.start(EventFilter(account=("filial-rj", "filial-sp"), attempts="1"))
    chunks = 0
    while line.hub.bulk.get(run_id).frozen_at is None:
        freezing.freeze(line.hub.store, run_id, chunk=chunk)
        chunks += 1
    assert (line.hub.bulk.get(run_id).total, chunks > 2) == (12, True)


def test_same_times_do_not_lose_or_double_an_event(line: Line, hub: Hub) -> None:
    ids = line.dead(range(10))
    moment = hub.get(ids[0]).finished_at
    for id_ in ids:
        _set(hub, id_, finished_at=moment)
    run_id = line.start()
    assert line.freeze(run_id).total == 10


def test_live_work_is_claimed_before_that_of_a_run(line: Line) -> None:
    line.dead(range(5))
    run_id = line.start()
    line.freeze(run_id)
    line.turn()
    line.registered = True
    line.hub.enqueue_many([NewEvent(kind=KIND, account="filial-sp", entity_id="live", payload={})])
    line.hub.run_due(limit=1)
    assert line.ran == ["live"]


def test_what_was_let_go_is_given_to_the_broker_at_once(line: Line, hub: Hub, recorder: Recorder) -> None:
    ids = line.dead(range(3))
    recorder.sent.clear()
    run_id = line.start(window=2)
    line.freeze(run_id)
    line.turn()
    assert recorder.ids == ids[:2]


def test_runs_are_forgotten_with_their_items_once_they_were_over_for_long(line: Line) -> None:
    line.dead(range(5))
    over = line.start()
    line.finish(over)
    open_run = line.start(EventFilter(kind=("nothing yet",)))
    line.hub.bulk.pause(open_run, actor="ana")
    assert forgetting.forget(line.hub.store, days=90) == 0
    line.hub.clock.advance(91 * 86_400)
    assert forgetting.forget(line.hub.store, days=90, limit=3) == 3
    assert len(line.hub.bulk.listed()) == 2
    assert forgetting.forget(line.hub.store, days=90, limit=3) == 2
    assert [run.id for run in line.hub.bulk.listed()] == [open_run]
    assert len(line.acts(over)) == 6


def _set(hub: Hub, event_id: int, **values: object) -> None:
    table = hub.store.tables.event
    with hub.store.write() as connection:
        connection.execute(table.update().where(table.c.id == event_id).values(**values))
