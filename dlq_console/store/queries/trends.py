"""In which hours did the dead events of a group die? As they were counted last, hour by hour, for the last day."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from dlq_console.store.filters import EventFilter
from dlq_console.store.groups import HOURS, hour_of, read_hours
from dlq_console.store.queries.routes import ANY, Accounts, prepared
from dlq_console.store.store import Store

__all__ = ["HOURS", "counted_in", "trends"]

#: Pairs of a group and an account that are read at once.
MOST_PAIRS = 5_000


def counted_in(flt: EventFilter, visible: Accounts) -> Accounts:
    """The accounts that a list is about: those of its filter, as far as they are `visible`."""
    if not flt.account:
        return visible
    return tuple(account for account in flt.account if visible is None or account in visible)


def trends(
    store: Store, fingerprints: Sequence[str], *, accounts: Accounts = None
) -> dict[str, tuple[int, ...]]:
    """How many of the events that are dead now died in each of the last HOURS hours, the present one last.

    Args:
        store: the store.
        fingerprints: of the groups.
        accounts: those to count in; None for all.
    """
    if not fingerprints or accounts == ():
        return {}
    visible = ANY if accounts is None else "account IN :visible_list"
    template = f"""
SELECT fingerprint, trend, {hour_of("{now}", sqlite=store.sqlite)} AS this_hour FROM {{error_group}}
WHERE fingerprint IN :group_list AND dead > 0 AND trend IS NOT NULL AND {visible} LIMIT {MOST_PAIRS}
"""
    parameters: dict[str, Any] = {"group_list": list(fingerprints)}
    if accounts is not None:
        parameters["visible_list"] = list(accounts)
    with store.read() as connection:
        rows = connection.execute(prepared(store, template, parameters), parameters).all()
    hours: dict[str, Counter[int]] = {}
    for row in rows:
        hours.setdefault(row.fingerprint, Counter()).update(read_hours(row.trend))
    if not rows:
        return {}
    shown = range(rows[0].this_hour - HOURS + 1, rows[0].this_hour + 1)
    return {fingerprint: tuple(counted[hour] for hour in shown) for fingerprint, counted in hours.items()}
