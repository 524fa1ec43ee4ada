"""Many processes at once on one database: claimers, readers and producers forked from a parent that used it before.

Run as `python -m tests.store.crowd URL SECONDS CLAIMERS READERS PRODUCERS`; prints one line of JSON for each process.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection

from dlq_console.store import claims, queries, transitions
from dlq_console.store.filters import EventFilter
from dlq_console.store.presence import new_worker_id
from dlq_console.store.store import Store
from tests.store.making import add

_fork = multiprocessing.get_context("fork")


def claim_and_complete(store: Store, counted: Counter[str]) -> None:
    """Claim one event or a few and complete them."""
    worker = new_worker_id()
    for event in claims.claim_any(store, worker=worker, limit=1 + counted["turns"] % 3):
        counted["claimed"] += 1
        counted["completed"] += transitions.end(store, event, transitions.completed(None))


def look(store: Store, counted: Counter[str]) -> None:
    """Read what the console reads."""
    counted["seen"] += len(queries.events_page(store, EventFilter()).items)
    with store.read() as connection:
        connection.execute(store.statement("SELECT count(*) FROM {attempt}"))


def produce(store: Store, counted: Counter[str]) -> None:
    """Put one new event in, and one that both producers know."""
    number = counted["turns"]
    made = add(store, f"{new_worker_id()}-{number}", account=f"account-{number % 5}")
    counted["created"] += made.created
    counted["created"] += add(store, f"shared-{number}").created


ROLES: dict[str, Callable[[Store, Counter[str]], None]] = {
    "claimer": claim_and_complete,
    "reader": look,
    "producer": produce,
}


def run(store: Store, role: str, seconds: float, answers: Connection) -> None:
    """Do the work of one role for some seconds and say how it went."""
    counted: Counter[str] = Counter()
    errors: Counter[str] = Counter()
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        counted["turns"] += 1
        try:
            ROLES[role](store, counted)
        except Exception as error:  # noqa: BLE001 - reported to the test, which allows none
            errors[f"{type(error).__name__}: {error}"[:300]] += 1
    answers.send({"role": role, "errors": dict(errors), **counted})


def start(store: Store, roles: list[str], seconds: float) -> Iterator[dict[str, object]]:
    """Fork a process for each role and wait for all."""
    pipes = []
    for role in roles:
        ours, theirs = _fork.Pipe(duplex=False)
        _fork.Process(target=run, args=(store, role, seconds, theirs)).start()
        theirs.close()
        pipes.append(ours)
    for pipe in pipes:
        yield pipe.recv()


def main(url: str, seconds: str, claimers: str, readers: str, producers: str) -> None:
    """Use the database, fork, wait, and use it again."""
    store = Store(url)
    add(store, "before the fork")
    look(store, Counter())
    roles = ["claimer"] * int(claimers) + ["reader"] * int(readers) + ["producer"] * int(producers)
    for answer in start(store, roles, float(seconds)):
        print(json.dumps(answer), flush=True)  # noqa: T201 - read by the test
    own: Counter[str] = Counter()
    add(store, "after the fork")
    look(store, own)
    print(json.dumps({"role": "parent", "errors": {}, **own}), flush=True)  # noqa: T201 - as above
    store.engines.dispose()


if __name__ == "__main__":
    main(*sys.argv[1:])
