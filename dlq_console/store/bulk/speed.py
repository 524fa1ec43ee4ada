"""How fast does a bulk run get on, and when will it be over?

The time for which it stood still is read from its acts in the audit. How fast it is right now is told by two marks in its
row: when how many of its items had ended. They begin anew with each stage and each time that somebody lets it go on, so
neither a canary nor a pause is taken for its pace.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from dlq_console.store.bulk.runs import BulkRun, RunState
from dlq_console.store.clock import from_microseconds, to_microseconds
from dlq_console.store.events import read_time
from dlq_console.store.queries.counts import Count
from dlq_console.store.store import Store

#: Between two marks. What is called the present is the time since the older one: one to two of these.
APART = timedelta(seconds=30)
#: Where nothing has ended for so long it stood, whatever the reason, and what was before says nothing about now.
LOST = timedelta(seconds=90)
#: Less than that says nothing.
LEAST = timedelta(seconds=5)
#: Waiting for these has nothing to do with a pace, and nobody knows how long it takes.
NO_PACE = ("closed", "lane")

_ACTS = """
SELECT action, at FROM {audit} WHERE action IN ('bulk_pause', 'bulk_stop', 'bulk_resume', 'bulk_cancel') AND bulk_id = :id
ORDER BY id
"""
_STANDS = ("bulk_pause", "bulk_stop")


class PaceOf(StrEnum):
    """Where the pace of a run is taken from."""

    #: The last half minute or minute.
    RECENT = "recent"
    #: What it was told to keep to, as long as there is nothing better.
    SET = "set"
    #: All the time that it did not stand still.
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Mark:
    """How many of its items had ended, and when."""

    at: datetime
    done: int


def noted(run: BulkRun, ended: int) -> dict[str, Any]:
    """The columns of a run that change because so many more of its items have ended; none most of the time."""
    marks = _read(run.marks)
    if not ended or (marks and run.now - marks[-1].at < APART):
        return {}
    kept = [mark for mark in marks[-1:] if run.now - mark.at < LOST]
    return {"marks": _written([*kept, Mark(run.now, run.done + ended)])}


def anew(now: datetime, done: int) -> str:
    """The column of a run whose pace is measured from now on."""
    return _written([Mark(now, done)])


def shown(run: BulkRun, *, late: Count, limited_by: str | None, stood: float) -> BulkRun:
    """The run with what only its page, the API and the command line tell.

    Args:
        run: as it stands.
        late: what arrived too late for it.
        limited_by: what it waits for.
        stood: for how many seconds it stood still.
    """
    run = replace(run, late=late, limited_by=limited_by)
    if run.frozen_at is None:
        return run
    moved = max(0.0, ((run.finished_at or run.now) - run.frozen_at).total_seconds() - stood)
    pace, source = _pace(run, moved)
    # The first stages are small on purpose, and an average of seconds, or of a canary, is nothing to reckon with.
    tells = (
        run.state == RunState.RUNNING and run.stage_size is None and (source != PaceOf.ALL or _is_slow(run))
    )
    eta = (run.remaining + run.released) / pace if pace and tells else None
    return replace(run, pace=pace, pace_of=source, moved_seconds=moved, eta_seconds=eta)


def _pace(run: BulkRun, moved: float) -> tuple[float | None, PaceOf | None]:
    if run.state in (RunState.PAUSED, RunState.STOPPED) or run.limited_by in NO_PACE:
        return None, None
    if run.state == RunState.RUNNING and not _is_slow(run):
        recent = _recent(run)
        if recent is not None:
            return recent, PaceOf.RECENT
        if run.stage_size is not None:
            return None, None
        if run.rate is not None:
            return run.rate, PaceOf.SET
    return (run.done / moved, PaceOf.ALL) if run.done and moved else (None, None)


def _is_slow(run: BulkRun) -> bool:
    """Whether its items end so seldom that the last minute says nothing."""
    marks = _read(run.marks)
    if not marks:
        return False
    age = run.now - marks[-1].at
    return age >= LOST or (age >= APART and run.done == marks[-1].done)


def _recent(run: BulkRun) -> float | None:
    marks = _read(run.marks)
    if not marks:
        return None
    seconds, number = run.now - marks[0].at, run.done - marks[0].done
    if seconds < LEAST or not number:
        return None
    pace = number / seconds.total_seconds()
    return pace if run.rate is None else min(pace, run.rate)


def stood_still(store: Store, run: BulkRun) -> float:
    """For how many seconds a run has stood still since its selection was whole: on pause, or stopped by itself."""
    if run.frozen_at is None or (run.acted_by is None and run.cause is None):
        return 0.0
    with store.read() as connection:
        rows = connection.execute(store.statement(_ACTS), {"id": run.id}).all()
    acts = [(row.action, at) for row in rows if (at := read_time(row.at)) is not None and at >= run.frozen_at]
    # Where it differs from its preview it waits for a person before anything else; that is no act of anybody.
    drifted = run.frozen_at if run.drift and run.filter is not None else None
    return _stood(acts, since=drifted, until=run.finished_at or run.now)


def _stood(acts: Iterable[tuple[str, datetime]], *, since: datetime | None, until: datetime) -> float:
    total = timedelta()
    for act, at in acts:
        if act in _STANDS:
            since = since or at
        elif since is not None:
            total, since = total + (at - since), None
    if since is not None:
        total += until - since
    return total.total_seconds()


def _read(marks: str | None) -> list[Mark]:
    return [Mark(from_microseconds(us), done) for us, done in json.loads(marks)] if marks else []


def _written(marks: list[Mark]) -> str:
    return json.dumps([[to_microseconds(mark.at), mark.done] for mark in marks])
