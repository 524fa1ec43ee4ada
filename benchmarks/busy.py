"""What makes a database busy while something else is measured? A worker with a steady stream of events."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Event

from dlq_console.clock import monotonic
from dlq_console.store import claims, presence, transitions
from dlq_console.store.store import Store
from dlq_console.workers.runner import READY_USED

#: Events per second: 720,000 an hour. Real handlers wait for an outside system, so workers are busy long before
#: a processor is.
RATE = 200

_context = multiprocessing.get_context("spawn")


@contextmanager
def busy_worker(url: str) -> Iterator[list[float]]:
    """A process that claims and completes RATE no-op events per second, one by one, inside the block.

    Yields a list that holds how many per second it really were, once the block was left.
    """
    rate: list[float] = []
    stop = _context.Event()
    ours, theirs = _context.Pipe(duplex=False)
    process = _context.Process(target=_work, args=(url, stop, theirs), daemon=True)
    process.start()
    theirs.close()
    try:
        yield rate
    finally:
        stop.set()
        rate.append(ours.recv())
        process.join()


def _work(url: str, stop: Event, answer: Connection) -> None:
    store = Store(url)
    worker = presence.new_worker_id()
    presence.announce(store, worker, mode="table", slots=2)
    completed, ready_until, began = 0, 0.0, monotonic()
    ready: list[claims.ReadyAccount] = []
    turns = 0
    while not stop.wait(max(0.0, began + turns / RATE - monotonic())):
        turns += 1
        if monotonic() >= ready_until:
            ready = claims.ready_accounts(store)
            ready_until = monotonic() + READY_USED
        for event in claims.claim(store, ready, worker=worker, limit=1):
            completed += transitions.end(store, event, transitions.completed(None))
    answer.send(completed / (monotonic() - began))
