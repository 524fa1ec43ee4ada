"""Does any page read a table from end to end that grows with the work? Asked of every statement of every page, on both engines."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dlq_console.app import create_app
from dlq_console.store import causes, groups
from dlq_console.store.store import Store
from tests.store.plans import read_whole
from tests.store.recording import recording
from tests.store.test_query_plans import NUMBERS, ROWS, full
from tests.web.desk import Desk
from tests.web.visitor import Visitor

__all__ = ["full"]

GROWING = (
    "event",
    "attempt",
    "audit",
    "error_group",
    "error_cause",
    "desk",
    "tag",
    "note",
    "event_field",
    "bulk_item",
    "alert",
)

#: As many rows of every other table; causes and accounts are spread over the dead events.
FILLS = (
    "UPDATE {event} SET fingerprint = 'f1-' || (id % 997), account = 'filial-' || (id / 997 % 40) WHERE status = 'dead'",
    """
INSERT INTO {attempt} (event_id, cycle, number, lease_epoch, kind, account, due_at, started_at, ended_at, outcome)
NUMBERS SELECT i, 0, 1, 1, 'kind-1', 'filial-1', {now}, {now}, {now}, 'dead' FROM g
""",
    """
INSERT INTO {audit} (at, actor, action, event_id, account)
NUMBERS SELECT {now}, 'person-' || (i % 50), 'act-' || (i % 10), i, 'filial-' || (i % 10) FROM g
""",
    """
INSERT INTO {desk} (event_id, assignee, due_at, snoozed_until, updated_at)
NUMBERS SELECT i, 'person-' || (i % 50), {now}, CASE WHEN i % 10 = 0 THEN {now} + {interval[3600]} END, {now} FROM g
WHERE NOT EXISTS (SELECT 1 FROM {desk} known WHERE known.event_id = i)
""",
    "INSERT INTO {tag} (tag, event_id) NUMBERS SELECT 'word-' || (i % 100), i FROM g",
    "INSERT INTO {note} (at, actor, event_id, text) NUMBERS SELECT {now}, 'person-1', i, 'note' FROM g",
    """
INSERT INTO {error_group} (fingerprint, account, kind, error_type, verdict, sample, sample_event_id, dead, trend,
    first_seen_at, last_seen_at, sampled_at)
NUMBERS SELECT 'f1-' || (i % 997), 'filial-' || (i / 997), 'kind-1', 'E', 'permanent', 'Not registered.', i, i % 9, '1:1',
    {now}, {now}, {now} FROM g
""",
    """
INSERT INTO {bulk_run} (action, actor, acted_by, state, created_at, cut_at, frozen_at, total)
VALUES ('discard', 'joana', 'maria', 'done', {now}, {now}, {now}, 9)
""",
    """
INSERT INTO {bulk_item} (bulk_id, event_id, position, epoch, cycle, state) NUMBERS SELECT i % 50 + 1, i, i, 1, 0, 'refused' FROM g
""",
    # A few stand, each of them told many times, and years of history.
    """
INSERT INTO {alert} (rule, subject, level, found, value, opened_at, seen_at, closed_at, told_at, told)
NUMBERS SELECT 'rule-' || (i % 12), 'filial-' || i, 'ticket', '{{"account":"filial-' || (i % 40) || '"}}', i, {now}, {now},
    CASE WHEN i > 60 THEN {now} END, {now}, 1 FROM g
""",
    """
UPDATE {event} SET entity_id = 'dlq.alert/' || (id % 70 + 1), idempotency_key = 'dlq.alert/' || (id % 70 + 1) || '/' || id || '/mail'
WHERE status = 'done'
""",
    # Somebody has corrected the one whose page is asked for.
    f"UPDATE {{event}} SET parent_id = id - 1 WHERE id = {ROWS // 2}",
    "INSERT INTO {group_desk} (fingerprint, assignee, updated_at) SELECT DISTINCT fingerprint, 'maria', {now} FROM {error_group} WHERE fingerprint LIKE 'f1-10%'",
)

PAGES = (
    "/",
    "/dead-letters",
    "/dead-letters?kind=kind-1",
    "/dead-letters?account=filial-3",
    "/dead-letters?assignee=-",
    "/dead-letters?assignee=person-1",
    "/dead-letters?tag=word-1",
    "/dead-letters?tag=word-1&tag=word-2&assignee=-",
    "/dead-letters?snoozed=only",
    "/dead-letters?group=f1-3",
    "/events",
    "/events?assignee=-",
    "/events?payload.number=N-3",
    "/events?payload.number=1.240,50",
    "/events?payload.total=1.240,50",
    "/groups",
    "/groups?kind=kind-1",
    "/groups?account=filial-3",
    "/groups?assignee=-",
    "/groups/f1-3",
    f"/events/{ROWS // 2}",
    "/search?q=N-3",
    "/search?q=N-3+1.240,50",
    "/work",
    "/audit",
    "/audit?actor=person-1",
    "/views",
    "/bulk",
    "/bulk/1",
    "/health/breakers",
    "/health/breakers/one?name=filial-1",
    "/health/bulkheads",
    "/health/workers",
    "/alerts",
    "/alerts?start=20",
)


@pytest.fixture(scope="module")
def busy(full: Store) -> Iterator[Desk]:
    """A console on a store with ROWS events and as many rows of all that grows with them."""
    with full.write() as connection:
        for fill in FILLS:
            connection.execute(full.statement(fill.replace("NUMBERS", NUMBERS[full.sqlite])))
        causes.add_up(full, connection, first="", last=None, cap=groups.CAP)
    if not full.sqlite:
        with full.write() as connection:
            connection.exec_driver_sql("ANALYZE")
    desk = Desk(full.engines.database_url)
    yield desk
    desk.hub.close()


@pytest.fixture(
    scope="module", params=[None, ["filial-1", "filial-2"], [f"filial-{number}" for number in range(30)]]
)
def maria(busy: Desk, request: pytest.FixtureRequest) -> Visitor:
    """Somebody who may see all accounts, a few, or many."""
    name = f"maria-{len(request.param or ())}"
    return Visitor(create_app(busy.hub)).enter(busy, name, "editor", request.param)


@pytest.mark.parametrize("path", PAGES)
def test_no_page_reads_a_table_from_end_to_end(busy: Desk, maria: Visitor, path: str) -> None:
    store = busy.hub.store
    with recording(store) as sent:
        answer = maria.get(path)
    # Whoever may see few accounts may not see that event or run; a search that finds one goes to its page.
    assert answer.status_code == 200 or path.startswith(("/events/", "/bulk/", "/search")), path
    reads = [one for one in sent if one[0].lstrip().startswith(("SELECT", "WITH"))]
    assert reads
    whole = {(table, one[0]) for one in reads for table in read_whole(store, one, GROWING)}
    assert not whole


@pytest.mark.parametrize("table", GROWING)
def test_a_table_that_is_read_from_end_to_end_is_noticed(busy: Desk, table: str) -> None:
    store = busy.hub.store
    columns = " || ".join(f"CAST(t.{column.name} AS text)" for column in getattr(store.tables, table).columns)
    with recording(store) as sent, store.read() as connection:
        connection.execute(store.statement(f"SELECT sum(length({columns})) FROM {{{table}}} t")).scalar()
    assert read_whole(store, sent[0], GROWING) == {table}
