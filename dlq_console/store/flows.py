"""What came and went in each account in the last whole minutes? From the rollups, so that it costs one look per account."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from dlq_console.health.histograms import percentile
from dlq_console.health.values import Flow
from dlq_console.store.events import read_time
from dlq_console.store.health_tables import BINS
from dlq_console.store.rollups import accounts_sql, rolled_until
from dlq_console.store.store import Store

#: How many whole minutes are told of.
MINUTES = 5

FLOWS = f"""
SELECT r.account, sum(r.arrived) AS arrived, sum(r.done) AS done, sum(r.died) AS died, max(r.lag_max_ms) AS largest,
    max(CASE WHEN r.done > 0 THEN r.bucket END) AS last_done,
    {", ".join(f"sum(r.lag{place}) AS lag{place}" for place in range(BINS))}
FROM ({accounts_sql(1)}) AS names JOIN {{rollup}} r
    ON r.grain = 1 AND r.account = names.name AND r.kind = '' AND r.bucket >= :from_at AND r.bucket < :before_at
GROUP BY r.account
"""


def flows(store: Store) -> tuple[dict[str, Flow], datetime | None]:
    """By account, those of all together under no name; and until when. An account in which nothing moved is left out."""
    until = rolled_until(store)
    if until is None:
        return {}, None
    span = {"from_at": until - timedelta(minutes=MINUTES), "before_at": until}
    with store.read() as connection:
        rows = connection.execute(store.statement(FLOWS), span).all()
    return {row.account: _flowed(row) for row in rows}, until


def _flowed(row: Any) -> Flow:
    bins = [int(getattr(row, f"lag{place}")) for place in range(BINS)]
    done, died = int(row.done), int(row.died)
    last = read_time(row.last_done)
    return Flow(
        minutes=MINUTES,
        arrivals=round(int(row.arrived) / MINUTES, 1),
        completions=round((done + died) / MINUTES, 1),
        done=done,
        died=died,
        lag_p50=_rounded(percentile(bins, 50, largest_ms=row.largest)),
        lag_p95=_rounded(percentile(bins, 95, largest_ms=row.largest)),
        last_done_at=last,
    )


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)
