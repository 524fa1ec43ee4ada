"""What is forgotten, and when: old done and discarded events with all that hangs on them. Dead ones never by age alone."""

from __future__ import annotations

from dlq_console.store.store import Store

#: Events per transaction: short enough that no claim waits for it.
CHUNK = 1000

_OLD = """
SELECT id FROM {event} WHERE status IN ('done', 'discarded') AND finished_at < {now} - {interval[age]}
ORDER BY finished_at, id LIMIT :limit
"""
#: Tables that hold what belongs to one event. The audit is none of them: what people did stays.
PARTS = ("attempt", "event_field", "desk", "tag", "note")

_PARTS_POSTGRES = ",\n".join(
    f"{part}_rows AS (DELETE FROM {{{part}}} WHERE event_id IN (SELECT id FROM old))" for part in PARTS
)
PRUNE_POSTGRES = f"""
WITH old AS MATERIALIZED ({_OLD} FOR UPDATE SKIP LOCKED),
{_PARTS_POSTGRES}
DELETE FROM {{event}} WHERE id IN (SELECT id FROM old)
"""
PRUNE_PARTS_SQLITE = tuple(f"DELETE FROM {{{part}}} WHERE event_id IN ({_OLD})" for part in PARTS)
PRUNE_EVENTS_SQLITE = f"DELETE FROM {{event}} WHERE id IN ({_OLD})"


def prune(store: Store, *, days: float, limit: int = CHUNK) -> int:
    """Delete up to `limit` events that ended more than `days` ago; returns how many.

    Their keys are forgotten with them. What people did stays in the audit.
    """
    parameters = {"age": days * 86_400, "limit": limit}
    with store.write() as connection:
        if store.sqlite:
            for template in PRUNE_PARTS_SQLITE:
                connection.execute(store.statement(template), parameters)
            return connection.execute(store.statement(PRUNE_EVENTS_SQLITE), parameters).rowcount
        return connection.execute(store.statement(PRUNE_POSTGRES), parameters).rowcount
