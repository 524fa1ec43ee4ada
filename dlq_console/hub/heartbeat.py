"""How does a run keep its event while it takes longer than a lease?"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager

from dlq_console.errors import StoreUnavailable
from dlq_console.store import holding
from dlq_console.store.events import Event
from dlq_console.store.store import Store

logger = logging.getLogger(__name__)

#: How long the end waits for a beat that is under way, in seconds.
PATIENCE = 5


class Heartbeat:
    """A thread that keeps the leases of all events alive which this process runs.

    Args:
        store: where the events are.
        lease_seconds: the length of a lease.
    """

    def __init__(self, store: Store, lease_seconds: float) -> None:
        self._store = store
        self._lease_seconds = lease_seconds
        #: Id and epoch of each.
        self._held: set[tuple[int, int]] = set()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._work, name="dlq-console-heartbeat", daemon=True)
        self._thread.start()

    @contextmanager
    def of(self, event: Event) -> Iterator[None]:
        """Keep the lease of `event` alive inside the block."""
        held = (event.id, event.lease_epoch)
        self._held.add(held)
        try:
            yield
        finally:
            self._held.discard(held)

    def close(self) -> None:
        """End the thread."""
        self._ended.set()
        self._thread.join(PATIENCE)

    def _work(self) -> None:
        # A claim gives a whole lease, so a beat every third of it comes in time whenever the run began.
        while not self._ended.wait(self._lease_seconds / 3):
            held = self._held.copy()
            if held:
                self._extend(held)

    def _extend(self, held: set[tuple[int, int]]) -> None:
        try:
            lost = holding.extend(self._store, list(held), lease_seconds=self._lease_seconds)
        except StoreUnavailable as error:
            for event_id, _ in held:
                logger.warning("event %s: its lease was not extended: %s", event_id, error)
            return
        # One that has ended meanwhile has not lost anything.
        for each in {each for each in held if each[0] in lost} & self._held:
            logger.warning("event %s: its lease was lost, what its run writes is refused", each[0])
            self._held.discard(each)


@contextmanager
def kept_alive(store: Store, event: Event, lease_seconds: float) -> Iterator[None]:
    """Inside the block, a thread of its own keeps the lease of `event` alive."""
    with closing(Heartbeat(store, lease_seconds)) as heartbeat, heartbeat.of(event):
        yield
