"""Has a newer event of the same kind, account and entity taken the place of an older one?

Newer is what has the higher id, so what was put in later; an event that holds the edited payload of another stands in
that one's place. A `version` is the producer's own word, which nobody here can compare. The search walks the index of
entities from the newest event downwards and ends at the first that counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from dlq_console.store.events import read_time
from dlq_console.store.lanes import place
from dlq_console.store.states import OPEN, Status
from dlq_console.store.store import Store

#: Statuses of a newer event: it was sent; or it was sent or may still be.
SENT: tuple[Status, ...] = (Status.DONE,)
SENT_OR_COMING: tuple[Status, ...] = (Status.DONE, *OPEN)


@dataclass(frozen=True, slots=True)
class Newer:
    """The newest event of the same kind, account and entity that counts."""

    id: int
    status: str
    created_at: datetime


def _newest_id(statuses: Sequence[Status]) -> str:
    """SQL: the id of the newest event that is newer than `o`, an alias.

    Sorted as the index of entities is, and the account compared in a form that leads to no other index. An account has as many events as there are; without statistics SQLite does not know.
    """
    words = ", ".join(f"'{status}'" for status in statuses)
    return f"""(
        SELECT e.id FROM {{event}} e
        WHERE e.entity_id = o.entity_id AND e.id > {place("o")} AND {place("e")} > {place("o")}
            AND e.kind = o.kind AND e.account || '' = o.account AND e.status IN ({words})
        ORDER BY e.entity_id DESC, e.id DESC LIMIT 1
    )"""


def _newest(statuses: Sequence[Status]) -> str:
    return f"""
SELECT n.id, n.status, n.created_at FROM {{event}} n WHERE n.id = (
    SELECT {_newest_id(statuses)} FROM {{event}} o WHERE o.id = :id
)
"""


def has_newer(statuses: Sequence[Status]) -> str:
    """SQL: whether the event `o`, an alias, has a newer one in one of these statuses."""
    return f"({_newest_id(statuses)} IS NOT NULL)"


_NEWEST = {statuses: _newest(statuses) for statuses in (SENT, SENT_OR_COMING)}


def newer(store: Store, event_id: int, statuses: tuple[Status, ...] = SENT_OR_COMING) -> Newer | None:
    """The newest event that is newer than this one, among those in `SENT` or in `SENT_OR_COMING`."""
    with store.read() as connection:
        return newer_in(store, connection, event_id, statuses)


def newer_in(
    store: Store, connection: Connection, event_id: int, statuses: tuple[Status, ...]
) -> Newer | None:
    """`newer` as the transaction of `connection` sees it."""
    row = connection.execute(store.statement(_NEWEST[statuses]), {"id": event_id}).first()
    if row is None:
        return None
    came_in = read_time(row.created_at)
    assert came_in is not None, "the column is never empty"  # noqa: S101 - tells the type checker what the schema says
    return Newer(row.id, row.status, came_in)
