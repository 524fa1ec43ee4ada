"""What do rules of alerts ask of dead letters and lanes? Each along an index, and each bounded."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from dlq_console.store.buckets import bucket_of
from dlq_console.store.events import read_time
from dlq_console.store.internal import NOT_INTERNAL
from dlq_console.store.lanes import BLOCK
from dlq_console.store.present import present
from dlq_console.store.queries.distinct import distinct_sql
from dlq_console.store.store import Store

#: Causes, accounts and lanes that one look takes, and deaths of the last minutes.
MOST, MOST_ACCOUNTS, MOST_LANES, MOST_DEATHS = 1_000, 10_000, 1_000, 5_000
#: A cause is new for a day, and remembered as such for a month while anything is dead of it.
NEW, REMEMBERED = timedelta(days=1), timedelta(days=30)
#: Of each account the oldest so many are looked at; where all of them are in somebody's hands, so is the account.
OLDEST = 50
#: Minutes of a rate of deaths, and accounts with a kind of which it is looked up.
RATE_MINUTES, MOST_RATES = 30, 200
#: How long ago is compared with now, and by how much that look may be older.
AGO, AT_MOST = timedelta(hours=1), timedelta(minutes=10)

CAUSES = f"""
SELECT fingerprint, account, kind, dead, sample, first_seen_at > {{now}} - {{interval[{int(NEW.total_seconds())}]}} AS is_new
FROM {{error_group}} WHERE dead > 0 AND first_seen_at > {{now}} - {{interval[{int(REMEMBERED.total_seconds())}]}}
ORDER BY first_seen_at DESC LIMIT {MOST + 1}
"""
_LOOKED = """
SELECT max(bucket) AS looked_at FROM {sample}
WHERE grain = 1 AND account = '' AND bucket > :from_at AND bucket <= :ago_at
"""
THEN = f"""
SELECT s.account, s.dead FROM ({distinct_sql("account, bucket", "grain = 1", MOST_ACCOUNTS, table="sample")}) AS names
JOIN {{sample}} s ON s.grain = 1 AND s.account = names.name AND s.bucket = :looked_at
"""
#: In somebody's hands is what is assigned, or its cause, or what is out of sight until later. Looked up for each: spelled
#: with EXISTS, PostgreSQL would read both tables whole.
_IN_HANDS = """coalesce(
    (SELECT 1 FROM {desk} d WHERE d.event_id = few.id AND (d.assignee IS NOT NULL OR d.snoozed_until > {now}) LIMIT 1),
    (SELECT 1 FROM {group_desk} g WHERE g.fingerprint = few.fingerprint AND g.assignee IS NOT NULL LIMIT 1)
)"""
UNTOUCHED = f"""
SELECT name, (
    SELECT min(few.finished_at) FROM (
        SELECT id, fingerprint, finished_at FROM {{event}}
        WHERE status = 'dead' AND account = names.name AND {NOT_INTERNAL}
        ORDER BY account, finished_at, id LIMIT {OLDEST}
    ) AS few WHERE {_IN_HANDS} IS NULL
) AS died_at FROM ({distinct_sql("account, finished_at, id", "status = 'dead'", MOST_ACCOUNTS)}) AS names
"""
#: Who has that many dead letters of these minutes at all is looked up in the minutes, which also know what went well.
RATES = f"""
SELECT few.account, few.kind, sum(r.done) AS done, sum(r.died) AS died FROM (
    SELECT account, kind FROM (
        SELECT account, kind FROM {{event}}
        WHERE status = 'dead' AND finished_at > {{now}} - {{interval[{60 * RATE_MINUTES}]}} AND {NOT_INTERNAL}
        ORDER BY finished_at DESC, id DESC LIMIT {MOST_DEATHS}
    ) AS newest GROUP BY account, kind HAVING count(*) >= :least ORDER BY count(*) DESC LIMIT {MOST_RATES}
) AS few JOIN {{rollup}} r ON r.grain = 1 AND r.account = few.account AND r.kind = few.kind
    AND r.bucket > {{now}} - {{interval[{60 * RATE_MINUTES}]}}
GROUP BY few.account, few.kind
"""
_STOPS = f"status = 'dead' AND on_dead = '{BLOCK}'"
_HEAD_IN_HANDS = _IN_HANDS.replace("few.", "head.")
#: Lanes that have stopped behind a dead letter which is in somebody's hands.
HELD = f"""
SELECT head.account, count(*) AS lanes FROM (
    {distinct_sql("lane, coalesce(place, id)", _STOPS, MOST_LANES)}
) AS names CROSS JOIN {{event}} head
WHERE head.id = (SELECT id FROM {{event}} WHERE {_STOPS} AND lane = names.name ORDER BY lane, coalesce(place, id) LIMIT 1)
    AND EXISTS (SELECT 1 FROM {{event}} WHERE status = 'blocked' AND lane = names.name)
    AND {_HEAD_IN_HANDS} IS NOT NULL
GROUP BY head.account
"""
_OPEN = "status IN ('pending', 'failed', 'running')"
#: Since when the first event of each lane behind which others wait has been due for the first time, without a person.
WAITING = f"""
SELECT head.account, {{least}}(head.due_at, coalesce(
    (SELECT a.started_at FROM {{attempt}} a WHERE a.event_id = head.id AND a.cycle = head.cycle ORDER BY a.event_id, a.id LIMIT 1),
    head.due_at)) AS since_at
FROM ({distinct_sql("lane, coalesce(place, id)", "status = 'blocked'", MOST_LANES)}) AS names
CROSS JOIN {{event}} head
WHERE head.id = (
    SELECT id FROM {{event}} WHERE {_OPEN} AND lane = names.name ORDER BY lane, coalesce(place, id) LIMIT 1
) AND {_HEAD_IN_HANDS} IS NULL
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Dead letters of one cause in an account, that was never seen there before lately.

    Attributes:
        fingerprint: of the cause.
        account: whose they are.
        kind: of the newest of them.
        dead: how many there are, up to the cap of the counts.
        sample: what one of them says, redacted.
        is_new: whether the first came within NEW; else within REMEMBERED.
    """

    fingerprint: str
    account: str
    kind: str
    dead: int
    sample: str
    is_new: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """How many events of an account and kind ended in the last minutes, and how many of them died."""

    account: str
    kind: str
    ended: int
    died: int


def new_causes(store: Store) -> list[Cause]:
    """Causes with dead letters that were first seen lately, the newest first; one more than MOST where there are more."""
    with store.read() as connection:
        rows = connection.execute(store.statement(CAUSES)).all()
    return [
        Cause(
            fingerprint=row.fingerprint,
            account=row.account,
            kind=row.kind,
            dead=row.dead,
            sample=row.sample,
            is_new=bool(row.is_new),
        )
        for row in rows
    ]


def dead_an_hour_ago(store: Store) -> dict[str, int] | None:
    """How many dead letters each account had an hour ago; None where nobody looked then. Who had nothing is left out."""
    with store.read() as connection:
        ago = bucket_of(present(store, connection) - AGO, 60)
        span = {"from_at": ago - AT_MOST, "ago_at": ago}
        looked = read_time(connection.execute(store.statement(_LOOKED), span).scalar())
        if looked is None:
            return None
        rows = connection.execute(store.statement(THEN), {"looked_at": looked}).all()
    return {row.account: row.dead for row in rows}


def untouched(store: Store) -> dict[str, datetime]:
    """When the oldest dead letter of each account died that is in nobody's hands."""
    with store.read() as connection:
        rows = connection.execute(store.statement(UNTOUCHED)).all()
    return _moments((row.name, row.died_at) for row in rows)


def death_rates(store: Store, *, at_least: float) -> list[Rate]:
    """Of each account and kind with at least so many deaths in the last RATE_MINUTES."""
    with store.read() as connection:
        rows = connection.execute(store.statement(RATES), {"least": at_least}).all()
    found = [
        Rate(account=row.account, kind=row.kind, ended=int(row.done) + int(row.died), died=int(row.died))
        for row in rows
    ]
    return [one for one in found if one.died >= at_least]


def lanes_in_hands(store: Store) -> dict[str, int]:
    """How many lanes of each account have stopped behind a dead letter that somebody sees to."""
    with store.read() as connection:
        return {row.account: row.lanes for row in connection.execute(store.statement(HELD))}


def longest_waiting_lanes(store: Store) -> dict[str, datetime]:
    """Since when the lane of each account that has waited longest stands behind the same event, among MOST_LANES lanes."""
    with store.read() as connection:
        rows = connection.execute(store.statement(WAITING)).all()
    return _moments((row.account, row.since_at) for row in rows)


def _moments(rows: Any) -> dict[str, datetime]:
    """The earliest moment of each name."""
    found: dict[str, datetime] = {}
    for name, value in rows:
        at = read_time(value)
        if at is not None:
            found[name] = min(at, found.get(name, at))
    return found
