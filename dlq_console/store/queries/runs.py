"""How long did runs take and how many failed in the last hour, and how many were there in the last whole minute?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dlq_console.health.histograms import percentile
from dlq_console.store.health_tables import BINS
from dlq_console.store.store import Store

#: The span of run times, in seconds.
SPAN = 3_600
#: Most accounts and kinds whose last minute is read.
MOST_LINES = 20_000

_BINS = ", ".join(f"sum(run{place})" for place in range(BINS))
LAST_HOUR = f"""
SELECT sum(tried) AS tried, sum(failed) + sum(died) AS bad, max(run_max_ms) AS largest, {_BINS}
FROM {{rollup}} WHERE grain = 1 AND account = :account AND kind = :kind AND bucket > {{now}} - {{interval[{SPAN}]}}
"""
LAST_MINUTE = f"""
SELECT account, kind, sum(tried) AS tried FROM {{rollup}}
WHERE grain = 1 AND account IN (SELECT DISTINCT account FROM {{scope}} WHERE pace IS NOT NULL AND account IS NOT NULL)
    AND kind <> '' AND bucket > {{now}} - {{interval[120]}} AND bucket <= {{now}} - {{interval[60]}}
GROUP BY account, kind LIMIT {MOST_LINES}
"""
WAITED = f"""
SELECT account, sum(lost_limit_ms) AS waited FROM {{rollup}}
WHERE grain = 1 AND account IN (SELECT DISTINCT account FROM {{scope}} WHERE pace IS NOT NULL AND account IS NOT NULL)
    AND kind = '' AND bucket > {{now}} - {{interval[{SPAN}]}}
GROUP BY account LIMIT {MOST_LINES}
"""


@dataclass(frozen=True, slots=True)
class RunTimes:
    """Runs of the last hour: how many, how many of them failed or died, and how long they took, in seconds."""

    tried: int
    bad: int
    p50: float
    p95: float
    p99: float


def run_times(store: Store, account: str, kind: str = "") -> RunTimes | None:
    """Runs of an account, or of one kind of it, in the last hour; None where none was counted."""
    with store.read() as connection:
        row = connection.execute(store.statement(LAST_HOUR), {"account": account, "kind": kind}).one()
    tried, bad, largest, *bins = (int(value or 0) for value in row)
    p50, p95, p99 = (percentile(bins, share, largest_ms=largest) for share in (50, 95, 99))
    return None if p50 is None or p95 is None or p99 is None else RunTimes(tried, bad, p50, p95, p99)


def last_minute(store: Store) -> Mapping[tuple[str, str], int]:
    """How many runs of each kind ended in the last whole minute, in the accounts whose limits are kept."""
    with store.read() as connection:
        rows = connection.execute(store.statement(LAST_MINUTE)).all()
    return {(row.account, row.kind): int(row.tried) for row in rows}


def waited_for_limits(store: Store) -> Mapping[str, float]:
    """How many seconds events waited in the last hour because a provider asked for fewer calls, by account."""
    with store.read() as connection:
        rows = connection.execute(store.statement(WAITED)).all()
    return {row.account: float(row.waited or 0) / 1000 for row in rows}
