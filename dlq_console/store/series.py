"""How did an account, one kind of it, or all of them go over time? Read from the rollups and samples, point by point."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from dlq_console.health.histograms import percentile
from dlq_console.health.series import EVENTS, STANDING, Range, Series
from dlq_console.store.buckets import HOUR, MINUTE, bucket_of, bucket_sql
from dlq_console.store.events import read_time
from dlq_console.store.health_tables import BINS, HISTOGRAMS, LARGEST
from dlq_console.store.present import present
from dlq_console.store.queries.routes import Accounts
from dlq_console.store.rollups import counted_until
from dlq_console.store.standing import FIGURES
from dlq_console.store.store import Store

_BINS_OF = {name: tuple(f"{name}{place}" for place in range(BINS)) for name in HISTOGRAMS}
_BINS = tuple(bin_ for bins in _BINS_OF.values() for bin_ in bins)
#: Seconds of a point below which minutes are read; from an hour on, hours.
_AN_HOUR = 3_600
#: Points that are as long as what is read of them.
_GRAINS = (60, _AN_HOUR)
#: Times that events lost, by the name of the column that tells of them.
_LOST = {name: f"{name}_ms" for name in ("lost_retry", "lost_limit", "lost_closed", "lost_order")}
#: Columns of which a series tells anything.
_ADDED = (*EVENTS, "tries_of_done", "end_to_end_ms", *_LOST.values())
#: One account, or those that a person may see, which together stand for all.
_AMONG = {
    True: "IN (SELECT value FROM json_each(:names))",
    False: "= ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:names AS jsonb))))",
}
#: Every bucket of a span, so that samples are looked up one by one: they lie in the order of time, all accounts together.
_BUCKETS = {
    True: "(WITH RECURSIVE steps(at) AS (SELECT :from_at UNION ALL SELECT at + :fine * 60000000 FROM steps"
    " WHERE at + :fine * 60000000 < :before_at) SELECT at FROM steps) AS buckets",
    False: "generate_series(CAST(:from_at AS timestamptz), CAST(:before_at AS timestamptz) - interval '1 microsecond',"
    " CAST(:fine AS integer) * interval '1 minute') AS buckets(at)",
}
#: Those of one bucket, by themselves: PostgreSQL would else read the whole table as long as it is small.
_OF_ONE = "SELECT s.* FROM {sample} s WHERE s.grain = :grain AND s.bucket = buckets.at AND s.account"
_OF_EACH = {
    True: "{sample} s ON s.grain = :grain AND s.bucket = buckets.at AND s.account " + _AMONG[True],
    False: f"LATERAL ({_OF_ONE} {_AMONG[False]} OFFSET 0) AS s ON true",
}


def _rollups(step: int, *, sqlite: bool) -> str:
    # As whole numbers: a sum is a decimal on PostgreSQL, and a month of them takes long to read.
    parts = [f"CAST(sum(r.{name}) AS bigint) AS {name}" for name in (*_ADDED, *_BINS)]
    parts += [f"max(r.{name}) AS {name}" for name in LARGEST]
    return f"""
SELECT {_point("r.bucket", step, sqlite=sqlite)} AS point, {", ".join(parts)} FROM {{rollup}} r
WHERE r.grain = :grain AND r.account {_AMONG[sqlite]}
    AND r.kind = :kind AND r.bucket >= :from_at AND r.bucket < :before_at
GROUP BY 1
"""


def _samples(step: int, *, sqlite: bool) -> str:
    """Of each account the largest within a point; of several their sum. One look-up in the primary key per bucket."""
    together = ", ".join(
        f"CAST({'max' if name == 'oldest_due_ms' else 'sum'}({name}) AS bigint) AS {name}" for name in FIGURES
    )
    source = f"{_BUCKETS[sqlite]} JOIN {_OF_EACH[sqlite]}"
    if step in _GRAINS:
        return f"SELECT buckets.at AS point, {together} FROM {source} GROUP BY 1"
    per_account = ", ".join(f"max(s.{name}) AS {name}" for name in FIGURES)
    return f"""
SELECT point, {together} FROM (
    SELECT {_point("s.bucket", step, sqlite=sqlite)} AS point, s.account, {per_account} FROM {source} GROUP BY 1, s.account
) AS one GROUP BY point
"""


def _point(bucket: str, step: int, *, sqlite: bool) -> str:
    return bucket if step in _GRAINS else bucket_sql(bucket, step, sqlite=sqlite)


def read(
    store: Store,
    range_: Range,
    *,
    account: str = "",
    kind: str = "",
    accounts: Accounts = None,
) -> Series:
    """The figures of one account, one kind of it, or all, up to the last whole point.

    Args:
        store: the store.
        range_: the span and its points.
        account: of which; empty for all.
        kind: of which kind of that account; empty for all. What stands is not known by kind.
        accounts: those that may be seen, None for all; an account that is not among them has nothing.

    Returns:
        Every point. What happened is 0 where the minute was made and nothing did, None where nobody made it; of what
        stands likewise by the looks.
    """
    with store.read() as connection:
        now, as_of = present(store, connection), counted_until(store, connection)
        end = bucket_of(now, range_.step)
        times = tuple(
            end - timedelta(seconds=range_.step * ago) for ago in range(range_.seconds // range_.step, 0, -1)
        )
        grain = MINUTE if range_.step < _AN_HOUR else HOUR
        span = {"grain": grain, "fine": grain, "kind": kind, "from_at": times[0], "before_at": end}

        def points(make: Any, names: Collection[str]) -> dict[datetime, Mapping[str, Any]]:
            statement = store.statement(make(range_.step, sqlite=store.sqlite))
            rows = connection.execute(statement, span | {"names": json.dumps(list(names))}).mappings()
            return {at: dict(row) for row in rows if (at := read_time(row["point"])) is not None}

        names = _names(account, accounts)
        done = points(_rollups, names)
        stood = points(_samples, names) if not kind else {}
        # Of all accounts together there is a row for every look, and one for every minute in which anything was done.
        looked = stood if names == _ALL else points(_samples, _ALL)
    known = looked.keys() | done.keys()
    # Of the others the last one is not whole: where nobody counts any more it would look like a fall.
    whole = [as_of is None or at + timedelta(seconds=range_.step) <= as_of for at in times]
    rows = _points(times, whole, done, known, _NOTHING_DONE)
    columns: dict[str, tuple[float | None, ...]] = dict(_happened(rows))
    if not kind:
        columns |= _standing(_points(times, whole, stood, looked, _NOTHING_STOOD))
    age = (now - as_of).total_seconds() if as_of else 0.0
    return Series(range=range_, times=times, columns=columns, as_of=as_of, age=age)


def _names(account: str, accounts: Accounts) -> Collection[str]:
    """Whose figures: those of one account, or of those that may be seen, or the sums of all, which have no name."""
    if accounts is None:
        return (account,)
    if account:
        return (account,) if account in accounts else ()
    return accounts


_ALL = ("",)
_NOTHING_DONE: Mapping[str, Any] = dict.fromkeys((*_ADDED, *LARGEST, *_BINS), 0)
_NOTHING_STOOD: Mapping[str, Any] = dict.fromkeys(FIGURES, 0)
Rows = list[Mapping[str, Any] | None]


def _points(
    times: Sequence[datetime],
    whole: Sequence[bool],
    found: Mapping[datetime, Mapping[str, Any]],
    known: Collection[datetime],
    nothing: Mapping[str, Any],
) -> Rows:
    """A row for each point; `nothing` where somebody looked and found none, None where it is not known to its end."""
    return [
        (found.get(at) or (nothing if at in known else None)) if is_whole else None
        for at, is_whole in zip(times, whole, strict=True)
    ]


def _happened(rows: Rows) -> Iterator[tuple[str, tuple[float | None, ...]]]:
    """Columns of what was done."""
    for name in EVENTS:
        yield name, tuple(None if row is None else int(row[name]) for row in rows)
    for name in HISTOGRAMS:
        for percent in (50, 95):
            yield f"{name}_p{percent}", tuple(_percentile(row, name, percent) for row in rows)
    yield "end_to_end", tuple(_share(row, "end_to_end_ms", "done", 1000) for row in rows)
    for name, column in _LOST.items():
        yield name, tuple(None if row is None else int(row[column]) / 1000 for row in rows)
    yield "tries_per_done", tuple(_share(row, "tries_of_done", "done") for row in rows)


def _standing(rows: Rows) -> dict[str, tuple[float | None, ...]]:
    """Columns of what stood where."""
    columns: dict[str, tuple[float | None, ...]] = {
        name: tuple(None if row is None else int(row[name]) for row in rows) for name in STANDING
    }
    columns["oldest_due"] = tuple(None if row is None else int(row["oldest_due_ms"]) / 1000 for row in rows)
    return columns


def _percentile(row: Mapping[str, Any] | None, name: str, percent: float) -> float | None:
    if row is None or row is _NOTHING_DONE:
        return None
    bins = [row[bin_] for bin_ in _BINS_OF[name]]
    # The largest wait is not kept; a wait of the last bin is told as it is.
    largest = int(row[f"{name}_max_ms"]) if f"{name}_max_ms" in LARGEST else None
    return percentile(bins, percent, largest_ms=largest)


def _share(row: Mapping[str, Any] | None, of: str, by: str, unit: int = 1) -> float | None:
    if row is None or not row[by]:
        return None
    return int(row[of]) / int(row[by]) / unit
