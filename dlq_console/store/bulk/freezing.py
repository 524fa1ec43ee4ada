"""How is the selection of a run written down? In chunks along the list of its filter, from the oldest to the cut.

Each chunk is a transaction with the place where the next one begins, so a process that dies in the middle leaves a run
that another one goes on with. Nothing is let go before all of it is there.
"""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Connection

from dlq_console.store.bulk import runs
from dlq_console.store.bulk.runs import BulkRun, Cause, RunState
from dlq_console.store.clock import from_microseconds, to_microseconds
from dlq_console.store.events import read_time
from dlq_console.store.queries.narrowing import narrowed
from dlq_console.store.queries.routes import Route, prepared, route_for
from dlq_console.store.states import Status
from dlq_console.store.store import Store

#: Rows of the list that one chunk reads.
CHUNK = 5_000

_IN_CHUNK = "finished_at <= :cut_at AND (finished_at, id) > (:after_at, :after_id)"
_UP_TO = f"{_IN_CHUNK} AND (finished_at, id) <= (:last_at, :last_id)"

#: The rows that are there now; a second look at the same stretch adds nothing.
_FREEZE = """
INSERT INTO {{bulk_item}} (bulk_id, event_id, position, epoch, cycle, fingerprint, state)
SELECT CAST(:bulk_id AS bigint), e.id, coalesce(e.place, e.id), e.lease_epoch, e.cycle, e.fingerprint, 'waiting'
FROM ({rows}) AS walked JOIN {{event}} e ON e.id = walked.id
WHERE walked.matches AND e.status = 'dead'
ON CONFLICT (bulk_id, event_id) DO NOTHING
"""


def freeze(store: Store, run_id: int, *, chunk: int = CHUNK) -> int:
    """Write down the next chunk of a run; returns how many events."""

    def work(connection: Connection) -> int:
        run = runs.hold(store, connection, run_id)
        if run is None or run.state != RunState.FREEZING:
            return 0
        return _freeze(store, connection, run, chunk)

    return store.transact(work)


def _freeze(store: Store, connection: Connection, run: BulkRun, chunk: int) -> int:
    selection = run.selection
    assert selection.flt is not None, "events that were chosen are written down at the start"  # noqa: S101 - as the schema says
    route = route_for(store, selection.flt, selection.accounts, only=Status.DEAD)
    if route is None:
        _begin(store, connection, run, 0)
        return 0
    route = narrowed(store, connection, route)
    chunk = min(chunk, route.reach) if route.checked else chunk
    after = json.loads(run.cursor) if run.cursor else {"us": 0, "id": 0}
    parameters = route.parameters | {"bulk_id": run.id, "cut_at": run.cut_at}
    parameters |= {"after_at": from_microseconds(after["us"]), "after_id": after["id"]}
    last = _last_of_chunk(store, connection, route, parameters, chunk)
    beyond = _IN_CHUNK if last is None else _UP_TO
    rows = route.numbered_rows("id, finished_at", together=chunk, beyond=beyond, order="ASC")
    parameters |= last or {}
    statement = prepared(store, _FREEZE.format(rows=rows), parameters)
    frozen = connection.execute(statement, parameters).rowcount
    if last is None:
        _begin(store, connection, run, run.total + frozen)
    else:
        place = json.dumps({"us": to_microseconds(last["last_at"]), "id": last["last_id"]})
        runs.write(store, connection, run.id, total=run.total + frozen, cursor=place)
    return frozen


def _last_of_chunk(
    store: Store, connection: Connection, route: Route, parameters: dict[str, Any], chunk: int
) -> dict[str, Any] | None:
    """The row at which the first of the walks gives up; None where all of them come to their end."""
    rows = route.numbered_rows("id, finished_at", together=chunk, beyond=_IN_CHUNK, order="ASC")
    first = f"""SELECT finished_at, id FROM ({rows}) AS walked WHERE place = {route.patience(chunk)}
        ORDER BY finished_at, id LIMIT 1"""
    row = connection.execute(prepared(store, first, parameters), parameters).first()
    return None if row is None else {"last_at": read_time(row.finished_at), "last_id": row.id}


def _begin(store: Store, connection: Connection, run: BulkRun, total: int) -> None:
    """All of it is there: go on, or let a person look where it is not what they were shown."""
    drifted = run.expected is not None and total != run.expected
    runs.write(
        store,
        connection,
        run.id,
        total=total,
        cursor=None,
        state=RunState.PAUSED if drifted else RunState.RUNNING,
        cause=Cause.DRIFT if drifted else None,
        frozen_at=run.now,
    )
