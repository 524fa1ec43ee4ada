"""What do rules of alerts ask that no snapshot tells? Bounded counts along the indexes of dead letters, and of rollups."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dlq_console.health.histograms import BINS, percentile
from dlq_console.store import present as moment
from dlq_console.store.rollups import accounts_sql
from dlq_console.store.store import Store

#: Dead letters of one reason, and accounts, that one look takes.
MOST = 5_000
#: Minutes of which the lag of a kind is told.
LAG_MINUTES = 10

#: The newest of one reason; sorted as its index is.
_BY_REASON = f"""
SELECT account, kind, count(*) AS number FROM (
    SELECT account, kind FROM {{event}} WHERE status = 'dead' AND reason = :reason AND finished_at > {{now}} - {{interval[age]}}
    ORDER BY reason, finished_at DESC, id DESC LIMIT {MOST}
) AS few GROUP BY account, kind
"""
_OF_KIND = f"""
SELECT account, count(*) AS number FROM (
    SELECT account FROM {{event}} WHERE status = 'dead' AND kind = :kind
    ORDER BY kind, finished_at DESC, id DESC LIMIT {MOST}
) AS few GROUP BY account
"""
_LAG = f"""
SELECT r.account, max(r.lag_max_ms) AS largest, {", ".join(f"sum(r.lag{place}) AS lag{place}" for place in range(BINS))}
FROM ({accounts_sql(1)}) AS names JOIN {{rollup}} r ON r.grain = 1 AND r.account = names.name AND r.kind = :kind
    AND r.bucket > {{now}} - {{interval[{60 * LAG_MINUTES}]}}
GROUP BY r.account
"""
_ARRIVED = f"""
SELECT name,
    (SELECT arrived FROM {{rollup}} WHERE grain = 60 AND account = name AND kind = '' AND bucket = :hour_at) AS now,
    (SELECT arrived FROM {{rollup}} WHERE grain = 60 AND account = name AND kind = '' AND bucket = :one_at) AS one,
    (SELECT arrived FROM {{rollup}} WHERE grain = 60 AND account = name AND kind = '' AND bucket = :two_at) AS two,
    (SELECT arrived FROM {{rollup}} WHERE grain = 60 AND account = name AND kind = '' AND bucket = :three_at) AS three,
    (SELECT arrived FROM {{rollup}} WHERE grain = 60 AND account = name AND kind = '' AND bucket = :four_at) AS four
FROM ({accounts_sql(60)}) AS names WHERE name <> '' LIMIT {MOST}
"""
#: In how many of the last four weeks something must have come in this hour.
USUAL_WEEKS = 3


@dataclass(frozen=True, slots=True)
class Dead:
    """Dead letters of one account and kind."""

    account: str
    kind: str
    number: int


def dead_of_reason(store: Store, reason: str, *, days: float) -> list[Dead]:
    """Dead letters of one reason that died in the last days, among the newest MOST of them."""
    with store.read() as connection:
        rows = connection.execute(store.statement(_BY_REASON), {"reason": reason, "age": days * 86_400}).all()
    return [Dead(row.account, row.kind, row.number) for row in rows]


def dead_of_kind(store: Store, kind: str) -> dict[str, int]:
    """Dead letters of one kind by account, among the newest MOST of them."""
    with store.read() as connection:
        rows = connection.execute(store.statement(_OF_KIND), {"kind": kind}).all()
    return {row.account: row.number for row in rows}


def lags_of_kind(store: Store, kind: str) -> dict[str, float]:
    """The lag in seconds that 95 of 100 events of a kind did not exceed lately, of each account in which any began."""
    with store.read() as connection:
        rows = connection.execute(store.statement(_LAG), {"kind": kind}).all()
    lags = {
        row.account: percentile(
            [int(getattr(row, f"lag{place}")) for place in range(BINS)], 95, largest_ms=row.largest
        )
        for row in rows
    }
    return {account: lag for account, lag in lags.items() if lag is not None}


def present(store: Store) -> datetime:
    """The time of the database."""
    with store.read() as connection:
        return moment.present(store, connection)


def silent_in(store: Store, hour: datetime, weeks: tuple[datetime, ...]) -> dict[str, int]:
    """Accounts for which nothing came in an hour in which something usually comes, with the least that usually does.

    Args:
        store: the store.
        hour: the beginning of an hour that is over.
        weeks: the same hour of the four weeks before.
    """
    names = ("one_at", "two_at", "three_at", "four_at")
    parameters: dict[str, Any] = {"hour_at": hour} | dict(zip(names, weeks, strict=True))
    with store.read() as connection:
        rows = connection.execute(store.statement(_ARRIVED), parameters).all()
    found = {}
    for row in rows:
        usual = sorted((number for number in (row.one, row.two, row.three, row.four) if number), reverse=True)
        if not row.now and len(usual) >= USUAL_WEEKS:
            found[row.name] = int(usual[USUAL_WEEKS - 1])
    return found
