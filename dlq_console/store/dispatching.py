"""Which events the broker should be told about, and which it has been told about.

The broker is given only what may run now. The credit of an account is what may run of it at once, less what runs, less
what was sent and is not claimed yet; it is used up from the head of the account's line: live work, then retries, then
bulk work. Enqueue, each completion and the relay ask for it, so a queue stays short however long the line is, and what
comes later but matters more overtakes all that was not sent yet.

A message that was not claimed for some time must be lost and is sent again. The wait before it counts as lost grows
threefold each time, so that what waits for a busy worker is not sent again and again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from dlq_console.store.claim_sql import (
    ACCOUNT_OPEN,
    BULK,
    IS_FIRST,
    LIVE,
    METHOD_AND_PROVIDER_OPEN,
    NOW_DUE,
    RETRY,
    room_sql,
)
from dlq_console.store.direct import execute
from dlq_console.store.presence import SLOTS
from dlq_console.store.store import Store

#: A message that was not claimed for so many seconds counts as lost, threefold each further time.
LOST_AFTER = 10
#: Credit of an account as long as no worker lives: something to begin with.
WITHOUT_WORKERS = 10
#: The most that one account is given at once, whatever its limit is.
MOST_OF_ACCOUNT = 200
#: The most that is taken at once.
MOST_AT_ONCE = 1000

_ROOM = f"{{greatest}}(0, {{least}}({MOST_OF_ACCOUNT}, {room_sql(SLOTS, without_workers=WITHOUT_WORKERS)}))"
_SCOPE = "LEFT JOIN {scope} s ON s.type = 'account' AND s.name = a.account"
_ON_ITS_WAY = f"""
(e.dispatched_at IS NOT NULL AND e.dispatched_at >= {{now}} - CAST({{second}} * ({LOST_AFTER}
    * CASE WHEN e.dispatch_count < 2 THEN 1 WHEN e.dispatch_count < 3 THEN 3 WHEN e.dispatch_count < 4 THEN 9
      WHEN e.dispatch_count < 5 THEN 27 ELSE 81 END) AS {{duration}}))
"""


def _line(account: str, priority: str, room: str) -> str:
    """What could be claimed of an account in one priority; `sent` says whether a message is on its way."""
    return f"""
    SELECT e.id, e.priority, e.next_run_at, {_ON_ITS_WAY} AS sent FROM {{event}} e
    WHERE e.status IN ('pending', 'failed') AND e.account = {account} AND e.priority = {priority}
        AND {NOW_DUE} AND {METHOD_AND_PROVIDER_OPEN} AND {IS_FIRST}
    ORDER BY e.account, e.priority, e.next_run_at, e.id LIMIT {room}
"""


_IN_ORDER = "ORDER BY h.priority, h.next_run_at, h.id"
# The guard is spelled so that no index of ready events fits it: without fresh statistics the planner would read all
# of them instead of looking up the few ids.
_READY = "e.status || '' IN ('pending', 'failed')"
_MARK = "dispatched_at = {now}, dispatch_count = dispatch_count + 1"
_TOLD = ("id", "lease_epoch", "kind", "account", "lane")

#: Two who look at once see the same head of the line, so they pick the same events; the second one waits until the first
#: has marked them and passes over them. Together they send no more than there is room for, and no account is locked.
TAKE_POSTGRES = f"""
WITH a AS MATERIALIZED (
    SELECT a.account, a.rank, {_ROOM} AS room
    FROM jsonb_array_elements_text(CAST(:accounts AS jsonb)) WITH ORDINALITY AS a(account, rank) {_SCOPE}
    -- Its commit need not wait for the disk: a mark that a crash of the server takes back is a message sent twice.
    WHERE {ACCOUNT_OPEN} AND set_config('synchronous_commit', 'off', true) = 'off'
), head AS (
    SELECT a.account, a.rank, a.room, l.* FROM a
    CROSS JOIN (VALUES ({LIVE}), ({RETRY}), ({BULK})) AS p(priority)
    CROSS JOIN LATERAL ({_line("a.account", "p.priority", "a.room")}) AS l
    WHERE a.room > 0
), ranked AS (
    SELECT h.id, h.rank, h.room, h.sent, count(*) FILTER (WHERE h.sent) OVER (PARTITION BY h.account) AS on_their_way,
        row_number() OVER (PARTITION BY h.account, h.sent {_IN_ORDER}) AS place
    FROM head h
), picked AS MATERIALIZED (
    SELECT id FROM ranked WHERE NOT sent AND on_their_way + place <= room ORDER BY place, rank LIMIT :most
), locked AS MATERIALIZED (
    SELECT e.id FROM {{event}} e JOIN picked ON picked.id = e.id WHERE {_READY} AND NOT {_ON_ITS_WAY}
    ORDER BY e.id FOR NO KEY UPDATE OF e
)
UPDATE {{event}} AS e SET {_MARK} FROM locked WHERE e.id = locked.id
RETURNING {", ".join(f"e.{name}" for name in _TOLD)}
"""

ROOM_SQLITE = f"SELECT {_ROOM} AS room FROM (SELECT :account AS account) a {_SCOPE} WHERE {ACCOUNT_OPEN}"
_HEAD_SQLITE = " UNION ALL ".join(
    f"SELECT * FROM ({_line(':account', str(priority), ':room')}) AS line_{priority}"
    for priority in (LIVE, RETRY, BULK)
)
#: SQLite has one writer, so whoever looks sees all that was sent.
TAKE_SQLITE = f"""
UPDATE {{event}} SET {_MARK} WHERE id IN (
    SELECT r.id FROM (
        SELECT h.id, h.sent, count(*) FILTER (WHERE h.sent) OVER () AS on_their_way,
            row_number() OVER (PARTITION BY h.sent {_IN_ORDER}) AS place
        FROM ({_HEAD_SQLITE}) AS h
    ) AS r WHERE NOT r.sent AND r.on_their_way + r.place <= :room ORDER BY r.place LIMIT :most
)
RETURNING {", ".join(_TOLD)}
"""
#: Nothing was lost, so the next message is waited for as the first one: a broker that is away for a minute must not make
#: what is lost after that wait for a quarter of an hour. In the order of ids, as every writer of several rows, so that
#: none can deadlock.
NOT_SENT_POSTGRES = """
UPDATE {event} SET dispatched_at = NULL, dispatch_count = 0 WHERE status || '' IN ('pending', 'failed') AND id IN (
    SELECT e.id FROM {event} e WHERE e.status IN ('pending', 'failed')
        AND e.id IN (SELECT CAST(value AS bigint) FROM jsonb_array_elements_text(CAST(:ids AS jsonb)))
    ORDER BY e.id FOR NO KEY UPDATE
)
"""
NOT_SENT_SQLITE = """
UPDATE {event} SET dispatched_at = NULL, dispatch_count = 0 WHERE status || '' IN ('pending', 'failed')
    AND id IN (SELECT value FROM json_each(:ids))
"""


@dataclass(frozen=True, slots=True)
class ToSend:
    """An event of which the broker is to be told."""

    id: int
    lease_epoch: int
    kind: str
    account: str
    lane: str | None = None


def take_unsent(store: Store, accounts: Sequence[str], *, most: int = MOST_AT_ONCE) -> list[ToSend]:
    """Mark as sent, and return, what the broker is to be told of some accounts: at most what may run of them now.

    One statement on PostgreSQL, however many accounts there are. What is returned must be sent, or given to `not_sent`.

    Args:
        store: the store.
        accounts: which ones; where not all can be taken, the first of each comes before the second of any.
        most: how many events at most.
    """
    rows = _take_sqlite(store, accounts, most) if store.sqlite else _take_postgres(store, accounts, most)
    return sorted((ToSend(*row) for row in rows), key=lambda event: event.id)


def _take_postgres(store: Store, accounts: Sequence[str], most: int) -> list[tuple[Any, ...]]:
    parameters = {"accounts": json.dumps(list(accounts)), "most": most}
    with store.single_statement() as connection:
        return list(execute(store, connection, TAKE_POSTGRES, parameters))


def _take_sqlite(store: Store, accounts: Sequence[str], most: int) -> Iterator[Sequence[Any]]:
    with store.write() as connection:
        for account in accounts:
            taken = _take_of(store, connection, account, most)
            most -= len(taken)
            yield from taken


def _take_of(store: Store, connection: Connection, account: str, most: int) -> Sequence[Sequence[Any]]:
    room = connection.execute(store.statement(ROOM_SQLITE), {"account": account}).scalar()
    if not room or most < 1:
        return ()
    parameters = {"account": account, "room": room, "most": most}
    return connection.execute(store.statement(TAKE_SQLITE), parameters).all()


def not_sent(store: Store, event_ids: Sequence[int]) -> None:
    """Let the relay send these: the broker could not be told, or the worker had no room for them."""
    template = NOT_SENT_SQLITE if store.sqlite else NOT_SENT_POSTGRES
    with store.single_statement() as connection:
        connection.execute(store.statement(template), {"ids": json.dumps(list(event_ids))})
