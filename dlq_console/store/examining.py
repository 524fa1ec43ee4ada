"""What does the doctor ask the database? Each question is bounded: walks along indexes, or so many rows at most."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dlq_console.health.values import WorkerState
from dlq_console.store.events import read_time
from dlq_console.store.presence import every_worker
from dlq_console.store.present import present
from dlq_console.store.queries.distinct import distinct_sql
from dlq_console.store.store import Store

#: Accounts that are looked at; ready and newest events whose kinds and payloads are; rows of other answers.
MOST_ACCOUNTS, FIRST_READY, NEWEST, MOST_ROWS = 5_000, 5_000, 200, 200

_ACCOUNTS = distinct_sql("account, priority, next_run_at", "status IN ('pending', 'failed')", MOST_ACCOUNTS)
_FIRST = """(
    SELECT e.next_run_at FROM {event} e WHERE e.status IN ('pending', 'failed') AND e.account = a.name
        AND e.priority = %d ORDER BY e.account, e.priority, e.next_run_at, e.id LIMIT 1
)"""
#: Accounts whose door is open and whose first event could have run for so long.
WAITING = f"""
SELECT d.name FROM (
    SELECT a.name, {_FIRST % 0} AS live, {_FIRST % 1} AS retry, {_FIRST % 2} AS bulk FROM ({_ACCOUNTS}) AS a
) AS d LEFT JOIN {{scope}} s ON s.type = 'account' AND s.name = d.name
WHERE (s.closed_until IS NULL OR s.closed_until <= {{now}}) AND (d.live < {{now}} - {{interval[waited]}}
    OR d.retry < {{now}} - {{interval[waited]}} OR d.bulk < {{now}} - {{interval[waited]}})
ORDER BY d.name
"""
#: Kinds of events that wait, and of those that died for want of a handler within a day.
WAITING_KINDS = f"""
SELECT DISTINCT kind FROM (
    SELECT kind FROM {{event}} WHERE status IN ('pending', 'failed')
    ORDER BY account, priority, next_run_at, id LIMIT {FIRST_READY}
) AS ready
UNION SELECT DISTINCT kind FROM (
    SELECT kind FROM {{event}} WHERE status = 'dead' AND reason = 'no_handler'
        AND finished_at > {{now}} - {{interval[86400]}} ORDER BY reason, finished_at, id LIMIT {FIRST_READY}
) AS unhandled
"""
STEPS = "SELECT name, last_error, last_run_at, {now} AS now FROM {step} ORDER BY name"
EMBEDS = f"""
SELECT name, expires_at <= {{now}} AS expired FROM {{embed}} WHERE revoked_at IS NULL ORDER BY name LIMIT {MOST_ROWS}
"""
PAYLOADS = f"SELECT kind, payload FROM {{event}} ORDER BY id DESC LIMIT {NEWEST}"
OLDEST_ENDED = """
SELECT finished_at, {now} AS now FROM {event} WHERE status IN ('done', 'discarded') ORDER BY finished_at, id LIMIT 1
"""
LOCKED = f"""
SELECT kind, count(*) AS number FROM (
    SELECT kind, error, ended_at FROM {{attempt}} ORDER BY id DESC LIMIT {NEWEST}
) AS newest WHERE ended_at > {{now}} - {{interval[86400]}} AND (
    error LIKE '%database is locked%' OR error LIKE 'SQLite does not let this transaction write%'
) GROUP BY kind ORDER BY kind
"""
_HALF = """(
    SELECT coalesce(sum(%s), 0) FROM {rollup} r WHERE r.grain = 1 AND r.account = a.name AND r.kind = ''
        AND r.bucket >= {now} - {interval[%d]} AND r.bucket < {now} - {interval[%d]}
)"""
_CAME, _ENDED = "r.arrived", "r.done + r.died + r.superseded"
#: What came and what ended in each half of the last hour, of every account in which something waits.
GROWTH = f"""
SELECT a.name, {_HALF % (_CAME, 3600, 1800)} AS came_first, {_HALF % (_ENDED, 3600, 1800)} AS ended_first,
    {_HALF % (_CAME, 1800, 0)} AS came_then, {_HALF % (_ENDED, 1800, 0)} AS ended_then
FROM ({_ACCOUNTS}) AS a
"""

# PostgreSQL only.
AUTOVACUUM = "SELECT current_setting('autovacuum') AS setting"
VACUUMED = """
SELECT c.relname AS name, coalesce(array_to_string(c.reloptions, ',') LIKE '%autovacuum_enabled=false%', false) AS off,
    coalesce(s.n_dead_tup, 0) AS dead, coalesce(s.n_live_tup, 0) AS live
FROM pg_class c LEFT JOIN pg_stat_user_tables s ON s.relid = c.oid
WHERE c.oid IN (to_regclass(:event), to_regclass(:attempt), to_regclass(:snapshot))
"""
LONG_TRANSACTIONS = """
SELECT pid, extract(epoch FROM statement_timestamp() - xact_start) AS seconds, state FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
    AND xact_start < statement_timestamp() - {interval[longest]}
ORDER BY xact_start LIMIT 20
"""


@dataclass(frozen=True, slots=True)
class Growth:
    """Events of an account that came and that ended, in the first and in the second half of the last hour."""

    account: str
    came: tuple[int, int]
    ended: tuple[int, int]


def _rows(store: Store, template: str, **parameters: object) -> list[Any]:
    with store.read() as connection:
        return list(connection.execute(store.statement(template), parameters).all())


def now(store: Store) -> datetime:
    """What time it is by the database's clock."""
    with store.read() as connection:
        return present(store, connection)


def waiting_accounts(store: Store, waited: float) -> list[str]:
    """Accounts whose door is open and in which an event could have run for more than `waited` seconds."""
    return [row.name for row in _rows(store, WAITING, waited=waited)]


def living_workers(store: Store) -> list[WorkerState]:
    """The workers that are alive."""
    return [worker for worker in every_worker(store) if worker.alive]


def waiting_kinds(store: Store) -> list[str]:
    """Kinds of events that wait, or that died lately because nobody handles them."""
    return sorted(row.kind for row in _rows(store, WAITING_KINDS))


def steps(store: Store) -> list[tuple[str, str | None, float | None]]:
    """Every periodic step with its last error and the seconds since it ran."""
    found = []
    for row in _rows(store, STEPS):
        ran, now_ = read_time(row.last_run_at), read_time(row.now)
        found.append((row.name, row.last_error, (now_ - ran).total_seconds() if ran and now_ else None))
    return found


def embeds(store: Store) -> list[tuple[str, bool]]:
    """Frames that are not revoked: name, and whether its time is over."""
    return [(row.name, bool(row.expired)) for row in _rows(store, EMBEDS)]


def newest_payloads(store: Store) -> list[tuple[str, Any]]:
    """Kind and payload of the newest events."""
    return [(row.kind, json.loads(row.payload)) for row in _rows(store, PAYLOADS)]


def oldest_ended_days(store: Store) -> float:
    """Days since the oldest event that is kept was done or discarded; 0 where there is none."""
    for row in _rows(store, OLDEST_ENDED):
        ended, now_ = read_time(row.finished_at), read_time(row.now)
        if ended and now_:
            return (now_ - ended).total_seconds() / 86_400
    return 0.0


def locked_out(store: Store) -> list[tuple[str, int]]:
    """Kinds whose newest attempts failed because SQLite was locked, and how often."""
    return [(row.kind, int(row.number)) for row in _rows(store, LOCKED)]


def growth(store: Store) -> list[Growth]:
    """What came and what ended in the last hour, of every account in which something waits."""
    return [
        Growth(
            row.name,
            (int(row.came_first), int(row.came_then)),
            (int(row.ended_first), int(row.ended_then)),
        )
        for row in _rows(store, GROWTH)
    ]


def autovacuum_is_on(store: Store) -> bool:
    """Whether PostgreSQL tidies up by itself at all."""
    (row,) = _rows(store, AUTOVACUUM)
    return bool(row.setting == "on")


def vacuumed(store: Store) -> list[tuple[str, bool, int, int]]:
    """The tables that change most: name, whether autovacuum is off for it, dead rows, living rows."""
    tables = store.tables
    names = {"event": tables.event.name, "attempt": tables.attempt.name, "snapshot": tables.snapshot.name}
    return [
        (row.name, bool(row.off), int(row.dead), int(row.live)) for row in _rows(store, VACUUMED, **names)
    ]


def long_transactions(store: Store, longest: float) -> list[tuple[int, float, str]]:
    """Transactions of this database that are open for more than `longest` seconds: process, seconds, state."""
    return [
        (int(row.pid), float(row.seconds), row.state or "")
        for row in _rows(store, LONG_TRANSACTIONS, longest=longest)
    ]


def pragma(store: Store, name: str) -> str:
    """What SQLite says of one of its settings, on a connection as the hub makes them."""
    if name not in ("journal_mode", "busy_timeout"):
        raise ValueError(f"{name} is not asked for.")
    with store.read() as connection:
        return str(connection.exec_driver_sql(f"PRAGMA {name}").scalar_one())
