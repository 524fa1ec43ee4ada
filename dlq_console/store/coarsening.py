"""How do minutes become hours and days, and when are they forgotten?

Rollups have no index by time: the walk jumps from one kind of an account to the next along the primary key and takes a
stretch of each. It is done in chunks, so that no transaction is long. Samples lie in the order of time (`standing.py`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection

from dlq_console.store import standing
from dlq_console.store.buckets import DAY, HOUR, KEPT, MINUTE, bucket_of, bucket_sql
from dlq_console.store.health_tables import ADDED, BINS, COUNTED, HISTOGRAMS, LARGEST
from dlq_console.store.present import present
from dlq_console.store.rollups import MOST_BACK, REDONE, rolled_until
from dlq_console.store.store import Store

#: Lines (an account, or a kind of it) in one transaction.
CHUNK = 200
#: Buckets that one turn makes at most of each grain.
MOST_BUCKETS = 24
#: Which grain is made of which.
COARSER = ((HOUR, MINUTE), (DAY, HOUR))
#: How far back to begin where nothing was made yet.
FIRST_BACK = {MINUTE: MOST_BACK, HOUR: timedelta(seconds=KEPT[HOUR])}

_MARK = "SELECT name, value FROM {snapshot} WHERE reading = 'coarse'"
_KEEP_MARK = """
INSERT INTO {snapshot} (reading, name, value, changed_at) VALUES ('coarse', :name, :value, {now})
ON CONFLICT (reading, name) DO UPDATE SET value = excluded.value, changed_at = excluded.changed_at
"""
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


#: Columns of which a coarse bucket has the sum; of `LARGEST` it has the largest.
SUMMED = (*COUNTED, *ADDED, *(f"{name}{place}" for name in HISTOGRAMS for place in range(BINS)))


def _first(column: str, account: str, kind: str) -> str:
    """SQL: a column of the next line behind one. A column at a time: an engine has no scalar of two."""
    behind = f"grain = :grain AND (account, kind) > ({account}, {kind})"
    return f"(SELECT {column} FROM {{rollup}} WHERE {behind} ORDER BY account, kind, bucket LIMIT 1)"


#: SQL for the next lines of a grain behind one: one look-up in the primary key each.
LINES = f"""
WITH RECURSIVE found(account, kind) AS (
    SELECT {_first("account", ":account", ":kind")}, {_first("kind", ":account", ":kind")}
    UNION ALL
    SELECT {_first("account", "found.account", "found.kind")}, {_first("kind", "found.account", "found.kind")}
    FROM found WHERE found.account IS NOT NULL
)
SELECT account, kind FROM found WHERE account IS NOT NULL LIMIT {CHUNK}
"""
#: SQL for the lines that were found, as rows of `l`.
_CHOSEN = {
    True: "(SELECT json_extract(value, '$.account') AS account, json_extract(value, '$.kind') AS kind"
    " FROM json_each(:lines)) AS l",
    False: "jsonb_to_recordset(CAST(:lines AS jsonb)) AS l(account text, kind text)",
}


def _coarse(seconds: int, *, sqlite: bool) -> str:
    """SQL that makes the coarse buckets of some lines between two moments from the finer ones."""
    figures = (*SUMMED, *LARGEST)
    made = [f"sum(f.{name})" for name in SUMMED] + [f"max(f.{name})" for name in LARGEST]
    return f"""
INSERT INTO {{rollup}} (grain, account, kind, bucket, {", ".join(figures)})
SELECT :coarse, f.account, f.kind, {bucket_sql("f.bucket", seconds, sqlite=sqlite)}, {", ".join(made)}
FROM {_CHOSEN[sqlite]} JOIN {{rollup}} f ON f.grain = :grain AND f.account = l.account AND f.kind = l.kind
    AND f.bucket >= :from_at AND f.bucket < :before_at
WHERE 1 = 1 GROUP BY f.account, f.kind, {bucket_sql("f.bucket", seconds, sqlite=sqlite)}
ON CONFLICT (grain, account, kind, bucket) DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in figures)}
"""


def _old(*, sqlite: bool) -> str:
    """SQL that deletes what some lines have from before a moment."""
    return f"""
DELETE FROM {{rollup}} WHERE (grain, account, kind, bucket) IN (
    SELECT f.grain, f.account, f.kind, f.bucket FROM {_CHOSEN[sqlite]} JOIN {{rollup}} f
        ON f.grain = :grain AND f.account = l.account AND f.kind = l.kind AND f.bucket < :before_at
)
"""


_COARSE = {
    (grain, sqlite): _coarse(grain * 60, sqlite=sqlite) for grain, _ in COARSER for sqlite in (True, False)
}
_OLD = {sqlite: _old(sqlite=sqlite) for sqlite in (True, False)}


def coarsen(store: Store) -> int:
    """Make the hours and days that are over; returns how many rows were written.

    A bucket is made as soon as it is over, and anew until what it is made of cannot change any more.
    """
    until = rolled_until(store)
    if until is None:
        return 0
    marks = _marks(store)
    written = 0
    for coarse, fine in COARSER:
        seconds = coarse * 60
        begin = marks.get(coarse) or bucket_of(until - FIRST_BACK[fine], seconds)
        end = min(bucket_of(until, seconds), begin + MOST_BUCKETS * timedelta(seconds=seconds))
        if end <= begin:
            until = end
            continue
        span = {"coarse": coarse, "grain": fine, "from_at": begin, "before_at": end}
        written += sum(_in_chunks(store, fine, _COARSE[coarse, store.sqlite], span))
        written += standing.coarsen(store, coarse, fine, begin, end)
        # What is made anew is made of the last minutes, or of hours that were.
        _keep_mark(store, coarse, min(end, bucket_of(until - 2 * REDONE, seconds)))
        until = end
    return written


def prune(store: Store) -> int:
    """Delete what is older than its grain is kept; returns how many rows."""
    with store.read() as connection:
        now = present(store, connection)
    deleted, marks = 0, _marks(store)
    coarser = {fine: coarse for coarse, fine in COARSER}
    for grain, kept in KEPT.items():
        before = now - timedelta(seconds=kept)
        if grain in coarser:
            # Not before the coarser grain has it.
            before = min(before, marks.get(coarser[grain], _LONG_AGO))
        deleted += sum(_in_chunks(store, grain, _OLD[store.sqlite], {"grain": grain, "before_at": before}))
        deleted += standing.prune(store, grain, before)
    return deleted


def _in_chunks(store: Store, grain: int, template: str, parameters: dict[str, Any]) -> Iterator[int]:
    """Do something to every line of a grain, some lines per transaction; yields how many rows that were."""
    last = {"account": "", "kind": ""}
    # The line of everything has no names, and none is before it.
    lines: list[dict[str, str]] = [dict(last)]
    while lines:
        chosen = json.dumps(lines)
        yield store.transact(_doing(store, template, parameters | {"lines": chosen}))
        with store.read() as connection:
            found = connection.execute(store.statement(LINES), last | {"grain": grain})
            lines = [dict(row) for row in found.mappings()]
        last = lines[-1] if lines else last


def _doing(store: Store, template: str, parameters: dict[str, Any]) -> Callable[[Connection], int]:
    return lambda connection: connection.execute(store.statement(template), parameters).rowcount


def _marks(store: Store) -> dict[int, datetime]:
    with store.read() as connection:
        rows = connection.execute(store.statement(_MARK)).all()
    return {int(row.name): datetime.fromisoformat(json.loads(row.value)) for row in rows}


def _keep_mark(store: Store, grain: int, until: datetime) -> None:
    with store.single_statement() as connection:
        values = {"name": str(grain), "value": json.dumps(until.isoformat())}
        connection.execute(store.statement(_KEEP_MARK), values)
