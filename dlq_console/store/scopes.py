"""How much of one account may run at once? The rest of what a scope says is its door's, see `doors.py`."""

from __future__ import annotations

from dlq_console.store.store import Store

LIMIT = """
INSERT INTO {scope} (type, name, account, max_running, created_at, updated_at)
VALUES ('account', :name, :name, :max_running, {now}, {now})
ON CONFLICT (type, name) DO UPDATE SET max_running = excluded.max_running, updated_at = {now}
"""


def limit_account(store: Store, account: str, max_running: int | None) -> None:
    """Let at most `max_running` events of `account` run at once; None goes back to the default share."""
    with store.write() as connection:
        connection.execute(store.statement(LIMIT), {"name": account, "max_running": max_running})
