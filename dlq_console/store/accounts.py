"""Which accounts have work waiting, due or not?"""

from __future__ import annotations

from dlq_console.store.queries.distinct import distinct_sql
from dlq_console.store.store import Store

#: More accounts than a worker could serve.
MOST = 100_000

WAITING = distinct_sql("account, priority, next_run_at", "status IN ('pending', 'failed')", MOST)


def waiting_accounts(store: Store) -> list[str]:
    """The accounts of events that wait to be run, in order: one look-up in an index for each."""
    with store.read() as connection:
        return list(connection.execute(store.statement(WAITING)).scalars())
