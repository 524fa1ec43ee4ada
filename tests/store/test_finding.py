"""Does a number lead straight to its event, whatever kind of number it is, and to nothing that may not be seen?"""

from __future__ import annotations

import pytest

from dlq_console.store import kinds
from dlq_console.store.fields import find
from dlq_console.store.finding import MAX_HITS, MAX_WANTED, Hit
from dlq_console.store.internal import PRECHECK
from dlq_console.store.kinds import PublishedKind
from dlq_console.store.store import Store
from tests.store.filling import fill, put


def columns(store: Store, **labels: str) -> None:
    kinds.publish(store, [PublishedKind("order.create", 6, 60.0, None, {"columns": labels})], "a-worker")


def field(store: Store, event_id: int, path: str, value: str) -> None:
    put(store, "event_field", value=value, path=path, event_id=event_id)


def test_every_kind_of_number_leads_to_its_event(store: Store) -> None:
    columns(store, Order="number")
    (event_id,) = fill(store, [{"status": "done", "entity_id": "C-77", "idempotency_key": "v1:a-key"}])
    field(store, event_id, "number", "8841")
    assert find(store, str(event_id)) == [Hit(event_id, "id")]
    assert find(store, "C-77") == [Hit(event_id, "entity_id")]
    assert find(store, "v1:a-key") == [Hit(event_id, "idempotency_key")]
    assert find(store, "8841") == [Hit(event_id, "number")]
    assert find(store, "88") == []


@pytest.mark.parametrize("typed", ["#8841", " 8841 ", "\u00a08841\n", "# 8841"])
def test_what_people_paste_around_a_number_does_not_matter(store: Store, typed: str) -> None:
    (event_id,) = fill(store, [{"status": "dead", "entity_id": "8841"}])
    assert find(store, typed) == [Hit(event_id, "entity_id")]


def test_a_code_is_found_in_either_case(store: Store) -> None:
    columns(store, Customer="code")
    first, second = fill(store, [{"status": "dead"}] * 2)
    field(store, first, "code", "ABC-1")
    field(store, second, "code", "abc-1")
    assert find(store, "abc-1") == [Hit(second, "code"), Hit(first, "code")]
    assert find(store, "Abc-1") == [Hit(second, "code"), Hit(first, "code")]


@pytest.mark.parametrize("typed", ["abc-77/ü", "ABC-77/Ü", "aBc-77/ü", "#abc-77/u\u0308"])
def test_a_number_is_found_in_capitals_and_in_small_letters(store: Store, typed: str) -> None:
    capitals, small = fill(
        store, [{"status": "dead", "entity_id": "ABC-77/Ü"}, {"status": "done", "entity_id": "abc-77/ü"}]
    )
    assert find(store, typed) == [Hit(small, "entity_id"), Hit(capitals, "entity_id")]


def test_a_number_that_mixes_capitals_and_small_letters_is_found_as_it_is(store: Store) -> None:
    (mixed,) = fill(store, [{"status": "dead", "entity_id": "Abc-77"}])
    assert find(store, "Abc-77") == [Hit(mixed, "entity_id")]
    assert find(store, "abc-77") == []


def test_an_event_that_is_found_in_several_ways_is_told_once(store: Store) -> None:
    columns(store, Order="number", Reference="reference")
    (event_id,) = fill(store, [{"status": "dead", "entity_id": "8841"}])
    field(store, event_id, "number", "8841")
    field(store, event_id, "reference", "8841")
    assert find(store, "8841") == [Hit(event_id, "entity_id")]


def test_the_newest_come_first_and_the_answer_is_bounded(store: Store) -> None:
    ids = fill(store, [{"status": "done", "entity_id": "8841"}] * (MAX_HITS + 10))
    assert [hit.event_id for hit in find(store, "8841")] == ids[: -MAX_HITS - 1 : -1]
    assert [hit.event_id for hit in find(store, "8841", limit=2)] == ids[:-3:-1]


def test_events_of_other_accounts_are_not_found(store: Store) -> None:
    mine, theirs = fill(
        store,
        [
            {"status": "dead", "entity_id": "8841", "account": account}
            for account in ("filial-sp", "filial-rj")
        ],
    )
    assert [hit.event_id for hit in find(store, "8841", accounts=("filial-sp",))] == [mine]
    assert find(store, str(theirs), accounts=("filial-sp",)) == []
    assert find(store, "8841", accounts=()) == []


@pytest.mark.parametrize(
    "typed",
    [
        "",
        " ",
        "#",
        "###",
        "a\0b",
        "a\x1b[31m",
        "\ud800",
        "x" * (MAX_WANTED + 1),
        "9" * 300,
        "\u0663",
        "%",
        "' OR 1=1",
    ],
)
def test_what_is_no_number_finds_nothing(store: Store, typed: str) -> None:
    fill(store, [{"status": "dead", "entity_id": "8841"}])
    assert find(store, typed) == []


def test_jobs_of_the_hub_itself_are_not_found(store: Store) -> None:
    fill(store, [{"status": "done", "kind": PRECHECK, "entity_id": "8841"}])
    assert find(store, "8841") == []
