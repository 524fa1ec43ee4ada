"""Whose message is this? Two installations that share a broker and a queue prefix take each other's messages.

That runs nothing that should not be run, but each message that the wrong one takes is late. A message carries no name of
its sender, so what can be noticed is one that does not fit: no such event here, or one of another account.
"""

from __future__ import annotations

import logging

from dlq_console.clock import monotonic
from dlq_console.hub.routes import is_shared
from dlq_console.store import queries
from dlq_console.store.store import Store

logger = logging.getLogger(__name__)

#: How long nothing more is said after it was, in seconds.
QUIET = 60.0


class Strangers:
    """Says now and then that messages come which this installation has not sent.

    Args:
        store: knows the events that are ours.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._quiet_until = 0.0

    def look_at(self, event_id: int, queue: str) -> None:
        """Look whether a message that could not be used was ours at all.

        Args:
            event_id: which event it names.
            queue: the one that it came through.

        Raises:
            StoreUnavailable: the database cannot be reached.
        """
        if monotonic() < self._quiet_until:
            return
        event = queries.summaries(self._store, [event_id]).get(event_id)
        if event is not None and (is_shared(self._store.queue_prefix, queue) or event.queue == queue):
            return
        self._quiet_until = monotonic() + QUIET
        logger.warning(
            "a message for event %s came through %s, but %s: it is dropped. Unless this database was restored from a backup, "
            "another installation sends under the prefix %s on this broker; give each its own DLQ_QUEUE_PREFIX",
            event_id,
            queue,
            "there is no such event" if event is None else f"that event belongs to {event.queue}",
            self._store.queue_prefix,
        )
