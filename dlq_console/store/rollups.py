"""How did things go in each minute? Made from the attempts by when they ended, and from events by when they came.

Nobody counts while work is done: one step reads what was written anyway. It makes the last minutes anew each time, so
that what was committed late is in, and writes only the rows that have changed. The mark of how far it has come is moved
with them, if it still stands where it was read: of two who do it at once, one does nothing.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection

from dlq_console.clock import monotonic
from dlq_console.health.histograms import BOUNDS_MS
from dlq_console.store.buckets import bucket_of, bucket_sql, milliseconds_sql
from dlq_console.store.events import read_time
from dlq_console.store.health_tables import ADDED, BINS, COUNTED, HISTOGRAMS, LARGEST
from dlq_console.store.internal import PREFIX
from dlq_console.store.queries.distinct import distinct_sql
from dlq_console.store.store import Store

MINUTE = timedelta(minutes=1)
#: What is made anew on each turn, and once more when a minute is over: a transaction may be committed late.
FRESH, REDONE = 1 * MINUTE, 10 * MINUTE
#: What one transaction makes at most, after an outage, and for how long one turn goes on, in seconds.
CHUNK, CHUNK_SQLITE, PATIENCE = 60 * MINUTE, 15 * MINUTE, 2.0
#: Most accounts that are told apart.
MOST_ACCOUNTS = 100_000
#: What ended longer ago is not made up for.
MOST_BACK = timedelta(days=7)
#: Ids are in the order of time, but not to the second; by how much they may be out of step.
SLACK = MINUTE

#: What a step that counts events writes (`sampling.py`): how long they stood still.
STOOD = ("lost_closed_ms", "lost_order_ms")
#: All figures that are made here.
MADE = (
    *COUNTED,
    *(name for name in ADDED if name not in STOOD),
    *LARGEST,
    *(f"{name}{place}" for name in HISTOGRAMS for place in range(BINS)),
)
#: Attempts that called a handler; others cost nothing and say nothing of how long things take.
_TRIED = "outcome IN ('done', 'failed', 'dead', 'lost')"
#: Whoever is tried again waits for it; an attempt that ended without a wait was the last one of its cycle.
_DIED = "(outcome = 'dead' OR (outcome IN ('lost', 'asked') AND wait_seconds IS NULL))"
#: SQL like `store/internal.py`, for whatever the hub may call its own kinds.
_NOT_OURS = f"substr(kind, 1, {len(PREFIX)}) <> '{PREFIX}'"

_MARK = (
    "SELECT (SELECT value FROM {snapshot} WHERE reading = 'rollup' AND name = 'until') AS value, {now} AS now"
)
_MADE = "SELECT value, changed_at FROM {snapshot} WHERE reading = 'rollup' AND name = 'until'"
_MAKE_MARK = """
INSERT INTO {snapshot} (reading, name, value, changed_at) VALUES ('rollup', 'until', 'null', {now})
ON CONFLICT (reading, name) DO NOTHING
"""
_MOVE_MARK = """
UPDATE {snapshot} SET value = :value, changed_at = {now}
WHERE reading = 'rollup' AND name = 'until' AND value = :before
"""
_FIRST_END = "SELECT ended_at FROM {attempt} ORDER BY ended_at LIMIT 1"
_ENDS_OF_IDS = "SELECT min(id) AS first, max(id) AS last FROM {event}"
_AT_ID = "SELECT id, created_at FROM {event} WHERE id >= :id ORDER BY id LIMIT 1"


def _histogram(name: str) -> str:
    """SQL: in which bin a duration lies, counted bin by bin."""
    bounds = [-1, *BOUNDS_MS, None]
    parts = []
    for place in range(BINS):
        low, high = bounds[place], bounds[place + 1]
        upper = "" if high is None else f" AND {name}_of <= {high}"
        parts.append(f"count(*) FILTER (WHERE {name}_of > {low}{upper}) AS {name}{place}")
    return ", ".join(parts)


_COUNTS = f"""
    count(*) FILTER (WHERE tried) AS tried, count(*) FILTER (WHERE lag_of IS NOT NULL) AS first_tried,
    count(*) FILTER (WHERE outcome = 'done') AS done,
    count(*) FILTER (WHERE outcome IN ('failed', 'lost') AND NOT died) AS failed,
    count(*) FILTER (WHERE died) AS died, count(*) FILTER (WHERE died AND cycle > 0) AS reopened,
    count(*) FILTER (WHERE outcome = 'done' AND cycle > 0) AS resolved,
    coalesce(sum(CASE WHEN outcome = 'done' THEN number END), 0) AS tries_of_done,
    count(*) FILTER (WHERE tried AND effect = 'unknown') AS in_doubt,
    coalesce(sum(lag_of), 0) AS lag_ms, coalesce(sum(wait_of), 0) AS wait_ms, coalesce(sum(run_of), 0) AS run_ms,
    coalesce(sum(end_to_end_of), 0) AS end_to_end_ms,
    coalesce(sum(CASE WHEN verdict IS NULL OR verdict <> 'rate_limited' THEN waits END), 0) AS lost_retry_ms,
    coalesce(sum(CASE WHEN verdict = 'rate_limited' THEN waits END), 0) AS lost_limit_ms,
    coalesce(max(lag_of), 0) AS lag_max_ms, coalesce(max(run_of), 0) AS run_max_ms,
    {", ".join(_histogram(name) for name in HISTOGRAMS)}"""


def _attempts(*, sqlite: bool) -> str:
    """SQL: attempts by minute, account and kind."""
    wait, run, whole = (
        milliseconds_sql(end, begin, sqlite=sqlite)
        for end, begin in (
            ("a.started_at", "a.due_at"), ("a.ended_at", "a.started_at"), ("a.ended_at", "e.created_at"),
        )
    )  # fmt: skip
    return f"""
SELECT bucket, account, kind, {_COUNTS} FROM (
    SELECT {bucket_sql("a.ended_at", 60, sqlite=sqlite)} AS bucket, a.account, a.kind, a.outcome, a.cycle, a.number,
        a.effect, a.verdict, {_TRIED} AS tried, {_DIED} AS died,
        CASE WHEN {_TRIED} AND a.number = 1 AND a.cycle = 0 THEN {wait} END AS lag_of,
        CASE WHEN {_TRIED} THEN {wait} END AS wait_of, CASE WHEN {_TRIED} THEN {run} END AS run_of,
        CASE WHEN a.outcome = 'done' THEN (SELECT {whole} FROM {{event}} e WHERE e.id = a.event_id) END AS end_to_end_of,
        CAST(a.wait_seconds * 1000 AS bigint) AS waits
    FROM {{attempt}} a WHERE a.ended_at >= :from_at AND a.ended_at < :before_at AND {_NOT_OURS}
) AS one GROUP BY bucket, account, kind
"""


def _events(columns: str, condition: str, moment: str, *, sqlite: bool) -> str:
    return f"""
SELECT {bucket_sql(moment, 60, sqlite=sqlite)} AS bucket, account, kind, {columns} FROM {{event}}
WHERE {condition} AND {moment} >= :from_at AND {moment} < :before_at AND {_NOT_OURS} GROUP BY 1, 2, 3
"""


def _padded(source: str, **given: str) -> str:
    """SQL: all columns, those that are not given as 0."""
    return f"SELECT bucket, account, kind, {', '.join(f'{given.get(name, 0)} AS {name}' for name in MADE)} FROM ({source}) AS s"


def _made(*, sqlite: bool) -> str:
    """SQL that makes the minutes between two moments anew, at all three levels, and yields those that have changed."""
    of_attempts = {name: name for name in MADE} | dict.fromkeys(("arrived", "superseded", "duplicates"), "0")
    came = _events(
        "count(*) AS arrived, sum(duplicates) AS duplicates", "id >= :first_id", "created_at", sqlite=sqlite
    )
    gone = _events(
        "count(*) AS superseded",
        "status = 'discarded' AND reason = 'superseded'",
        "finished_at",
        sqlite=sqlite,
    )
    parts = " UNION ALL ".join(
        (
            _padded(_attempts(sqlite=sqlite), **of_attempts),
            _padded(came, arrived="arrived", duplicates="duplicates"),
            _padded(gone, superseded="superseded"),
        )
    )
    added = ", ".join(f"{'max' if name in LARGEST else 'sum'}({name}) AS {name}" for name in MADE)
    names = ", ".join(MADE)
    return f"""
WITH base AS MATERIALIZED (SELECT bucket, account, kind, {added} FROM ({parts}) AS parts GROUP BY bucket, account, kind),
levels AS MATERIALIZED (
    SELECT bucket, account, kind, {names} FROM base
    UNION ALL SELECT bucket, account, '' AS kind, {added} FROM base GROUP BY bucket, account
    UNION ALL SELECT bucket, '' AS account, '' AS kind, {added} FROM base GROUP BY bucket
)
SELECT l.* FROM levels l LEFT JOIN {{rollup}} r
    ON r.grain = 1 AND r.account = l.account AND r.kind = l.kind AND r.bucket = l.bucket
WHERE r.grain IS NULL OR ({_changes("r")}) <> ({_changes("l")})
"""


def _changes(of: str) -> str:
    """SQL: what cannot stay as it was when anything has been added."""
    return ", ".join(f"{of}.{name}" for name in (*COUNTED, "lost_retry_ms", "lost_limit_ms"))


MAKE = {sqlite: _made(sqlite=sqlite) for sqlite in (True, False)}
KEEP = f"""
INSERT INTO {{rollup}} (grain, account, kind, bucket, {", ".join(MADE)})
VALUES (1, :account, :kind, :bucket_at, {", ".join(f":{name}" for name in MADE)})
ON CONFLICT (grain, account, kind, bucket) DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in MADE)}
"""


@dataclass(frozen=True, slots=True)
class _Mark:
    """How far minutes were made: all before `until`; no event from before that has an id below `first_id`."""

    text: str
    until: datetime | None
    first_id: int
    turn: int
    now: datetime


def roll_up(store: Store) -> int:
    """Make the minutes that are new or may have changed; returns how many rows were written.

    After an outage in bounded chunks, the oldest first; what is left is for the next turn.
    """
    with store.single_statement() as connection:
        connection.execute(store.statement(_MAKE_MARK))
    written, ends = 0, monotonic() + PATIENCE
    while monotonic() < ends:
        rows, complete = _advance(store)
        written += rows
        if complete:
            break
    return written


def accounts_sql(grain: int) -> str:
    """SQL for the `name` of each account of which there is a bucket of that grain; all together have none."""
    return distinct_sql("account, kind, bucket", f"grain = {grain}", MOST_ACCOUNTS, table="rollup")


def rolled_until(store: Store) -> datetime | None:
    """Until when minutes have been made; None: none yet."""
    with store.read() as connection:
        return _mark(store, connection).until


def counted_until(store: Store, connection: Connection) -> datetime | None:
    """Up to when everything is in the minutes: the last turn, or how far that has come; None: there was none yet."""
    row = connection.execute(store.statement(_MADE)).first()
    turn, value = (read_time(row.changed_at), json.loads(row.value)) if row else (None, None)
    if turn is None or value is None:
        return None
    until = datetime.fromisoformat(value["until"])
    return turn if until >= bucket_of(turn, 60) else until


def _advance(store: Store) -> tuple[int, bool]:
    """One chunk. Returns how many rows were written, and whether nothing is left to do for this turn."""
    with store.read() as connection:
        mark = _mark(store, connection)
        this_minute = bucket_of(mark.now, 60)
        until = mark.until or _beginning(store, connection, this_minute)
        begin = min(until, this_minute) - (REDONE if until < this_minute else FRESH)
        begin = max(begin, this_minute - MOST_BACK)
        # The present minute too: it is made anew until it is over, and once it is.
        end = min(until + (CHUNK_SQLITE if store.sqlite else CHUNK), this_minute + MINUTE)
        first_id = mark.first_id if mark.until else _first_id(store, connection, begin - SLACK)
        span = {"from_at": begin, "before_at": end, "first_id": first_id}
        made = connection.execute(store.statement(MAKE[store.sqlite]), span).mappings().all()
        reached = min(end, this_minute)
        if reached != mark.until:
            first_id = _first_id(store, connection, reached - REDONE - SLACK)
    rows = [{**row, "bucket_at": read_time(row["bucket"])} for row in made]
    value = {"until": reached.isoformat(), "first_id": first_id, "turn": mark.turn + 1}
    ours = store.transact(lambda connection: _keep(store, connection, mark, rows, value))
    return (len(rows), end > this_minute) if ours else (0, True)


def _keep(
    store: Store, connection: Connection, mark: _Mark, rows: list[dict[str, Any]], value: dict[str, Any]
) -> bool:
    """Write what was made, unless another process has done so since it was read."""
    moved = {"before": mark.text, "value": json.dumps(value)}
    if connection.execute(store.statement(_MOVE_MARK), moved).rowcount == 0:
        return False
    if rows:
        connection.execute(store.statement(KEEP), rows)
    return True


def _mark(store: Store, connection: Connection) -> _Mark:
    row = connection.execute(store.statement(_MARK)).one()
    now = read_time(row.now)
    assert now is not None, "the database tells the time"  # noqa: S101 - tells the type checker
    value: dict[str, Any] = json.loads(row.value or "null") or {}
    until = value.get("until")
    return _Mark(
        text=row.value or "",
        until=None if until is None else datetime.fromisoformat(until),
        first_id=value.get("first_id", 0),
        turn=value.get("turn", 0),
        now=now,
    )


def _beginning(store: Store, connection: Connection, this_minute: datetime) -> datetime:
    """Where to begin when nothing has been made yet."""
    first = read_time(connection.execute(store.statement(_FIRST_END)).scalar())
    return this_minute if first is None else max(bucket_of(first, 60), this_minute - MOST_BACK)


def _first_id(store: Store, connection: Connection, moment: datetime) -> int:
    """An id such that no event with a smaller one came at or after a moment; found by halving."""
    ends = connection.execute(store.statement(_ENDS_OF_IDS)).one()
    if ends.first is None:
        return 0
    low, high = int(ends.first), int(ends.last) + 1
    while low < high:
        middle = (low + high) // 2
        row = connection.execute(store.statement(_AT_ID), {"id": middle}).first()
        created = read_time(row.created_at) if row else None
        if row is None or (created is not None and created >= moment):
            high = middle
        else:
            low = int(row.id) + 1
    return low
