"""How does a run keep its event while it takes longer than a lease?"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from dlq_console.errors import StoreUnavailable
from dlq_console.store import transitions
from dlq_console.store.events import Event
from dlq_console.store.store import Store

logger = logging.getLogger(__name__)

#: How long the end of a run waits for a beat that is under way, in seconds.
PATIENCE = 5


@contextmanager
def kept_alive(store: Store, event: Event, lease_seconds: float) -> Iterator[None]:
    """Inside the block, a thread keeps the lease of `event` alive."""
    ended = threading.Event()
    # The claim gave a whole lease, so a beat every third of it comes in time.
    thread = threading.Thread(
        target=_beat, args=(store, event, lease_seconds, ended), name="dlq-console-heartbeat", daemon=True
    )
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(PATIENCE)


def _beat(store: Store, event: Event, lease_seconds: float, ended: threading.Event) -> None:
    while not ended.wait(lease_seconds / 3):
        try:
            lost = transitions.extend(store, [(event.id, event.lease_epoch)], lease_seconds=lease_seconds)
        except StoreUnavailable as error:
            logger.warning("event %s: its lease was not extended: %s", event.id, error)
            continue
        if lost and not ended.is_set():
            logger.warning("event %s: its lease was lost, what its run writes is refused", event.id)
            return
