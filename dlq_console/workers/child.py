"""One slot of the table runner: a process that runs one event after the other and can be killed at any moment."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from multiprocessing.connection import Connection

from dlq_console.errors import StoreUnavailable
from dlq_console.hub.execution import run_claimed
from dlq_console.runtime import Hub

logger = logging.getLogger(__name__)

#: What a child answers after each event.
FINISHED = "finished"


def serve(hub: Hub, pipe: Connection, parent: int) -> None:
    """Run the events that come through `pipe` until it closes."""
    # The parent alone decides when to stop; it is told by the same signals, sent to the whole group.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), name="dlq-console-parent-watch", daemon=True).start()
    while True:
        try:
            event = pipe.recv()
        except EOFError:
            return
        try:
            run_claimed(hub.store, hub.registry, event)
        except StoreUnavailable as error:
            # The lease lapses and the event is rescued: its effect key protects the outside system.
            logger.error("event %s: its result could not be written: %s", event.id, error)  # noqa: TRY400 - no fault of ours
        pipe.send(FINISHED)


def _end_with(parent: int) -> None:
    """A child without its parent has no heartbeat: it must not go on while others rescue its event."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)
