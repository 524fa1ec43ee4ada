"""Which workers are alive: one row and one heartbeat per process group, never a write per event."""

from __future__ import annotations

import json
import os
import secrets
import socket
from collections.abc import Sequence
from importlib.metadata import version

from dlq_console.store.store import Store

#: A worker that was silent for longer counts as gone, in seconds.
DEAD_AFTER = 45

ANNOUNCE = """
INSERT INTO {worker} (id, mode, host, pid, version, slots, accounts, state, started_at, heartbeat_at)
VALUES (:id, :mode, :host, :pid, :version, :slots, :accounts, 'running', {now}, {now})
"""
BEAT = "UPDATE {worker} SET heartbeat_at = {now}, state = :state WHERE id = :id"
LEAVE = "DELETE FROM {worker} WHERE id = :id"
FORGET = "DELETE FROM {worker} WHERE heartbeat_at < {now} - {interval[86400]}"

#: SQL for how many events all living workers together can run at once; 0 where none has announced itself.
SLOTS = f"(SELECT coalesce(sum(w.slots), 0) FROM {{worker}} w WHERE w.heartbeat_at > {{now}} - {{interval[{DEAD_AFTER}]}})"
COUNT_SLOTS = f"SELECT {SLOTS}"


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
