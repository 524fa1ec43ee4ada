"""How is a list found whose rows lie far from where its walk begins? By walking a smaller set, or a part of the ids."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlalchemy import Connection

from dlq_console.store.queries.routes import CHECKED, SCAN_LIMIT, Route
from dlq_console.store.store import Store


def narrowed(store: Store, connection: Connection, route: Route) -> Route:
    """The same list, walked over no more rows than it needs.

    Few events wait or run at any moment, and they may be anywhere among all events; what came in last month lies far
    behind what came in since. Looking for them from the newest event on would give up long before it finds them.
    """
    if route.small_set:
        few = f"FROM {{event}} WHERE {route.small_set} LIMIT {SCAN_LIMIT}"
        size = store.statement(f"SELECT count(*) FROM (SELECT 1 {few}) AS few")
        if connection.execute(size).scalar_one() < SCAN_LIMIT:
            return replace(route, source=f"(SELECT {CHECKED} {few}) AS few")
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
