"""Which workers are alive: one row and one heartbeat per process group, never a write per event."""

from __future__ import annotations

import json
import os
import secrets
import socket
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from dlq_console.health.values import WorkerState
from dlq_console.store.events import read_time
from dlq_console.store.store import Store

#: A worker that was silent for longer counts as gone, in seconds.
DEAD_AFTER = 45

ANNOUNCE = """
INSERT INTO {worker} (id, mode, host, pid, version, slots, accounts, state, started_at, heartbeat_at)
VALUES (:id, :mode, :host, :pid, :version, :slots, :accounts, 'running', {now}, {now})
"""
BEAT = "UPDATE {worker} SET heartbeat_at = {now}, state = :state WHERE id = :id"
LEAVE = "DELETE FROM {worker} WHERE id = :id"
#: All that have not been forgotten, with how many events each runs.
WORKERS = f"""
SELECT w.id, w.mode, w.host, w.pid, w.version, w.slots, w.accounts, w.state, w.started_at, w.heartbeat_at,
    w.heartbeat_at > {{now}} - {{interval[{DEAD_AFTER}]}} AS alive, coalesce(r.running, 0) AS running
FROM {{worker}} w LEFT JOIN (
    SELECT lease_owner, count(*) AS running FROM {{event}}
    WHERE status = 'running' AND lease_until IS NOT NULL GROUP BY lease_owner
) AS r ON r.lease_owner = w.id
ORDER BY w.id LIMIT :most
"""
FORGET = "DELETE FROM {worker} WHERE heartbeat_at < {now} - {interval[86400]}"

#: SQL for how many events all living workers together can run at once; 0 where none has announced itself.
SLOTS = f"(SELECT coalesce(sum(w.slots), 0) FROM {{worker}} w WHERE w.heartbeat_at > {{now}} - {{interval[{DEAD_AFTER}]}})"
COUNT_SLOTS = f"SELECT {SLOTS}"
#: Most workers that are told of.
MOST_WORKERS = 2_000


def every_worker(store: Store) -> list[WorkerState]:
    """All that have not been forgotten, living or not, by their ids."""
    with store.read() as connection:
        rows = connection.execute(store.statement(WORKERS), {"most": MOST_WORKERS}).mappings().all()
    return [_worker(row) for row in rows]


def _worker(row: Any) -> WorkerState:
    started, beaten = read_time(row["started_at"]), read_time(row["heartbeat_at"])
    assert started is not None  # noqa: S101 - for the type checker; both columns are never empty
    assert beaten is not None  # noqa: S101 - as above
    accounts = row["accounts"]
    return WorkerState(
        worker=row["id"],
        accounts=None if accounts is None else tuple(json.loads(accounts)),
        started_at=started,
        heartbeat_at=beaten,
        alive=bool(row["alive"]),
        **{name: row[name] for name in ("mode", "host", "pid", "version", "slots", "state", "running")},
    )


def new_worker_id() -> str:
    """An id that no other worker has: host, process and a random part."""
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"


def announce(
    store: Store, worker: str, *, mode: str, slots: int, accounts: Sequence[str] | None = None
) -> None:
    """Say that a worker has started; `slots` is how many events it runs at once."""
    parameters = {
        "id": worker,
        "mode": mode,
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "version": version("dlq-console"),
        "slots": slots,
        "accounts": None if accounts is None else json.dumps(list(accounts)),
    }
    with store.single_statement() as connection:
        connection.execute(store.statement(ANNOUNCE), parameters)


def beat(store: Store, worker: str, state: str = "running") -> bool:
    """Say that a worker is alive; False when it was forgotten, so that it must announce itself anew."""
    with store.single_statement() as connection:
        return connection.execute(store.statement(BEAT), {"id": worker, "state": state}).rowcount == 1


def leave(store: Store, worker: str) -> None:
    """Say that a worker has stopped."""
    with store.single_statement() as connection:
        connection.execute(store.statement(LEAVE), {"id": worker})


def slots(store: Store) -> int:
    """How many events all living workers together can run at once; 0 where none has announced itself."""
    with store.read() as connection:
        return int(connection.execute(store.statement(COUNT_SLOTS)).scalar_one())


def forget_dead(store: Store) -> int:
    """Delete the rows of workers that have been silent for a day; returns how many."""
    with store.single_statement() as connection:
        return connection.execute(store.statement(FORGET)).rowcount
