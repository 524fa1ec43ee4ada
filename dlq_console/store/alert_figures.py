"""What do rules of alerts ask that no snapshot tells? Bounded counts along the indexes of dead letters, and of rollups.

What they ask of causes and lanes is in `alert_letters.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from dlq_console.health.histograms import BINS, percentile
from dlq_console.store import present as moment
from dlq_console.store.buckets import bucket_of
from dlq_console.store.rollups import accounts_sql, rolled_until
from dlq_console.store.store import Store

#: Dead letters of one reason, and accounts, that one look takes.
MOST = 5_000
#: Minutes of which the lag of a kind is told.
LAG_MINUTES = 10
_HOUR, _WEEK = timedelta(hours=1), timedelta(weeks=1)
_WEEKS = ("one", "two", "three", "four")

#: The newest of one reason; sorted as its index is.
_BY_REASON = f"""
SELECT account, kind, count(*) AS number FROM (
    SELECT account, kind FROM {{event}} WHERE status = 'dead' AND reason = :reason AND finished_at > {{now}} - {{interval[age]}}
        AND finished_at <= {{now}} - {{interval[older]}}
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


def _in_week(week: str) -> str:
    """SQL: how many came in the same hour of an earlier week."""
    hour = f"grain = 60 AND account = name AND kind = '' AND bucket = :{week}_at"
    return f"(SELECT arrived FROM {{rollup}} WHERE {hour}) AS {week}"


#: The hour itself from its minutes, because hours are made a while after they are over.
_ARRIVED = f"""
SELECT name,
    (SELECT sum(arrived) FROM {{rollup}} WHERE grain = 1 AND account = name AND kind = ''
        AND bucket >= :hour_at AND bucket < :end_at) AS now,
    {", ".join(map(_in_week, _WEEKS))}
FROM ({accounts_sql(60)}) AS names WHERE name <> '' LIMIT {MOST}
"""
#: Since when the transitions of a circuit count, and how many of them are read; what reopens after a probe is one opening.
_OPENINGS = f"""
SELECT newest.name, s.account, s.kind, count(*) AS number FROM (
    SELECT type, name, before, after FROM {{scope_change}} WHERE at > {{now}} - {{interval[86400]}}
    ORDER BY at DESC LIMIT {MOST}
) AS newest JOIN {{scope}} s ON s.type = newest.type AND s.name = newest.name
WHERE newest.before = 'closed' AND newest.after = 'open' GROUP BY newest.name, s.account, s.kind
"""
#: In how many of the last four weeks something must have come in this hour.
USUAL_WEEKS = 3


@dataclass(frozen=True, slots=True)
class Dead:
    """Dead letters of one account and kind."""

    account: str
    kind: str
    number: int


def dead_of_reason(store: Store, reason: str, *, days: float, older: float = 0) -> list[Dead]:
    """Dead letters of one reason that died in the last days and so many seconds ago, among the newest MOST of them."""
    asked = {"reason": reason, "age": days * 86_400, "older": older}
    with store.read() as connection:
        rows = connection.execute(store.statement(_BY_REASON), asked).all()
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


def last_hour(store: Store) -> datetime | None:
    """The beginning of the last hour of which all minutes were made; None where that is long ago, or never was."""
    until = rolled_until(store)
    if until is None:
        return None
    hour = bucket_of(until, 3_600) - _HOUR
    return hour if present(store) - hour < 3 * _HOUR else None


def silent_in(store: Store, hour: datetime) -> dict[str, int]:
    """Accounts for which nothing came in an hour in which something usually comes, with the least that usually does.

    Args:
        store: the store.
        hour: the beginning of an hour whose minutes were made; compared with the same hour of the four weeks before.
    """
    weeks = {f"{week}_at": hour - (number + 1) * _WEEK for number, week in enumerate(_WEEKS)}
    parameters: dict[str, Any] = {"hour_at": hour, "end_at": hour + _HOUR} | weeks
    with store.read() as connection:
        rows = connection.execute(store.statement(_ARRIVED), parameters).all()
    found = {}
    for row in rows:
        usual = sorted((number for number in (row.one, row.two, row.three, row.four) if number), reverse=True)
        if not row.now and len(usual) >= USUAL_WEEKS:
            found[row.name] = int(usual[USUAL_WEEKS - 1])
    return found


@dataclass(frozen=True, slots=True)
class Openings:
    """How often one circuit of the hub has opened from closed in the last day."""

    name: str
    account: str | None
    kind: str | None
    number: int


def openings(store: Store) -> list[Openings]:
    """Of each circuit of the hub, among the newest MOST transitions of all."""
    with store.read() as connection:
        rows = connection.execute(store.statement(_OPENINGS)).all()
    return [Openings(row.name, row.account, row.kind, row.number) for row in rows]
