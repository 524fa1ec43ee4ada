"""Which events are in a bulk run, and what has become of each?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from sqlalchemy import Connection, RowMapping

from dlq_console.store.cursors import MAX_ID
from dlq_console.store.events import read_time
from dlq_console.store.filters import FilterError
from dlq_console.store.id_lists import as_ids, ids_sql
from dlq_console.store.store import Store

#: Most items on one page.
MAX_LIMIT = 200

_CURSOR = re.compile(r"([0-9]{1,19})\.([0-9]{1,19})")


class ItemState(StrEnum):
    """What has become of one item."""

    #: Not let go.
    WAITING = "waiting"
    #: Let go; it waits to be run, or runs.
    RELEASED = "released"
    SUCCEEDED = "succeeded"
    #: Dead again of what it was dead of before.
    DIED_SAME = "died_same"
    DIED_DIFFERENT = "died_different"
    #: Not let go, or taken out of the run by somebody afterwards; its cause says why.
    REFUSED = "refused"


class Refusal(StrEnum):
    """Why an item was refused."""

    #: There is no such event any more.
    GONE = "gone"
    #: Somebody has dealt with it meanwhile.
    NOT_DEAD = "not_dead"
    #: Somebody has dealt with it meanwhile, and it is dead again.
    CHANGED = "changed"
    #: Nobody knows whether the outside system has it, so a person has to look.
    IN_DOUBT = "in_doubt"
    #: A newer event of its entity takes its place.
    SUPERSEDED = "superseded"
    #: A newer event of its entity exists and its kind asks a person.
    STALE = "stale"
    #: Somebody else sees to it already.
    ASSIGNED = "assigned"
    #: Whoever should see to it may not see its account, or may not log in any more.
    NOT_ALLOWED = "not_allowed"
    #: It would have more than an event may have.
    TOO_MANY_TAGS = "too_many_tags"
    #: Let go, and then discarded by somebody.
    DISCARDED = "discarded"
    #: Let go, and then taken back by somebody.
    TAKEN_BACK = "taken_back"


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkItem:
    """One event of a run; its own values are None where it has been pruned."""

    event_id: int
    position: int
    state: str
    cause: str | None
    released_at: datetime | None
    ended_at: datetime | None
    kind: str | None
    account: str | None
    entity_id: str | None
    status: str | None
    last_error: str | None


@dataclass(frozen=True, slots=True)
class ItemPage:
    """Items in the order in which they are let go, and where the next ones begin."""

    items: tuple[BulkItem, ...]
    next_cursor: str | None


_IN_ORDER = "ORDER BY position, event_id LIMIT :limit"


def page(
    store: Store, run_id: int, states: Sequence[ItemState], *, cursor: str = "", limit: int = 50
) -> ItemPage:
    """Items that are in any of these states, at least one.

    Raises:
        FilterError: the cursor is none of this list.
    """
    position, event_id = _place(cursor)
    place = {"position": position, "event_id": event_id}
    with store.read() as connection:
        asked = {"bulk_id": run_id, "limit": limit + 1} | place
        rows = connection.execute(store.statement(_page_sql(states)), asked).mappings().all()
    shown = tuple(_item(row) for row in rows[:limit])
    more = len(rows) > limit
    return ItemPage(shown, f"{shown[-1].position}.{shown[-1].event_id}" if more else None)


def _page_sql(states: Sequence[ItemState]) -> str:
    # A walk along the index for each state: all of them together have none.
    walks = [
        f"""SELECT * FROM (SELECT * FROM {{bulk_item}} WHERE bulk_id = :bulk_id AND state = '{state}'
            AND (position, event_id) > (:position, :event_id) {_IN_ORDER}) AS {state}_items"""
        for state in states
    ]
    return f"""
SELECT i.event_id, i.position, i.state, i.cause, i.released_at, i.ended_at, e.kind, e.account, e.entity_id, e.status,
    e.last_error
FROM (SELECT * FROM ({" UNION ALL ".join(walks)}) AS walked {_IN_ORDER}) AS i
LEFT JOIN {{event}} e ON e.id = i.event_id
ORDER BY i.position, i.event_id
"""


def mark(
    store: Store,
    connection: Connection,
    run_id: int,
    event_ids: Sequence[int],
    *,
    was: ItemState,
    state: ItemState,
    cause: str | None = None,
) -> None:
    """Bring items from one state into another, in a transaction that holds the run."""
    if not event_ids:
        return
    time: Literal["released_at", "ended_at"] = "released_at" if state == ItemState.RELEASED else "ended_at"
    update = store.statement(
        f"UPDATE {{bulk_item}} SET state = :state, cause = :cause, {time} = {{now}}"
        f" WHERE bulk_id = :bulk_id AND event_id IN {ids_sql(store, 'event_ids')} AND state = :was"
    )
    values = {"bulk_id": run_id, "event_ids": as_ids(event_ids), "state": state, "cause": cause, "was": was}
    changed = connection.execute(update, values).rowcount
    if changed != len(event_ids):
        raise RuntimeError(f"{changed} of {len(event_ids)} items of bulk run {run_id} were {was}")


def _place(cursor: str) -> tuple[int, int]:
    if not cursor:
        return 0, 0
    match = _CURSOR.fullmatch(cursor)
    place = (int(match[1]), int(match[2])) if match else (MAX_ID + 1, 0)
    if max(place) > MAX_ID:
        message = "cursor: it does not belong to this list; leave it out to begin at the start."
        raise FilterError(message, name="cursor", cause="cursor")
    return place


def _item(row: RowMapping) -> BulkItem:
    values: dict[str, Any] = dict(row)
    for name in ("released_at", "ended_at"):
        values[name] = read_time(values[name])
    return BulkItem(**values)
