"""Which of these events does a filter show now? Each is looked up by its id, so it does not matter where in the list it is."""

from __future__ import annotations

from collections.abc import Sequence

from dlq_console.store.filters import EventFilter
from dlq_console.store.id_lists import as_ids, ids_sql
from dlq_console.store.queries.routes import CHECKED, Accounts, prepared, route_for
from dlq_console.store.store import Store


def still_matching(
    store: Store, flt: EventFilter, ids: Sequence[int], *, accounts: Accounts = None
) -> list[int]:
    """Those of the events that exist, may be seen and match.

    Args:
        store: the store.
        flt: of a list of events.
        ids: of events; the caller bounds how many.
        accounts: what the person may see.
    """
    route = route_for(store, flt, accounts)
    if route is None or not ids:
        return []
    columns = f"{CHECKED}, payload" if "payload" in route.check else CHECKED
    # Materialized, so that no engine walks the list instead.
    template = f"""
WITH named AS MATERIALIZED (SELECT {columns} FROM {{event}} WHERE id IN {ids_sql(store, "named_events")})
SELECT id FROM named WHERE {route.condition} AND ({" OR ".join(f"({one})" for one in route.branches)}) AND {route.check}
"""
    parameters = route.parameters | {"named_events": as_ids(ids)}
    with store.read() as connection:
        return list(connection.execute(prepared(store, template, parameters), parameters).scalars())
