"""How many events match? Exactly, up to a cap: beyond it nobody reads the figure, and counting on would cost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row

from dlq_console.store.filters import EventFilter
from dlq_console.store.queries.narrowing import by_text, narrowed
from dlq_console.store.queries.routes import Accounts, Route, prepared, route_for
from dlq_console.store.store import Store

#: Largest exact count.
CAP = 10_000
#: Matches among the rows of one walk. With 300,000 dead events and so large a share of them, an index yields about CAP rows.
THIN = 100


@dataclass(frozen=True, slots=True)
class Count:
    """How many; with `capped` there are that many or more."""

    number: int = 0
    capped: bool = False


ZERO = Count()


def added_up(counts: Iterable[Count]) -> Count:
    """All of them together; capped where one of them is."""
    counts = tuple(counts)
    return Count(sum(one.number for one in counts), any(one.capped for one in counts))


def count(store: Store, flt: EventFilter, *, accounts: Accounts = None, cap: int = CAP) -> Count:
    """How many events match; at most `cap` where an index answers, and among the newest SCAN_LIMIT where none does."""
    route = route_for(store, flt, accounts)
    if route is None:
        return ZERO
    with store.read() as connection:
        route = narrowed(store, connection, route)
        number = _counted(store, connection, route, cap)
        if is_thin(route, number):
            number = _counted(store, connection, by_text(store, connection, route), cap)
    return number


def is_thin(route: Route, number: Count) -> bool:
    """Whether the walk gave up with so few matches that the index of texts tells the exact number soon."""
    return route.text is not None and number.capped and number.number <= THIN


def _counted(store: Store, connection: Connection, route: Route, cap: int) -> Count:
    statement = prepared(store, count_sql(route, cap), route.parameters)
    return read_count(connection.execute(statement, route.parameters).one(), cap)


def count_sql(route: Route, cap: int = CAP) -> str:
    """SQL for one row: how many events `matched`, and whether the walks `stopped` before the end of the list."""
    if not route.checked:
        walked = route.any_rows("id, finished_at", cap + 1)
        return f"SELECT count(*) AS matched, 0 AS stopped FROM ({walked}) AS walked"
    return count_checked_sql(route, f"({route.numbered_rows('id, finished_at')}) AS walked")


def count_checked_sql(route: Route, walked: str) -> str:
    """The same where rows are checked, from all `numbered_rows` of the route."""
    return f"""
SELECT count(*) FILTER (WHERE matches) AS matched, count(*) FILTER (WHERE place = {route.patience()}) AS stopped
FROM {walked}
"""


def read_count(row: Row[Any], cap: int = CAP) -> Count:
    """What the row of `count_sql` means."""
    return Count(min(row.matched, cap), row.matched > cap or row.stopped > 0)
