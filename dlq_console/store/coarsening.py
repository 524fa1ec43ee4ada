"""How do minutes become hours and days, and when are they forgotten? For the rollups and the samples alike.

Neither table has an index by time: the walk jumps from one account (and kind) to the next along the primary key and takes
a stretch of each. It is done in chunks, so that no transaction is long.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection

from dlq_console.store.buckets import DAY, HOUR, KEPT, MINUTE, bucket_of, bucket_sql
from dlq_console.store.health_tables import ADDED, BINS, COUNTED, HISTOGRAMS, LARGEST, SAMPLED
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


@dataclass(frozen=True, slots=True)
class _Kind:
    """One of the two tables.

    Attributes:
        table: its name.
        line: the columns that tell one line from another, in the order of the primary key.
        added: columns of which a coarse bucket has the sum.
        largest: columns of which it has the largest.
    """

    table: str
    line: tuple[str, ...]
    added: tuple[str, ...]
    largest: tuple[str, ...]


ROLLUPS = _Kind(
    "rollup",
    ("account", "kind"),
    (*COUNTED, *ADDED, *(f"{name}{place}" for name in HISTOGRAMS for place in range(BINS))),
    LARGEST,
)
SAMPLES = _Kind("sample", ("account",), (), (*SAMPLED, "oldest_due_ms"))
KINDS = (ROLLUPS, SAMPLES)


def _lines(kind: _Kind) -> str:
    """SQL for the next lines of a grain behind one: one look-up in the primary key each."""
    names = ", ".join(kind.line)
    given = ", ".join(f":{name}" for name in kind.line)
    before = ", ".join(f"found.{name}" for name in kind.line)
    order = f"ORDER BY {names}, bucket LIMIT 1"

    # A column at a time: an engine has no scalar of two.
    def first(column: str, behind: str) -> str:
        return (
            f"(SELECT {column} FROM {{{kind.table}}} WHERE grain = :grain AND ({names}) > ({behind}) {order})"
        )

    return f"""
WITH RECURSIVE found({names}) AS (
    SELECT {", ".join(first(name, given) for name in kind.line)}
    UNION ALL
    SELECT {", ".join(first(name, before) for name in kind.line)} FROM found WHERE found.account IS NOT NULL
)
SELECT {names} FROM found WHERE account IS NOT NULL LIMIT {CHUNK}
"""


LINES = {kind.table: _lines(kind) for kind in KINDS}


def _between(kind: _Kind, *, sqlite: bool) -> str:
    """SQL for the lines that were found, as rows of `l`."""
    if sqlite:
        columns = ", ".join(f"json_extract(value, '$.{name}') AS {name}" for name in kind.line)
        return f"(SELECT {columns} FROM json_each(:lines)) AS l"
    columns = ", ".join(f"{name} text" for name in kind.line)
    return f"jsonb_to_recordset(CAST(:lines AS jsonb)) AS l({columns})"


def _of_line(kind: _Kind) -> str:
    return " AND ".join(f"f.{name} = l.{name}" for name in kind.line)


def _coarse(kind: _Kind, seconds: int, *, sqlite: bool) -> str:
    """SQL that makes the coarse buckets of some lines between two moments from the finer ones."""
    line = ", ".join(kind.line)
    figures = (*kind.added, *kind.largest)
    made = [f"sum(f.{name})" for name in kind.added] + [f"max(f.{name})" for name in kind.largest]
    return f"""
INSERT INTO {{{kind.table}}} (grain, {line}, bucket, {", ".join(figures)})
SELECT :coarse, {", ".join(f"f.{name}" for name in kind.line)}, {bucket_sql("f.bucket", seconds, sqlite=sqlite)},
    {", ".join(made)}
FROM {_between(kind, sqlite=sqlite)} JOIN {{{kind.table}}} f
    ON f.grain = :grain AND {_of_line(kind)} AND f.bucket >= :from_at AND f.bucket < :before_at
WHERE 1 = 1 GROUP BY {", ".join(f"f.{name}" for name in kind.line)}, {bucket_sql("f.bucket", seconds, sqlite=sqlite)}
ON CONFLICT (grain, {line}, bucket) DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in figures)}
"""


def _old(kind: _Kind, *, sqlite: bool) -> str:
    """SQL that deletes what some lines have from before a moment."""
    key = ("grain", *kind.line, "bucket")
    return f"""
DELETE FROM {{{kind.table}}} WHERE ({", ".join(key)}) IN (
    SELECT {", ".join(f"f.{name}" for name in key)} FROM {_between(kind, sqlite=sqlite)} JOIN {{{kind.table}}} f
        ON f.grain = :grain AND {_of_line(kind)} AND f.bucket < :before_at
)
"""


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
        for kind in KINDS:
            template = _COARSE[kind.table, coarse, store.sqlite]
            written += sum(_in_chunks(store, kind, fine, template, span))
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
    for kind in KINDS:
        for grain, kept in KEPT.items():
            before = now - timedelta(seconds=kept)
            if grain in coarser:
                # Not before the coarser grain has it.
                before = min(before, marks.get(coarser[grain], _LONG_AGO))
            span = {"grain": grain, "before_at": before}
            deleted += sum(_in_chunks(store, kind, grain, _OLD[kind.table, store.sqlite], span))
    return deleted


def _in_chunks(
    store: Store, kind: _Kind, grain: int, template: str, parameters: dict[str, Any]
) -> Iterator[int]:
    """Do something to every line of a grain, some lines per transaction; yields how many rows that were."""
    last = dict.fromkeys(kind.line, "")
    # The line of everything has no names, and none is before it.
    lines: list[dict[str, str]] = [dict(last)]
    while lines:
        chosen = json.dumps(lines)
        yield store.transact(_doing(store, template, parameters | {"lines": chosen}))
        with store.read() as connection:
            found = connection.execute(store.statement(LINES[kind.table]), last | {"grain": grain})
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


_COARSE = {
    (kind.table, coarse, sqlite): _coarse(kind, coarse * 60, sqlite=sqlite)
    for kind in KINDS
    for coarse, _ in COARSER
    for sqlite in (True, False)
}
_OLD = {(kind.table, sqlite): _old(kind, sqlite=sqlite) for kind in KINDS for sqlite in (True, False)}
