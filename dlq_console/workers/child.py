"""One slot of the table runner: a process that runs one event after the other and can be killed at any moment."""

from __future__ import annotations

import logging
import math
import os
import signal
import threading
import time
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection
from types import FrameType

from dlq_console.clock import monotonic
from dlq_console.errors import StoreUnavailable
from dlq_console.hub.core import HubCore
from dlq_console.hub.execution import run_claimed
from dlq_console.store.events import Event
from dlq_console.workers.forked import let_copies_be_programs

logger = logging.getLogger(__name__)


#: What a child answers: it may be given another event, or it must be replaced. Then follows the secret of the event.
FIT, UNFIT = b"+", b"-"
#: The signals by which people and supervisors end a program.
_ENDINGS = (signal.SIGINT, signal.SIGTERM)


def serve(hub: HubCore, pipe: Connection, parent: int) -> None:
    """Run the events that come through `pipe` until it closes; answers each by whether another one may come.

    The answer is a byte and the secret that came with the event: whatever else a handler writes into this pipe, the
    parent takes for what it is.
    """
    child = os.getpid()
    # The programs that a handler starts belong to this session too, and are killed with it.
    os.setsid()
    # The parent alone decides when to stop; a supervisor may tell every process of the service. A function that does
    # nothing, unlike SIG_IGN, is not inherited by programs that a handler starts.
    for ending in _ENDINGS:
        signal.signal(ending, _leave_it_to_the_parent)
    let_copies_be_programs(_ENDINGS, partial(_be_a_program, pipe))
    threading.Thread(target=_end_with, args=(parent,), name="dlq-console-parent-watch", daemon=True).start()
    with suppress(EOFError, ConnectionError):  # no more work, or no more parent
        while True:
            event, secret = pipe.recv()
            fit = _run(hub, event)
            if os.getpid() != child:
                # A handler has forked and its copy came back to us: it must not answer for the one that was asked.
                os._exit(1)
            os.write(pipe.fileno(), (FIT if fit else UNFIT) + secret)
    _kill_session()


def _run(hub: HubCore, event: Event) -> bool:
    """Run an event; tells whether this process is fit for another.

    After a time limit it is not: an async handler that was told to stop may still be at it, in the loop of all others.
    """
    handler = hub.registry.get(event.kind)
    limit = monotonic() + handler.policy.timeout if handler else math.inf
    try:
        run_claimed(hub.store, hub.registry, event, stops=())
    except StoreUnavailable as error:
        # The lease lapses and the event is rescued: its effect key protects the outside system.
        logger.error("event %s: its result could not be written: %s", event.id, error)  # noqa: TRY400 - no fault of ours
    return monotonic() < limit


def _leave_it_to_the_parent(_signal: int, _frame: FrameType | None) -> None:
    pass


def _be_a_program(pipe: Connection) -> None:
    """What a handler has forked is not the child: it can be stopped by signals, and holds no end of the pipe open."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    pipe.close()


def _end_with(parent: int) -> None:
    """A child without its parent has no heartbeat: it must not go on while others rescue its event."""
    while os.getppid() == parent:
        time.sleep(0.5)
    _kill_session()


def _kill_session() -> None:
    os.killpg(0, signal.SIGKILL)
