"""How many dead events has each cause? Counted now and then by one step, never by whoever writes a result.

One row per cause and account. The walk jumps from one pair of them to the next along the index of dead events and
counts each up to CAP. It is done in chunks, so that no transaction is long, and at most MOST_CHUNKS at a time: where
there are more pairs, the next walk goes on where this one stopped. The same rows tell in which hours of the last day
those that are dead now died. What all accounts of a cause have together is added up with them (`causes.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from dlq_console.store import causes
from dlq_console.store.events import read_time
from dlq_console.store.store import Store

#: Largest exact count of one cause in one account.
CAP = 10_000
#: Pairs of a cause and an account in one transaction, and transactions of one walk.
CHUNK, MOST_CHUNKS = 200, 50
#: Characters of an error that are kept as the sample.
SAMPLE_LIMIT = 500
#: Hours of which it is kept how many died in each, the present one among them.
HOURS = 24

_OF_DEAD = "{event} WHERE status = 'dead'"
#: As the index is ordered. Only an order that no other index has makes every engine choose it, which is also why the
#: account is asked for by a range below: what is equal to something needs no order.
_BY_PAIR = "ORDER BY fingerprint, account, finished_at, id LIMIT 1"
_SAME_GROUP = "{event} WHERE status = 'dead' AND fingerprint = oldest.fingerprint"


@dataclass(frozen=True, slots=True)
class Pair:
    """A cause in an account; pairs are in the order of the database."""

    fingerprint: str
    account: str


BEGINNING = Pair("", "")


def hour_of(moment: str, *, sqlite: bool) -> str:
    """SQL for the number of the hour of a moment, counted from 1970."""
    if sqlite:
        return f"({moment}) / 3600000000"
    return f"CAST(floor(extract(epoch FROM {moment}) / 3600) AS bigint)"


def _hours(*, sqlite: bool) -> str:
    """SQL for how many died in each hour, as `read_hours` reads it; what died before that is counted in one."""
    earlier = f"{hour_of('{now}', sqlite=sqlite)} - {HOURS}"
    hour = f"{{greatest}}({hour_of('finished_at', sqlite=sqlite)}, {earlier})"
    joined = "group_concat" if sqlite else "string_agg"
    return f"""
SELECT {joined}(hour || ':' || deaths, ',') FROM (SELECT hour, count(*) AS deaths FROM (
    SELECT {hour} AS hour FROM {_SAME_GROUP} AND account BETWEEN oldest.account AND oldest.account
    ORDER BY account DESC, finished_at DESC, id DESC LIMIT {CAP + 1}
) AS few GROUP BY hour) AS by_hour
"""


def _walk(*, sqlite: bool) -> str:
    """SQL for the next CHUNK pairs behind one, up to another: the oldest event of each, the newest, and how many died when."""
    return f"""
WITH RECURSIVE found(id) AS (
    SELECT (SELECT id FROM {_OF_DEAD} AND (fingerprint, account) > (:fingerprint, :account) {_BY_PAIR})
    UNION ALL
    SELECT (SELECT id FROM {_OF_DEAD} AND (fingerprint, account) > (before.fingerprint, before.account) {_BY_PAIR})
    FROM found JOIN {{event}} before ON before.id = found.id
), pairs AS (
    SELECT oldest.fingerprint, oldest.account, oldest.finished_at AS first_seen_at,
        ({_hours(sqlite=sqlite)}) AS trend,
        (SELECT id FROM {_SAME_GROUP} AND account <= oldest.account
            ORDER BY account DESC, finished_at DESC, id DESC LIMIT 1) AS sample_event_id
    FROM (SELECT id FROM found LIMIT {CHUNK}) AS firsts JOIN {{event}} oldest ON oldest.id = firsts.id
    WHERE CAST(:endless AS integer) = 1
        OR (oldest.fingerprint, oldest.account) <= (:end_fingerprint, :end_account)
)
SELECT pairs.fingerprint, pairs.account, pairs.trend, pairs.first_seen_at, pairs.sample_event_id,
    newest.finished_at AS last_seen_at, newest.kind, newest.error_type, newest.verdict, newest.last_error
FROM pairs JOIN {{event}} newest ON newest.id = pairs.sample_event_id
ORDER BY pairs.fingerprint, pairs.account
"""


_WALKS = {sqlite: _walk(sqlite=sqlite) for sqlite in (True, False)}

_LAST_SAMPLED = """
SELECT fingerprint, account FROM {error_group} ORDER BY sampled_at DESC, fingerprint DESC, account DESC LIMIT 1
"""

_KNOWN = """
SELECT fingerprint, account, dead FROM {error_group}
WHERE dead > 0 AND (fingerprint, account) > (:fingerprint, :account)
    AND (CAST(:endless AS integer) = 1 OR (fingerprint, account) <= (:end_fingerprint, :end_account))
"""

_KEEP = """
INSERT INTO {error_group} (fingerprint, account, kind, error_type, verdict, sample, sample_event_id, dead, trend,
    first_seen_at, last_seen_at, sampled_at)
VALUES (:fingerprint, :account, :kind, :error_type, :verdict, :sample, :sample_event_id, :dead, :trend,
    :first_seen_at, :last_seen_at, {now})
ON CONFLICT (fingerprint, account) DO UPDATE SET
    kind = excluded.kind, error_type = excluded.error_type, verdict = excluded.verdict, sample = excluded.sample,
    sample_event_id = excluded.sample_event_id, dead = excluded.dead, trend = excluded.trend,
    first_seen_at = {least}({error_group}.first_seen_at, excluded.first_seen_at),
    last_seen_at = {greatest}({error_group}.last_seen_at, excluded.last_seen_at),
    sampled_at = excluded.sampled_at
"""

_NONE_LEFT = (
    "UPDATE {error_group} SET dead = 0, trend = NULL WHERE fingerprint = :fingerprint AND account = :account"
)

_FORGET = "DELETE FROM {error_group} WHERE dead = 0 AND last_seen_at < {now} - {interval[age]}"


def sample(store: Store) -> int:
    """Count the dead events of every cause in every account; returns in how many pairs the count has changed."""
    stretches = _stretches(store)
    changed = 0
    after, end = stretches.pop(0)
    for _ in range(MOST_CHUNKS):
        found = _found(store, after, end)
        to_the_end = len(found) < CHUNK
        last = end if to_the_end else found[-1].pair
        changed += store.transact(lambda connection: _keep(store, connection, found, after, last))  # noqa: B023 - done at once
        if not to_the_end:
            after = found[-1].pair
        elif stretches:
            after, end = stretches.pop(0)
        else:
            break
    return changed


def forget(store: Store, *, days: float) -> int:
    """Delete the rows of causes that have had no dead event for `days`; returns how many."""
    with store.write() as connection:
        return connection.execute(store.statement(_FORGET), {"age": days * 86_400}).rowcount


@dataclass(frozen=True, slots=True)
class _Found:
    pair: Pair
    values: dict[str, Any]


def _stretches(store: Store) -> list[tuple[Pair, Pair | None]]:
    """From where to where to walk: from behind the pair that was counted last to the end, then from the beginning to it."""
    with store.read() as connection:
        row = connection.execute(store.statement(_LAST_SAMPLED)).one_or_none()
    if row is None:
        return [(BEGINNING, None)]
    last = Pair(row.fingerprint, row.account)
    return [(last, None), (BEGINNING, last)]


def _found(store: Store, after: Pair, end: Pair | None) -> list[_Found]:
    with store.read() as connection:
        rows = connection.execute(store.statement(_WALKS[store.sqlite]), _bounds(after, end)).mappings().all()
    return [_Found(Pair(row["fingerprint"], row["account"]), _values(row)) for row in rows]


def _values(row: Any) -> dict[str, Any]:
    values = {name: row[name] for name in row if name != "last_error"}
    times: dict[str, datetime | None] = {
        name: read_time(row[name]) for name in ("first_seen_at", "last_seen_at")
    }
    dead = sum(read_hours(row["trend"]).values())
    return values | times | {"dead": dead, "sample": (row["last_error"] or "")[:SAMPLE_LIMIT]}


def read_hours(trend: str) -> dict[int, int]:
    """How many died in each hour, by its number; the first one also stands for all earlier ones."""
    pairs = (pair.split(":") for pair in trend.split(","))
    return {int(hour): int(deaths) for hour, deaths in pairs}


def _keep(store: Store, connection: Connection, found: list[_Found], after: Pair, last: Pair | None) -> int:
    """Write what was found between two pairs, and that nothing is left of what was there and was not found."""
    known: dict[Pair, int] = {
        Pair(row.fingerprint, row.account): row.dead
        for row in connection.execute(store.statement(_KNOWN), _bounds(after, last))
    }
    now: dict[Pair, int] = {one.pair: one.values["dead"] for one in found}
    gone = [pair for pair in known if pair not in now]
    if found:
        connection.execute(store.statement(_KEEP), [one.values for one in found])
    if gone:
        nothing = [{"fingerprint": pair.fingerprint, "account": pair.account} for pair in gone]
        connection.execute(store.statement(_NONE_LEFT), nothing)
    causes.add_up(
        store, connection, first=after.fingerprint, last=None if last is None else last.fingerprint, cap=CAP
    )
    return len(gone) + sum(known.get(pair) != dead for pair, dead in now.items())


def _bounds(after: Pair, end: Pair | None) -> dict[str, Any]:
    last = end or BEGINNING
    return {
        "fingerprint": after.fingerprint,
        "account": after.account,
        "endless": int(end is None),
        "end_fingerprint": last.fingerprint,
        "end_account": last.account,
    }
