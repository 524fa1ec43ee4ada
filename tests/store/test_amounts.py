"""Is an amount found as a page shows it, and as people write it, and a code only as it is?"""

from __future__ import annotations

import json

import pytest

from dlq_console.store import kinds, queries
from dlq_console.store.amounts import spellings_of_amount
from dlq_console.store.fields import find
from dlq_console.store.filters import EventFilter
from dlq_console.store.finding import Hit
from dlq_console.store.kinds import PublishedKind
from dlq_console.store.store import Store
from tests.store.filling import fill, put

#: As it stands in a payload, and how somebody may write it.
TYPED = [
    ("957.60", ["957,60", "R$ 957,60", "R$\u00a0957,60", "r$957.60", "957.6", "957,6", "957.60"]),
    ("19.9", ["19.90", "19,90", "19,9", "R$ 19,90", "19.9"]),
    ("-12.5", ["-12,50", "R$ -12,50", "-R$ 12,50"]),
    ("1240", ["1.240,00", "1,240.00", "R$ 1.240", "1240,00", "$1,240", "1240.0", "1240 BRL"]),
    ("1240.0", ["1240", "1.240,00"]),
    ("1234567.89", ["1.234.567,89", "1,234,567.89", "1234567,89"]),
    # As an English and as a Portuguese page shows it.
    ("1.240", ["1.240", "1,240"]),
    ("0.5", ["0,50", "0.5", "R$ 0,500"]),
    # Kept as text.
    ("1.240,50", ["1240.5", "1,240.50", "R$ 1.240,50"]),
    ("957,60", ["957.6"]),
]  # fmt: skip
PAIRS = [(kept, typed) for kept, all_typed in TYPED for typed in all_typed]
#: What no amount is, or another one.
OTHERS = [
    ("7", "007"), ("123.00", "00123"), ("12", "1.2"), ("1240", "1.240"), ("9", "0009,00"), ("1.2.3", "123"),
    ("52998224725", "529.982.247-25"), ("12345678901234567890.00", "12345678901234567890"), ("-5", "5"), ("5", "A5"),
]  # fmt: skip


@pytest.mark.parametrize(("kept", "typed"), PAIRS)
def test_an_amount_is_looked_for_in_every_way_to_write_it(kept: str, typed: str) -> None:
    assert kept in spellings_of_amount(typed)


@pytest.mark.parametrize(("kept", "typed"), OTHERS)
def test_codes_stay_as_they_were_typed(kept: str, typed: str) -> None:
    assert kept not in spellings_of_amount(typed)


@pytest.mark.parametrize(
    "typed", ["", "R$", "ABC-1", "1,2,3", "10.0.0.1", "9" * 200, "1" + ",000" * 40, "\ud800", "٣,50"]
)
def test_what_is_no_number_has_one_spelling(typed: str) -> None:
    assert spellings_of_amount(typed) == (typed,)


@pytest.mark.parametrize("typed", ["R$ 123.456,789123", "-1,234.5", "R$ 1.240", "999999999999999,999999"])
def test_the_spellings_are_few(typed: str) -> None:
    found = spellings_of_amount(typed)
    assert found[0] == typed
    assert len(found) == len(set(found)) <= 10


def _in_a_field(store: Store, *values: str) -> list[int]:
    published = PublishedKind("order.create", 6, 60.0, None, {"columns": {"Total": "total"}})
    kinds.publish(store, [published], "a-worker")
    ids = fill(store, [{"status": "dead", "payload": json.dumps({"total": value})} for value in values])
    for event_id, value in zip(ids, values, strict=True):
        put(store, "event_field", value=value, path="total", event_id=event_id)
    return ids


@pytest.mark.parametrize("typed", ["957,60", "R$ 957,60", "957.6"])
def test_the_search_finds_an_amount_as_it_is_shown(store: Store, typed: str) -> None:
    first, second, _ = _in_a_field(store, "957.60", "957.6", "957.61")
    assert find(store, typed) == [Hit(second, "total"), Hit(first, "total")]


def test_an_event_is_called_by_no_amount(store: Store) -> None:
    fill(store, [{"status": "dead", "entity_id": "8841"}])
    assert find(store, "8841,00") == []


@pytest.mark.parametrize("typed", ["19,90", "19.9", "R$ 19,90"])
@pytest.mark.parametrize(
    "kind", [{}, {"kind": "order.create"}, {"kind": ["order.create", "stock.move"]}], ids=str
)
def test_a_filter_finds_an_amount_in_a_configured_field(
    store: Store, typed: str, kind: dict[str, str]
) -> None:
    first, second, _ = _in_a_field(store, "19.90", "19.9", "19.91")
    flt = EventFilter.parse({"payload.total": typed} | kind)
    assert [line.id for line in queries.dead_letters(store, flt).page.items] == [second, first]
    assert queries.count(store, flt).number == 2
    assert flt.query()[-1] == ("payload.total", typed)


@pytest.mark.parametrize("typed", ["19,90", "19.9", "R$ 19,90"])
def test_a_filter_finds_an_amount_in_any_other_field(store: Store, typed: str) -> None:
    payloads = ['{"a": 19.90}', '{"a": 19.9}', '{"a": "19,90"}', '{"a": 19.91}', '{"a": ["19.9"]}', "{}"]
    ids = fill(store, [{"status": "dead", "payload": payload} for payload in payloads])
    found = queries.dead_letters(store, EventFilter.parse({"payload.a": typed})).page.items
    assert [line.id for line in found] == ids[2::-1]


def test_a_code_with_zeros_before_it_is_another_one(store: Store) -> None:
    zeros, _ = _in_a_field(store, "0019", "19")
    assert find(store, "0019") == [Hit(zeros, "total")]
    flt = EventFilter.parse({"payload.total": "0019"})
    assert [line.id for line in queries.dead_letters(store, flt).page.items] == [zeros]
