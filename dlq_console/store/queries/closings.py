"""When was the door of an account closed, by its provider or by people? From what is written down with every change."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from dlq_console.store.events import read_time
from dlq_console.store.store import Store

#: Scopes of one account that are looked at, and most closings that are read, the newest.
MOST_SCOPES, MOST = 20, 400

# An account's own, those of its kinds, and those of the providers to which events of it have gone. Of what began before,
# the last one alone can have lasted until then.
OF_ACCOUNT = f"""
WITH mine AS MATERIALIZED (
    SELECT type, name, kind FROM (
        SELECT type, name, kind FROM {{scope}} WHERE account = :account ORDER BY type, name LIMIT {MOST_SCOPES}
    ) AS own
    UNION SELECT 'provider', k.provider, NULL FROM {{kind}} k WHERE k.provider IS NOT NULL AND (
        EXISTS (SELECT 1 FROM {{rollup}} r WHERE r.grain = 1 AND r.account = :account AND r.kind = k.name)
        OR EXISTS (SELECT 1 FROM {{rollup}} r WHERE r.grain = 60 AND r.account = :account AND r.kind = k.name))
)
SELECT mine.type, mine.kind, c.cause, c.began_at, c.until_at, c.reason FROM mine JOIN {{scope_closing}} c
    ON c.type = mine.type AND c.name = mine.name AND c.began_at >= coalesce((
        SELECT max(p.began_at) FROM {{scope_closing}} p
        WHERE p.type = mine.type AND p.name = mine.name AND p.began_at < :first_at), :first_at)
WHERE c.until_at IS NULL OR c.until_at > :first_at ORDER BY c.began_at DESC LIMIT {MOST}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Closing:
    """A time in which a door was closed.

    Attributes:
        cause: `provider`, `pause`, `auth`, or `circuit` where a person held it open.
        kind: of the account, where only that was closed.
        shared: whether the provider was closed for all accounts.
        end: None where nothing ends it by itself; may lie ahead.
        reason: in the words of the provider or a person; None for what was said to another account.
    """

    cause: str
    kind: str | None
    shared: bool
    start: datetime
    end: datetime | None
    reason: str | None


def account_closings(store: Store, account: str, since: datetime) -> tuple[Closing, ...]:
    """Every closing of an account, one of its kinds or its providers that lasted into `since` or began later, by its start."""
    with store.read() as connection:
        rows = connection.execute(store.statement(OF_ACCOUNT), {"account": account, "first_at": since}).all()
    return tuple(
        Closing(
            cause=row.cause,
            kind=row.kind,
            shared=row.type == "provider",
            start=max(since, start),
            end=read_time(row.until_at),
            reason=None if row.type == "provider" else row.reason,
        )
        for row in reversed(rows)
        if (start := read_time(row.began_at)) is not None
    )
