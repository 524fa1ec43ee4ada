"""How many dead events has each cause in all accounts together? Added up where they are counted, so that no page adds them up.

One row per cause that has any, written in the transaction that writes what was counted of its accounts.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection

from dlq_console.store.store import Store

#: Causes between two of them, both included, so that one whose accounts lie in two stretches is added up with each.
_BETWEEN = (
    "fingerprint >= :fingerprint AND (CAST(:endless AS integer) = 1 OR fingerprint <= :end_fingerprint)"
)
#: An old event that was put back to work may be the last that died, so ids tell nothing.
DIED_LAST = "last_seen_at DESC, sample_event_id DESC"
_NEWEST = f"FROM {{error_group}} g WHERE g.fingerprint = summed.fingerprint AND dead > 0 ORDER BY {DIED_LAST} LIMIT 1"

_ADD_UP = f"""
INSERT INTO {{error_cause}} (fingerprint, account, kind, dead, largest, accounts, first_seen_at, last_seen_at, sampled_at)
SELECT fingerprint, (SELECT account {_NEWEST}), (SELECT kind {_NEWEST}), dead, largest, accounts,
    first_seen_at, last_seen_at, sampled_at
FROM (
    SELECT fingerprint, sum({{least}}(dead, :cap)) AS dead, max(dead) AS largest, count(*) AS accounts,
        min(first_seen_at) AS first_seen_at, max(last_seen_at) AS last_seen_at, min(sampled_at) AS sampled_at
    FROM {{error_group}} WHERE dead > 0 AND {_BETWEEN} GROUP BY fingerprint
) AS summed WHERE 1 = 1 ORDER BY fingerprint
ON CONFLICT (fingerprint) DO UPDATE SET
    account = excluded.account, kind = excluded.kind, dead = excluded.dead, largest = excluded.largest,
    accounts = excluded.accounts, first_seen_at = excluded.first_seen_at, last_seen_at = excluded.last_seen_at,
    sampled_at = excluded.sampled_at
"""

_NONE_LEFT = f"""
DELETE FROM {{error_cause}} WHERE {_BETWEEN}
    AND NOT EXISTS (SELECT 1 FROM {{error_group}} g WHERE g.fingerprint = {{error_cause}}.fingerprint AND g.dead > 0)
"""


def add_up(store: Store, connection: Connection, *, first: str, last: str | None, cap: int) -> None:
    """Add up the accounts of every cause from `first` to `last`, to the end where that is None.

    Args:
        store: the store.
        connection: the transaction in which these accounts were counted.
        first: fingerprint of the first cause.
        last: that of the last.
        cap: largest exact count of one account, of which no more is added.
    """
    between: dict[str, Any] = {
        "fingerprint": first,
        "endless": int(last is None),
        "end_fingerprint": last or "",
    }
    connection.execute(store.statement(_ADD_UP), between | {"cap": cap})
    connection.execute(store.statement(_NONE_LEFT), between)
