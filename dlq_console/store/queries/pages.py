"""What stands on one page of a list, and where do the pages before and after it begin?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic

from sqlalchemy import Connection, Row

from dlq_console.store.clock import from_microseconds, to_microseconds
from dlq_console.store.cursors import Cursor, Direction, read_cursor
from dlq_console.store.events import DEFAULT_MAX_ATTEMPTS, SUMMARY_COLUMNS, TIMES, EventSummary, read_time
from dlq_console.store.filters import EventFilter
from dlq_console.store.queries.lines import LINES, EventLine, Item, Shape
from dlq_console.store.queries.narrowing import by_text, narrowed
from dlq_console.store.queries.routes import (
    ANY,
    Accounts,
    Order,
    Route,
    prepared,
    route_for,
)
from dlq_console.store.store import Store

#: Most rows on one page.
MAX_LIMIT = 200
#: Rows that are read for a page; few sizes, so that few statements are kept prepared.
_SIZES = (50, 100, MAX_LIMIT)

#: How a row that is walked later compares with one before it.
_BEYOND: dict[Order, str] = {"DESC": "<", "ASC": ">"}
_BACK: dict[Direction, Direction] = {"next": "previous", "previous": "next"}


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """Rows of a list and the cursors of its neighbours; None where there is no neighbour.

    A short page with a `next_cursor` gave up looking: the rows that it read held no more matches, later ones may.
    """

    items: tuple[Item, ...] = ()
    next_cursor: str | None = None
    previous_cursor: str | None = None


def events_page(
    store: Store, flt: EventFilter, *, cursor: str = "", limit: int = 50, accounts: Accounts = None
) -> Page[EventSummary]:
    """One page of all events that match.

    Newest first, or oldest first where the filter says so: by id, and by when they ended where it asks for nothing but
    dead or nothing but discarded events.

    Raises:
        FilterError: the cursor does not belong to this list.
    """
    return _events(store, flt, SUMMARIES, cursor, limit, accounts)


def event_lines(
    store: Store, flt: EventFilter, *, cursor: str = "", limit: int = 50, accounts: Accounts = None
) -> Page[EventLine]:
    """The same page with only what one line says about each event.

    Raises:
        FilterError: the cursor does not belong to this list.
    """
    return _events(store, flt, LINES, cursor, limit, accounts)


def _events(
    store: Store, flt: EventFilter, shape: Shape[Item], cursor: str, limit: int, accounts: Accounts
) -> Page[Item]:
    route = route_for(store, flt, accounts)
    if route is None:
        return Page()
    with store.read() as connection:
        route = narrowed(store, connection, route)
        return read_page(store, connection, route, shape, cursor=cursor, limit=limit)


def read_page(
    store: Store, connection: Connection, route: Route, shape: Shape[Item], *, cursor: str, limit: int
) -> Page[Item]:
    """One page of a route, of items of that shape; a text is looked up in its index where the walk finds too few.

    Raises:
        FilterError: the cursor does not belong to this list.
    """
    page = _walked_page(store, connection, route, shape, cursor=cursor, limit=limit)
    gave_up = len(page.items) < limit and (page.next_cursor or page.previous_cursor)
    if route.text is None or not gave_up:
        return page
    found = by_text(store, connection, route)
    return _walked_page(store, connection, found, shape, cursor=cursor, limit=limit)


def _walked_page(
    store: Store, connection: Connection, route: Route, shape: Shape[Item], *, cursor: str, limit: int
) -> Page[Item]:
    place = read_cursor(cursor, route.order)
    size = next(size for size in _SIZES if size >= limit)
    template = _template(route, shape.columns, place, size)
    parameters = route.parameters | _place_parameters(route, place)
    rows = connection.execute(prepared(store, template, parameters), parameters).all()
    found, gave_up_at = _matching(rows, route.patience()) if route.checked else (rows, None)
    shown, last = found[:limit], found[limit - 1] if len(found) > limit else gave_up_at
    items = tuple(shape.made_of(store, row) for row in shown)
    return _page(route, place, items, shown, last)


def _matching(rows: Sequence[Row[Any]], patience: int) -> tuple[list[Row[Any]], Row[Any] | None]:
    """The rows that match, up to where the first of the walks gave up, and that row: beyond it some may be missing."""
    found = []
    for row in rows:
        if row.matches:
            found.append(row)
        if row.place == patience:
            return found, row
    return found, None


def _template(route: Route, columns: tuple[str, ...], place: Cursor | None, size: int) -> str:
    """SQL for the rows of a page, one more that tells that there is another page, and the row where it gave up."""
    order = _order(route, place.direction if place else "next")
    comparison = _BEYOND[order]
    beyond = ANY
    if place:
        beyond = f"id {comparison} :cursor_id"
        if route.by_end:
            beyond = f"(finished_at, id) {comparison} (:cursor_at, :cursor_id)"
    if not route.checked:
        return route.rows(", ".join(columns), size + 1, beyond=beyond, order=order)
    by = route.order_by(order)
    # The columns of the list are fetched for the few rows that are shown.
    return f"""
WITH found AS (
    SELECT * FROM ({route.numbered_rows("id, finished_at", beyond=beyond, order=order)}) AS walked
    WHERE matches OR place = {route.patience()}
    {by} LIMIT {size + 2}
)
SELECT {", ".join(f"e.{name}" for name in columns)}, found.matches, found.place
FROM found JOIN {{event}} e ON e.id = found.id
{route.order_by(order, of="found.")}
"""


def _order(route: Route, direction: Direction) -> Order:
    """In which order the list is walked that way."""
    return "ASC" if route.oldest == (direction == "next") else "DESC"


def _place_parameters(route: Route, place: Cursor | None) -> dict[str, Any]:
    if place is None:
        return {}
    moment = {"cursor_at": from_microseconds(place.microseconds)} if route.by_end else {}
    return moment | {"cursor_id": place.id}


def _page(
    route: Route,
    place: Cursor | None,
    items: tuple[Item, ...],
    shown: Sequence[Row[Any]],
    last: Row[Any] | None,
) -> Page[Item]:
    """Turn items, in the direction in which their rows were walked, into a page.

    Args:
        route: of the list.
        place: where the walk began; None at the start of the list.
        items: of the page.
        shown: their rows.
        last: the last row that the next step in the same direction need not see; None where there is no such step.
    """
    direction: Direction = place.direction if place else "next"
    ahead = str(_cursor(route, last, direction)) if last else None
    behind = str(_behind(route, place, shown)) if place else None
    if direction == "next":
        return Page(items, next_cursor=ahead, previous_cursor=behind)
    return Page(items[::-1], next_cursor=behind, previous_cursor=ahead)


def _behind(route: Route, place: Cursor, shown: Sequence[Row[Any]]) -> Cursor:
    """Where the way back begins: at the first row shown, else at the cursor's own row, which the way back shows."""
    back = _BACK[place.direction]
    if shown:
        return _cursor(route, shown[0], back)
    step = -1 if _order(route, back) == "ASC" else 1
    return replace(place, direction=back, id=max(0, place.id + step))


def _cursor(route: Route, row: Row[Any], direction: Direction) -> Cursor:
    ended = read_time(row.finished_at) if route.by_end else None
    return Cursor(route.order, direction, to_microseconds(ended) if ended else 0, row.id)


def summary(store: Store, row: Row[Any]) -> EventSummary:
    """One row of a list, which begins with SUMMARY_COLUMNS."""
    # By position: looking up 34 names in each of 50 rows takes longer than the query.
    values = dict(zip(SUMMARY_COLUMNS, row, strict=False))
    for name in TIMES:
        values[name] = read_time(values[name])
    values["max_attempts"] = values["max_attempts"] or DEFAULT_MAX_ATTEMPTS
    return EventSummary(**values, queue=store.queue(values["account"], values["lane"]))


SUMMARIES = Shape(SUMMARY_COLUMNS, summary)
