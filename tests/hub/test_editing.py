"""Editing: a corrected payload takes the place of the one that failed, once, in order, and nothing hidden is lost or shown."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from functools import partial
from threading import Barrier
from typing import Any

import pytest

from dlq_console import (
    ActionNotAllowed,
    ConfigurationError,
    Event,
    EventNotFound,
    Hub,
    OutcomeUnknown,
    PayloadRefused,
    PermanentError,
    Policy,
)
from dlq_console.redact import MASK
from dlq_console.store import claims, finding, queries
from dlq_console.store.canonical import decode_payload
from dlq_console.store.states import ALLOWED, Action, Status
from tests.store.making import WORKER, add_in, row, rows, set_values

refused = pytest.raises(ActionNotAllowed)
SCHEMA = {
    "type": "object",
    "required": ["customer"],
    "properties": {
        "customer": {"type": "integer", "minimum": 1},
        "total": {"type": "number", "multipleOf": 0.01},
    },
}


class Erp:
    """Refuses every order of customer 0."""

    def __init__(self, hub: Hub, **policy: Any) -> None:
        self.hub = hub
        self.sent: list[Event] = []
        hub.handler("order.create", policy=Policy(**policy))(self.handle)

    def handle(self, event: Event) -> None:
        if event.payload["customer"] == 0:
            raise PermanentError("customer not registered")
        self.sent.append(event)

    def add(self, customer: int = 0, **more: Any) -> int:
        payload = {"customer": customer} | more.pop("payload", {})
        entity = more.pop("entity_id", "8841")
        return self.hub.enqueue(
            "order.create", account="filial-sp", entity_id=entity, payload=payload, **more
        ).id

    def dead(self, **more: Any) -> Event:
        event = self.hub.run(self.add(**more))
        assert event.status == "dead"
        return event


def edit(hub: Hub, event: Event, payload: object, **more: Any) -> Event:
    return hub.edit(event.id, payload, **({"actor": "maria"} | more))


def test_a_corrected_payload_is_sent_in_the_place_of_the_one_that_failed(hub: Hub) -> None:
    erp = Erp(hub)
    old = erp.dead(version="3", origin="shop")
    new = edit(hub, old, {"customer": 7}, note="customer was missing")
    assert (new.kind, new.account, new.entity_id, new.version) == ("order.create", "filial-sp", "8841", "3")
    assert (new.parent_id, new.origin, new.status, new.cycle) == (old.id, "maria", "pending", 0)
    assert new.idempotency_key != old.idempotency_key
    assert new.effect_key != old.effect_key
    was = hub.get(old.id)
    assert (was.status, was.reason, was.superseded_by, was.payload) == (
        "discarded", "edited", new.id, {"customer": 0},
    )  # fmt: skip
    assert hub.run(new.id).status == "done"
    assert [event.payload for event in erp.sent] == [{"customer": 7}]
    for id_, other in ((old.id, new.id), (new.id, old.id)):
        (entry, *_) = queries.audit(hub.store, id_)
        assert (entry.action, entry.actor, entry.note, entry.subject) == (
            "edit", "maria", "customer was missing", str(other),
        )  # fmt: skip


@pytest.mark.parametrize("status", [status for status in Status if status not in ALLOWED[Action.EDIT]])
def test_only_a_dead_event_is_edited(hub: Hub, status: Status) -> None:
    id_ = add_in(hub.store, status)
    before = row(hub.store, id_)
    with refused as caught:
        hub.edit(id_, {"customer": 7}, actor="maria")
    assert (caught.value.status, caught.value.action) == (status, "edit")
    assert row(hub.store, id_) == before


def test_an_event_that_does_not_exist_is_said_not_to(hub: Hub) -> None:
    with pytest.raises(EventNotFound):
        hub.edit(99, {}, actor="maria")


def test_what_may_be_in_the_outside_system_already_is_not_edited(hub: Hub) -> None:
    def doubt(_event: Event) -> None:
        raise OutcomeUnknown("no answer")

    hub.handler("order.create", policy=Policy(on_unknown="hold"))(doubt)
    made = hub.enqueue("order.create", account="filial-sp", entity_id="1", payload={"customer": 0})
    event = hub.run(made.id)
    assert event.reason == "in_doubt"
    with pytest.raises(ActionNotAllowed, match="in doubt"):
        edit(hub, event, {"customer": 7})
    # Also where it died of something else after the answer had not come.
    set_values(hub.store, event.id, reason="exhausted")
    with pytest.raises(ActionNotAllowed, match="in doubt"):
        edit(hub, event, {"customer": 7})
    assert hub.get(event.id).status == "dead"


@pytest.mark.parametrize("later_was", ["blocked", "pending", "failed"])
def test_it_runs_in_the_place_of_the_old_one_before_those_that_came_later(hub: Hub, later_was: str) -> None:
    erp = Erp(hub, on_dead="block" if later_was == "blocked" else "skip", jitter=0)
    old = erp.dead(ordering_key="8841")
    later = erp.add(2, ordering_key="8841")
    last = erp.add(3, ordering_key="8841")
    if later_was == "failed":
        set_values(hub.store, later, status="failed")
    assert hub.get(later).status == later_was
    new = edit(hub, old, {"customer": 1})
    assert [hub.get(id_).status for id_ in (new.id, later, last)] == ["pending", "blocked", "blocked"]
    hub.run_due()
    assert [event.payload["customer"] for event in erp.sent] == [1, 2, 3]


def test_it_waits_for_what_still_runs_in_its_lane(hub: Hub) -> None:
    erp = Erp(hub)
    old = erp.dead(ordering_key="8841")
    later = erp.add(2, ordering_key="8841")
    assert claims.claim_one(hub.store, later, worker=WORKER) is not None
    new = edit(hub, old, {"customer": 1})
    assert new.status == "blocked"
    assert claims.claim_one(hub.store, new.id, worker=WORKER) is None


def test_an_edit_of_an_edit_keeps_the_first_place(hub: Hub) -> None:
    erp = Erp(hub, on_dead="block")
    old = erp.dead(ordering_key="8841", payload={"n": 1})
    erp.add(2, ordering_key="8841")
    second = edit(hub, old, {"customer": 0, "n": 2})
    assert hub.run(second.id).status == "dead"
    third = edit(hub, second, {"customer": 1})
    assert row(hub.store, third.id)["place"] == old.id
    hub.run_due()
    assert [event.payload["customer"] for event in erp.sent] == [1, 2]


def test_an_edited_event_is_not_taken_for_newer_than_those_that_came_before_it(hub: Hub) -> None:
    erp = Erp(hub, replay_policy="latest_wins")
    old = erp.dead()
    newer = erp.add(2)
    new = edit(hub, old, {"customer": 1})
    assert hub.run(new.id).status == "done"
    assert hub.run(newer).status == "done", "the edited one has taken the place of a newer one"


def test_what_a_newer_event_has_replaced_is_not_edited(hub: Hub) -> None:
    erp = Erp(hub, replay_policy="ask")
    old = erp.dead()
    newer = erp.add(2)
    with refused as caught:
        edit(hub, old, {"customer": 1})
    assert (caught.value.newer, caught.value.action) == (newer, "edit")
    assert hub.get(old.id).status == "dead"
    assert edit(hub, old, {"customer": 1}, even_if_newer=True).status == "pending"


def test_it_never_folds_into_another_event_in_silence(hub: Hub) -> None:
    erp = Erp(hub)
    old = erp.dead()
    same = erp.add(7)
    with pytest.raises(
        ActionNotAllowed, match=f"Event {same} .* holds exactly this payload already; it is pending"
    ) as caught:
        edit(hub, old, {"customer": 7})
    assert caught.value.newer == same
    assert (hub.get(old.id).status, hub.get(old.id).superseded_by) == ("dead", None)


def test_the_same_content_from_its_producer_is_a_repeat_of_the_edited_one(hub: Hub) -> None:
    erp = Erp(hub)
    new = edit(hub, erp.dead(), {"customer": 7})
    assert erp.add(7) == new.id


def test_it_is_found_by_what_its_corrected_payload_says(hub: Hub) -> None:
    old = Erp(hub, columns={"Customer": "customer"}).dead()
    hub.publish_kinds(hub.worker)
    new = edit(hub, old, {"customer": 5521})
    assert [hit.event_id for hit in finding.find(hub.store, "5521")] == [new.id]


def test_an_edit_is_taken_back_by_another(hub: Hub) -> None:
    erp = Erp(hub)
    first = erp.dead(payload={"n": 1})
    second = edit(hub, first, {"customer": 0, "n": 2})
    assert hub.run(second.id).status == "dead"
    third = edit(hub, second, {"customer": 0, "n": 1})
    assert third.id not in (first.id, second.id)
    assert len({hub.get(id_).idempotency_key for id_ in (first.id, second.id, third.id)}) == 3


def test_a_payload_that_means_the_same_is_no_edit(hub: Hub) -> None:
    old = Erp(hub).dead(payload={"total": Decimal("12.50"), "a": 1})
    with pytest.raises(PayloadRefused, match="nothing was changed"):
        edit(hub, old, {"a": 1, "total": Decimal("12.5"), "customer": 0})
    assert hub.get(old.id).status == "dead"


def test_every_digit_is_kept(hub: Hub) -> None:
    old = Erp(hub).dead()
    text = '{"customer":7,"total":12.50,"rate":0.1234567890123456789,"id":12345678901234567890}'
    new = edit(hub, old, decode_payload(text, exact=True))
    assert new.payload_json == text


def test_hidden_values_are_put_back_and_never_saved_masked(hub: Hub) -> None:
    secret = {"password": "hunter2", "items": [{"sku": 1, "token": "a"}, {"sku": 2, "token": "b"}]}
    old = Erp(hub).dead(payload=secret)
    shown = {"customer": 7, "password": MASK, "items": [{"sku": 2, "token": MASK}]}
    new = edit(hub, old, shown)
    assert new.payload == {"customer": 7, "password": "hunter2", "items": [{"sku": 2, "token": "b"}]}
    for entry in rows(hub.store, "audit"):
        assert "hunter2" not in str(dict(entry))


def test_a_mask_where_nothing_was_hidden_is_refused_with_its_place(hub: Hub) -> None:
    old = Erp(hub).dead(payload={"password": "hunter2"})
    with pytest.raises(PayloadRefused, match=rf"payload\.note: {MASK} stands for no hidden value here"):
        edit(hub, old, {"customer": 7, "note": MASK})
    assert hub.get(old.id).status == "dead"


def test_an_item_of_a_list_that_may_be_another_one_is_refused_with_its_place(hub: Hub) -> None:
    people = [{"cpf": "111", "seats": 1}, {"cpf": "222", "seats": 2}]
    old = Erp(hub).dead(payload={"people": people})
    edited = {"customer": 7, "people": [{"cpf": MASK, "seats": 2}, {"cpf": MASK, "seats": 2}]}
    sentence = r"^payload\.people\[0\]\.cpf: it is not certain which .* write the value out or reveal it\.$"
    with pytest.raises(PayloadRefused, match=sentence):
        edit(hub, old, edited)
    assert hub.get(old.id).status == "dead"


def test_an_edit_is_no_way_to_see_what_is_hidden(hub: Hub) -> None:
    old = Erp(hub).dead(payload={"h": {"name": "app_secret", "value": "hunter2"}})
    sentence = r"^payload\.h\.value: the value behind ••• would not be hidden here any more; "
    with pytest.raises(PayloadRefused, match=sentence) as caught:
        edit(hub, old, {"customer": 7, "h": {"name": "plain", "value": MASK}})
    assert "hunter2" not in str(caught.value)
    assert hub.get(old.id).status == "dead"


def test_a_payload_that_is_too_large_is_refused(hub: Hub) -> None:
    old = Erp(hub).dead()
    with pytest.raises(PayloadRefused, match="larger than the limit"):
        edit(hub, old, {"customer": 7, "text": "x" * hub.settings.payload_max_bytes})


@pytest.mark.parametrize(
    ("payload", "sentence"),
    [
        ({"total": 1}, "payload: customer is missing"),
        ({"customer": "7"}, "payload.customer: it must be of the type integer"),
        ({"customer": 0, "total": 1}, "payload.customer: it must be at least 1"),
        ({"customer": 7, "total": Decimal("19.999")}, "payload.total: it must be a multiple of 0.01"),
    ],
)
def test_a_payload_must_fit_the_schema_of_its_kind(hub: Hub, payload: object, sentence: str) -> None:
    old = Erp(hub, schema=SCHEMA).dead()
    with pytest.raises(PayloadRefused) as caught:
        edit(hub, old, payload)
    assert str(caught.value) == f"{sentence} (schema of order.create)."
    assert edit(hub, old, {"customer": 7, "total": Decimal("19.99")}).status == "pending"


def test_a_process_without_the_handler_knows_the_schema_that_workers_published(hub: Hub) -> None:
    old = Erp(hub, schema=SCHEMA).dead()
    hub.publish_kinds(hub.worker)
    console = Hub(hub.settings)
    with pytest.raises(PayloadRefused, match="customer is missing"):
        console.edit(old.id, {}, actor="maria")
    console.close()


@pytest.mark.parametrize(
    ("schema", "sentence"),
    [
        ({"type": "nothing"}, "Policy.schema is wrong at type"),
        ({"$ref": "https://erp.example/order.json"}, "it refers to https://erp.example/order.json"),
        ({"properties": {"a": {"$ref": "order.json#/a"}}}, "it refers to order.json#/a"),
        ([], "write a JSON Schema as a dict"),
        ({"default": object()}, "it cannot be written as JSON"),
        ({"description": "x" * 70_000}, "it is longer than 64,000 characters"),
    ],
)
def test_a_wrong_schema_is_told_where_it_is_written(schema: Any, sentence: str) -> None:
    with pytest.raises(ConfigurationError, match=sentence):
        Policy(schema=schema)


def test_a_refusal_by_the_schema_quotes_no_value_of_the_payload(hub: Hub) -> None:
    schema = {"properties": {"password": {"type": "integer"}, "customer": {"not": {"const": 8}}}}
    old = Erp(hub, schema=schema).dead()
    for payload in ({"customer": 7, "password": "hunter2"}, {"customer": 8, "password": 1}):
        with pytest.raises(PayloadRefused) as caught:
            edit(hub, old, payload)
        assert "hunter2" not in str(caught.value)


def test_a_refresh_never_replaces_what_a_person_wrote(hub: Hub) -> None:
    erp = Erp(hub)
    asked: list[int] = []

    @hub.refresh("order.create")
    def refresh(event: Event) -> dict[str, int]:
        asked.append(event.id)
        return {"customer": 99}

    new = edit(hub, erp.dead(), {"customer": 0, "n": 2})
    assert hub.run(new.id).status == "dead"
    hub.reprocess(new.id)
    assert hub.run(new.id).payload == {"customer": 0, "n": 2}
    assert asked == []


def test_what_has_changed_since_it_was_seen_is_not_edited(hub: Hub) -> None:
    old = Erp(hub).dead()
    hub.reprocess(old.id)
    assert hub.run(old.id).status == "dead"
    with pytest.raises(ActionNotAllowed, match="has changed since you saw it"):
        edit(hub, old, {"customer": 7}, seen_epoch=old.lease_epoch)


@pytest.mark.parametrize("other", ["edit", "reprocess", "discard"])
def test_of_two_who_act_on_one_event_one_wins(hub: Hub, other: str) -> None:
    erp = Erp(hub)
    for number in range(5):
        old = erp.dead(entity_id=str(number))
        barrier = Barrier(2)
        acts = {
            "edit": partial(edit, hub, old, {"customer": 8}),
            "reprocess": partial(hub.reprocess, old.id),
            "discard": partial(hub.discard, old.id, actor="joana"),
        }

        def act(name: str, acts: dict[str, Any], barrier: Barrier) -> bool:
            barrier.wait(10)
            try:
                acts[name]()
            except ActionNotAllowed:
                return False
            return True

        acts["mine"] = partial(edit, hub, old, {"customer": 7})
        with ThreadPoolExecutor(2) as pool:
            done = [pool.submit(act, name, acts, barrier) for name in ("mine", other)]
            assert sorted(future.result() for future in done) == [False, True]
        children = [each for each in rows(hub.store) if each["parent_id"] == old.id]
        assert len(children) == (hub.get(old.id).reason == "edited")
