"""How have the items ended that were let go, and what follows for their run?"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, RowMapping

from dlq_console.store.bulk import items, runs, speed
from dlq_console.store.bulk.items import ItemState, Refusal
from dlq_console.store.bulk.pace import next_state
from dlq_console.store.bulk.runs import BulkRun, RunState, Stop
from dlq_console.store.states import Again, Reason, Status
from dlq_console.store.store import Store

#: Items that are looked at at once. With more of them let go, one look goes on where the one before it stopped.
LOOK = 1_000

_LOOK = f"""
SELECT i.event_id, i.position, i.cycle AS frozen_cycle, i.fingerprint, e.id, e.status, e.reason, e.cycle, e.died_again,
    e.died_with
FROM (
    SELECT event_id, position, cycle, fingerprint FROM {{bulk_item}}
    WHERE bulk_id = :id AND state = '{ItemState.RELEASED}' AND (position, event_id) > (:position, :event_id)
    ORDER BY position, event_id LIMIT {LOOK}
) AS i LEFT JOIN {{event}} e ON e.id = i.event_id
ORDER BY i.position, i.event_id
"""
_DIED = (ItemState.DIED_SAME, ItemState.DIED_DIFFERENT)

#: How an item ended, and why where it was refused.
Verdict = tuple[ItemState, Refusal | None]


def settle(store: Store, run: BulkRun) -> int:
    """Write down how items of a run have ended and what follows; returns how many items.

    Args:
        store: the store.
        run: as it was read a moment ago; what counts is how it stands when this writes.
    """
    with store.read() as connection:
        rows = _look(store, connection, run)
    if not any(_verdict(row) for row in rows) and not next_state(run) and len(rows) < LOOK:
        return 0
    return store.transact(lambda connection: _settle(store, connection, run.id))


def _settle(store: Store, connection: Connection, run_id: int) -> int:
    run = runs.hold(store, connection, run_id)
    if run is None or run.state == RunState.FREEZING:
        return 0
    rows = _look(store, connection, run)
    ended: defaultdict[Verdict, list[int]] = defaultdict(list)
    for row in rows:
        verdict = _verdict(row)
        if verdict is not None:
            ended[verdict].append(row["event_id"])
    for (state, cause), event_ids in ended.items():
        items.mark(store, connection, run_id, event_ids, was=ItemState.RELEASED, state=state, cause=cause)
    counted = Counter({verdict: len(event_ids) for verdict, event_ids in ended.items()})
    columns = _counted(run, counted) | {"cursor": _place_after(rows)} | speed.noted(run, counted.total())
    follows = next_state(replace(run, **columns))
    if "stage" in follows:
        follows["marks"] = speed.anew(run.now, run.done + counted.total())
    runs.write(store, connection, run_id, **(columns | follows))
    if follows.get("state") == RunState.STOPPED:
        stop = Stop(columns["stage_died"], columns["stage_ended"])
        runs.record_stop(store, connection, run, stop)
    return counted.total()


def verdict(
    *,
    status: str | None,
    reason: str | None,
    cycles: int,
    died_again: str | None,
    same_cause: bool,
) -> Verdict | None:
    """How an item has ended; None while it may still run.

    Args:
        status: of its event; None where that is gone.
        reason: why it is in that status.
        cycles: how often it was put back to work since the selection was frozen, this run included.
        died_again: how its last death compares with the one before, as the event itself says.
        same_cause: whether the event last died of what it was dead of when the selection was frozen.
    """
    if status is None:
        return ItemState.REFUSED, Refusal.GONE
    if cycles < 1:
        return ItemState.REFUSED, Refusal.TAKEN_BACK
    if cycles > 1:
        # It ended, and somebody put it back to work before this look.
        return (ItemState.DIED_SAME if same_cause else ItemState.DIED_DIFFERENT), None
    if status == Status.DONE:
        return ItemState.SUCCEEDED, None
    if status not in (Status.DEAD, Status.DISCARDED):
        return None
    if died_again is not None:
        return (ItemState.DIED_SAME if died_again == Again.SAME else ItemState.DIED_DIFFERENT), None
    if status == Status.DEAD:
        return ItemState.REFUSED, Refusal.TAKEN_BACK
    return ItemState.REFUSED, (Refusal.SUPERSEDED if reason == Reason.SUPERSEDED else Refusal.DISCARDED)


def _verdict(row: RowMapping) -> Verdict | None:
    return verdict(
        status=row["status"],
        reason=row["reason"],
        cycles=(row["cycle"] or 0) - row["frozen_cycle"],
        died_again=row["died_again"],
        same_cause=row["died_with"] == row["fingerprint"],
    )


def _look(store: Store, connection: Connection, run: BulkRun) -> Sequence[RowMapping]:
    if not run.released:
        return []
    place = json.loads(run.cursor) if run.cursor else {"position": 0, "event_id": 0}
    return connection.execute(store.statement(_LOOK), place | {"id": run.id}).mappings().all()


def _place_after(rows: Sequence[RowMapping]) -> str | None:
    """Where the next look begins: behind this one, or at the start where this one has come to the end."""
    if len(rows) < LOOK:
        return None
    return json.dumps({"position": rows[-1]["position"], "event_id": rows[-1]["event_id"]})


def _counted(run: BulkRun, ended: Counter[Verdict]) -> dict[str, Any]:
    by_state = Counter(dict.fromkeys((*_DIED, ItemState.SUCCEEDED, ItemState.REFUSED), 0))
    for (state, _), number in ended.items():
        by_state[state] += number
    died = sum(by_state[state] for state in _DIED)
    return {
        **{state: getattr(run, state) + number for state, number in by_state.items()},
        "released": run.released - ended.total(),
        "stage_ended": run.stage_ended + died + by_state[ItemState.SUCCEEDED],
        "stage_died": run.stage_died + died,
    }
