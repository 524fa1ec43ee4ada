"""Taking back: a reprocess that has not started, and a discard; and who wins where two act at once."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier
from typing import Any

import pytest

from dlq_console import ActionNotAllowed, Event, EventNotFound, Hub, PermanentError, Policy
from dlq_console.store import claims, queries
from dlq_console.store.states import ALLOWED, Action, Status
from tests.store.making import WORKER, add_in, row

ACTS: dict[Action, Callable[[Hub, int], Event]] = {
    Action.CANCEL_SEND: lambda hub, id_: hub.cancel_send(id_, actor="maria"),
    Action.RESTORE: lambda hub, id_: hub.restore(id_, actor="maria"),
}
refused = pytest.raises(ActionNotAllowed)


def _refuse(event: Event) -> None:
    if event.entity_id != "fine":
        raise PermanentError("customer not registered")


def _dead(hub: Hub, entity: str = "8841", **values: Any) -> Event:
    if hub.registry.get("order.create") is None:
        hub.handler("order.create", policy=Policy(max_attempts=3))(_refuse)
    made = hub.enqueue("order.create", account="filial-sp", entity_id=entity, payload={"n": 1}, **values)
    return hub.run(made.id)


def _stands(event: Event) -> tuple[object, ...]:
    """What somebody sees of a dead letter, and where it stands in the list."""
    return (event.status, event.reason, event.finished_at, event.cycle, event.attempts, event.max_attempts, event.died_again,
            event.fingerprint, event.effect_key)  # fmt: skip


@pytest.mark.parametrize("action", list(ACTS))
@pytest.mark.parametrize("status", list(Status))
def test_what_was_neither_put_back_nor_discarded_by_a_person_is_left_alone(
    hub: Hub, action: Action, status: Status
) -> None:
    id_ = add_in(hub.store, status)
    if action is Action.RESTORE and status is Status.DISCARDED:
        assert ACTS[action](hub, id_).status == "pending"
        return
    before = row(hub.store, id_)
    with refused as caught:
        ACTS[action](hub, id_)
    assert (caught.value.status, caught.value.action) == (status, action)
    assert ("is not allowed now" in str(caught.value)) == (status not in ALLOWED[action])
    assert row(hub.store, id_) == before


@pytest.mark.parametrize("action", list(ACTS))
def test_an_event_that_does_not_exist_is_said_not_to(hub: Hub, action: Action) -> None:
    for event_id in (0, 99, 2**70):
        with pytest.raises(EventNotFound):
            ACTS[action](hub, event_id)


@pytest.mark.parametrize("ordering_key", [None, "8841"])
def test_a_cancelled_reprocess_leaves_the_dead_letter_where_it_stood(
    hub: Hub, ordering_key: str | None
) -> None:
    dead = _dead(hub, ordering_key=ordering_key)
    for _ in range(2):
        hub.clock.advance(60)
        sent = hub.reprocess(dead.id, actor="maria", after=5)
        assert (sent.status, sent.attempts, sent.cycle) == ("pending", 0, dead.cycle + 1)
        back = hub.cancel_send(dead.id, actor="maria", note="wrong one")
        assert _stands(back) == _stands(dead)
        assert back.lease_epoch > sent.lease_epoch
        assert hub.run(dead.id).status == "dead"
        assert [entry.action for entry in queries.audit(hub.store, dead.id)][:2] == [
            "cancel_send",
            "reprocess",
        ]
        # The second time one that has died again is put back.
        hub.reprocess(dead.id)
        dead = hub.run(dead.id)
        assert dead.died_again == "same"


def test_a_reprocess_that_has_started_cannot_be_cancelled(hub: Hub) -> None:
    dead = _dead(hub)
    hub.reprocess(dead.id)
    running = claims.claim_one(hub.store, dead.id, worker=WORKER)
    assert running is not None
    with refused as caught:
        hub.cancel_send(dead.id, actor="maria")
    assert caught.value.status == "running"


def test_a_reprocess_that_was_given_back_after_its_start_cannot_be_cancelled(hub: Hub) -> None:
    from dlq_console.store import transitions

    dead = _dead(hub)
    hub.reprocess(dead.id)
    hub.clock.advance(1)
    running = claims.claim_one(hub.store, dead.id, worker=WORKER)
    assert running is not None
    assert transitions.end(hub.store, running, transitions.released())
    with refused as caught:
        hub.cancel_send(dead.id, actor="maria")
    assert caught.value.status == "pending"
    assert not queries.may_cancel_send(hub.store, dead.id)


def test_of_a_worker_and_a_person_who_cancels_one_wins(hub: Hub) -> None:
    for entity in range(8):
        dead = _dead(hub, str(entity))
        hub.reprocess(dead.id)
        barrier = Barrier(2)

        def cancel(id_: int, barrier: Barrier) -> bool:
            barrier.wait(10)
            try:
                hub.cancel_send(id_, actor="maria")
            except ActionNotAllowed:
                return False
            return True

        def start(id_: int, barrier: Barrier) -> bool:
            barrier.wait(10)
            return claims.claim_one(hub.store, id_, worker=WORKER) is not None

        with ThreadPoolExecutor(2) as pool:
            won = [
                future.result() for future in [pool.submit(act, dead.id, barrier) for act in (cancel, start)]
            ]
        assert sorted(won) == [False, True]
        assert hub.get(dead.id).status == ("dead" if won[0] else "running")


def test_a_discarded_dead_letter_is_restored_to_where_it_stood(hub: Hub) -> None:
    dead = _dead(hub)
    hub.clock.advance(60)
    discarded = hub.discard(dead.id, actor="joana", note="cancelled")
    back = hub.restore(dead.id, actor="maria", note="not this one")
    assert _stands(back) == _stands(dead)
    assert back.lease_epoch == discarded.lease_epoch + 1
    (entry, *_) = queries.audit(hub.store, dead.id)
    assert (entry.action, entry.actor, entry.note, entry.before, entry.after) == (
        "restore", "maria", "not this one", "discarded", "dead",
    )  # fmt: skip
    with refused:
        hub.restore(dead.id, actor="maria")


@pytest.mark.parametrize("status", [Status.PENDING, Status.FAILED])
def test_what_was_discarded_while_it_waited_waits_again(hub: Hub, status: Status) -> None:
    id_ = add_in(hub.store, status)
    before = hub.get(id_)
    hub.discard(id_, actor="joana")
    hub.clock.advance(8 * 86_400)  # longer than any event may wait
    back = hub.restore(id_, actor="maria")
    assert (back.status, back.reason, back.finished_at) == ("pending", None, None)
    assert back.attempts == before.attempts
    hub.handler("order.create")(lambda event: None)
    assert hub.run_due() == 1
    assert hub.get(id_).status == "done"


def _line(hub: Hub, *numbers: int) -> list[int]:
    return [
        hub.enqueue(
            "order.create", account="filial-sp", entity_id="fine", ordering_key="8841", payload={"n": n}
        ).id
        for n in numbers
    ]


def test_what_is_restored_runs_before_those_that_came_after_it(hub: Hub) -> None:
    ran: list[int] = []
    hub.handler("order.create")(lambda event: ran.append(event.payload["n"]))
    ids = _line(hub, 1, 2, 3)
    hub.discard(ids[0], actor="joana")
    assert [hub.get(id_).status for id_ in ids] == ["discarded", "pending", "blocked"]
    assert hub.restore(ids[0], actor="maria").status == "pending"
    assert [hub.get(id_).status for id_ in ids] == ["pending", "blocked", "blocked"]
    hub.run_due()
    assert ran == [1, 2, 3]


@pytest.mark.parametrize("ends", [True, False])
def test_nothing_is_restored_once_a_later_event_of_its_lane_has_started(hub: Hub, ends: bool) -> None:
    hub.handler("order.create")(lambda event: None)
    first, second = _line(hub, 1, 2)
    hub.discard(first, actor="joana")
    if ends:
        assert hub.run(second).status == "done"
    else:
        assert claims.claim_one(hub.store, second, worker=WORKER) is not None
    before = row(hub.store, first)
    with pytest.raises(ActionNotAllowed, match="A later event of its lane has been started"):
        hub.restore(first, actor="maria")
    assert row(hub.store, first) == before


def test_a_later_event_that_was_started_before_the_discard_is_no_reason(hub: Hub) -> None:
    dead = _dead(hub, ordering_key="8841")
    (later,) = _line(hub, 2)
    assert hub.run(later).status == "done"
    hub.clock.advance(60)
    hub.discard(dead.id, actor="joana")
    assert hub.restore(dead.id, actor="maria").status == "dead"


def test_of_a_worker_and_a_person_who_restores_the_lane_stays_in_order(hub: Hub) -> None:
    """Whoever is first, the later event never runs while the earlier one is restored as if nothing had started."""
    hub.handler("order.create")(lambda event: None)
    for number in range(8):
        key = f"lane {number}"
        first, second = (
            hub.enqueue(
                "order.create", account="filial-sp", entity_id="fine", ordering_key=key, payload={"n": n}
            ).id
            for n in (2 * number, 2 * number + 1)
        )
        hub.discard(first, actor="joana")
        barrier = Barrier(2)

        def restore(first: int, barrier: Barrier) -> bool:
            barrier.wait(10)
            try:
                hub.restore(first, actor="maria")
            except ActionNotAllowed:
                return False
            return True

        def start(second: int, barrier: Barrier) -> bool:
            barrier.wait(10)
            return claims.claim_one(hub.store, second, worker=WORKER) is not None

        with ThreadPoolExecutor(2) as pool:
            acts = [pool.submit(restore, first, barrier), pool.submit(start, second, barrier)]
            won = [future.result() for future in acts]
        assert sorted(won) == [False, True]


def test_what_a_newer_event_has_replaced_is_not_restored(hub: Hub) -> None:
    hub.handler("stock.set", policy=Policy(replay_policy="latest_wins"))(lambda event: None)
    old, new = (
        hub.enqueue("stock.set", account="filial-sp", entity_id="A-1", payload={"n": n}).id for n in (1, 2)
    )
    assert hub.run(new).status == "done"
    assert hub.run(old).status == "discarded"
    with pytest.raises(ActionNotAllowed, match=f"Event {new}, a newer one of the same number") as caught:
        hub.restore(old, actor="maria")
    assert caught.value.newer == new


def test_what_would_be_replaced_at_once_is_not_restored(hub: Hub) -> None:
    hub.handler("stock.set", policy=Policy(replay_policy="latest_wins"))(lambda event: None)
    old, new = (
        hub.enqueue("stock.set", account="filial-sp", entity_id="A-1", payload={"n": n}).id for n in (1, 2)
    )
    hub.discard(old, actor="joana")
    assert hub.run(new).status == "done"
    with pytest.raises(ActionNotAllowed, match="takes the place of this one"):
        hub.restore(old, actor="maria")
    assert hub.get(old).status == "discarded"


@pytest.mark.parametrize("action", list(ACTS))
def test_of_ten_who_take_the_same_act_back_one_does(hub: Hub, action: Action) -> None:
    dead = _dead(hub)
    hub.reprocess(dead.id, after=60) if action is Action.CANCEL_SEND else hub.discard(dead.id, actor="joana")
    barrier = Barrier(10)

    def take_back(_number: int) -> bool:
        barrier.wait(10)
        try:
            ACTS[action](hub, dead.id)
        except ActionNotAllowed:
            return False
        return True

    with ThreadPoolExecutor(10) as pool:
        assert sum(pool.map(take_back, range(10))) == 1
    assert hub.get(dead.id).status == "dead"


@pytest.mark.parametrize("act", ["cancel_send", "restore"])
def test_what_has_changed_since_it_was_seen_is_left_alone(hub: Hub, act: str) -> None:
    dead = _dead(hub)
    changed = (
        partial(hub.reprocess, after=60) if act == "cancel_send" else partial(hub.discard, actor="joana")
    )
    changed(dead.id)
    with refused:
        getattr(hub, act)(dead.id, actor="maria", seen_epoch=dead.lease_epoch)
    assert getattr(hub, act)(dead.id, actor="maria", seen_epoch=dead.lease_epoch + 1).status == "dead"
