"""Which causes have the dead events, and how many has each?

Where a filter asks for kinds, accounts and a group at most, the counts of the last walk (`store.groups`) answer. For
any other filter the newest events that match are counted at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Row

from dlq_console.store.causes import DIED_LAST
from dlq_console.store.events import read_time
from dlq_console.store.filters import EventFilter
from dlq_console.store.fingerprints import general
from dlq_console.store.groups import CAP, SAMPLE_LIMIT
from dlq_console.store.queries import group_sums
from dlq_console.store.queries.counts import ZERO, Count
from dlq_console.store.queries.narrowing import narrowed
from dlq_console.store.queries.routes import ANY, Accounts, Route, prepared, route_for, visible_accounts
from dlq_console.store.states import Status
from dlq_console.store.store import Store

#: Most groups in one answer: the biggest.
MAX_GROUPS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The dead events of one cause, as far as the asking person may see them.

    `cause` is what they have in common, with gaps where they differ; `sample` is the error of the one that died last,
    event `sample_event_id`. `account` is None where several are touched. `share` is its part of all dead events that the
    answer is about, 0 to 1. `first_seen_at` may be before the oldest event that is dead now.
    """

    fingerprint: str
    kind: str
    error_type: str | None
    verdict: str | None
    cause: str
    sample: str
    sample_event_id: int
    count: Count
    share: float
    accounts: int
    account: str | None
    first_seen_at: datetime
    last_seen_at: datetime


@dataclass(frozen=True, slots=True)
class Groups:
    """The biggest groups, of `number` in all with `total` events.

    `sampled_at` is when the oldest of the counts was taken; None where they were taken just now. Not `complete`: only
    the newest `routes.SCAN_LIMIT` dead events were looked at, or the biggest counts (`group_sums.REACH`).
    """

    items: tuple[Group, ...] = ()
    number: int = 0
    total: Count = ZERO
    sampled_at: datetime | None = None
    complete: bool = True


def is_counted(flt: EventFilter) -> bool:
    """Whether the counts of the last walk answer this filter."""
    return replace(flt, kind=(), account=(), group="", status=()).is_empty


def groups(
    store: Store, flt: EventFilter, *, accounts: Accounts = None, limit: int = MAX_GROUPS, skip: int = 0
) -> Groups:
    """The groups of the dead events that match, biggest first, after the `skip` biggest.

    They change places while events die, so a group may be on two pages, or on none.
    """
    if is_counted(flt):
        return _sampled(store, flt, accounts, limit, skip=skip)
    return _counted(store, flt, accounts, limit, skip=skip)


@dataclass(frozen=True, slots=True)
class CountedGroup:
    """A group as it was counted at some moment; its share is that of itself."""

    group: Group
    at: datetime


def biggest_group(store: Store, flt: EventFilter, *, accounts: Accounts = None) -> CountedGroup | None:
    """The biggest group of a filter that the counts of the last walk answer (`is_counted`); None where it has none."""
    visible = _counted_accounts(flt, accounts)
    row = None if visible == () else group_sums.first(store, flt, visible)
    at = None if row is None else read_time(row.sampled_at)
    if row is None or at is None:
        return None
    return CountedGroup(_group(row, capped=row.largest > CAP, total=int(row.number)), at)


@dataclass(frozen=True, slots=True)
class GroupPart:
    """The dead events of a group in one account, as they were counted last."""

    account: str
    count: Count


def group(store: Store, fingerprint: str, *, accounts: Accounts = None) -> Group | None:
    """One group with its events counted at once, and with `routes.SCAN_LIMIT` at most; None where nobody knows it.

    A group that has no dead event any more is still known for a while.
    """
    flt = EventFilter(group=fingerprint)
    now = next(iter(_counted(store, flt, accounts, 1).items), None)
    known = next(iter(_sampled(store, flt, accounts, 1, least=0).items), None)
    if now is None or known is None:
        return now or (known and replace(known, count=ZERO))
    return replace(now, first_seen_at=min(now.first_seen_at, known.first_seen_at))


def cause_of(store: Store, fingerprint: str, *, accounts: Accounts = None) -> str:
    """What the events of a group have in common, as it was counted last; empty where it has not been counted yet."""
    visible = ANY if accounts is None else "account IN :visible_list"
    template = f"""
SELECT sample FROM {{error_group}} WHERE fingerprint = :fingerprint AND {visible} ORDER BY {DIED_LAST} LIMIT 1
"""
    parameters: dict[str, Any] = {"fingerprint": fingerprint}
    if accounts is not None:
        parameters["visible_list"] = list(accounts)
    with store.read() as connection:
        sample = connection.execute(prepared(store, template, parameters), parameters).scalar()
    return general((sample or "")[:SAMPLE_LIMIT])


def group_parts(store: Store, fingerprint: str, *, accounts: Accounts = None) -> tuple[GroupPart, ...]:
    """The accounts in which a group has dead events, most first."""
    visible = ANY if accounts is None else "account IN :visible_list"
    template = f"""
SELECT account, dead FROM {{error_group}} WHERE fingerprint = :fingerprint AND dead > 0 AND {visible}
ORDER BY dead DESC, account LIMIT {MAX_GROUPS}
"""
    parameters: dict[str, Any] = {"fingerprint": fingerprint}
    if accounts is not None:
        parameters["visible_list"] = list(accounts)
    with store.read() as connection:
        rows = connection.execute(prepared(store, template, parameters), parameters).all()
    return tuple(GroupPart(row.account, Count(min(row.dead, CAP), row.dead > CAP)) for row in rows)


def _counted_accounts(flt: EventFilter, accounts: Accounts) -> Accounts:
    """The accounts whose counts a filter asks for: none where it asks for no dead events."""
    return () if flt.status and Status.DEAD not in flt.status else visible_accounts(flt.account, accounts)


def _sampled(
    store: Store, flt: EventFilter, accounts: Accounts, limit: int, *, least: int = 1, skip: int = 0
) -> Groups:
    visible = _counted_accounts(flt, accounts)
    if visible == ():
        return Groups()
    rows = group_sums.biggest(store, flt, visible, limit=limit, skip=skip, least=least)
    if not rows:
        return Groups()
    first = rows[0]
    stopped = bool(first.stopped)
    return Groups(
        items=tuple(_group(row, capped=row.largest > CAP or stopped, total=int(first.total)) for row in rows),
        number=first.groups,
        total=Count(int(first.total), first.largest_of_all > CAP or stopped),
        sampled_at=read_time(first.oldest),
        complete=not stopped,
    )


def _counted_sql(route: Route) -> str:
    """SQL for the groups among the rows of a list; the last columns tell whether all of them were looked at."""
    return f"""
WITH walked AS ({route.numbered_rows("id, fingerprint, account, finished_at")}), found AS (
    SELECT id, fingerprint, account, finished_at,
        row_number() OVER (PARTITION BY fingerprint ORDER BY finished_at DESC, id DESC) AS rank_of_death
    FROM walked WHERE matches AND fingerprint IS NOT NULL
), summed AS (
    SELECT fingerprint, count(*) AS number, count(DISTINCT account) AS accounts, min(account) AS account,
        min(finished_at) AS first_seen_at, max(finished_at) AS last_seen_at,
        max(CASE WHEN rank_of_death = 1 THEN id END) AS sample_event_id
    FROM found GROUP BY fingerprint
)
SELECT summed.*, newest.kind, newest.error_type, newest.verdict, newest.last_error AS sample,
    sum(summed.number) OVER () AS total, count(*) OVER () AS groups,
    EXISTS (SELECT 1 FROM walked WHERE place = {route.patience()}) AS stopped
FROM summed JOIN {{event}} newest ON newest.id = summed.sample_event_id
ORDER BY summed.number DESC, summed.last_seen_at DESC, summed.fingerprint DESC LIMIT :limit OFFSET :skip
"""


def _counted(store: Store, flt: EventFilter, accounts: Accounts, limit: int, *, skip: int = 0) -> Groups:
    route = route_for(store, flt, accounts, only=Status.DEAD)
    if route is None:
        return Groups()
    with store.read() as connection:
        route = narrowed(store, connection, route)
        parameters = route.parameters | {"limit": limit, "skip": skip}
        rows = connection.execute(prepared(store, _counted_sql(route), parameters), parameters).all()
    if not rows:
        return Groups()
    first = rows[0]
    stopped = bool(first.stopped)
    return Groups(
        items=tuple(_group(row, capped=stopped, total=int(first.total)) for row in rows),
        number=first.groups,
        total=Count(int(first.total), stopped),
        complete=not stopped,
    )


def _group(row: Row[Any], *, capped: bool, total: int) -> Group:
    first, last = read_time(row.first_seen_at), read_time(row.last_seen_at)
    assert first is not None, "a dead event has ended"  # noqa: S101 - tells the type checker
    assert last is not None, "a dead event has ended"  # noqa: S101 - tells the type checker
    sample = (row.sample or "")[:SAMPLE_LIMIT]
    return Group(
        fingerprint=row.fingerprint,
        kind=row.kind,
        error_type=row.error_type,
        verdict=row.verdict,
        cause=general(sample),
        sample=sample,
        sample_event_id=row.sample_event_id,
        count=Count(int(row.number), capped),
        share=int(row.number) / total if total else 0.0,
        accounts=row.accounts,
        account=row.account if row.accounts == 1 else None,
        first_seen_at=first,
        last_seen_at=last,
    )
