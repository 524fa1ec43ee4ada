"""Which process runs a periodic step: a leader lease per step, taken by one guarded UPDATE."""

from __future__ import annotations

from dlq_console.store.store import Store

KNOW = "INSERT INTO {step} (name) VALUES (:name) ON CONFLICT (name) DO NOTHING"

TAKE = """
UPDATE {step} SET owner = :owner, lease_until = {now} + {interval[seconds]}
WHERE name = :name AND (owner = :owner OR owner IS NULL OR lease_until < {now})
"""

REPORT = "UPDATE {step} SET last_run_at = {now}, last_error = :error WHERE name = :name AND owner = :owner"

GIVE_BACK = "UPDATE {step} SET owner = NULL, lease_until = NULL WHERE owner = :owner"


def take(store: Store, name: str, owner: str, seconds: float) -> bool:
    """Become, or stay, the leader of a step for `seconds`; False when another process leads."""
    parameters = {"name": name, "owner": owner, "seconds": seconds}
    with store.write() as connection:
        taken = connection.execute(store.statement(TAKE), parameters).rowcount
        if taken:
            return True
        if connection.execute(store.statement(KNOW), {"name": name}).rowcount == 0:
            return False
        return connection.execute(store.statement(TAKE), parameters).rowcount == 1


def report(store: Store, name: str, owner: str, error: str | None) -> None:
    """Record that the leader ran a step, and what went wrong, if anything."""
    with store.single_statement() as connection:
        connection.execute(store.statement(REPORT), {"name": name, "owner": owner, "error": error})


def give_back(store: Store, owner: str) -> None:
    """Let others lead at once when this process stops."""
    with store.single_statement() as connection:
        connection.execute(store.statement(GIVE_BACK), {"owner": owner})
