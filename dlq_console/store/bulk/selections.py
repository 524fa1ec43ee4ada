"""Which events does a bulk run concern? A filter up to a moment, or events chosen one by one; both as SQL."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlencode

from sqlalchemy import Connection

from dlq_console.store.filters import EventFilter
from dlq_console.store.queries.narrowing import narrowed
from dlq_console.store.queries.routes import Accounts, route_for
from dlq_console.store.states import Status
from dlq_console.store.store import Store

#: Events that may be chosen one by one; more are chosen by a filter.
MOST_CHOSEN = 1_000

#: What a preview looks at.
FACTS = "id, kind, account, fingerprint, status, reason, doubts, lane, created_at, finished_at"
_TYPES = {"id": "bigint", "doubts": "integer", "created_at": "{time}", "finished_at": "{time}"}
_UNTIL_CUT = "finished_at <= :cut_at"

_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What was asked for.

    Attributes:
        flt: the filter; None where the events were chosen one by one.
        event_ids: which were chosen.
        cut_at: events that ended later are not part of it.
        accounts: those that whoever asked may act upon; None for all.
    """

    flt: EventFilter | None
    event_ids: tuple[int, ...] = ()
    cut_at: datetime
    accounts: Accounts = None


@dataclass(frozen=True, slots=True)
class Walk:
    """SQL that yields FACTS of the events of a selection, and its parameters."""

    sql: str
    parameters: dict[str, Any]


def ids_sql(store: Store, name: str) -> str:
    """SQL for the rows of a parameter that holds ids as a JSON list; see `as_ids`."""
    if store.sqlite:
        return f"(SELECT value FROM json_each(:{name}))"
    return f"(SELECT CAST(j AS bigint) FROM jsonb_array_elements_text(CAST(:{name} AS jsonb)) AS j)"


def as_ids(event_ids: Sequence[int]) -> str:
    """The value of such a parameter."""
    return json.dumps([*event_ids])


def pinned(flt: EventFilter, cut_at: datetime) -> EventFilter:
    """The filter as it is meant at `cut_at`: "since 2 hours ago" does not move on while a run goes on."""
    seconds = flt.since_seconds
    if seconds is None:
        return flt
    begins = (flt.at or cut_at) - timedelta(seconds=seconds)
    return replace(flt, since="", from_=max(begins, flt.from_) if flt.from_ else begins)


def late_arrivals(flt: EventFilter, cut_at: datetime) -> EventFilter:
    """The filter of what belongs to the selection but ended after it was made."""
    begins = cut_at + _MICROSECOND
    return replace(flt, from_=max(begins, flt.from_) if flt.from_ else begins)


def to_query(flt: EventFilter) -> str:
    """A filter as it is kept: a query string."""
    return urlencode(flt.query())


def from_query(text: str) -> EventFilter:
    """The inverse of `to_query`."""
    return EventFilter.parse(parse_qs(text))


def walk(store: Store, connection: Connection, selection: Selection, reach: int) -> Walk | None:
    """SQL that yields FACTS of the newest events of a selection, `reach` and one at most; None where there can be none.

    Where some rows fail a check, fewer may be looked at; a row whose `gave_up` is 1 and whose `id` is NULL says so.
    """
    if selection.flt is None:
        condition, parameters = chosen_sql(store, selection)
        return Walk(f"SELECT {FACTS}, 0 AS gave_up FROM {{event}} WHERE {condition}", parameters)
    route = route_for(store, selection.flt, selection.accounts, only=Status.DEAD)
    if route is None:
        return None
    route = narrowed(store, connection, route)
    parameters = route.parameters | {"cut_at": selection.cut_at}
    if not route.checked:
        rows = route.rows(FACTS, reach + 1, beyond=_UNTIL_CUT)
        return Walk(f"SELECT {FACTS}, 0 AS gave_up FROM ({rows}) AS w", parameters)
    rows = route.numbered_rows("id, finished_at", beyond=_UNTIL_CUT)
    patience, facts = route.patience(), ", ".join(f"e.{name}" for name in FACTS.split(", "))
    nothing = ", ".join(f"CAST(NULL AS {_TYPES.get(name, 'text')})" for name in FACTS.split(", "))
    # Which walk gave up does not matter, only that one did.
    sql = f"""SELECT {facts}, 0 AS gave_up FROM ({rows}) AS w JOIN {{event}} e ON e.id = w.id WHERE w.matches
        UNION ALL SELECT {nothing}, 1 FROM (SELECT place FROM ({rows}) AS w WHERE place = {patience} LIMIT 1) AS s"""
    return Walk(sql, parameters)


def chosen_sql(store: Store, selection: Selection) -> tuple[str, dict[str, Any]]:
    """The condition of events that were chosen one by one and may be acted upon, and its parameters."""
    parameters: dict[str, Any] = {"chosen": as_ids(selection.event_ids)}
    condition = f"id IN {ids_sql(store, 'chosen')}"
    if selection.accounts is not None:
        condition += " AND account IN :visible_list"
        parameters["visible_list"] = list(selection.accounts)
    return condition, parameters
