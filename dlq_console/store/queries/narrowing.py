"""How is a list found whose rows lie far from where its walk begins? By walking a smaller set, or a part of the ids."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection

from dlq_console.store.id_lists import as_ids, ids_sql
from dlq_console.store.queries.routes import CHECKED, Route, all_of, prepared
from dlq_console.store.store import Store

#: So many events are named one by one, because each further search reads the index of texts again.
NAMED = 1_000

_PARAMETER = re.compile(r":([a-z_0-9]+)")


def narrowed(store: Store, connection: Connection, route: Route) -> Route:
    """The same list, walked over no more rows than it needs.

    Few events wait or run at any moment, and they may be anywhere among all events; what came in last month lies far
    behind what came in since. Looking for them from the newest event on would give up long before it finds them.
    """
    sizes: Sequence[int] = ()
    if route.few:
        asked = ", ".join(f"{one.counted} AS few_{number}" for number, one in enumerate(route.few))
        # The list asks for more than its few events do.
        parameters = {name: route.parameters[name] for name in _PARAMETER.findall(asked)}
        sizes = connection.execute(prepared(store, f"SELECT {asked}", parameters), parameters).one()
    route, walks_few = _with_few(store, route, sizes)
    return route if walks_few else _between_ids(store, connection, route)


def by_text(store: Store, connection: Connection, route: Route) -> Route:
    """The same list, found by the index of texts where that yields few rows; otherwise its text is one check more.

    Args:
        store: the database.
        connection: to it.
        route: a `narrowed` one with a text.
    """
    text = route.text
    assert text is not None, "asked only for routes that can be found so"  # noqa: S101 - tells the type checker
    sought = replace(route, few=(text,), text=None)
    if route.source != "{event}":
        return replace(sought, few=(), own_check=sought.check)
    template = f"SELECT id {text.members} LIMIT {text.limit}"
    asked = {name: route.parameters[name] for name in _PARAMETER.findall(template)}
    ids = connection.execute(prepared(store, template, asked), asked).scalars().all()
    if len(ids) <= NAMED:
        return _named(store, route, ids)
    return _with_few(store, sought, [len(ids)])[0]


def _named(store: Store, route: Route, ids: Sequence[int]) -> Route:
    """The route over these events alone, which hold what its text asks."""
    columns = f"{CHECKED}, payload" if "payload" in route.own_check else CHECKED
    source = f"(SELECT {columns} FROM {{event}} WHERE id IN {ids_sql(store, 'named')}) AS named"
    parameters = route.parameters | {"named": as_ids(ids)}
    reach = (NAMED + 1) * len(route.branches)
    return replace(route, text=None, source=source, parameters=parameters, reach=reach)


def _with_few(store: Store, route: Route, sizes: Sequence[int]) -> tuple[Route, bool]:
    """The route, and whether it walks few events now instead of the list."""
    source, reach, conditions, checks = "", route.reach, [route.condition], [route.own_check]
    columns = f"{CHECKED}, payload" if "payload" in route.own_check else CHECKED
    for few, size in zip(route.few, sizes, strict=True):
        if few.outside and size < few.limit:
            # Left out rather than checked: no walk gives up because of so few.
            conditions += [f"id NOT IN ({few.left_out})"] if size else []
        elif not few.outside and not source and size < few.limit:
            source = few.source(columns, sqlite=store.sqlite)
            # All of them are looked at, whatever must be checked: none is beyond the reach of any walk.
            reach = few.limit * len(route.branches)
        else:
            checks.append(few.check)
    changed = replace(
        route,
        few=(),
        condition=all_of(conditions),
        own_check=all_of(checks),
        source=source or route.source,
        reach=reach,
    )
    return changed, bool(source)


def _between_ids(store: Store, connection: Connection, route: Route) -> Route:
    """The route without the ids for which an end of the time asked for leaves no room."""
    conditions, parameters = [route.condition], dict(route.parameters)
    for predicate, name, condition in (
        (route.begins, "first_id", "id >= :first_id"),
        (route.ends, "end_id", "id < :end_id"),
    ):
        if predicate:
            conditions.append(condition)
            parameters[name] = _first_id(store, connection, predicate, route.parameters)
    return replace(route, condition=" AND ".join(conditions), parameters=parameters)


def _first_id(store: Store, connection: Connection, predicate: str, parameters: dict[str, Any]) -> int:
    """The smallest id from which on `predicate` holds, found by halving; behind the newest id where it never does."""
    newest = store.statement("SELECT coalesce(max(id), 0) FROM {event}")
    probe = store.statement(
        f"SELECT id, ({predicate}) AS holds FROM {{event}} WHERE id <= :middle ORDER BY id DESC LIMIT 1"
    )
    low, high = 0, connection.execute(newest).scalar_one() + 1
    while high - low > 1:
        middle = (low + high) // 2
        row = connection.execute(probe, parameters | {"middle": middle}).one_or_none()
        if row is not None and row.holds:
            high = row.id
        else:
            low = middle
    return int(high)
