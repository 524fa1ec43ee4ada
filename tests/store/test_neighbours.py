"""Which events stand beside one: others of its record, the last that was sent, those that wait in its lane."""

from __future__ import annotations

from typing import Any

import pytest

from dlq_console.store import queries
from dlq_console.store.events import Event
from dlq_console.store.queries.neighbours import LONGEST_PAYLOAD, LOOKED_AT, SHOWN
from dlq_console.store.store import Store
from tests.store.filling import fill
from tests.store.making import set_values


def put(store: Store, status: str = "done", **values: Any) -> int:
    """One event of the record 8841."""
    return fill(store, [{"status": status, "entity_id": "8841"} | values])[0]


def event(store: Store, event_id: int) -> Event:
    found = queries.get_event(store, event_id)
    assert found is not None
    return found


def test_the_same_record_is_the_same_number_in_the_same_account_newest_first(store: Store) -> None:
    first = put(store)
    put(store, account="filial-rj")
    put(store, entity_id="8842")
    one = put(store, "dead")
    invoice = put(store, "failed", kind="invoice.create", version="v2")
    found = queries.same_entity(store, event(store, one))
    assert ([near.id for near in found.items], found.more) == ([invoice, first], False)
    assert (found.items[0].kind, found.items[0].version, found.items[0].status) == (
        "invoice.create",
        "v2",
        "failed",
    )
    assert found.items[0].finished_at is None
    assert found.items[1].finished_at is not None


def test_of_many_only_the_newest_are_named(store: Store) -> None:
    one = put(store, "dead")
    ids = [put(store) for _ in range(SHOWN + 1)]
    found = queries.same_entity(store, event(store, one))
    assert ([near.id for near in found.items], found.more) == (ids[:0:-1], True)


def test_a_number_that_many_accounts_use_is_looked_at_no_further_than_some(store: Store) -> None:
    old = put(store)
    fill(store, [{"status": "done", "entity_id": "8841", "account": "filial-rj"}] * LOOKED_AT)
    one = put(store, "dead")
    assert queries.same_entity(store, event(store, one)).items == ()
    assert queries.last_success(store, event(store, one)) is None
    assert queries.same_entity(store, event(store, old)).items[0].id == one


def test_the_last_success_is_the_newest_done_one_of_its_kind(store: Store) -> None:
    assert queries.last_success(store, event(store, put(store, "dead"))) is None
    put(store, payload='{"n":1}')
    sent = put(store, payload='{"n":2}')
    for status in ("dead", "discarded", "failed", "pending"):
        put(store, status)
    put(store, kind="invoice.create")
    put(store, account="filial-rj")
    found = queries.last_success(store, event(store, put(store, "dead")))
    assert found is not None
    assert (found.id, found.payload_json) == (sent, '{"n":2}')
    # Also where it is newer than the event itself, and never the event itself.
    assert queries.last_success(store, event(store, sent)) != found


def test_both_sides_of_an_edit_know_each_other(store: Store) -> None:
    first = put(store, "discarded", reason="edited", payload='{"n":1}')
    second = put(store, "discarded", reason="edited", parent_id=first, payload='{"n":2}')
    third = put(store, "dead", parent_id=second, payload='{"n":3}')
    for one, other in ((first, second), (second, third)):
        set_values(store, one, superseded_by=other)

    def of(event_id: int) -> list[tuple[int, str | None]]:
        return [(one.id, one.payload_json) for one in queries.corrections(store, event(store, event_id))]

    assert of(first) == [(second, '{"n":2}')]
    assert of(second) == [(first, '{"n":1}'), (third, '{"n":3}')]
    assert of(third) == [(second, '{"n":2}')]


def test_nothing_else_is_taken_for_a_correction(store: Store) -> None:
    newer = put(store)
    superseded = put(store, "discarded", reason="superseded", superseded_by=newer)
    of_another = put(store, account="filial-rj", superseded_by=newer, reason="edited")
    job, gone = put(store, parent_id=superseded), put(store, parent_id=10**9)
    other_account = put(store, parent_id=of_another)
    for one in (newer, superseded, job, gone, other_account):
        assert queries.corrections(store, event(store, one)) == ()


@pytest.mark.parametrize(("length", "is_read"), [(LONGEST_PAYLOAD, True), (LONGEST_PAYLOAD + 1, False)])
def test_a_payload_too_long_to_compare_is_not_read(store: Store, length: int, is_read: bool) -> None:
    put(store, payload='"' + "x" * (length - 2) + '"')
    found = queries.last_success(store, event(store, put(store, "dead")))
    assert found is not None
    assert (found.payload_json is not None) is is_read


def test_what_waits_in_a_lane_is_named_in_its_order(store: Store) -> None:
    lane = "filial-sp|*"
    put(store, "dead", lane=lane, on_dead="block")
    first, second = (put(store, "blocked", lane=lane) for _ in range(2))
    put(store, "blocked", lane="filial-sp|other")
    edited = put(store, "blocked", lane=lane, place=first)
    found = queries.behind(store, lane)
    assert [near.id for near in found.items] in ([first, edited, second], [edited, first, second])
    assert queries.behind(store, "filial-rj|*").items == ()
