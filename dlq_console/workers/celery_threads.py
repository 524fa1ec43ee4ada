"""What about a run in a thread that does not end at its time limit?

Nothing can end a thread but the end of its process. So the event is ended as timed out, and the process takes nothing
more, lets everything else that runs in it end, and leaves with a status by which whatever started it starts it again.
Otherwise each such run would take one slot of the worker for good, until it stands there and runs nothing.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from celery.worker import state

from dlq_console.clock import monotonic
from dlq_console.errors import StoreUnavailable
from dlq_console.hub.core import HubCore
from dlq_console.hub.endings import timed_out
from dlq_console.store import transitions
from dlq_console.store.events import Event
from dlq_console.workers.celery_signals import EXIT_AT_LIMIT, HARD_LIMIT_AFTER, STOP_PATIENCE

logger = logging.getLogger(__name__)

#: How often the runs are looked at, in seconds.
LOOK_EVERY = 0.5
#: How long the rest may go on, in seconds; as where a worker is told to stop.
REST_PATIENCE = STOP_PATIENCE
#: How long Celery has to stop taking messages before the process ends without that, in seconds.
CLOSE_PATIENCE = 10.0


class ThreadRuns:
    """The events that the threads of this process run, and how long each may."""

    def __init__(self) -> None:
        #: Under the id of its thread, each event with a moment on the monotonic clock.
        self._runs: dict[int, tuple[Event, float]] = {}
        #: Whether a handler holds up the event loop that all async handlers share.
        self.loop_is_held_up = False
        #: Whether this process is about to end, so that no further run is to begin in it.
        self.leaving = False

    def busy(self) -> AbstractContextManager[None]:
        """Nothing is different inside the block: a thread gets no signals."""
        return nullcontext()

    @contextmanager
    def handler(self, event: Event, limit: float) -> Iterator[None]:
        """Inside the block a handler runs `event`, and may for `limit` seconds."""
        thread = threading.get_ident()
        self._runs[thread] = (event, monotonic() + limit + HARD_LIMIT_AFTER)
        try:
            yield
        finally:
            del self._runs[thread]

    def hold_up(self) -> None:
        """Note that a handler blocks the event loop, and goes on doing so after its run was stopped."""
        self.loop_is_held_up = True

    def late(self) -> list[Event]:
        """Those whose handler does not heed its time limit."""
        now = monotonic()
        return [event for event, until in self._runs.copy().values() if now >= until]

    def in_time(self) -> list[Event]:
        """The others."""
        now = monotonic()
        return [event for event, until in self._runs.copy().values() if now < until]

    def hold_main_thread(self) -> bool:
        """Whether Celery's own thread runs one of them, as in the solo pool, so that it can do nothing else."""
        return threading.main_thread().ident in self._runs


class Overtime:
    """A thread that ends this worker once a run in it cannot be ended otherwise.

    Args:
        hub: holds the handlers.
        runs: what runs here.
        stopping: says that no further event is begun here.
        leave: says that this worker has stopped, and lets go of everything.
    """

    def __init__(
        self, hub: HubCore, runs: ThreadRuns, *, stopping: Callable[[], None], leave: Callable[[], None]
    ) -> None:
        self._hub = hub
        self._runs = runs
        self._stopping = stopping
        self._leave = leave
        self._left = threading.Event()
        self._settled: set[tuple[int, int]] = set()
        #: When the end began, on the monotonic clock; None while nothing is wrong.
        self._since: float | None = None
        self._consumes = True
        self._thread = threading.Thread(target=self._work, name="dlq-console-overtime", daemon=True)
        self._thread.start()

    def stopped_consuming(self) -> None:
        """Celery takes no message any more, and waits for its pool."""
        if self._since is not None:
            logger.info("this worker takes no more messages")
        self._consumes = False

    def close(self) -> None:
        """Look no more: the worker ends by itself."""
        self._left.set()

    def _work(self) -> None:
        while not self._left.wait(LOOK_EVERY):
            try:
                self._look()
            except Exception:
                # Whatever it is, this thread goes on: without it a lost slot would stay lost.
                logger.exception("the time limits are looked at again in %.1f s", LOOK_EVERY)

    def _look(self) -> None:
        late = self._runs.late()
        if self._since is None:
            if not late and not self._runs.loop_is_held_up:
                return
            self._since = monotonic()
            self._begin_to_stop(late)
        self._settle(late)
        waited = monotonic() - self._since
        if waited >= REST_PATIENCE or (self._is_closed(waited) and self._is_alone(late)):
            self._end(late)

    def _is_closed(self, waited: float) -> bool:
        return not self._consumes or waited >= CLOSE_PATIENCE or self._runs.hold_main_thread()

    def _is_alone(self, late: list[Event]) -> bool:
        # What else runs here may be a task of the application; it counts like an event.
        return len(state.active_requests) <= len(late)

    def _begin_to_stop(self, late: list[Event]) -> None:
        what = (
            f"event {', '.join(str(event.id) for event in late)} ran past its time limit in a thread"
            if late
            else "an async handler went on past its time limit and holds up all others"
        )
        logger.error(
            "%s, and only the end of the process can end that: this worker takes nothing more, lets the rest end and "
            "then leaves with exit status %s, to be started again",
            what,
            EXIT_AT_LIMIT,
        )
        self._runs.leaving = True
        if not _told_to_stop():
            # Celery's own flag for a warm stop. Its main loop looks at it, if it is not the one that runs the handler.
            state.should_stop = EXIT_AT_LIMIT  # type: ignore[assignment] # its stub knows it unset only
        self._stopping()

    def _settle(self, late: list[Event]) -> None:
        """End those events as timed out; whatever their handlers find out after that is refused."""
        for event in late:
            proof = (event.id, event.lease_epoch)
            if proof not in self._settled and self._write(
                event, timed_out(event, self._hub.policy(event.kind))
            ):
                self._settled.add(proof)

    def _end(self, late: list[Event]) -> None:
        for event in self._runs.in_time():
            logger.warning("event %s is given back", event.id)
            self._write(event, transitions.released())
        self._leave()
        status = state.should_stop if _told_to_stop() else EXIT_AT_LIMIT
        left = "1 thread" if len(late) == 1 else f"{len(late)} threads"
        logger.warning("this worker leaves %s behind and ends with exit status %s", left, status)
        logging.shutdown()
        # The end of the interpreter would wait for the threads.
        os._exit(int(status or 0))

    def _write(self, event: Event, ending: transitions.Ending) -> bool:
        """Write how a run ended; tells whether that is settled, by this or by somebody else."""
        try:
            if not transitions.end(self._hub.store, event, ending):
                logger.info("event %s had ended before", event.id)
        except StoreUnavailable as error:
            logger.warning("event %s: %s", event.id, error)
            return False
        return True


def _told_to_stop() -> bool:
    return state.should_stop is not None and state.should_stop is not False
