"""Do lists, counts and the dead-letter page show exactly what matches, and only what a person may see?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from dlq_console.clock import utc_now
from dlq_console.store import queries
from dlq_console.store.filters import EventFilter, FilterError
from dlq_console.store.queries import Count, DeadLetters, Page
from dlq_console.store.queries.dead_letters import CAUSE_SAMPLE, TOTAL_CAP
from dlq_console.store.queries.routes import MAX_BRANCHES, SCAN_LIMIT
from dlq_console.store.store import Store
from tests.store.filling import dead, fill
from tests.store.recording import recording

Read = Callable[[str], Page[Any]]


def ids(page: Page[Any]) -> list[int]:
    return [event.id for event in page.items]


def dead_page(store: Store, flt: EventFilter, cursor: str = "", **options: Any) -> Page[Any]:
    return queries.dead_letters(store, flt, cursor=cursor, **options).page


def forwards(read: Read) -> Iterator[Page[Any]]:
    page = read("")
    yield page
    while page.next_cursor:
        page = read(page.next_cursor)
        yield page


def walk(read: Read) -> list[int]:
    """The whole list, page by page, and back again, which must show the same."""
    pages = list(forwards(read))
    there = [event_id for page in pages for event_id in ids(page)]
    back = ids(pages[-1])
    page = pages[-1]
    while page.previous_cursor:
        page = read(page.previous_cursor)
        back = ids(page) + back
    assert back == there
    return there


def test_an_empty_store_has_an_empty_page(store: Store) -> None:
    assert queries.events_page(store, EventFilter()) == Page()
    assert queries.dead_letters(store, EventFilter()) == DeadLetters()
    assert queries.count(store, EventFilter()) == Count(0, capped=False)


def test_all_events_stand_newest_first(store: Store) -> None:
    made = fill(store, [{"status": status} for status in ("done", "dead", "pending", "failed", "discarded")])
    assert ids(queries.events_page(store, EventFilter())) == made[::-1]


def test_dead_letters_stand_in_the_order_in_which_they_died(store: Store) -> None:
    now = utc_now()
    rows = [{"status": "dead", "finished_at": now - timedelta(minutes=age)} for age in (5, 1, 9)]
    first, second, third = fill(store, [*rows, {"status": "done"}])[:3]
    assert ids(dead_page(store, EventFilter())) == [second, first, third]


@pytest.mark.parametrize("limit", [1, 7, 50, 200])
def test_every_page_of_a_list_shows_each_event_once_there_and_back(store: Store, limit: int) -> None:
    made = dead(store, 23)
    assert walk(lambda cursor: dead_page(store, EventFilter(), cursor, limit=limit)) == made[::-1]
    assert (
        walk(lambda cursor: queries.events_page(store, EventFilter(), cursor=cursor, limit=limit))
        == made[::-1]
    )


def test_events_that_died_at_the_same_moment_are_paged_by_id(store: Store) -> None:
    made = dead(store, 12, at=utc_now())
    assert walk(lambda cursor: dead_page(store, EventFilter(), cursor, limit=5)) == made[::-1]


def test_what_arrives_meanwhile_moves_no_later_page(store: Store) -> None:
    made = dead(store, 10)
    first = dead_page(store, EventFilter(), limit=4)
    assert first.next_cursor
    (newer,) = dead(store, 1, at=utc_now() + timedelta(minutes=1))
    second = dead_page(store, EventFilter(), first.next_cursor, limit=4)
    assert ids(second) == made[5:1:-1]
    assert second.previous_cursor
    back = dead_page(store, EventFilter(), second.previous_cursor, limit=4)
    assert ids(back) == ids(first)
    assert back.previous_cursor
    assert ids(dead_page(store, EventFilter(), back.previous_cursor, limit=4)) == [newer]


def test_a_page_behind_the_last_row_leads_back_to_it(store: Store) -> None:
    made = dead(store, 3)
    first = dead_page(store, EventFilter(), limit=2)
    assert first.next_cursor
    with store.write() as connection:
        connection.execute(store.tables.event.delete().where(store.tables.event.c.id == made[0]))
    gone = dead_page(store, EventFilter(), first.next_cursor, limit=2)
    assert ids(gone) == []
    assert gone.previous_cursor
    assert ids(dead_page(store, EventFilter(), gone.previous_cursor, limit=2)) == made[:0:-1]


MIXED = [
    {"status": "dead", "kind": "order.create", "account": "sp", "reason": "permanent", "entity_id": "8841"},
    {"status": "dead", "kind": "order.create", "account": "rj", "reason": "exhausted", "entity_id": "8842"},
    {"status": "dead", "kind": "invoice.create", "account": "sp", "reason": "exhausted", "entity_id": "8841"},
    {"status": "dead", "kind": "stock.move", "account": "mg", "reason": "orphaned", "entity_id": "1"},
    {"status": "failed", "kind": "order.create", "account": "sp", "entity_id": "8841"},
    {"status": "done", "kind": "invoice.create", "account": "rj", "entity_id": "8842"},
    {"status": "discarded", "kind": "stock.move", "account": "mg", "reason": "operator", "entity_id": "1"},
]


@pytest.mark.parametrize(
    ("asked", "places"),
    [
        ({}, [0, 1, 2, 3, 4, 5, 6]),
        ({"kind": "order.create"}, [0, 1, 4]),
        ({"kind": ["order.create", "stock.move"]}, [0, 1, 3, 4, 6]),
        ({"account": "sp"}, [0, 2, 4]),
        ({"account": ["sp", "mg"]}, [0, 2, 3, 4, 6]),
        ({"account": ["sp", "rj"], "kind": ["order.create", "invoice.create"]}, [0, 1, 2, 4, 5]),
        ({"reason": "exhausted"}, [1, 2]),
        ({"reason": ["exhausted", "operator"]}, [1, 2, 6]),
        ({"entity": "8841"}, [0, 2, 4]),
        ({"entity": "8841", "kind": "invoice.create"}, [2]),
        ({"entity": "884"}, []),
        ({"status": "failed"}, [4]),
        ({"status": ["failed", "pending"]}, [4]),
        ({"status": "done"}, [5]),
        ({"status": "discarded"}, [6]),
        ({"status": "discarded", "account": "mg", "kind": "stock.move"}, [6]),
        ({"status": "discarded", "account": "sp"}, []),
        ({"status": ["dead", "failed"], "account": "sp"}, [0, 2, 4]),
        ({"status": "dead", "account": "sp", "kind": "order.create"}, [0]),
        ({"kind": "nobody.has.this"}, []),
        ({"account": [f"account-{number}" for number in range(MAX_BRANCHES)] + ["sp"]}, [0, 2, 4]),
    ],
)
def test_a_filter_shows_and_counts_what_matches(
    store: Store, asked: dict[str, Any], places: list[int]
) -> None:
    made = fill(store, MIXED)
    flt = EventFilter.parse(asked)
    matching = [made[place] for place in reversed(places)]
    assert walk(lambda cursor: queries.events_page(store, flt, cursor=cursor, limit=2)) == matching
    assert queries.count(store, flt) == Count(len(places))
    still_dead = [event_id for event_id in matching if event_id in made[:4]] if not flt.status else []
    if not flt.status:
        assert walk(lambda cursor: dead_page(store, flt, cursor, limit=2)) == still_dead
        assert queries.dead_letters(store, flt).count == Count(len(still_dead))


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("registered", 2),
        ("NOT REGISTERED", 2),
        ("100%", 1),
        ("10_%", 0),
        ("0!", 1),
        ("back\\slash", 1),
        ("nothing says this", 0),
    ],
)
def test_text_is_searched_as_it_is_written(store: Store, asked: str, expected: int) -> None:
    errors = [
        "Customer not registered.",
        "not registered: 5521",
        "tax is 100% wrong",
        "limit 10!",
        "a back\\slash",
    ]
    fill(store, [{"status": "dead", "last_error": error} for error in errors])
    flt = EventFilter(q=asked)
    assert len(dead_page(store, flt).items) == expected
    assert queries.count(store, flt) == Count(expected)


def test_of_some_events_those_are_told_that_a_filter_still_shows(store: Store) -> None:
    rows: list[dict[str, Any]] = [
        {"status": "dead", "account": "a", "kind": "x", "last_error": "No tax"},
        {"status": "dead", "account": "b", "kind": "x", "last_error": "other"},
        {"status": "done", "account": "a", "kind": "x"},
        {"status": "dead", "account": "a", "kind": "y"},
    ]
    asked = fill(store, rows)
    first, second, third, fourth = asked
    fill(store, rows)

    def still(flt: EventFilter, **options: Any) -> list[int]:
        return sorted(queries.still_matching(store, flt, [*asked, 999_999], **options))

    assert still(EventFilter()) == asked
    assert still(EventFilter(), accounts=("b",)) == [second]
    assert still(EventFilter(), accounts=()) == []
    assert still(EventFilter(status=("dead",), snoozed="hide", assignee="-")) == [first, second, fourth]
    assert still(EventFilter(status=("dead",), kind=("x", "y"), account=("a",))) == [first, fourth]
    assert still(EventFilter(q="NO TAX")) == [first]
    assert still(EventFilter(tag=("urgent",))) == []
    assert still(EventFilter(payload=(("number", "none"),))) == []
    assert still(EventFilter(status=("done",))) == [third]
    assert queries.still_matching(store, EventFilter(), []) == []


def test_times_mean_when_a_dead_letter_died_and_when_another_event_came_in(store: Store) -> None:
    now = utc_now()
    old, new = now - timedelta(hours=5), now - timedelta(minutes=10)
    died_lately, died_before, waits = fill(
        store,
        [
            {"status": "dead", "at": old, "finished_at": new},
            {"status": "dead", "at": old},
            {"status": "pending", "at": new},
        ],
    )
    for flt in (EventFilter(since="1h"), EventFilter(from_=now - timedelta(hours=1))):
        assert ids(dead_page(store, flt)) == [died_lately]
        assert ids(queries.events_page(store, flt)) == [waits]
    before = EventFilter(to=now - timedelta(hours=1))
    assert ids(dead_page(store, before)) == [died_before]
    assert ids(queries.events_page(store, before)) == [died_before, died_lately]


def test_since_is_measured_by_the_clock_of_the_database(store: Store) -> None:
    (event_id,) = dead(store, 1, at=utc_now())
    flt = EventFilter(since="30m")
    assert ids(dead_page(store, flt)) == [event_id]
    store.clock.advance(31 * 60)
    assert ids(dead_page(store, flt)) == []


def test_the_dead_letter_page_shows_no_other_status_whatever_is_asked(store: Store) -> None:
    fill(store, MIXED)
    assert queries.dead_letters(store, EventFilter(status=("done",))).page == Page()
    assert len(dead_page(store, EventFilter(status=("done", "dead"))).items) == 4


def test_nobody_sees_the_events_of_other_accounts(store: Store) -> None:
    made = fill(store, MIXED)
    own = ("sp", "nobody-has-this")
    found = queries.dead_letters(store, EventFilter(), accounts=own)
    assert ids(found.page) == [made[2], made[0]]
    assert (found.count, found.total) == (Count(2), Count(2))
    assert (found.kinds, found.accounts) == (("invoice.create", "order.create"), ("sp",))
    assert ids(queries.events_page(store, EventFilter(), accounts=own)) == [made[4], made[2], made[0]]
    assert queries.count(store, EventFilter(account=("rj",)), accounts=own) == Count(0)
    foreign = queries.dead_letters(store, EventFilter(account=("rj",)), accounts=own)
    assert (ids(foreign.page), foreign.count, foreign.total) == ([], Count(0), Count(2))
    assert queries.get_event(store, made[1], accounts=own) is None
    assert list(queries.summaries(store, made, accounts=own)) == [made[0], made[2], made[4]]


def test_without_any_account_there_is_nothing_to_see(store: Store) -> None:
    made = fill(store, MIXED)
    assert queries.dead_letters(store, EventFilter(), accounts=()) == DeadLetters()
    assert queries.events_page(store, EventFilter(), accounts=()) == Page()
    assert queries.get_event(store, made[0], accounts=()) is None
    assert queries.summaries(store, made, accounts=()) == {}


def test_more_accounts_than_are_walked_one_by_one_are_all_seen(store: Store) -> None:
    accounts = tuple(f"account-{number:02}" for number in range(MAX_BRANCHES + 3))
    made = fill(store, [{"status": "dead", "account": account} for account in (*accounts, "another")])
    found = queries.dead_letters(store, EventFilter(), accounts=accounts)
    assert ids(found.page) == made[-2::-1]
    assert (found.count, found.total, found.accounts) == (Count(15), Count(15), accounts)


def test_choices_are_what_has_dead_letters_whatever_the_filter_says(store: Store) -> None:
    fill(store, MIXED)
    found = queries.dead_letters(store, EventFilter(kind=("order.create",), account=("rj",)))
    assert found.kinds == ("invoice.create", "order.create", "stock.move")
    assert found.accounts == ("mg", "rj", "sp")
    assert (found.count, found.total) == (Count(1), Count(4))


def test_the_biggest_cause_is_told_by_what_its_errors_have_in_common(store: Store) -> None:
    start = utc_now() - timedelta(hours=1)
    common = {"status": "dead", "fingerprint": "b" * 32}
    fill(
        store,
        [
            {"status": "dead", "last_error": "The tax code is wrong."},
            common | {"last_error": "Customer 1 is not registered.", "at": start, "account": "sp"},
            common
            | {
                "last_error": "Customer 2 is not registered.",
                "at": start + timedelta(minutes=5),
                "account": "rj",
            },
        ],
    )
    cause = queries.dead_letters(store, EventFilter()).biggest
    assert cause is not None
    assert (cause.error, cause.number, cause.complete) == ("Customer […] is not registered.", 2, True)
    assert cause.fingerprint == "b" * 32
    assert (cause.kind, cause.account) == ("order.create", None)
    assert abs(cause.since - start) < timedelta(milliseconds=1)


def test_the_biggest_cause_of_a_long_list_is_that_of_its_newest_part(store: Store) -> None:
    dead(store, CAUSE_SAMPLE)
    cause = queries.dead_letters(store, EventFilter()).biggest
    assert cause is not None
    assert (cause.number, cause.complete) == (CAUSE_SAMPLE, False)


def test_a_count_is_exact_up_to_its_cap(store: Store) -> None:
    dead(store, 5)
    assert queries.count(store, EventFilter(), cap=5) == Count(5, capped=False)
    assert queries.count(store, EventFilter(), cap=4) == Count(4, capped=True)


def test_the_total_of_a_filtered_list_is_counted_less_far(store: Store) -> None:
    dead(store, TOTAL_CAP + 1)
    everything = queries.dead_letters(store, EventFilter())
    assert (everything.count, everything.total) == (Count(TOTAL_CAP + 1), Count(TOTAL_CAP + 1))
    filtered = queries.dead_letters(store, EventFilter(kind=("nobody.has.this",)))
    assert (filtered.count, filtered.total) == (Count(0), Count(TOTAL_CAP, capped=True))


def test_a_search_without_an_index_gives_up_in_time_and_can_go_on(store: Store) -> None:
    (needle,) = dead(store, 1, attempts=9)
    dead(store, SCAN_LIMIT + 10)
    flt = EventFilter(attempts="9")
    pages = list(forwards(lambda cursor: dead_page(store, flt, cursor)))
    assert [ids(page) for page in pages] == [[], [needle]]
    assert queries.count(store, flt) == Count(0, capped=True)


def test_several_walks_together_give_up_in_time_and_miss_nothing(store: Store) -> None:
    needles = fill(
        store, [{"status": "dead", "reason": "orphaned", "account": account} for account in ("a", "b", "c")]
    )
    dead(store, SCAN_LIMIT, account="b")
    dead(store, 10, account="c")
    flt = EventFilter(account=("a", "b", "c"), reason=("orphaned",))
    pages = list(forwards(lambda cursor: dead_page(store, flt, cursor)))
    assert [event_id for page in pages for event_id in ids(page)] == needles[::-1]
    assert 3 <= len(pages) <= 5
    found = queries.dead_letters(store, flt)
    assert found.count.capped


def test_the_way_back_from_a_search_that_gave_up_shows_what_was_before(store: Store) -> None:
    (needle,) = dead(store, 1, attempts=9)
    dead(store, SCAN_LIMIT + 10)
    (newest,) = dead(store, 1, attempts=9, at=utc_now() + timedelta(hours=1))
    flt = EventFilter(attempts="9")
    first, last = forwards(lambda cursor: dead_page(store, flt, cursor))
    assert (ids(first), ids(last)) == ([newest], [needle])
    page, seen = last, list[int]()
    while page.previous_cursor:
        page = dead_page(store, flt, page.previous_cursor)
        seen += ids(page)
    assert seen == [newest]


def test_the_few_that_wait_are_found_among_many_that_are_done(store: Store) -> None:
    waits, runs = fill(store, [{"status": "failed"}, {"status": "running"}])
    fill(store, [{"status": "done"}] * (SCAN_LIMIT + 1))
    assert ids(queries.events_page(store, EventFilter(status=("failed",)))) == [waits]
    assert ids(queries.events_page(store, EventFilter(status=("pending", "failed")))) == [waits]
    assert ids(queries.events_page(store, EventFilter(status=("running",)))) == [runs]
    assert queries.count(store, EventFilter(status=("failed",))) == Count(1)


def test_what_came_in_long_ago_is_found_behind_what_came_in_since(store: Store) -> None:
    now = utc_now()
    long_ago = now - timedelta(days=30)
    before, wanted, _ = fill(
        store,
        [
            {"status": "done", "at": long_ago - timedelta(hours=2)},
            {"status": "done", "at": long_ago},
            {"status": "done", "at": long_ago + timedelta(hours=2)},
        ],
    )
    fill(store, [{"status": "done", "at": now}] * (SCAN_LIMIT + 1))
    hour = timedelta(hours=1)
    window = EventFilter(from_=long_ago - hour, to=long_ago + hour)
    page = queries.events_page(store, window)
    assert (ids(page), page.next_cursor, page.previous_cursor) == ([wanted], None, None)
    assert queries.count(store, window) == Count(1)
    assert ids(queries.events_page(store, EventFilter(to=long_ago + hour))) == [wanted, before]
    ended = EventFilter(status=("done",), to=long_ago + hour)
    assert ids(queries.events_page(store, ended)) == [wanted, before]
    nothing = EventFilter(to=long_ago - 3 * hour)
    assert queries.events_page(store, nothing) == Page()
    assert queries.count(store, EventFilter(from_=now + hour)) == Count(0)


def test_events_whose_ids_are_out_of_step_with_their_times_are_found(store: Store) -> None:
    now = utc_now()
    late, early = fill(
        store,
        [
            {"status": "done", "at": now - timedelta(seconds=600)},
            {"status": "done", "at": now - timedelta(seconds=640)},
        ],
    )
    middle = now - timedelta(seconds=620)
    assert ids(queries.events_page(store, EventFilter(to=middle))) == [early]
    assert ids(queries.events_page(store, EventFilter(from_=middle))) == [late]


def test_of_many_that_wait_the_newest_are_shown(store: Store) -> None:
    fill(store, [{"status": "pending"}] * SCAN_LIMIT)
    (newest,) = fill(store, [{"status": "pending"}])
    page = queries.events_page(store, EventFilter(status=("pending",)), limit=1)
    assert ids(page) == [newest]
    assert queries.count(store, EventFilter(status=("pending",))) == Count(SCAN_LIMIT, capped=True)


def test_a_cursor_of_another_list_is_refused(store: Store) -> None:
    dead(store, 3)
    cursor = dead_page(store, EventFilter(), limit=1).next_cursor
    assert cursor
    with pytest.raises(FilterError, match="cursor"):
        queries.events_page(store, EventFilter(), cursor=cursor)


def test_lists_read_neither_payload_nor_result(store: Store) -> None:
    statements = recorded(store, lambda: queries.dead_letters(store, EventFilter(q="x", account=("a",))))
    statements += recorded(store, lambda: queries.events_page(store, EventFilter(status=("failed",))))
    assert len(statements) > 3
    assert not [statement for statement in statements if "payload" in statement or "result" in statement]


def test_the_dead_letter_page_takes_three_statements(store: Store) -> None:
    dead(store, 60)
    flt = EventFilter(kind=("order.create",), account=("filial-sp",))
    # Asked once per process: whether there is an index of texts.
    queries.dead_letters(store, EventFilter(q="customer"))
    assert len(recorded(store, lambda: queries.dead_letters(store, flt))) == 3
    assert len(recorded(store, lambda: queries.dead_letters(store, EventFilter(q="customer")))) == 3


def recorded(store: Store, act: Callable[[], object]) -> list[str]:
    """The statements that `act` sends, without those that begin and end transactions."""
    with recording(store) as statements:
        act()
    return [statement for statement, _ in statements]
