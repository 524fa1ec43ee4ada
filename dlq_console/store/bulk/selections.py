"""Which events does a bulk run concern? A filter up to a moment, or events chosen one by one; both as SQL."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlencode

from sqlalchemy import Connection

from dlq_console.store.filters import EventFilter
from dlq_console.store.id_lists import as_ids, ids_sql
from dlq_console.store.queries.narrowing import narrowed
from dlq_console.store.queries.routes import Accounts, Route, route_for
from dlq_console.store.states import Status
from dlq_console.store.store import Store

#: Events that may be chosen one by one; more are chosen by a filter.
MOST_CHOSEN = 1_000

#: Of rows that are known to match, and of walks that come to their end.
_SURE = "(1 = 1) AS matches, (1 = 0) AS gave_up"
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
    """SQL that yields events of a selection, and its parameters.

    A row belongs to it where `matches` holds; one of which `gave_up` holds says that there are more than were looked at.
    `route` is there where the walk checks nothing and can be gone on with.
    """

    sql: str
    parameters: dict[str, Any]
    route: Route | None = None


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


def walk(
    store: Store,
    connection: Connection,
    selection: Selection,
    columns: str,
    reach: int,
    *,
    to_the_end: bool = False,
) -> Walk | None:
    """SQL that yields the newest events of a selection in no order; None where there can be none.

    Args:
        store: the store.
        connection: its transaction.
        selection: which events.
        columns: of the event table, and expressions over them, with `id` and `finished_at` among them.
        reach: most rows. Where some may fail a check, the list says how many are looked at.
        to_the_end: look at `reach` rows there too.
    """
    if selection.flt is None:
        condition, parameters = chosen_sql(store, selection)
        return Walk(f"SELECT {columns}, {_SURE} FROM {{event}} WHERE {condition}", parameters)
    route = route_for(store, selection.flt, selection.accounts, only=Status.DEAD)
    if route is None:
        return None
    route = narrowed(store, connection, route)
    parameters = route.parameters | {"cut_at": selection.cut_at}
    if not route.checked:
        rows = route.rows(f"{columns}, {_SURE}", reach, beyond=_UNTIL_CUT)
        return Walk(rows, parameters, route)
    together = reach if to_the_end else None
    # With its alias: an event has a place too, in its lane.
    gave_up = f"(w.place = {route.patience(together)}) AS gave_up"
    if route.source == "{event}":
        rows = route.numbered_rows(columns, together=together, beyond=_UNTIL_CUT)
        return Walk(f"SELECT w.*, {gave_up} FROM ({rows}) AS w", parameters)
    # What it walks holds no more than the columns for checks.
    rows = route.numbered_rows("id AS walked_id", together=together, beyond=_UNTIL_CUT)
    sql = f"SELECT {columns}, matches, {gave_up} FROM ({rows}) AS w JOIN {{event}} ON id = walked_id"
    return Walk(sql, parameters)


def rest_of(found: Walk, reach: int) -> str:
    """SQL that yields up to `reach` ids of a selection behind the event `(:after_at, :after_id)`, of a walk that checks nothing."""
    assert found.route is not None, "a walk that checks has no rest"  # noqa: S101 - tells the type checker
    beyond = f"{_UNTIL_CUT} AND (finished_at, id) < (:after_at, :after_id)"
    return found.route.rows("id, finished_at", reach, beyond=beyond)


def chosen_sql(store: Store, selection: Selection) -> tuple[str, dict[str, Any]]:
    """The condition of events that were chosen one by one and may be acted upon, and its parameters."""
    parameters: dict[str, Any] = {"chosen": as_ids(selection.event_ids)}
    condition = f"id IN {ids_sql(store, 'chosen')}"
    if selection.accounts is not None:
        condition += " AND account IN :visible_list"
        parameters["visible_list"] = list(selection.accounts)
    return condition, parameters
