"""What does a run wait for right now? Told by the first of its items that are under way, or that come next."""

from __future__ import annotations

from dlq_console.store.bulk.items import ItemState
from dlq_console.store.bulk.pace import allowance
from dlq_console.store.bulk.runs import BulkRun, RunState
from dlq_console.store.claim_sql import ACCOUNT_OPEN, METHOD_AND_PROVIDER_OPEN
from dlq_console.store.states import Action
from dlq_console.store.store import Store

#: Items that are looked at.
LOOK = 50

_OPEN = f"({ACCOUNT_OPEN} AND {METHOD_AND_PROVIDER_OPEN})"
_FIRST = f"""
SELECT count(*) AS looked, sum(CASE WHEN {_OPEN} THEN 0 ELSE 1 END) AS closed,
    sum(CASE WHEN e.status = 'blocked' THEN 1 ELSE 0 END) AS blocked
FROM (
    SELECT event_id FROM {{bulk_item}} WHERE bulk_id = :id AND state = :state ORDER BY position, event_id LIMIT {LOOK}
) AS i JOIN {{event}} e ON e.id = i.event_id LEFT JOIN {{scope}} s ON s.type = 'account' AND s.name = e.account
"""


def limited_by(store: Store, run: BulkRun) -> str | None:
    """What a running run waits for: `closed` (accounts), `lane`, `stage`, `window` or `rate`; None for nothing."""
    if run.state != RunState.RUNNING or not run.released + run.remaining:
        return None
    # Only what runs again has to wait for anything but its pace.
    held_up = _held_up(store, run) if run.action == Action.REPROCESS else None
    if held_up is not None:
        return held_up
    if run.stage_size is not None and run.stage_released >= run.stage_size:
        return "stage"
    if run.released >= run.window:
        return "window"
    return "rate" if run.rate is not None and run.remaining and not allowance(run, 1) else None


def _held_up(store: Store, run: BulkRun) -> str | None:
    """By what the first of its items are held up, all of them."""
    state = ItemState.RELEASED if run.released else ItemState.WAITING
    with store.read() as connection:
        first = connection.execute(store.statement(_FIRST), {"id": run.id, "state": state}).one()
    if first.looked and first.closed == first.looked:
        return "closed"
    if first.looked and first.blocked == first.looked:
        return "lane"
    return None
