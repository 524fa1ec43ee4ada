"""How is an act upon the desks of many events found again, so that it can be taken back? By its own rows in the audit.

They say for each event what was there before and after, and nobody changes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from dlq_console.store.desk.values import Change, write_assignment, write_time
from dlq_console.store.desk.writing import standing, tags_of
from dlq_console.store.people.roles import Permission
from dlq_console.store.queries.routes import prepared
from dlq_console.store.store import Store

NEWEST = "SELECT coalesce(max(id), 0) FROM {audit}"
SPAN = """
SELECT min(id) AS first, max(id) AS last FROM {audit}
WHERE actor = :actor AND action = :action AND id > :newest AND event_id IN :event_ids
"""
ROWS = """
SELECT event_id, before, after FROM {audit}
WHERE actor = :actor AND action = :action AND id BETWEEN :first AND :last AND bulk_id IS NULL AND event_id IS NOT NULL
ORDER BY id LIMIT :most
"""


@dataclass(frozen=True, slots=True)
class Act:
    """What one person did at once to the desks of many events: the first and the last of its rows in the audit."""

    first: int
    last: int


def newest_row(store: Store, connection: Connection) -> int:
    """The last row of the audit before an act; whatever the act writes has a larger id."""
    return int(connection.execute(store.statement(NEWEST)).scalar_one())


def act_since(
    store: Store, connection: Connection, newest: int, event_ids: Sequence[int], *, actor: str, action: str
) -> Act | None:
    """What an act in this transaction has written since `newest_row`; None where it changed nothing."""
    if not event_ids:
        return None
    parameters = {"newest": newest, "event_ids": list(event_ids), "actor": actor, "action": action}
    row = connection.execute(prepared(store, SPAN, parameters), parameters).one()
    return None if row.first is None else Act(row.first, row.last)


def changes_of(
    store: Store, act: Act, *, actor: str, action: str, most: int
) -> dict[int, Change[str | None]]:
    """What an act made of each event, as the audit tells it; of another person's act nothing."""
    parameters = {"first": act.first, "last": act.last, "actor": actor, "action": action, "most": most}
    with store.read() as connection:
        rows = connection.execute(store.statement(ROWS), parameters).all()
    return {row.event_id: Change(row.before, row.after) for row in rows}


def unchanged(
    store: Store, connection: Connection, action: str, changes: Mapping[int, Change[str | None]]
) -> list[int]:
    """Those events that are still as an act has left them; nobody changes them before this transaction ends."""
    event_ids = sorted(changes)
    now: dict[int, str | None]
    if action == Permission.TAG:
        tags = tags_of(store, connection, event_ids)
        now = {event_id: ", ".join(sorted(those)) or None for event_id, those in tags.items()}
    else:
        marks = standing(store, connection, event_ids)
        now = {
            event_id: write_assignment(to) if action == Permission.ASSIGN else write_time(snoozed_until)
            for event_id, (to, snoozed_until) in marks.items()
        }
    return [event_id for event_id, text in now.items() if text == changes[event_id].after]
