"""Do the desk, my work and the audit read by their indexes, with many rows of each, on both engines?"""

from __future__ import annotations

import pytest

from dlq_console.clock import utc_now
from dlq_console.store import desk
from dlq_console.store.desk import Assignment
from dlq_console.store.people import add_user
from dlq_console.store.queries import work
from dlq_console.store.queries.acts import ActFilter, actions, acts
from dlq_console.store.store import Store
from tests.store.plans import explain
from tests.store.recording import Sent, recording
from tests.store.test_query_plans import NUMBERS, full

__all__ = ["full"]

FILLS = (
    """
INSERT INTO {audit} (at, actor, action, event_id, account)
NUMBERS SELECT {now}, 'person-' || (i % 50), 'act-' || (i % 10), i, 'filial-' || (i % 10) FROM g
""",
    """
INSERT INTO {desk} (event_id, assignee, due_at, updated_at)
NUMBERS SELECT i, 'person-' || (i % 50), {now}, {now} FROM g
WHERE NOT EXISTS (SELECT 1 FROM {desk} known WHERE known.event_id = i)
""",
    "INSERT INTO {tag} (tag, event_id) NUMBERS SELECT 'word-' || (i % 100), i FROM g",
    "INSERT INTO {note} (at, actor, event_id, text) NUMBERS SELECT {now}, 'person-1', i, 'note' FROM g",
)


@pytest.fixture(scope="module")
def busy(full: Store) -> Store:
    """A store with ROWS events, and as many rows of the audit and on the desk."""
    with full.write() as connection:
        for fill in FILLS:
            connection.execute(full.statement(fill.replace("NUMBERS", NUMBERS[full.sqlite])))
    if not full.sqlite:
        with full.write() as connection:
            connection.exec_driver_sql("ANALYZE")
    add_user(full, "person-1", "correct horse battery", role="operator")
    return full


def _reads(store: Store, sent: list[Sent], table: str, alias: str = "") -> set[str]:
    """The indexes of a table by which statements read; none of them reads the table from end to end."""
    found: set[str] = set()
    for statement in sent:
        plan = explain(store, statement, table=table, alias=alias)
        # What SQLite calls a scan of the audit is the walk along its primary key, which the LIMIT ends.
        assert not plan.scans or (store.sqlite and table == "audit"), statement
        found |= plan.indexes
    return found


def test_the_marks_of_a_page_are_read_by_event(busy: Store) -> None:
    with recording(busy) as sent:
        found = desk.marks(busy, [5, 500, 5_000])
    assert (found[500].assignee, found[500].notes) == ("person-0", 1)
    assert len(sent) == 1
    assert _reads(busy, sent, "desk") == {"desk_pk"}
    assert _reads(busy, sent, "tag") == {"tag_event_ix"}
    assert _reads(busy, sent, "note") == {"note_event_ix"}


def test_my_work_walks_the_index_of_assignees_and_looks_events_up(busy: Store) -> None:
    for accounts in (None, ("filial-1",)):
        with recording(busy) as sent:
            work.work(busy, "person-1", accounts=accounts)
            work.work_count(busy, "person-1", accounts=accounts)
        assert len(sent) == 4
        assert _reads(busy, sent, "desk") == {"desk_assignee_ix"}
        assert _reads(busy, sent, "event", "e") == {"event_pk"}


def test_acts_upon_events_read_them_by_their_ids(busy: Store) -> None:
    with recording(busy) as sent, busy.write() as connection:
        desk.assign(busy, connection, [5, 6], Assignment("person-1", utc_now()), actor="person-1")
        desk.change_tags(busy, connection, [5, 6], add=["new"], remove=[], actor="person-1")
        desk.snooze(busy, connection, [5, 6], None, actor="person-1")
        connection.rollback()
    asked = [one for one in sent if "audit" not in one[0].partition("(")[0] and not isinstance(one[1], list)]
    assert len(asked) >= 7
    assert _reads(busy, asked, "event", "e") == {"event_pk"}
    assert _reads(busy, asked, "desk") == {"desk_pk"}


@pytest.mark.parametrize(
    ("flt", "index"),
    [
        (ActFilter(), "audit_pk"),
        (ActFilter(people=True, account="filial-3"), "audit_pk"),
        (ActFilter(actor="person-1"), "audit_actor_ix"),
        (ActFilter(action="act-1", account="filial-3"), "audit_action_ix"),
        (ActFilter(event_id=77, actor="person-1"), "audit_event_ix"),
        (ActFilter(from_=utc_now(), to=utc_now()), "audit_pk"),
    ],
)
def test_the_audit_walks_one_index_and_never_its_whole_length(
    busy: Store, flt: ActFilter, index: str
) -> None:
    first = acts(busy, flt, limit=5, accounts=("filial-1", "filial-3"), asking="person-1")
    for cursor in ("", first.next_cursor or ""):
        with recording(busy) as sent:
            acts(busy, flt, limit=5, cursor=cursor, accounts=("filial-1", "filial-3"), asking="person-1")
        assert all("LIMIT" in statement for statement, _ in sent)
        walked = _reads(busy, sent, "audit") - {"audit_at_ix"}
        assert walked == {index} or (index == "audit_pk" and busy.sqlite and not walked)


def test_the_names_of_acts_are_looked_up_one_by_one(busy: Store) -> None:
    with recording(busy) as sent:
        assert len(actions(busy)) == 11, "ten, and the making of the person"
    assert _reads(busy, sent, "audit") == {"audit_action_ix"}
