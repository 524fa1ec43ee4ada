"""One at a time, in order: what may run in a lane, and when is the next one let go?"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import text

from dlq_console.store import acts, claims, holding, ingest, lanes, overdue, queries, transitions
from dlq_console.store.events import Event
from dlq_console.store.lane_names import lane_name
from dlq_console.store.states import Reason, Status
from dlq_console.store.store import Store
from tests.store.making import CAUSE, WORKER, add, add_many, claimed, end_as, retry_later, row

LANE = lane_name("filial-sp", "8841")
DONE = transitions.completed(None)
DEAD = transitions.buried(CAUSE, Reason.PERMANENT)


def line(store: Store, length: int, *, on_dead: str = "skip", lane: str = LANE) -> list[int]:
    """Events of one lane, one after the other."""
    return [add(store, f"{lane} {number}", lane=lane, on_dead=on_dead).id for number in range(length)]


def statuses(store: Store, ids: list[int]) -> list[str]:
    return [row(store, id_)["status"] for id_ in ids]


def claim_all(store: Store) -> list[int]:
    return [event.id for event in claims.claim_any(store, worker=WORKER, limit=100)]


def discard(store: Store, id_: int) -> None:
    with store.write() as connection:
        assert acts.discard(store, connection, id_, actor="maria", note=None)


def reprocess(store: Store, id_: int) -> None:
    with store.write() as connection:
        assert acts.reprocess(store, connection, id_, actor="maria", note=None, max_wait=600)


def give_up(store: Store, id_: int) -> None:
    store.clock.advance(8 * 86_400)
    assert overdue.give_up(store, id_, CAUSE)


#: How an event that is at the head of its lane may end, and whether the rest goes on then.
ENDINGS: dict[str, Callable[[Store, int], object]] = {
    "done": lambda store, id_: end_as(store, id_, DONE),
    "done with a warning": lambda store, id_: end_as(store, id_, transitions.completed(None, warning=CAUSE)),
    "dead": lambda store, id_: end_as(store, id_, DEAD),
    "done with others": lambda store, id_: transitions.end_many(store, [(claimed(store, id_), DONE)]),
    "discarded": discard,
    "expired": give_up,
}
STOPPING = ("dead", "expired")


def test_only_the_first_event_of_a_lane_may_run_and_the_others_wait(store: Store) -> None:
    ids = line(store, 3)
    assert statuses(store, ids) == ["pending", "blocked", "blocked"]
    assert claim_all(store) == ids[:1]
    assert claim_all(store) == []


@pytest.mark.parametrize("how", ENDINGS)
@pytest.mark.parametrize("on_dead", ["skip", "block"])
def test_the_end_of_the_head_lets_the_next_one_go_unless_its_death_stops_the_lane(
    store: Store, how: str, on_dead: str
) -> None:
    ids = line(store, 3, on_dead=on_dead)
    ENDINGS[how](store, ids[0])
    stopped = on_dead == "block" and how in STOPPING
    assert statuses(store, ids)[1:] == (["blocked"] * 2 if stopped else ["pending", "blocked"])
    assert claim_all(store) == ([] if stopped else ids[1:2])


@pytest.mark.parametrize(
    "ending", [retry_later(), transitions.released(delay=30)], ids=["failed", "released"]
)
def test_a_head_that_waits_for_its_next_attempt_holds_its_own_lane_only(
    store: Store, ending: transitions.Ending
) -> None:
    ids = line(store, 2)
    other = line(store, 1, lane=lane_name("filial-sp", "other"))
    end_as(store, ids[0], ending)
    assert claim_all(store) == other
    store.clock.advance(40)
    assert claim_all(store) == ids[:1]


def test_a_crash_of_the_head_keeps_the_order(store: Store) -> None:
    ids = line(store, 2)
    lost = claimed(store, ids[0])
    store.clock.advance(120)
    assert claim_all(store) == []
    assert transitions.end(store, lost, retry_later(), lapsed_only=True)
    assert claim_all(store) == []
    store.clock.advance(40)
    assert claim_all(store) == ids[:1]


def test_events_that_came_into_an_empty_lane_at_once_run_one_after_the_other(store: Store) -> None:
    ids = line(store, 2)
    with store.write() as connection:  # what two transactions that could not see each other leave behind
        connection.execute(store.statement("UPDATE {event} SET status = 'pending' WHERE status = 'blocked'"))
    assert claim_all(store) == ids[:1]
    assert claims.claim_one(store, ids[1], worker=WORKER) is None
    assert transitions.end(store, claimed_again(store, ids[0]), DONE)
    assert claim_all(store) == ids[1:]


def claimed_again(store: Store, id_: int) -> Event:
    event = holding.running_as(store, id_, WORKER)
    assert event is not None
    return event


def test_an_event_blocked_behind_nothing_is_let_go_by_the_sweep(store: Store) -> None:
    ids = line(store, 2)
    with store.write() as connection:  # the head ended before the transaction of the second one could see it
        connection.execute(
            store.statement("UPDATE {event} SET status = 'done', finished_at = {now} WHERE id = :id"),
            {"id": ids[0]},
        )
    assert lanes.promote_waiting(store) == 1
    assert lanes.promote_waiting(store) == 0
    assert claim_all(store) == ids[1:]


def test_the_sweep_leaves_lanes_alone_that_are_open_or_stopped(store: Store) -> None:
    line(store, 2)
    stopped = line(store, 2, on_dead="block", lane=lane_name("filial-sp", "stopped"))
    end_as(store, stopped[0], DEAD)
    assert lanes.promote_waiting(store) == 0


def test_events_of_one_call_stand_in_the_order_of_the_call(store: Store) -> None:
    news = [
        ingest.intention(
            kind="order.create",
            account="filial-sp",
            entity_id=str(number % 2),
            payload=number,
            lane=lane_name("filial-sp", str(number % 2)),
            on_dead="skip",
        )
        for number in range(6)
    ]
    with store.write() as connection:
        made = ingest.insert_many(store, connection, news)
    assert [each.status for each in made] == ["pending", "pending", *["blocked"] * 4]
    assert [each.to_send for each in made] == [True, True, *[False] * 4]
    order = []
    while ids := claim_all(store):
        order += ids
        for id_ in ids:
            assert transitions.end(store, claimed_again(store, id_), DONE)
    assert [[id_ for id_ in order if id_ % 2 == parity] for parity in (0, 1)] == [
        sorted(each.id for each in made if each.id % 2 == parity) for parity in (0, 1)
    ]


def test_a_reprocessed_head_of_a_stopped_lane_runs_before_those_that_waited(store: Store) -> None:
    ids = line(store, 3, on_dead="block")
    end_as(store, ids[0], DEAD)
    reprocess(store, ids[0])
    assert statuses(store, ids) == ["pending", "blocked", "blocked"]
    end_as(store, ids[0], DONE)
    assert statuses(store, ids) == ["done", "pending", "blocked"]


def test_a_dead_event_that_is_reprocessed_while_a_later_one_runs_is_the_next(store: Store) -> None:
    ids = line(store, 3)
    end_as(store, ids[0], DEAD)
    running = claimed(store, ids[1])
    reprocess(store, ids[0])
    assert statuses(store, ids) == ["blocked", "running", "blocked"]
    assert transitions.end(store, running, DONE)
    assert statuses(store, ids) == ["pending", "done", "blocked"]


def test_the_wait_in_a_lane_is_no_wait_for_a_worker(store: Store) -> None:
    ids = line(store, 2)
    before = row(store, ids[1])
    store.clock.advance(30 * 86_400)
    with store.write() as connection:
        connection.execute(
            store.statement("UPDATE {event} SET give_up_at = NULL WHERE id = :id"), {"id": ids[0]}
        )
    end_as(store, ids[0], DONE)
    after = row(store, ids[1])
    assert after["due_at"] > before["give_up_at"]
    assert after["give_up_at"] - after["due_at"] == before["give_up_at"] - before["due_at"]


def test_what_comes_behind_a_stopped_lane_waits(store: Store) -> None:
    head = line(store, 1, on_dead="block")[0]
    end_as(store, head, DEAD)
    late = add(store, "late", lane=LANE, on_dead="block")
    assert late.status == Status.BLOCKED
    seen = queries.get_event(store, late.id)
    assert seen is not None
    assert seen.blocked_by == head


def test_letting_go_a_stopped_lane_leaves_its_head_dead(store: Store) -> None:
    ids = line(store, 3, on_dead="block")
    end_as(store, ids[0], DEAD)
    with store.write() as connection:
        assert lanes.let_go(store, connection, LANE, ids[0], "dead")
    assert statuses(store, ids) == ["dead", "pending", "blocked"]


def test_letting_go_a_lane_buries_a_head_between_two_attempts(store: Store) -> None:
    ids = line(store, 2)
    late = end_as(store, ids[0], retry_later())
    with store.write() as connection:
        assert lanes.let_go(store, connection, LANE, ids[0], "failed")
    assert statuses(store, ids) == ["dead", "pending"]
    assert row(store, ids[0])["reason"] == Reason.EXHAUSTED
    assert not transitions.end(store, late, DONE)


def test_the_list_of_lanes_tells_what_each_waits_for(store: Store) -> None:
    ids = line(store, 3, on_dead="block")
    end_as(store, ids[0], DEAD)
    open_ = line(store, 2, lane=lane_name("filial-rj", None))
    line(store, 1, lane="nobody waits")
    listed = {lane.lane: (lane.head, lane.status, lane.waiting) for lane in lanes.lanes(store)}
    assert listed == {LANE: (ids[0], "dead", 2), lane_name("filial-rj", None): (open_[0], "pending", 1)}


def test_an_event_of_the_serial_lane_travels_on_the_serial_queue(store: Store) -> None:
    id_ = line(store, 1, lane=lane_name("filial-sp", None))[0]
    assert claimed(store, id_).queue == "erp.filial-sp.serial"
    assert add(store, "b", account="filial-sp.serial").created
    assert store.queue("filial-sp.serial") != "erp.filial-sp.serial"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("a|b", "c"), ("a", "b|c")),
        (("a", "*"), ("a", None)),
        (("a", "%2A"), ("a", "*")),
        (("a%7Cb", "c"), ("a|b", "c")),
        (("a", "x|*"), ("a", None)),
    ],
)
def test_no_two_lanes_share_a_name(one: tuple[str, str | None], other: tuple[str, str | None]) -> None:
    assert lane_name(*one) != lane_name(*other)


@pytest.mark.parametrize(
    "template", [lanes.PROMOTE, lanes.FREE_LANES, lanes.ONE_LANE], ids=["promote", "sweep", "head"]
)
def test_what_is_asked_of_a_lane_is_answered_from_its_indexes(store: Store, template: str) -> None:
    line(store, 2)
    explain = "EXPLAIN QUERY PLAN" if store.sqlite else "EXPLAIN"
    with store.write() as connection:
        if not store.sqlite:
            connection.execute(
                text("SET LOCAL enable_seqscan = off")
            )  # the table is too small for it to matter
        plan = str(connection.execute(store.statement(f"{explain} {template}"), {"lane": LANE}).all())
    used = {"lane_open_ix", "lane_stopped_ix", "lane_blocked_ix"}
    assert used <= set(re.findall(r"dlq_event_(\w+)", plan)), plan


def test_many_workers_and_a_producer_keep_the_order_of_every_lane(store: Store) -> None:
    names = [lane_name("filial-sp", str(number)) for number in range(3)]
    began: list[tuple[str | None, int]] = []
    all_in = threading.Event()

    def produce() -> None:
        for number in range(90):
            add(store, f"event {number}", lane=names[number % 3], on_dead="skip")
        all_in.set()

    def work(worker: str) -> None:
        idle = 0
        while idle < 20:
            taken = claims.claim_any(store, worker=worker, limit=2)
            for event in taken:
                began.append((event.lane, event.id))
                ending = DEAD if event.id % 7 == 0 else DONE
                assert transitions.end(store, event, ending)
            lanes.promote_waiting(store)
            idle = 0 if taken or not all_in.is_set() else idle + 1

    with ThreadPoolExecutor(5) as threads:
        done = [threads.submit(produce), *(threads.submit(work, f"worker {number}") for number in range(4))]
        for each in done:
            each.result(60)
    for lane in names:
        ids = [id_ for began_in, id_ in began if began_in == lane]
        assert ids == sorted(ids)
        assert len(ids) == 30


def test_a_dead_head_stops_those_too_that_came_into_the_lane_at_once_with_it(store: Store) -> None:
    ids = line(store, 2, on_dead="block")
    with store.write() as connection:  # what two transactions that could not see each other leave behind
        connection.execute(store.statement("UPDATE {event} SET status = 'pending' WHERE status = 'blocked'"))
    end_as(store, ids[0], DEAD)
    late = add(store, "late", lane=LANE, on_dead="block").id
    assert claim_all(store) == []
    assert claims.claim_one(store, ids[1], worker=WORKER) is None
    seen = queries.get_event(store, ids[1])
    assert seen is not None
    assert (seen.status, seen.waiting_for, seen.blocked_by) == ("pending", "earlier_event", ids[0])
    assert lanes.lane(store, LANE).head == ids[0]
    with store.write() as connection:
        assert lanes.let_go(store, connection, LANE, ids[0], "dead")
    assert claim_all(store) == ids[1:]
    assert statuses(store, [late]) == ["blocked"]


def test_what_stands_behind_a_repeat_of_an_ended_event_does_not_wait(store: Store) -> None:
    end_as(store, add(store, 1, lane=LANE, on_dead="skip").id, DONE)
    made = add_many(store, range(1, 4), lane=LANE, on_dead="skip")
    assert [(each.created, each.status) for each in made] == [
        (False, "done"),
        (True, "pending"),
        (True, "blocked"),
    ]
    assert claim_all(store) == [made[1].id]
