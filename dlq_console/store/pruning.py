"""What is forgotten, and when: old done and discarded events with their attempts. Dead ones never by age alone."""

from __future__ import annotations

from dlq_console.store.store import Store

#: Events per transaction: short enough that no claim waits for it.
CHUNK = 1000

_OLD = """
SELECT id FROM {event} WHERE status IN ('done', 'discarded') AND finished_at < {now} - {interval[age]}
ORDER BY finished_at, id LIMIT :limit
"""
PRUNE_POSTGRES = f"""
WITH old AS MATERIALIZED ({_OLD} FOR UPDATE SKIP LOCKED),
attempts AS (DELETE FROM {{attempt}} WHERE event_id IN (SELECT id FROM old))
DELETE FROM {{event}} WHERE id IN (SELECT id FROM old)
"""
PRUNE_ATTEMPTS_SQLITE = f"DELETE FROM {{attempt}} WHERE event_id IN ({_OLD})"
PRUNE_EVENTS_SQLITE = f"DELETE FROM {{event}} WHERE id IN ({_OLD})"


def prune(store: Store, *, days: float, limit: int = CHUNK) -> int:
    """Delete up to `limit` events that ended more than `days` ago; returns how many.

    Their keys are forgotten with them. What people did stays in the audit.
    """
    parameters = {"age": days * 86_400, "limit": limit}
    with store.write() as connection:
        if store.sqlite:
            connection.execute(store.statement(PRUNE_ATTEMPTS_SQLITE), parameters)
            return connection.execute(store.statement(PRUNE_EVENTS_SQLITE), parameters).rowcount
        return connection.execute(store.statement(PRUNE_POSTGRES), parameters).rowcount
