"""How do things stand right now, in figures that cost next to nothing? Every one is counted up to a cap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Row

from dlq_console.store.events import read_time
from dlq_console.store.filters import EventFilter
from dlq_console.store.internal import NOT_INTERNAL, OWN_ACCOUNT
from dlq_console.store.presence import DEAD_AFTER
from dlq_console.store.queries.counts import CAP, Count, added_up, count_sql, read_count
from dlq_console.store.queries.distinct import distinct_sql
from dlq_console.store.queries.routes import ANY, Accounts, Route, all_of, prepared, route_for
from dlq_console.store.states import Status
from dlq_console.store.store import Store

#: Largest exact figure of one account or kind.
PART_CAP = 1_000
#: Most accounts and most kinds in the overview.
MAX_PARTS = 100

READY = "status IN ('pending', 'failed')"
VISIBLE = "account IN :visible_list"


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountFigures:
    """One account that has dead letters, or events that wait or run.

    `due` could run now if nothing stood in the way, `failed` will be tried again, now or later. `oldest_due` is since
    when the first of `due` has waited. All three are counted among the PART_CAP events that are next in line.
    """

    account: str
    dead: Count
    due: Count
    failed: Count
    running: Count
    oldest_due: datetime | None


@dataclass(frozen=True, slots=True)
class KindFigures:
    """One kind that has dead letters."""

    kind: str
    dead: Count


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """The figures as of `at`, which is the database's time.

    `workers` are alive and run up to `slots` events at once; `last_heartbeat` is the latest of any worker.
    """

    at: datetime
    dead: Count
    due: Count
    failed: Count
    running: Count
    oldest_due: datetime | None
    done_last_hour: Count
    workers: int
    slots: int
    last_heartbeat: datetime | None
    accounts: tuple[AccountFigures, ...]
    kinds: tuple[KindFigures, ...]


def _capped(condition: str, order: str) -> str:
    return f"""
(SELECT count(*) FROM (SELECT 1 FROM {{event}} WHERE {condition} ORDER BY {order} LIMIT {PART_CAP + 1}) AS few)
"""


def _totals(dead: Route | None, visible: str) -> str:
    alive = f"FROM {{worker}} WHERE heartbeat_at > {{now}} - {{interval[{DEAD_AFTER}]}}"
    # Bounded before it is checked: with the account beside it, an engine may prefer the long way through the account.
    ended = f"""
SELECT status, account, kind FROM {{event}}
WHERE status IN ('done', 'discarded') AND finished_at > {{now}} - {{interval[3600]}}
ORDER BY finished_at DESC, id DESC LIMIT {CAP + 1}
"""
    return f"""
SELECT {{now}} AS at,
    dead.matched, dead.stopped,
    hour.ended, hour.done,
    (SELECT count(*) {alive}) AS workers,
    (SELECT coalesce(sum(slots), 0) {alive}) AS slots,
    (SELECT max(heartbeat_at) FROM {{worker}}) AS last_heartbeat
FROM (
    SELECT count(*) AS ended, count(*) FILTER (WHERE status = 'done' AND {NOT_INTERNAL} AND {visible}) AS done FROM ({ended}) AS ended
) AS hour CROSS JOIN ({count_sql(dead) if dead else "SELECT 0 AS matched, 0 AS stopped"}) AS dead
"""


def _by_account(visible: str) -> str:
    names = " UNION ".join(
        distinct_sql(columns, f"{condition} AND {visible}", MAX_PARTS)
        for columns, condition in (
            ("account, priority, next_run_at, id", READY),
            ("account, lease_until, id", "status = 'running'"),
            ("account, finished_at, id", "status = 'dead'"),
        )
    )
    ready = f"""
(SELECT status, due_at FROM {{event}} WHERE {READY} AND account = names.name AND {NOT_INTERNAL}
    ORDER BY priority, next_run_at, id LIMIT {PART_CAP + 1}) AS next_in_line
"""
    return f"""
SELECT names.name,
    {_capped("status = 'dead' AND account = names.name", "finished_at, id")} AS dead,
    {_capped(f"status = 'running' AND account = names.name AND {NOT_INTERNAL}", "lease_until, id")} AS running,
    (SELECT count(*) FROM {ready} WHERE due_at <= {{now}}) AS due,
    (SELECT count(*) FROM {ready} WHERE status = 'failed') AS failed,
    (SELECT min(due_at) FROM {ready} WHERE due_at <= {{now}}) AS oldest_due
FROM ({names}) AS names ORDER BY dead DESC, name LIMIT {MAX_PARTS}
"""


def _by_kind(dead: Route, visible: str) -> str:
    """SQL for the kinds that have dead letters; `dead` is the route of all of them."""
    kinds = distinct_sql("kind, finished_at, id", "status = 'dead'", MAX_PARTS)
    of_kind = "kind = names.name"
    if dead.checked:
        number = _capped(f"status = 'dead' AND {of_kind} AND {visible}", "finished_at, id")
    else:
        # One walk for each account along the index of both: no engine stops early where it is given all of them at once.
        walks = replace(dead, condition=all_of([dead.condition, of_kind])).any_rows(
            "id, finished_at", PART_CAP + 1
        )
        number = f"(SELECT count(*) FROM ({walks}) AS few)"
    return f"SELECT names.name, {number} AS dead FROM ({kinds}) AS names ORDER BY dead DESC, name"


def overview(store: Store, *, accounts: Accounts = None, parts: bool = True) -> Overview:
    """The figures of the overview page, in three statements.

    Args:
        store: the store.
        accounts: those that may be seen; None for all.
        parts: whether accounts are looked at one by one. Without it no figure of an account is there, and none that is
            a sum of theirs; with many dead letters this is most of the work.
    """
    dead = route_for(store, EventFilter(), accounts, only=Status.DEAD)
    visible, parameters = (ANY, {}) if accounts is None else (VISIBLE, {"visible_list": list(accounts)})

    def read(template: str, parameters: dict[str, Any]) -> Sequence[Row[Any]]:
        return connection.execute(prepared(store, template, parameters), parameters).all()

    with store.read() as connection:
        (totals,) = read(_totals(dead, visible), parameters | (dead.parameters if dead else {}))
        rows = read(_by_account(visible), parameters) if parts else ()
        found = tuple(_account(row) for row in rows if row.name != OWN_ACCOUNT)
        of_kinds = (
            read(_by_kind(dead, visible), parameters if dead.checked else dead.parameters) if dead else ()
        )
        kinds = tuple(KindFigures(row.name, _part(row.dead)) for row in of_kinds if row.dead)
    at = read_time(totals.at)
    assert at is not None, "the database tells the time"  # noqa: S101 - tells the type checker
    return Overview(
        at=at,
        dead=read_count(totals),
        due=added_up(part.due for part in found),
        failed=added_up(part.failed for part in found),
        running=added_up(part.running for part in found),
        oldest_due=min((part.oldest_due for part in found if part.oldest_due), default=None),
        done_last_hour=Count(min(totals.done, CAP), totals.ended > CAP),
        workers=totals.workers,
        slots=totals.slots,
        last_heartbeat=read_time(totals.last_heartbeat),
        accounts=found,
        kinds=kinds,
    )


def _account(row: Row[Any]) -> AccountFigures:
    return AccountFigures(
        account=row.name,
        dead=_part(row.dead),
        due=_part(row.due),
        failed=_part(row.failed),
        running=_part(row.running),
        oldest_due=read_time(row.oldest_due),
    )


def _part(number: int) -> Count:
    return Count(min(number, PART_CAP), number > PART_CAP)
