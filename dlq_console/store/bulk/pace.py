"""How many items may be let go right now, and when does a run stop, enter its next stage, or end? Pure functions."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from dlq_console.store.bulk.runs import BulkRun, Cause, RunState
from dlq_console.store.states import Action

#: Events in one transaction: short enough that neither a claim nor a person who pauses the run waits for it.
CHUNK_POSTGRES, CHUNK_SQLITE = 1_000, 250
#: Items of the last stage that must have ended before their share that died again says anything.
ENOUGH = 20


def allowance(run: BulkRun, chunk: int) -> int:
    """How many items of a running run may be let go now."""
    limits = [chunk, run.remaining]
    if run.action == Action.REPROCESS:
        limits.append(run.window - run.released)
    if run.stage_size is not None:
        limits.append(run.stage_size - run.stage_released)
    if run.rate is not None:
        limits.append(int(run.rate * (run.now - _used_up_until(run, run.rate)).total_seconds() + 1e-6))
    return max(0, min(limits))


def used_up_until(run: BulkRun, released: int) -> datetime | None:
    """Until when the pace of a run is used up once so many more were let go; None where it has none."""
    if run.rate is None or not released:
        return run.released_at
    return _used_up_until(run, run.rate) + timedelta(seconds=released / run.rate)


def _used_up_until(run: BulkRun, rate: float) -> datetime:
    # What was not used for longer than this is lost: a run that was paused for an hour does not catch up.
    earliest = run.now - timedelta(seconds=max(1.0, 1 / rate))
    return earliest if run.released_at is None else max(run.released_at, earliest)


def next_state(run: BulkRun) -> dict[str, Any]:
    """The columns of a run that change because of how its items have ended; none where it goes on as it is."""
    if run.released == 0:
        if run.state == RunState.CANCELLED:
            return {"finished_at": run.now}
        if run.remaining == 0 and run.frozen_at is not None:
            return {"state": RunState.DONE, "cause": None, "finished_at": run.now}
    if run.state != RunState.RUNNING:
        return {}
    stage_is_over = run.stage_size is not None and run.stage_released >= run.stage_size and run.released == 0
    if _dies_too_often(run, stage_is_over=stage_is_over):
        return {"state": RunState.STOPPED, "cause": Cause.DIED_AGAIN}
    if stage_is_over:
        return {"stage": run.stage + 1, "stage_released": 0, "stage_ended": 0, "stage_died": 0}
    return {}


def _dies_too_often(run: BulkRun, *, stage_is_over: bool) -> bool:
    if run.stop_share is None or run.stage_ended == 0:
        return False
    enough = min(ENOUGH, run.stage_size or ENOUGH)
    return (stage_is_over or run.stage_ended >= enough) and run.stage_died > run.stop_share * run.stage_ended
