"""Does every list walk its own index on both engines, with and without statistics, and never the whole table?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from dlq_console.store import groups, queries
from dlq_console.store.field_filling import CHUNK, fill
from dlq_console.store.fields import find
from dlq_console.store.filters import EventFilter
from dlq_console.store.kinds import PublishedKind, publish
from dlq_console.store.states import Status
from dlq_console.store.store import Store
from dlq_console.store.succession import SENT, SENT_OR_COMING, newer
from tests.store.plans import ENGINES, Plan, explain, on_engine
from tests.store.recording import Sent, recording

#: Enough that reading all of them would be the wrong plan.
ROWS = 20_000
MANY_ACCOUNTS = ("filial-1", "filial-2", "filial-3")

NUMBERS = {
    True: f"WITH RECURSIVE g(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM g WHERE i < {ROWS})",
    False: f"WITH g(i) AS (SELECT generate_series(1, {ROWS}))",
}
#: 3 of 100 dead, 1 of 200 waiting; 8 kinds and 10 accounts, spread evenly.
FILL = """
INSERT INTO {event} (kind, account, entity_id, idempotency_key, payload_hash, effect_key, status, reason, payload,
    due_at, next_run_at, created_at, updated_at, finished_at, last_error, fingerprint, verdict)
NUMBERS
SELECT 'kind-' || (i / 7 % 8), 'filial-' || (i / 11 % 10), CAST(i / 3 AS text), 'key-' || i, '', '', status,
    CASE WHEN status = 'dead' THEN 'permanent' END, '{{}}', {now}, {now}, {now}, {now},
    CASE WHEN status IN ('dead', 'done') THEN {now} + CAST({second} * i AS {duration}) END, 'Not registered.', 'f1-' || (i / 13 % 10),
    CASE WHEN status = 'dead' THEN CASE i % 2 WHEN 0 THEN 'auth' ELSE 'permanent' END END
FROM (SELECT i, CASE WHEN i % 100 < 3 THEN 'dead' WHEN i % 200 = 9 THEN 'failed' ELSE 'done' END AS status FROM g) AS n
"""


#: Beside the events: what people noted about some of them, and their configured fields.
BESIDE = (
    "INSERT INTO {tag} (tag, event_id) SELECT 'tag-' || (id % 7), id FROM {event} WHERE id % 40 = 1",
    """
    INSERT INTO {desk} (event_id, assignee, snoozed_until, updated_at)
    SELECT id, CASE WHEN id % 80 = 1 THEN 'maria' END, CASE WHEN id % 120 = 1 THEN {now} + {interval[3600]} END, {now}
    FROM {event} WHERE id % 40 = 1
    """,
    "INSERT INTO {event_field} (value, path, event_id) SELECT 'N-' || (id / 3), 'number', id FROM {event}",
)
#: Their indexes, as far as plans tell of them: names that begin like that of the event table.
NOTED = ("event_field_pk", "event_field_event_ix")


@pytest.fixture(scope="module", params=ENGINES)
def full(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store with ROWS events on each engine; SQLite also as it is where nobody ever gathered statistics."""
    with on_engine(request, tmp_path_factory.mktemp("plans")) as store:
        with store.write() as connection:
            for template in (FILL.replace("NUMBERS", NUMBERS[store.sqlite]), *BESIDE):
                connection.execute(store.statement(template))
        publish(store, [PublishedKind("kind-1", 6, 60.0, None, {"columns": {"Order": "number"}})], "a-worker")
        if request.param != "sqlite without statistics":
            with store.write() as connection:
                connection.exec_driver_sql("ANALYZE")
        yield store


def sent_by(store: Store, flt: dict[str, Any], **options: Any) -> list[Sent]:
    with recording(store) as sent:
        queries.dead_letters(store, EventFilter.parse(flt), **options)
    return sent


def the_page(sent: list[Sent]) -> Sent:
    (page,) = [one for one in sent if "error_type" in one[0]]
    return page


def expected(store: Store, flt: dict[str, Any], index: str) -> Plan:
    # PostgreSQL merges several walks as they come; SQLite sorts the few rows that they yield.
    several = any(isinstance(value, list) for value in flt.values())
    return Plan(frozenset({index}), scans=False, sorts=several and store.sqlite)


LISTS = [
    ({"kind": "kind-1", "account": "filial-3"}, "event_dead_account_kind_ix"),
    ({"kind": "kind-1"}, "event_dead_kind_ix"),
    ({"account": "filial-3"}, "event_dead_account_ix"),
    ({"account": list(MANY_ACCOUNTS)}, "event_dead_account_ix"),
    ({"kind": ["kind-1", "kind-2"], "account": list(MANY_ACCOUNTS)}, "event_dead_account_kind_ix"),
    ({"since": "1h", "kind": "kind-1"}, "event_dead_kind_ix"),
    ({"group": "f1-3"}, "event_dead_group_ix"),
    ({"group": "f1-3", "account": "filial-3"}, "event_dead_group_account_ix"),
    ({"group": "f1-3", "account": list(MANY_ACCOUNTS)}, "event_dead_group_account_ix"),
    ({"reason": "permanent"}, "event_dead_reason_ix"),
    ({"reason": ["permanent", "auth"]}, "event_dead_reason_ix"),
    ({"class": "auth"}, "event_dead_verdict_ix"),
    ({"class": ["auth", "permanent"], "since": "1h"}, "event_dead_verdict_ix"),
    ({"at": "2999-01-01T00:00Z", "kind": "kind-1"}, "event_dead_kind_ix"),
    ({"sort": "oldest", "account": "filial-3"}, "event_dead_account_ix"),
    ({"sort": "oldest"}, "event_dead_ix"),
    ({}, "event_dead_ix"),
]

#: What few events have is looked up one by one.
FEW = [
    {"assignee": "maria"},
    {"assignee": "maria", "kind": ["kind-1", "kind-2"]},
    {"tag": "tag-1"},
    {"tag": ["tag-1", "tag-2"], "account": "filial-3"},
    {"snoozed": "only"},
    {"payload.number": "N-3"},
    {"payload.number": "R$ 1.240,50"},
    {"payload.number": "N-3", "tag": "tag-1", "snoozed": "hide"},
]
#: What is checked row by row, or left out.
CHECKED = [
    {"snoozed": "hide"},
    {"assignee": "-"},
    {"attempts": "3+"},
    {"payload.other": "1"},
    {"reason": "permanent", "class": "auth", "kind": "kind-1"},
]


@pytest.mark.parametrize(("flt", "index"), LISTS)
def test_a_page_of_dead_letters_walks_its_own_index(full: Store, flt: dict[str, Any], index: str) -> None:
    assert explain(full, the_page(sent_by(full, flt))) == expected(full, flt, index)


@pytest.mark.parametrize(("flt", "index"), LISTS)
def test_the_next_page_and_the_one_before_walk_the_same_index(
    full: Store, flt: dict[str, Any], index: str
) -> None:
    first = queries.dead_letters(full, EventFilter.parse(flt), limit=5).page
    assert first.next_cursor
    second = queries.dead_letters(full, EventFilter.parse(flt), limit=5, cursor=first.next_cursor).page
    assert second.previous_cursor
    for cursor in (first.next_cursor, second.previous_cursor):
        page = the_page(sent_by(full, flt, cursor=cursor))
        assert explain(full, page) == expected(full, flt, index)


@pytest.mark.parametrize("accounts", [None, MANY_ACCOUNTS], ids=["all accounts", "some accounts"])
@pytest.mark.parametrize(
    "flt",
    [
        *(flt for flt, _ in LISTS),
        *FEW,
        *CHECKED,
        {"q": "nothing"},
        {"q": "no"},
        {"entity": "77", "tag": "tag-1"},
    ],
)
def test_nothing_on_the_dead_letter_page_reads_the_whole_table(
    full: Store, flt: dict[str, Any], accounts: tuple[str, ...] | None
) -> None:
    for statement in sent_by(full, flt, accounts=accounts):
        plan = explain(full, statement)
        assert not plan.scans, statement
        assert plan.indexes - {"event_entity_ix", "event_pk"} <= {
            "event_dead_ix",
            "event_dead_kind_ix",
            "event_dead_account_ix",
            "event_dead_account_kind_ix",
            "event_dead_group_ix",
            "event_dead_group_account_ix",
            "event_dead_reason_ix",
            "event_dead_verdict_ix",
            "event_dead_text_ix",
            *NOTED,
        }


@pytest.mark.parametrize("accounts", [None, MANY_ACCOUNTS], ids=["all accounts", "some accounts"])
@pytest.mark.parametrize("flt", FEW)
@pytest.mark.parametrize("page", ["dead letters", "all events"])
def test_few_events_are_looked_up_one_by_one(
    full: Store, flt: dict[str, Any], accounts: tuple[str, ...] | None, page: str
) -> None:
    with recording(full) as sent:
        if page == "dead letters":
            queries.dead_letters(full, EventFilter.parse(flt), accounts=accounts)
        else:
            queries.events_page(full, EventFilter.parse(flt), accounts=accounts)
            queries.count(full, EventFilter.parse(flt), accounts=accounts)
    for statement in sent:
        assert not explain(full, statement).scans, statement
    assert explain(full, the_page(sent)).indexes <= {"event_pk", *NOTED}


@pytest.mark.parametrize("accounts", [None, MANY_ACCOUNTS], ids=["all accounts", "some accounts"])
@pytest.mark.parametrize("text", ["N-3", "77", "#12", "n-3", "aBc-7", "R$ 1.240,50"])
def test_the_search_for_a_number_reads_indexes_alone(
    full: Store, text: str, accounts: tuple[str, ...] | None
) -> None:
    with recording(full) as sent:
        find(full, text, accounts=accounts)
    for statement in sent:
        plan = explain(full, statement)
        assert not plan.scans, statement
        assert plan.indexes <= {"event_pk", "event_key_uq", "event_entity_ix", *NOTED}


def test_a_rare_text_is_looked_for_along_indexes(full: Store) -> None:
    with recording(full) as sent:
        queries.dead_letters(full, EventFilter(q="nothing of this kind"), limit=10)
        queries.count(full, EventFilter(q="nothing of this kind", status=("dead",)))
    assert not [statement for statement in sent if explain(full, statement).scans]


@pytest.mark.parametrize(
    ("flt", "index"),
    [
        ({"entity": "77"}, "event_entity_ix"),
        ({"account": "filial-3"}, "event_account_ix"),
        ({"account": list(MANY_ACCOUNTS)}, "event_account_ix"),
        ({"status": "dead", "kind": "kind-1"}, "event_dead_kind_ix"),
        ({"status": "discarded"}, "event_discarded_ix"),
    ],
)
def test_a_page_of_all_events_walks_its_own_index(full: Store, flt: dict[str, Any], index: str) -> None:
    with recording(full) as sent:
        queries.events_page(full, EventFilter.parse(flt))
    assert explain(full, the_page(sent)) == expected(full, flt, index)


def test_the_page_of_all_events_walks_the_primary_key(full: Store) -> None:
    with recording(full) as sent:
        queries.events_page(full, EventFilter())
    plan = explain(full, the_page(sent))
    # What SQLite calls a scan is the walk along the primary key, which the LIMIT ends.
    assert plan in (Plan(frozenset({"event_pk"}), False, False), Plan(frozenset(), full.sqlite, False))


def test_the_overview_never_reads_the_whole_table(full: Store) -> None:
    for accounts in (None, MANY_ACCOUNTS):
        with recording(full) as sent:
            queries.overview(full, accounts=accounts)
            # The page asks for these too.
            queries.closed_doors(full, accounts=accounts)
        assert len(sent) == 4
        for statement in sent:
            plan = explain(full, statement)
            assert not plan.scans, statement
            assert plan.indexes <= {
                "event_dead_ix",
                "event_dead_kind_ix",
                "event_dead_account_ix",
                "event_dead_account_kind_ix",
                "event_running_ix",
                "event_ready_ix",
                "event_ended_ix",
            }


def test_counting_the_groups_reads_the_index_of_groups_alone(full: Store) -> None:
    groups.sample(full)
    with recording(full) as sent:
        groups.sample(full)
    plans = [explain(full, statement) for statement in sent if "finished_at" in statement[0]]
    assert len(plans) == 2, "to the end, and from the beginning"
    for plan in plans:
        assert not plan.scans
        assert plan.indexes - {"event_pk"} == {"event_dead_group_account_ix"}


@pytest.mark.parametrize("accounts", [None, MANY_ACCOUNTS], ids=["all accounts", "some accounts"])
@pytest.mark.parametrize(
    "flt",
    [
        {},
        {"account": "filial-3"},
        {"q": "nothing"},
        {"reason": "permanent", "group": "f1-3"},
        {"since": "1h"},
    ],
)
def test_the_groups_of_a_filter_never_read_the_whole_table(
    full: Store, flt: dict[str, Any], accounts: tuple[str, ...] | None
) -> None:
    with recording(full) as sent:
        queries.groups(full, EventFilter.parse(flt), accounts=accounts)
    for statement in sent:
        plan = explain(full, statement)
        assert not plan.scans, statement
        assert plan.indexes <= {
            "event_pk",
            "event_dead_ix",
            "event_dead_account_ix",
            "event_dead_group_ix",
            "event_dead_group_account_ix",
        }


@pytest.mark.parametrize("accounts", [None, MANY_ACCOUNTS], ids=["all accounts", "some accounts"])
@pytest.mark.parametrize(
    "flt", [*(flt for flt, _ in LISTS), *FEW, *CHECKED, {"q": "nothing"}, {"status": "done"}]
)
def test_whether_events_still_match_is_asked_of_those_events_alone(
    full: Store, flt: dict[str, Any], accounts: tuple[str, ...] | None
) -> None:
    with recording(full) as sent:
        queries.still_matching(full, EventFilter.parse(flt), range(1, 1_001), accounts=accounts)
    for statement in sent:
        plan = explain(full, statement)
        assert not plan.scans, statement
        assert plan.indexes <= {"event_pk", *NOTED}


def test_the_event_table_has_no_more_than_four_indexes_over_all_its_rows(store: Store) -> None:
    whole = [
        index for index in store.tables.event.indexes if index.dialect_options["postgresql"]["where"] is None
    ]
    assert len(whole) + 1 <= 4, "the primary key is the fourth"


@pytest.mark.parametrize("statuses", [SENT, SENT_OR_COMING], ids=["sent", "sent or coming"])
def test_the_search_for_a_newer_event_walks_the_index_of_entities(
    full: Store, statuses: tuple[Status, ...]
) -> None:
    with recording(full) as sent:
        newer(full, ROWS // 2, statuses)
    plan = explain(full, sent[0])
    assert not plan.scans
    assert not plan.sorts
    assert "event_entity_ix" in plan.indexes
    assert plan.indexes <= {"event_entity_ix", "event_pk"}


def test_what_stands_beside_an_event_is_found_by_the_indexes_of_entities_and_lanes(full: Store) -> None:
    event = queries.get_event(full, ROWS // 2)
    assert event is not None
    with recording(full) as sent:
        queries.same_entity(full, event)
        queries.last_success(full, event)
        queries.behind(full, "filial-1|*")
    plans = [explain(full, statement) for statement in sent]
    assert not any(plan.scans for plan in plans)
    indexes = [plan.indexes - {"event_pk"} for plan in plans]
    assert indexes == [{"event_entity_ix"}, {"event_entity_ix"}, {"event_lane_blocked_ix"}]


def test_the_trend_of_groups_reads_no_event(full: Store) -> None:
    groups.sample(full)
    with recording(full) as sent:
        found = queries.trends(full, [f"f1-{number}" for number in range(10)])
    assert len(found) == 10
    (statement,) = sent
    assert explain(full, statement) == Plan(frozenset(), scans=False, sorts=False)


def test_values_of_a_new_field_are_given_along_the_index_of_dead_letters_of_a_kind(full: Store) -> None:
    publish(full, [PublishedKind("kind-2", 6, 60.0, None, {"columns": {"Order": "number"}})], "a-worker")
    fill(full)
    with recording(full) as sent:
        assert fill(full, most=2 * CHUNK) > CHUNK
    event = full.tables.event.name
    plans = [explain(full, one) for one in sent if f"{event} " in one[0] or f"{event}\n" in one[0]]
    along = [plan for plan in plans if "event_dead_kind_ix" in plan.indexes]
    assert along
    assert not any(plan.sorts for plan in along), along
    assert not any(plan.scans for plan in plans), plans
