"""How is an act upon the desks of many events found again, so that it can be taken back? By its own rows in the audit.

They say for each event what was there before and after, and nobody changes them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from dlq_console.store.desk.values import Change, write_assignment, write_tags, write_time
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


@dataclass(frozen=True, slots=True)
class Acted:
    """For which events an act was new, and what it wrote about that; None where it changed nothing."""

    new: tuple[int, ...]
    act: Act | None


def acted(
    store: Store,
    connection: Connection,
    make: Callable[[], Mapping[int, Change[Any]]],
    *,
    actor: str,
    action: str,
) -> Acted:
    """Change desks in the transaction of `connection`, and find the rows of the audit that tell of it."""
    newest = int(connection.execute(store.statement(NEWEST)).scalar_one())
    new = tuple(event_id for event_id, change in make().items() if change.happened)
    if not new:
        return Acted((), None)
    # Whatever the act has written has a larger id than what was there.
    parameters = {"newest": newest, "event_ids": list(new), "actor": actor, "action": action}
    row = connection.execute(prepared(store, SPAN, parameters), parameters).one()
    return Acted(new, None if row.first is None else Act(row.first, row.last))


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
        now = {event_id: write_tags(those) or None for event_id, those in tags.items()}
    else:
        marks = standing(store, connection, event_ids)
        now = {
            event_id: write_assignment(to) if action == Permission.ASSIGN else write_time(snoozed_until)
            for event_id, (to, snoozed_until) in marks.items()
        }
    return [event_id for event_id, text in now.items() if text == changes[event_id].after]
