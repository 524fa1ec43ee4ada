"""How many events of each account stand where? Counted by one step, up to a cap, and never by whoever looks at a page.

The walk jumps from account to account along the indexes of open, running and dead events and counts a stretch of each;
the millions that are done are never read. The total of all accounts has the empty name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection

from dlq_console.health.values import Counts
from dlq_console.store.claim_sql import BULK, LIVE, RETRY
from dlq_console.store.clock import from_microseconds
from dlq_console.store.health_tables import SAMPLED
from dlq_console.store.internal import NOT_INTERNAL, OWN_ACCOUNT
from dlq_console.store.present import present
from dlq_console.store.queries.distinct import distinct_sql
from dlq_console.store.standing import FIGURES
from dlq_console.store.store import Store

#: Largest exact figure of one account.
CAP = 10_000
#: Of each line of an account so many are looked at one by one. Behind them the hub's own few are not told apart, and what a
#: worker has given back counts as scheduled until it may be claimed again.
EXACT = 20
#: Most accounts that are counted, most blocked events and most stopped lanes that are looked at in all.
MOST_ACCOUNTS, MOST_BLOCKED, MOST_LANES = 10_000, 100_000, 10_000
#: The name under which all accounts together are kept.
ALL = ""
MINUTE_MS = 60_000

_READY = "status IN ('pending', 'failed')"
_ACCOUNTS = " UNION ".join(
    distinct_sql(columns, condition, MOST_ACCOUNTS)
    for columns, condition in (
        ("account, priority, next_run_at, id", _READY),
        ("account, lease_until, id", "status = 'running'"),
        ("account, kind, finished_at, id", "status = 'dead'"),
    )
)


def _few(columns: str, condition: str, order: str, *, skip: int = 0) -> str:
    """A stretch of one index, up to one row more than the cap. Only that index has the order."""
    stretch = f"ORDER BY {order} LIMIT {CAP + 1} OFFSET {skip}"
    return f"(SELECT {columns} FROM {{event}} WHERE {condition} {stretch}) AS few"


def _line(priority: int, microseconds: str) -> str:
    """SQL: how many of the first events of one line are due, how many will be, and since when the first has waited."""
    condition = f"{_READY} AND account = names.name AND priority = {priority}"
    due = "FILTER (WHERE due_at <= {now})"
    first = f"SELECT due_at, kind FROM {{event}} WHERE {condition} ORDER BY account, priority, next_run_at, id LIMIT {EXACT}"
    return f"""
(SELECT count(*) {due} || ',' || (count(*) - count(*) {due}) || ',' || coalesce(CAST({microseconds} AS text), '')
    FROM ({first}) AS few WHERE {NOT_INTERNAL})
"""


def _rest(priority: int) -> str:
    """SQL: the same of those behind them, from the index alone, which costs a tenth of looking at each."""
    condition = f"{_READY} AND account = names.name AND priority = {priority}"
    due = "FILTER (WHERE next_run_at <= {now})"
    return f"""
(SELECT count(*) {due} || ',' || (count(*) - count(*) {due})
    FROM {_few("next_run_at", condition, "account, priority, next_run_at, id", skip=EXACT)})
"""


def _ahead(priority: int) -> str:
    """SQL: the kind of the first event of one line of an account."""
    return f"""
(SELECT kind FROM {{event}} WHERE {_READY} AND account = names.name AND priority = {priority} AND {NOT_INTERNAL}
    ORDER BY account, priority, next_run_at, id LIMIT 1)
"""


def _count(*, sqlite: bool) -> str:
    """SQL for the figures of every account that has open, running or dead events."""
    first = "min(CASE WHEN due_at <= {now} THEN due_at END)"
    microseconds = first if sqlite else f"CAST(extract(epoch FROM {first}) * 1000000 AS bigint)"
    lines = ",\n".join(
        f"{_line(priority, microseconds)} AS line{priority}, {_rest(priority)} AS rest{priority}"
        for priority in (LIVE, RETRY, BULK)
    )
    running = f"status = 'running' AND account = names.name AND lease_until IS NOT NULL AND {NOT_INTERNAL}"
    dead = f"status = 'dead' AND account = names.name AND {NOT_INTERNAL}"
    return f"""
SELECT names.name, {lines},
    (SELECT count(*) FROM {_few("1", running, "account, lease_until, id")}) AS running,
    (SELECT count(*) FROM {_few("1", dead, "account, kind, finished_at, id")}) AS dead,
    coalesce({", ".join(_ahead(priority) for priority in (LIVE, RETRY, BULK))}) AS ahead,
    (SELECT 1 FROM {{scope}} s WHERE s.type = 'account' AND s.name = names.name AND s.closed_until > {{now}}) AS closed
FROM ({_ACCOUNTS}) AS names ORDER BY names.name
"""


COUNT = {sqlite: _count(sqlite=sqlite) for sqlite in (True, False)}
BLOCKED = f"""
SELECT account, count(*) AS blocked FROM (
    SELECT account FROM {{event}} WHERE status = 'blocked' ORDER BY lane, coalesce(place, id) LIMIT {MOST_BLOCKED}
) AS waiting GROUP BY account
"""
STOPPED = f"""
SELECT dead.account, count(*) AS lanes FROM (
    {distinct_sql("lane, coalesce(place, id)", "status = 'dead' AND on_dead = 'block'", MOST_LANES)}
) AS names CROSS JOIN {{event}} dead
WHERE EXISTS (SELECT 1 FROM {{event}} WHERE status = 'blocked' AND lane = names.name)
    AND dead.id = (SELECT id FROM {{event}} WHERE status = 'dead' AND on_dead = 'block' AND lane = names.name
        ORDER BY lane, coalesce(place, id) LIMIT 1)
GROUP BY dead.account
"""

_KNOWN = "SELECT 1 FROM {sample} WHERE grain = 1 AND account = '' AND bucket = :bucket_at"
_KEEP = f"""
INSERT INTO {{sample}} (grain, bucket, account, {", ".join(FIGURES)})
VALUES (1, :bucket_at, :account, {", ".join(f":{name}" for name in FIGURES)})
ON CONFLICT (grain, bucket, account) DO NOTHING
"""
#: What stands still at that look is taken to have done so for the whole minute.
_KEEP_LOST = """
INSERT INTO {rollup} (grain, account, kind, bucket, lost_closed_ms, lost_order_ms)
VALUES (1, :account, '', :bucket_at, :closed, :order)
ON CONFLICT (grain, account, kind, bucket) DO UPDATE SET
    lost_closed_ms = excluded.lost_closed_ms, lost_order_ms = excluded.lost_order_ms
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled(Counts):
    """The counts of an account, and the kind of the event that is next in line."""

    ahead: str | None = field(default=None, compare=False)


NOTHING = Sampled()


def count(store: Store) -> dict[str, Sampled]:
    """Count the events of every account and keep the figures of this minute.

    Returns:
        The figures by account, those of all together under `ALL`; an account of which there is nothing is left out.
    """
    found = look(store)
    store.transact(lambda connection: keep(store, connection, found, present(store, connection)))
    return found


def look(store: Store) -> dict[str, Sampled]:
    """Count only."""
    with store.read() as connection:
        found = {row.name: _sampled(row) for row in connection.execute(store.statement(COUNT[store.sqlite]))}
        blocked = {row.account: row.blocked for row in connection.execute(store.statement(BLOCKED))}
        stopped = {row.account: row.lanes for row in connection.execute(store.statement(STOPPED))}
    # Where the blocked were not counted to their end, nobody's figure is known to be whole.
    cut = ("blocked",) if sum(blocked.values()) >= MOST_BLOCKED else ()
    for account in blocked.keys() | stopped.keys():
        one = found.get(account, NOTHING)
        found[account] = replace(
            one,
            blocked=blocked.get(account, 0),
            stopped_lanes=stopped.get(account, 0),
            capped=(*one.capped, *cut),
        )
    something = {account: one for account, one in found.items() if one != NOTHING and account != OWN_ACCOUNT}
    return {**something, ALL: _together(something.values())}


def _sampled(row: Any) -> Sampled:
    """The figures of one account, without what is blocked."""
    lines = [getattr(row, f"line{priority}").split(",") for priority in (LIVE, RETRY, BULK)]
    firsts = [int(line[2]) for line in lines if line[2]]
    lines += [getattr(row, f"rest{priority}").split(",") for priority in (LIVE, RETRY, BULK)]
    due, scheduled = (sum(int(line[place]) for line in lines) for place in (0, 1))
    waiting = "paused" if row.closed else "due"
    # A line is in the order of time, so what was not read of it comes later.
    cut = any(int(line[0]) + int(line[1]) > CAP for line in lines)
    capped = ["scheduled"] if cut or scheduled > CAP else []
    capped += [waiting] if due > CAP else []
    capped += [name for name in ("running", "dead") if getattr(row, name) > CAP]
    return Sampled(
        due=0 if row.closed else min(due, CAP),
        scheduled=min(scheduled, CAP),
        paused=min(due, CAP) if row.closed else 0,
        running=min(row.running, CAP),
        dead=min(row.dead, CAP),
        oldest_due_at=from_microseconds(min(firsts)) if firsts else None,
        capped=tuple(sorted(capped)),
        ahead=row.ahead,
    )


def _together(every: Iterable[Sampled]) -> Sampled:
    every = list(every)
    return Sampled(
        **{name: sum(getattr(one, name) for one in every) for name in (*SAMPLED, "stopped_lanes")},
        oldest_due_at=min((one.oldest_due_at for one in every if one.oldest_due_at), default=None),
        capped=tuple(sorted({name for one in every for name in one.capped})),
    )


def keep(store: Store, connection: Connection, found: Mapping[str, Sampled], now: datetime) -> None:
    """Keep the figures of the minute of `now`: those of its first look. Writing each look would cost four times as much."""
    bucket = now.replace(second=0, microsecond=0)
    if connection.execute(store.statement(_KNOWN), {"bucket_at": bucket}).first() is not None:
        return
    rows = [_row(account, one, bucket, now) for account, one in sorted(found.items())]
    connection.execute(store.statement(_KEEP), rows)
    lost = [
        {
            "account": account,
            "bucket_at": bucket,
            "closed": one.paused * MINUTE_MS,
            "order": one.blocked * MINUTE_MS,
        }
        for account, one in sorted(found.items())
        if one.paused or one.blocked
    ]
    if lost:
        connection.execute(store.statement(_KEEP_LOST), lost)


def _row(account: str, one: Sampled, bucket: datetime, now: datetime) -> dict[str, Any]:
    waited = timedelta(0) if one.oldest_due_at is None else max(timedelta(0), now - one.oldest_due_at)
    figures = asdict(one)
    return {
        "account": account,
        "bucket_at": bucket,
        "oldest_due_ms": round(waited.total_seconds() * 1000),
        **{name: figures[name] for name in SAMPLED},
    }
