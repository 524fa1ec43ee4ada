"""Staleness: what a newer event has made needless is not sent, nor what is too old, unless a person knows and wants it."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from dlq_console import ActionNotAllowed, Event, Hub, OutcomeUnknown, PermanentError, Policy, TransientError
from dlq_console.hub.policy import ReplayPolicy
from dlq_console.hub.staleness import newer_event
from dlq_console.store import queries
from dlq_console.workers import steps
from tests.store.making import row, rows

POLICIES: list[ReplayPolicy] = ["always", "latest_wins", "latest_wins_pending", "ask"]


class Erp:
    """What the outside system holds: the last price it was sent, unless it refuses that price."""

    def __init__(self, hub: Hub, **policy: Any) -> None:
        self.hub = hub
        self.sent: list[int] = []
        self.refused: set[int] = set()
        hub.handler("price.set", policy=Policy(**policy))(self._take)

    def _take(self, event: Event) -> None:
        if event.payload in self.refused:
            raise PermanentError("refused")
        self.sent.append(event.payload)

    def put(self, price: int, **values: Any) -> int:
        """An event that waits to be run."""
        return self.hub.enqueue(
            "price.set", account="a", entity_id="nail", payload=price, version=str(price), **values
        ).id

    def dead(self, price: int) -> int:
        """An event that was refused, by an outside system that would take it now."""
        self.refused.add(price)
        id_ = self.put(price)
        assert self.hub.run(id_).status == "dead"
        self.refused.clear()
        return id_

    def done(self, price: int) -> int:
        id_ = self.put(price)
        assert self.hub.run(id_).status == "done"
        return id_


def _superseded(event: Event) -> tuple[str, str | None, int | None]:
    return event.status, event.reason, event.superseded_by


# When its turn comes


@pytest.mark.parametrize("policy", POLICIES)
def test_an_old_event_that_comes_late_is_sent_after_a_newer_one_only_where_the_policy_allows(
    hub: Hub, policy: ReplayPolicy
) -> None:
    erp = Erp(hub, replay_policy=policy)
    old = erp.put(10)
    new = erp.done(12)
    event = hub.run(old)
    if policy in ("always", "ask"):
        assert (event.status, erp.sent) == ("done", [12, 10])
    else:
        assert _superseded(event) == ("discarded", "superseded", new)
        assert erp.sent == [12]


@pytest.mark.parametrize("policy", POLICIES)
def test_a_newer_event_that_still_waits_takes_its_place_only_where_the_policy_says_pending(
    hub: Hub, policy: ReplayPolicy
) -> None:
    erp = Erp(hub, replay_policy=policy)
    prices = [erp.put(price) for price in (10, 12, 14)]
    hub.run_due()
    if policy == "latest_wins_pending":
        assert erp.sent == [14]
        assert [hub.get(id_).superseded_by for id_ in prices] == [prices[2], prices[2], None]
    else:
        assert sorted(erp.sent) == [10, 12, 14]


def test_a_newer_event_that_is_dead_takes_no_place(hub: Hub) -> None:
    erp = Erp(hub, replay_policy="latest_wins_pending")
    old = erp.put(10)
    erp.dead(12)
    assert hub.run(old).status == "done"


def test_what_was_superseded_costs_no_attempt_and_says_who_did_it_and_why(hub: Hub) -> None:
    erp = Erp(hub, replay_policy="latest_wins")
    old = erp.put(10)
    new = erp.done(12)
    event = hub.run(old)
    assert (event.attempts, event.total_attempts, event.effect_key) == (
        0,
        0,
        row(hub.store, old)["effect_key"],
    )
    assert event.finished_at is not None
    kept = row(hub.store, old)
    assert (kept["lease_owner"], kept["lease_until"]) == (None, None)
    assert queries.attempts(hub.store, old) == ()
    [said] = queries.audit(hub.store, old)
    assert (said.actor, said.action, said.subject, said.before, said.after) == (
        "hub",
        "supersede",
        str(new),
        "running",
        "discarded",
    )


def test_an_event_that_is_tried_again_is_looked_at_again(hub: Hub) -> None:
    hub.handler("price.try", policy=Policy(replay_policy="latest_wins"))(_busy)
    first = hub.enqueue("price.try", account="a", entity_id="nail", payload=1, version="1").id
    assert hub.run(first).status == "failed"
    second = hub.enqueue("price.try", account="a", entity_id="nail", payload=2, version="2").id
    assert hub.run(second).status == "done"
    hub.clock.advance(3600)
    assert _superseded(hub.run(first)) == ("discarded", "superseded", second)


def _busy(event: Event) -> None:
    if event.payload == 1:
        raise TransientError("busy")


def test_a_lane_goes_on_behind_what_was_superseded(hub: Hub) -> None:
    erp = Erp(hub, replay_policy="latest_wins_pending", order="key")
    first, second = erp.put(10), erp.put(12)
    assert hub.get(second).status == "blocked"
    assert _superseded(hub.run(first)) == ("discarded", "superseded", second)
    assert hub.get(second).status == "pending"
    assert (hub.run_due(), erp.sent) == (1, [12])


def test_whether_the_provider_has_it_is_found_out_before_it_is_superseded(hub: Hub) -> None:
    answers = ["not_applied"]

    @hub.handler("order.create", policy=Policy(replay_policy="latest_wins"))
    def create(event: Event) -> None:
        if event.version == "1":
            raise OutcomeUnknown

    hub.verifier("order.create")(lambda event: answers.pop())
    first, second = (
        hub.enqueue("order.create", account="a", entity_id="1", payload=n, version=str(n)).id for n in (1, 2)
    )
    assert hub.run(first).doubts == 1
    assert hub.run(second).status == "done"
    hub.clock.advance(3600)
    assert hub.run(first).doubts == 0
    assert answers == []
    assert _superseded(hub.run(first)) == ("discarded", "superseded", second)


# When a person asks for it


@pytest.mark.parametrize("policy", POLICIES)
def test_a_reprocess_that_would_undo_a_newer_event_is_refused_and_changes_nothing(
    hub: Hub, policy: ReplayPolicy
) -> None:
    erp = Erp(hub, replay_policy=policy)
    old = erp.dead(10)
    new = erp.done(12)
    before = row(hub.store, old)
    if policy == "always":
        assert hub.reprocess(old).status == "pending"
        return
    with pytest.raises(ActionNotAllowed, match=f"^Event {new}, a newer one of the same kind") as caught:
        hub.reprocess(old)
    assert (caught.value.status, caught.value.action, caught.value.newer) == ("dead", "reprocess", new)
    assert pickle.loads(pickle.dumps(caught.value)).newer == new
    assert (row(hub.store, old), rows(hub.store, "audit")) == (before, [])


@pytest.mark.parametrize("policy", POLICIES)
def test_a_newer_event_that_waits_refuses_a_reprocess_except_where_only_sent_ones_count(
    hub: Hub, policy: ReplayPolicy
) -> None:
    erp = Erp(hub, replay_policy=policy)
    old = erp.dead(10)
    erp.put(12)
    if policy in ("always", "latest_wins"):
        assert hub.reprocess(old).status == "pending"
    else:
        with pytest.raises(ActionNotAllowed, match="is pending"):
            hub.reprocess(old)


def test_who_knows_of_the_newer_event_may_reprocess_where_the_policy_asks(hub: Hub) -> None:
    erp = Erp(hub, replay_policy="ask")
    old = erp.dead(10)
    erp.done(12)
    hub.reprocess(old, actor="maria", even_if_newer=True)
    assert (hub.run(old).status, erp.sent) == ("done", [12, 10])


@pytest.mark.parametrize("policy", ["latest_wins", "latest_wins_pending"])
def test_nobody_overrides_that_the_latest_wins(hub: Hub, policy: ReplayPolicy) -> None:
    erp = Erp(hub, replay_policy=policy)
    old = erp.dead(10)
    erp.done(12)
    with pytest.raises(ActionNotAllowed, match="takes the place of this one; discard this one"):
        hub.reprocess(old, even_if_newer=True)
    assert hub.discard(old, actor="maria").status == "discarded"


def test_only_a_dead_event_is_refused_for_a_newer_one(hub: Hub) -> None:
    erp = Erp(hub, replay_policy="ask")
    old = erp.done(10)
    erp.done(12)
    with pytest.raises(ActionNotAllowed, match="The event is done; reprocess is not allowed now") as caught:
        hub.reprocess(old)
    assert caught.value.newer is None


def test_a_newer_event_that_is_sent_between_reprocess_and_claim_still_wins(hub: Hub) -> None:
    erp = Erp(hub, replay_policy="latest_wins")
    old = erp.dead(10)
    new = erp.put(12)
    assert hub.reprocess(old, actor="maria").status == "pending"
    assert hub.run(new).status == "done"
    assert _superseded(hub.run(old)) == ("discarded", "superseded", new)
    assert erp.sent == [12]
    assert [(said.actor, said.action) for said in queries.audit(hub.store, old)] == [
        ("hub", "supersede"),
        ("maria", "reprocess"),
    ]


def test_the_console_learns_the_policy_and_the_newer_event_from_the_database(hub: Hub) -> None:
    erp = Erp(hub, replay_policy="latest_wins")
    old = erp.dead(10)
    new = erp.done(12)
    console = Hub(hub.settings)
    try:
        policy = console.policy("price.set").replay_policy
        assert policy == "latest_wins"
        found = newer_event(console.store, old, policy)
        assert found is not None
        assert found.id == new
        with pytest.raises(ActionNotAllowed):
            console.reprocess(old)
    finally:
        console.close()


# There and back again


def test_a_price_that_goes_back_is_sent_three_times_with_a_version(hub: Hub) -> None:
    erp = Erp(hub, replay_policy="latest_wins")
    for version, price in enumerate((10, 12, 10)):
        made = hub.enqueue("price.set", account="a", entity_id="nail", payload=price, version=str(version))
        assert hub.run(made.id).status == "done"
    assert erp.sent == [10, 12, 10]


def test_a_price_that_goes_back_is_folded_by_its_content_alone(hub: Hub) -> None:
    erp = Erp(hub)
    ids = []
    for price in (10, 12, 10):
        made = hub.enqueue("price.set", account="a", entity_id="nail", payload=price)
        hub.run(made.id)
        ids.append(made.id)
    assert (ids[2], erp.sent) == (ids[0], [10, 12])
    first = hub.get(ids[0])
    assert (first.duplicates, first.is_keyed_by_content) == (1, True)
    assert not hub.get(erp.put(10)).is_keyed_by_content
    own = hub.enqueue("price.set", account="a", entity_id="x", payload=1, idempotency_key="mine")
    assert not own.event.is_keyed_by_content


# Age


def test_a_person_may_run_what_is_too_old_and_its_age_counts_from_then(hub: Hub) -> None:
    erp = Erp(hub, max_age=3600)
    id_ = erp.put(10)
    hub.clock.advance(3700)
    assert hub.run(id_).reason == "too_old"
    hub.reprocess(id_, actor="maria", note="still wanted")
    hub.clock.advance(3500)
    assert (hub.run(id_).status, erp.sent) == ("done", [10])


def test_what_waited_too_long_after_a_reprocess_is_too_old_again(hub: Hub) -> None:
    erp = Erp(hub, max_age=3600)
    id_ = erp.put(10)
    hub.clock.advance(3700)
    hub.run(id_)
    hub.reprocess(id_)
    hub.clock.advance(3700)
    event = hub.run(id_)
    assert (event.status, event.reason, event.died_again) == ("dead", "too_old", "same")
    assert erp.sent == []


# Waiting


def _pause(hub: Hub) -> None:
    hub.pause_account("a", actor="maria")


def _hold_breaker_open(hub: Hub) -> None:
    hub.force_breaker("a", "open", actor="maria")


@pytest.mark.parametrize("close", [_pause, _hold_breaker_open])
def test_an_event_that_waits_too_long_before_a_closed_door_is_dead_without_an_attempt(
    hub: Hub, close: Callable[[Hub], None]
) -> None:
    erp = Erp(hub, max_wait=600)
    id_ = erp.put(10)
    close(hub)
    hub.clock.advance(590)
    assert (hub.run(id_).status, steps.expire(hub)) == ("pending", 0)
    hub.clock.advance(20)
    assert hub.run(id_).status == "pending"
    assert steps.expire(hub) == 1
    event = hub.get(id_)
    assert (event.status, event.reason, event.total_attempts) == ("dead", "expired", 0)
    again = hub.reprocess(id_)
    assert row(hub.store, id_)["give_up_at"] - again.due_at == timedelta(seconds=600)
    assert erp.sent == []
