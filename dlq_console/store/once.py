"""Has this been done before? A mark says so, written in the very transaction of what was done.

Both are kept or neither is. The primary key decides between two transactions that come at the same moment: the second
one waits for the first, and writes the mark only if that one has rolled back.
"""

from __future__ import annotations

from functools import cache
from hashlib import sha256

from sqlalchemy import Connection, TextClause, text

from dlq_console.store.clock import DatabaseClock
from dlq_console.store.keys import check_text
from dlq_console.store.models import tables
from dlq_console.store.store import Store

#: Characters. A longer key is kept as its hash: an index entry has to stay small.
MAX_SCOPE = 120
MAX_KEY = 200
#: A key of any length is hashed; this only keeps a whole document from being taken for one.
MAX_GIVEN_KEY = 100_000
#: Marks per transaction of `prune`.
CHUNK = 1000

MARK = """
INSERT INTO {once} (scope, key, created_at) VALUES (:scope, :key, {now}) ON CONFLICT (scope, key) DO NOTHING
"""
#: Whatever may still run, or be run again, has been there since before its marks were written. Ids are given in the
#: order of time but for the length of a transaction, hence the day.
PRUNE = """
DELETE FROM {once} WHERE (scope, key) IN (
    SELECT o.scope, o.key FROM {once} o
    WHERE o.created_at < {now} - {interval[age]} AND o.created_at < coalesce(
        (SELECT e.created_at - {interval[86400]} FROM {event} e ORDER BY e.id LIMIT 1), {now}
    )
    ORDER BY o.created_at LIMIT :limit
)
"""


def mark(connection: Connection, prefix: str, dialect: str, *, key: object, scope: object) -> bool:
    """Write a mark in the transaction of `connection`; False when it stands already.

    Args:
        connection: in a transaction of its owner.
        prefix: of the tables.
        dialect: the make of its database, "sqlite" or "postgresql".
        key: what was done, among everything of the scope.
        scope: keeps apart what might have equal keys.

    Raises:
        PayloadRefused: key or scope is no text that can be stored.
    """
    values = {
        "scope": check_text(scope, "scope", max_length=MAX_SCOPE, allow_empty=True),
        "key": _short(check_text(key, "key", max_length=MAX_GIVEN_KEY)),
    }
    return connection.execute(_statement(prefix, dialect), values).rowcount == 1


def prune(store: Store, *, days: float, limit: int = CHUNK) -> int:
    """Delete up to `limit` marks that are older than `days` and than every event that is left; returns how many."""
    with store.write() as connection:
        parameters = {"age": days * 86_400, "limit": limit}
        return connection.execute(store.statement(PRUNE), parameters).rowcount


def _short(key: str) -> str:
    return key if len(key) <= MAX_KEY else f"sha256:{sha256(key.encode()).hexdigest()}"


@cache
def _statement(prefix: str, dialect: str) -> TextClause:
    # Not `Store.statement`: the transaction is of the caller's own database, which may be reached by another driver.
    return text(MARK.format(once=tables(prefix).once.name, now=DatabaseClock(dialect).now_sql()))
