"""How many events match? Exactly, up to a cap: beyond it nobody reads the figure, and counting on would cost."""

from __future__ import annotations

from dataclasses import dataclass

from dlq_console.store.filters import EventFilter
from dlq_console.store.queries.pages import narrowed
from dlq_console.store.queries.routes import CHECKED, SCAN_LIMIT, Accounts, Route, prepared, route_for
from dlq_console.store.store import Store

#: Largest exact count.
CAP = 10_000


@dataclass(frozen=True, slots=True)
class Count:
    """How many; with `capped` there are that many or more."""

    number: int = 0
    capped: bool = False


ZERO = Count()


def count(store: Store, flt: EventFilter, *, accounts: Accounts = None, cap: int = CAP) -> Count:
    """How many events match; at most `cap` where an index answers, and among the newest SCAN_LIMIT where none does."""
    route = route_for(store, flt, accounts)
    if route is None:
        return ZERO
    with store.read() as connection:
        route = narrowed(store, connection, route)
        statement = prepared(store, count_sql(route, cap), route.parameters)
        row = connection.execute(statement, route.parameters).one()
    return read_count(route, row.walked, row.matched, cap)


def count_sql(route: Route, cap: int = CAP) -> str:
    """SQL for one row: how many rows were `walked`, and how many of them `matched`."""
    if not route.checked:
        walked = route.rows("id, finished_at", cap + 1)
        return f"SELECT count(*) AS walked, count(*) AS matched FROM ({walked}) AS walked"
    walked = route.rows(CHECKED, SCAN_LIMIT)
    return f"SELECT count(*) AS walked, count(*) FILTER (WHERE {route.check}) AS matched FROM ({walked}) AS walked"


def read_count(route: Route, walked: int, matched: int, cap: int = CAP) -> Count:
    """What the row of `count_sql` means."""
    if route.checked:
        return Count(min(matched, cap), matched > cap or walked == SCAN_LIMIT)
    return Count(min(matched, cap), matched > cap)
