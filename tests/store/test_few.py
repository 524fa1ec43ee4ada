"""Are events found by what people noted about them, by their payload and by a text, wherever they lie in the list?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from dlq_console.clock import utc_now
from dlq_console.store import kinds, queries
from dlq_console.store.filters import EventFilter, FilterError
from dlq_console.store.kinds import PublishedKind
from dlq_console.store.queries import Count, DeadLetters
from dlq_console.store.queries.few import FEW_LIMIT, is_found_by_index
from dlq_console.store.queries.routes import PAYLOAD_SCAN_LIMIT, SCAN_LIMIT, TEXT_SCAN_LIMIT
from dlq_console.store.queries.texts import has_text_index
from dlq_console.store.store import Store
from tests.store.filling import dead, fill, put


def asked(**parameters: Any) -> EventFilter:
    return EventFilter.parse({name.rstrip("_"): value for name, value in parameters.items()})


def found(store: Store, flt: EventFilter, **options: Any) -> list[int]:
    """The ids of the first page of dead letters, which must agree with the count and with the list of all events."""
    page = queries.dead_letters(store, flt, **options)
    ids = [line.id for line in page.page.items]
    assert page.count == Count(len(ids))
    everything = queries.events_page(store, replace(flt, status=("dead",)), **options)
    assert [event.id for event in everything.items] == ids
    return ids


def on_desk(store: Store, event_id: int, **values: Any) -> None:
    put(store, "desk", event_id=event_id, updated_at=utc_now(), **values)


def tagged(store: Store, event_id: int, *tags: str) -> None:
    for tag in tags:
        put(store, "tag", tag=tag, event_id=event_id)


def behind_many(store: Store, **values: Any) -> int:
    """A dead event behind more of them than any walk looks at."""
    (needle,) = dead(store, 1, **values)
    dead(store, SCAN_LIMIT + 10)
    return needle


# The desk


def test_what_somebody_has_is_found_behind_any_number_of_others(store: Store) -> None:
    needle = behind_many(store)
    (other,) = dead(store, 1)
    on_desk(store, needle, assignee="maria")
    on_desk(store, other, assignee="joao")
    assert found(store, asked(assignee="maria")) == [needle]
    assert found(store, asked(assignee="nobody-of-this-name")) == []


def test_what_nobody_has_leaves_out_what_somebody_has(store: Store) -> None:
    first, second, third = dead(store, 3)
    on_desk(store, second, assignee="maria")
    on_desk(store, third, snoozed_until=utc_now() + timedelta(hours=1))
    assert found(store, asked(assignee="-")) == [third, first]


def test_a_tag_is_found_behind_any_number_of_others_and_several_mean_any_of_them(store: Store) -> None:
    needle = behind_many(store)
    both, other = dead(store, 2)
    tagged(store, needle, "tax")
    tagged(store, both, "tax", "price")
    tagged(store, other, "stock")
    assert found(store, asked(tag="tax")) == [both, needle]
    assert found(store, asked(tag=["tax", "price"])) == [both, needle]


def test_a_tag_that_most_events_bear_is_checked_row_by_row(store: Store) -> None:
    ids = dead(store, FEW_LIMIT + 5)
    without, borne = ids.pop(-3), [{"tag": "old", "event_id": event_id} for event_id in ids]
    with store.write() as connection:
        connection.execute(store.tables.tag.insert(), borne)
    page = queries.dead_letters(store, asked(tag="old"))
    assert [line.id for line in page.page.items] == ids[:-51:-1]
    assert without not in {line.id for line in page.page.items}
    assert page.count == Count(SCAN_LIMIT - 1, capped=True)


@pytest.mark.parametrize(("snoozed", "places"), [("hide", [2, 1]), ("only", [0]), (None, [2, 1, 0])])
def test_what_is_put_off_can_be_left_out_or_looked_at_alone(
    store: Store, snoozed: str | None, places: list[int]
) -> None:
    ids = dead(store, 3)
    on_desk(store, ids[0], snoozed_until=utc_now() + timedelta(hours=1))
    on_desk(store, ids[1], snoozed_until=utc_now() - timedelta(hours=1))
    assert found(store, asked(**({"snoozed": snoozed} if snoozed else {}))) == [
        ids[place] for place in places
    ]


def test_what_is_put_off_comes_back_by_itself(store: Store) -> None:
    (event_id,) = dead(store, 1)
    on_desk(store, event_id, snoozed_until=utc_now() + timedelta(hours=1))
    assert found(store, asked(snoozed="hide")) == []
    store.clock.advance(3_700)
    assert found(store, asked(snoozed="hide")) == [event_id]


def test_leaving_out_what_is_put_off_keeps_the_count_exact(store: Store) -> None:
    ids = dead(store, SCAN_LIMIT + 10)
    on_desk(store, ids[0], snoozed_until=utc_now() + timedelta(hours=1))
    assert queries.dead_letters(store, asked(snoozed="hide")).count == Count(SCAN_LIMIT + 9)


def test_everything_that_is_asked_must_hold(store: Store) -> None:
    ids = dead(store, 4)
    for event_id in ids:
        on_desk(store, event_id, assignee="maria")
    tagged(store, ids[0], "tax")
    tagged(store, ids[1], "tax")
    (other,) = dead(store, 1, account="filial-rj")
    on_desk(store, other, assignee="maria")
    tagged(store, other, "tax")
    assert found(store, asked(assignee="maria", tag="tax")) == [ids[1], other, ids[0]]
    assert found(store, asked(assignee="maria", tag="tax", account="filial-sp")) == [ids[1], ids[0]]
    assert found(store, asked(assignee="maria", tag="tax"), accounts=("filial-rj",)) == [other]
    assert found(store, asked(assignee="-", tag="tax")) == []


def test_the_few_are_paged_both_ways(store: Store) -> None:
    ids = dead(store, 5)
    for event_id in ids:
        tagged(store, event_id, "tax")
    flt, pages, cursor = asked(tag="tax"), [], ""
    while True:
        page = queries.dead_letters(store, flt, cursor=cursor, limit=2).page
        pages.append([line.id for line in page.items])
        if not page.next_cursor:
            break
        cursor = page.next_cursor
    assert pages == [[ids[4], ids[3]], [ids[2], ids[1]], [ids[0]]]
    assert page.previous_cursor
    back = queries.dead_letters(store, flt, cursor=page.previous_cursor, limit=2).page
    assert [line.id for line in back.items] == [ids[2], ids[1]]


# Oldest first, and as of a moment


def test_oldest_first_is_the_same_list_the_other_way_round(store: Store) -> None:
    ids = dead(store, 5)
    flt, seen, cursors, cursor = asked(sort="oldest"), [], [], ""
    while True:
        page = queries.dead_letters(store, flt, cursor=cursor, limit=2).page
        seen.append([line.id for line in page.items])
        cursors.append(page.previous_cursor)
        if not page.next_cursor:
            break
        cursor = page.next_cursor
    assert seen == [[ids[0], ids[1]], [ids[2], ids[3]], [ids[4]]]
    back = queries.dead_letters(store, flt, cursor=str(cursors[-1]), limit=2).page
    assert [line.id for line in back.items] == [ids[2], ids[3]]
    everything = queries.events_page(store, flt, limit=2)
    assert [event.id for event in everything.items] == [ids[0], ids[1]]


def test_a_cursor_of_one_order_is_refused_by_the_other(store: Store) -> None:
    dead(store, 3)
    cursor = queries.dead_letters(store, EventFilter(), limit=1).page.next_cursor
    with pytest.raises(FilterError, match="cursor: it does not belong to this list"):
        queries.dead_letters(store, asked(sort="oldest"), cursor=str(cursor))


def test_a_pinned_moment_leaves_out_what_came_later_and_since_counts_back_from_it(store: Store) -> None:
    noon = datetime.fromisoformat("2026-03-02T12:00:00+00:00")
    hours = (-5, -2, 0, 1)
    ids = fill(store, [{"status": "dead", "at": noon + timedelta(hours=hour)} for hour in hours])
    assert found(store, asked(at="2026-03-02T12:00Z")) == [ids[2], ids[1], ids[0]]
    assert found(store, asked(at="2026-03-02T12:00Z", since="3h")) == [ids[2], ids[1]]
    everything = queries.events_page(store, asked(at="2026-03-02T12:00Z", since="3h"))
    assert [event.id for event in everything.items] == [ids[2], ids[1]]


@pytest.mark.parametrize(("written", "places"), [("2", [1]), ("2+", [2, 1]), ("7", [])])
def test_attempts_are_exact_or_at_least(store: Store, written: str, places: list[int]) -> None:
    ids = fill(store, [{"status": "dead", "attempts": number} for number in (1, 2, 3)])
    assert found(store, asked(attempts=written)) == [ids[place] for place in places]


def test_a_verdict_is_found_behind_any_number_of_others(store: Store) -> None:
    needle = behind_many(store, verdict="auth")
    assert found(store, asked(class_="auth")) == [needle]
    assert found(store, asked(class_=["auth", "transient"])) == [needle]


def test_a_reason_is_found_behind_any_number_of_others(store: Store) -> None:
    needle = behind_many(store, reason="orphaned")
    assert found(store, asked(reason="orphaned")) == [needle]


# Fields of the payload

PAYLOADS = [
    '{"order": {"number": 8841, "total": 12.50}, "items": [{"sku": "P-1"}, {"sku": "P-2"}], "urgent": true}',
    '{"order": {"number": "8841", "total": 12.5}, "items": [], "urgent": false, "0": {"a": "zero"}}',
    '{"order": null, "items": "P-1", "note": "a \\"quoted\\" line\\nand a \\u0001 control"}',
    '"only text"',
    "[[[[]]]]",
]


@pytest.fixture
def papers(store: Store) -> list[int]:
    return fill(store, [{"status": "dead", "payload": payload} for payload in PAYLOADS])


@pytest.mark.parametrize(
    ("path", "value", "places"),
    [
        ("order.number", "8841", [1, 0]),
        ("order.total", "12.50", [1, 0]),
        ("order.total", "12.5", [1, 0]),
        ("order.total", "12.51", []),
        ("items.0.sku", "P-1", [0]),
        ("items.1.sku", "P-2", [0]),
        ("items", "P-1", [2]),
        ("urgent", "true", [0]),
        ("0.a", "zero", [1]),
        ("order", "null", []),
        ("order.number.deeper", "8841", []),
        ("no'such; name", "8841", []),
        ("order.number", "' OR '1'='1", []),
    ],
)
def test_any_field_of_a_payload_can_be_asked_for(
    store: Store, papers: list[int], path: str, value: str, places: list[int]
) -> None:
    assert found(store, asked(**{f"payload.{path}": value})) == [papers[place] for place in places]


def test_no_payload_that_other_hands_wrote_makes_a_search_fail(store: Store) -> None:
    broken = ["", "nonsense", '{"a": "\\u0000"}', "\ufeff{}"] + (["{", "{" * 200] if store.sqlite else [])
    fill(store, [{"status": "dead", "payload": payload} for payload in broken])
    (whole,) = dead(store, 1, payload='{"a": "b"}')
    assert found(store, asked(**{"payload.a": "b"})) == [whole]


def test_a_look_into_payloads_is_bounded_and_can_go_on(store: Store) -> None:
    (needle,) = dead(store, 1, payload='{"number": "8841"}')
    dead(store, PAYLOAD_SCAN_LIMIT + 10)
    flt = asked(**{"payload.number": "8841"})
    first = queries.dead_letters(store, flt)
    assert (first.page.items, first.count) == ((), Count(0, capped=True))
    assert first.page.next_cursor
    second = queries.dead_letters(store, flt, cursor=first.page.next_cursor).page
    assert [line.id for line in second.items] == [needle]


def test_a_configured_field_is_found_behind_any_number_of_others(store: Store) -> None:
    publish(store, "order.create", {"Order": "number"})
    needle = behind_many(store)
    put(store, "event_field", value="8841", path="number", event_id=needle)
    assert found(store, asked(**{"payload.number": "8841"})) == [needle]
    assert found(store, asked(**{"payload.number": "8841", "kind": "order.create"})) == [needle]
    assert found(store, asked(**{"payload.number": "8842"})) == []


def test_where_not_every_kind_asked_for_has_configured_a_field_payloads_are_read(store: Store) -> None:
    publish(store, "order.create", {"Order": "number"})
    (other,) = dead(store, 1, kind="invoice.create", payload='{"number": "8841"}')
    flt = asked(**{"payload.number": "8841", "kind": ["order.create", "invoice.create"]})
    assert found(store, flt) == [other]


def publish(store: Store, kind: str, columns: dict[str, str]) -> None:
    kinds.publish(store, [PublishedKind(kind, 6, 60.0, None, {"columns": columns})], "a-worker")


# Texts


@pytest.fixture
def indexed(postgres_url: str) -> Iterator[Store]:
    """A store whose database has the index of texts."""
    store = Store(postgres_url)
    if not has_text_index(store):
        pytest.skip("this PostgreSQL has no pg_trgm; install postgresql-contrib")
    yield store
    store.engines.dispose()


def test_a_rare_text_is_found_behind_any_number_of_others(indexed: Store) -> None:
    needle = behind_many(indexed, last_error="Product P-77 has NO tax class")
    assert found(indexed, asked(q="no tax")) == [needle]
    assert found(indexed, asked(q="no tax", kind="order.create", account="filial-sp")) == [needle]
    assert found(indexed, asked(q="no tax", kind="invoice.create")) == []


def test_a_text_that_stands_nowhere_is_told_exactly(indexed: Store) -> None:
    behind_many(indexed)
    assert queries.dead_letters(indexed, asked(q="zebra")).count == Count(0)
    assert queries.dead_letters(indexed, asked(q="100%_done!")).count == Count(0)


def test_a_text_without_three_letters_in_a_row_is_looked_for_row_by_row(indexed: Store) -> None:
    needle = behind_many(indexed, last_error="a-b")
    first = queries.dead_letters(indexed, asked(q="a-b"))
    assert (first.page.items, first.count) == ((), Count(0, capped=True))
    assert [line.id for line in go_on(indexed, asked(q="a-b"), first).page.items] == [needle]


def test_a_text_that_many_errors_hold_is_counted_among_the_newest(indexed: Store) -> None:
    dead(indexed, TEXT_SCAN_LIMIT + 10)
    page = queries.dead_letters(indexed, asked(q="registered"))
    assert len(page.page.items) == 50
    assert page.count == Count(TEXT_SCAN_LIMIT, capped=True)


def test_without_the_index_a_rare_text_can_be_looked_for_on_and_on(sqlite_url: str) -> None:
    store = Store(sqlite_url)
    needle = behind_many(store, last_error="Product P-77 has no tax class")
    first = queries.dead_letters(store, asked(q="no tax"))
    assert (first.page.items, first.count) == ((), Count(0, capped=True))
    assert [line.id for line in go_on(store, asked(q="no tax"), first).page.items] == [needle]
    store.engines.dispose()


def go_on(store: Store, flt: EventFilter, before: DeadLetters) -> DeadLetters:
    return queries.dead_letters(store, flt, cursor=str(before.page.next_cursor))


@pytest.mark.parametrize(
    ("text", "is_"),
    [("abc", True), ("a-bc d", False), ("x: 123", True), ("ção", True), ("!!!", False), ("ab", False)],
)
def test_the_index_of_texts_knows_runs_of_three(text: str, is_: bool) -> None:
    assert is_found_by_index(text) is is_


# Groups


def test_groups_of_a_filter_hear_of_the_few_as_well(store: Store) -> None:
    (needle,) = dead(store, 1, fingerprint="f1-a")
    dead(store, 3, fingerprint="f1-b")
    tagged(store, needle, "tax")
    counted = queries.groups(store, asked(tag="tax"))
    assert [(group.fingerprint, group.count) for group in counted.items] == [("f1-a", Count(1))]
