"""Which events the broker should be told about, and which it has been told about.

The relay looks at the head of each account's line only: as many rows as can run soon. What it finds there unsent, or
sent so long ago without being claimed that the message must be lost, is marked and sent. The wait before a message
counts as lost grows threefold each time, so that a long backlog is not sent again and again.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from dlq_console.store.claims import BULK, LIVE, RETRY, ReadyAccount
from dlq_console.store.lanes import IS_FIRST
from dlq_console.store.scopes import METHOD_AND_PROVIDER_OPEN
from dlq_console.store.store import Store

#: A message that was not claimed for so many seconds counts as lost, threefold each further time.
LOST_AFTER = 10


def _head(priority: int, lock: str) -> str:
    return f"""
    SELECT * FROM (
        SELECT e.id, e.dispatched_at, e.dispatch_count FROM {{event}} e
        WHERE e.status IN ('pending', 'failed') AND e.account = :account AND e.priority = {priority}
            AND e.next_run_at <= {{now}} AND {METHOD_AND_PROVIDER_OPEN} AND {IS_FIRST}
        ORDER BY e.account, e.priority, e.next_run_at, e.id LIMIT :window {lock}
    ) AS head_{priority}
"""


def _dispatch(lock: str) -> str:
    # The guard is spelled so that no index of ready events fits it: without fresh statistics the planner would read all
    # of them instead of looking up the few ids.
    heads = " UNION ALL ".join(_head(priority, lock) for priority in (LIVE, RETRY, BULK))
    return f"""
UPDATE {{event}} SET dispatched_at = {{now}}, dispatch_count = dispatch_count + 1
WHERE status || '' IN ('pending', 'failed') AND id IN (
    SELECT h.id FROM ({heads}) AS h
    WHERE h.dispatched_at IS NULL OR h.dispatched_at < {{now}} - CAST({{second}} * ({LOST_AFTER}
        * CASE WHEN h.dispatch_count < 1 THEN 1 WHEN h.dispatch_count < 2 THEN 3 WHEN h.dispatch_count < 3 THEN 9
          WHEN h.dispatch_count < 4 THEN 27 ELSE 81 END) AS {{duration}})
)
RETURNING id, lease_epoch, kind, account, lane
"""


DISPATCH_SQLITE = _dispatch("")
#: Locked while they are marked, so that two who look at once do not send the same twice. SQLite has one writer anyway.
DISPATCH_POSTGRES = _dispatch("FOR NO KEY UPDATE OF e")
#: In the order of ids, as every writer of several rows, so that none can deadlock.
NOT_SENT_POSTGRES = """
UPDATE {event} SET dispatched_at = NULL WHERE status || '' IN ('pending', 'failed') AND id IN (
    SELECT e.id FROM {event} e WHERE e.status IN ('pending', 'failed')
        AND e.id IN (SELECT CAST(value AS bigint) FROM jsonb_array_elements_text(CAST(:ids AS jsonb)))
    ORDER BY e.id FOR NO KEY UPDATE
)
"""
NOT_SENT_SQLITE = """
UPDATE {event} SET dispatched_at = NULL WHERE status || '' IN ('pending', 'failed')
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


def take_unsent(store: Store, ready: ReadyAccount, window: int) -> list[ToSend]:
    """Mark what should be sent of the first `window` due events of each priority of an account, and return it."""
    parameters = {"account": ready.account, "window": window}
    template = DISPATCH_SQLITE if store.sqlite else DISPATCH_POSTGRES
    with store.single_statement() as connection:
        rows = connection.execute(store.statement(template), parameters).all()
    return sorted(
        (ToSend(row.id, row.lease_epoch, row.kind, row.account, row.lane) for row in rows),
        key=lambda event: event.id,
    )


def not_sent(store: Store, event_ids: Sequence[int]) -> None:
    """Let the relay send these: the broker could not be told, or the worker had no room for them."""
    template = NOT_SENT_SQLITE if store.sqlite else NOT_SENT_POSTGRES
    with store.single_statement() as connection:
        connection.execute(store.statement(template), {"ids": json.dumps(list(event_ids))})
