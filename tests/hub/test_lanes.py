"""Order as producers and people see it: how an event gets into a lane, and how a person lets a lane go on."""

from __future__ import annotations

from typing import Any

import pytest

from dlq_console import ActionNotAllowed, EventNotFound, Hub, NewEvent, PayloadRefused, PermanentError, Policy
from dlq_console.hub.ordering import place
from dlq_console.store import queries
from tests.store.making import row, rows

NONE, KEY, ACCOUNT = Policy(), Policy(order="key"), Policy(serial=True)


@pytest.mark.parametrize(
    ("policy", "said", "lane", "on_dead"),
    [
        (NONE, {}, None, None),
        (NONE, {"serial": True}, "a|*", "block"),
        (NONE, {"ordering_key": "k"}, "a|k", "skip"),
        (KEY, {}, "a|8841", "skip"),
        (KEY, {"ordering_key": "k"}, "a|k", "skip"),
        (KEY, {"serial": True}, "a|*", "block"),
        (ACCOUNT, {}, "a|*", "block"),
        (ACCOUNT, {"serial": False}, None, None),
        (ACCOUNT, {"ordering_key": "k"}, "a|k", "skip"),
        (Policy(order="key", on_dead="block"), {}, "a|8841", "block"),
        (Policy(order="account", on_dead="skip"), {}, "a|*", "skip"),
    ],
)
def test_the_producer_has_the_first_word_and_the_policy_the_second(
    policy: Policy, said: dict[str, Any], lane: str | None, on_dead: str | None
) -> None:
    values = {"ordering_key": None, "serial": None} | said
    assert place(policy, "a", "8841", **values)[1:] == (lane, on_dead)


@pytest.mark.parametrize("key", ["", "x" * 201, "\0", ["k"]])
def test_an_ordering_key_that_cannot_be_stored_is_refused(hub: Hub, key: Any) -> None:
    with pytest.raises(PayloadRefused, match="ordering_key"):
        hub.enqueue("k", account="a", entity_id="1", payload=None, ordering_key=key)


def test_serial_and_an_ordering_key_are_refused_together(hub: Hub) -> None:
    with pytest.raises(PayloadRefused, match="give one of them"):
        hub.enqueue("k", account="a", entity_id="1", payload=None, ordering_key="k", serial=True)


def test_serial_events_of_all_kinds_run_one_after_the_other_in_their_order(hub: Hub) -> None:
    ran = []
    for kind in ("order.create", "stock.move"):
        hub.handler(kind, policy=Policy(serial=True))(lambda event: ran.append(event.payload))
    news = [
        NewEvent(kind=kind, account="a", entity_id=str(number), payload=number)
        for number, kind in enumerate(["stock.move", "order.create", "order.create", "stock.move"])
    ]
    assert [made.status for made in hub.enqueue_many(news)] == ["pending", "blocked", "blocked", "blocked"]
    assert hub.run_due() == 4
    assert ran == [0, 1, 2, 3]


def test_a_failing_head_holds_its_own_lane_across_retries_and_no_other(hub: Hub) -> None:
    ran, refused = [], {"1"}

    @hub.handler("order.update", policy=Policy(order="key", max_attempts=2, jitter=0))
    def update(event: Any) -> None:
        if event.entity_id in refused:
            raise ConnectionError
        ran.append((event.entity_id, event.payload))

    for entity, version in (("1", 1), ("1", 2), ("2", 1), ("2", 2)):
        hub.enqueue("order.update", account="a", entity_id=entity, payload=version)
    hub.run_due()
    assert ran == [("2", 1), ("2", 2)]
    refused.clear()
    hub.clock.advance(40)
    hub.run_due()
    assert ran[2:] == [("1", 1), ("1", 2)]


def stopped(hub: Hub) -> list[int]:
    """A serial lane whose first event is dead; two wait behind it."""

    @hub.handler("order.create", policy=Policy(serial=True))
    def refuse(event: Any) -> None:
        if event.payload == 0:
            raise PermanentError("no such customer")

    ids = [hub.enqueue("order.create", account="a", entity_id="8841", payload=n).id for n in range(3)]
    hub.run_due()
    return ids


def test_a_person_lets_a_stopped_lane_go_on_and_it_is_written_down(hub: Hub) -> None:
    ids = stopped(hub)
    waiting = hub.get(ids[1])
    assert (waiting.status, waiting.blocked_by, waiting.waiting_for) == ("blocked", ids[0], "earlier_event")
    head = hub.skip_lane("a|*", actor="maria", note="cancelled in the ERP")
    assert (head.id, head.status) == (ids[0], "dead")
    assert hub.run_due() == 2
    [said] = [act for act in queries.audit(hub.store, ids[0]) if act.actor == "maria"]
    assert (said.action, said.subject, said.note) == ("skip_lane", "a|*", "cancelled in the ERP")


def test_every_dead_event_that_a_lane_is_let_go_past_has_it_written_down(hub: Hub) -> None:
    ids = stopped(hub)
    event = hub.store.tables.event
    with hub.store.write() as connection:
        # As two deaths at once leave it.
        dead = event.update().where(event.c.id == ids[1]).values(status="dead", reason="permanent")
        connection.execute(dead)
    hub.skip_lane("a|*", actor="maria")
    for id_ in ids[:2]:
        [said] = [act for act in queries.audit(hub.store, id_) if act.action == "skip_lane"]
        assert (said.actor, said.subject) == ("maria", "a|*")
    assert hub.run_due() == 1


def test_a_reprocessed_head_runs_first_and_the_lane_follows(hub: Hub) -> None:
    ids = stopped(hub)
    assert hub.reprocess(ids[0], actor="maria").status == "pending"
    hub.run_due()
    assert [hub.get(id_).status for id_ in ids] == ["dead", "blocked", "blocked"]
    hub.discard(ids[0], actor="maria")
    hub.run_due()
    assert [hub.get(id_).status for id_ in ids] == ["discarded", "done", "done"]


def test_a_lane_whose_head_may_still_run_is_not_skipped(hub: Hub) -> None:
    for number in range(2):
        hub.enqueue("order.create", account="a", entity_id="1", payload=number, serial=True)
    before = rows(hub.store)
    with pytest.raises(ActionNotAllowed, match="which is pending") as refused:
        hub.skip_lane("a|*", actor="maria")
    assert refused.value.status == "pending"
    assert rows(hub.store) == before


@pytest.mark.parametrize("lane", ["a|*", "nobody", ""])
def test_a_lane_that_does_not_exist_is_said_not_to(hub: Hub, lane: str) -> None:
    with pytest.raises(EventNotFound, match="Nothing waits"):
        hub.skip_lane(lane, actor="maria")


def test_a_dead_event_sent_again_goes_behind_the_one_that_runs(hub: Hub) -> None:
    first = hub.enqueue("k", account="a", entity_id="1", payload=1, ordering_key="1")
    hub.enqueue("k", account="a", entity_id="1", payload=2, ordering_key="1")
    hub.handler("k", policy=Policy(max_attempts=1))(_refuse)
    hub.run(first.id)
    again = hub.enqueue(
        "k", account="a", entity_id="1", payload=1, ordering_key="1", on_duplicate="reprocess_dead"
    )
    assert (again.id, again.status) == (first.id, "blocked")
    assert row(hub.store, first.id)["cycle"] == 1


def _refuse(event: Any) -> None:
    raise PermanentError("no")


@pytest.mark.parametrize("lane", ["a|\0", "a|\ud800", "x" * 1_001])
def test_a_name_that_no_lane_can_have_is_refused(hub: Hub, lane: str) -> None:
    with pytest.raises(PayloadRefused, match=r"^lane: "):
        hub.skip_lane(lane, actor="maria")


def test_serial_is_a_yes_or_a_no(hub: Hub) -> None:
    wrong: Any = "no"
    with pytest.raises(PayloadRefused, match=r"^serial: write True, False or nothing\.$"):
        hub.enqueue("k", account="a", entity_id="1", payload=None, serial=wrong)
