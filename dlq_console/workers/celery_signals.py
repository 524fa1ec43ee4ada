"""When does a run in a Celery process have to end, and who tells its handler?

The process itself keeps the time. Celery's own soft limit is told by the main process, which is deaf while it waits
for a broker that is away, and raises its exception wherever the process happens to be: also while a result is being
written, which would leave nobody knowing whether it was. Here an alarm reaches the handler and nothing else. SIGTERM,
by which Celery and service managers end processes, is likewise kept from the handler until its patience is over.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from dlq_console.clock import monotonic
from dlq_console.hub.execution import TimeLimitReached
from dlq_console.store.events import Event
from dlq_console.workers.forked import let_copies_be_programs

#: A handler that does not heed its time limit is ended with its process so many seconds later: well before its lease
#: ends, which is 5 seconds after the limit.
HARD_LIMIT_AFTER = 3.0
#: Exit status of a process that ends itself for that reason.
EXIT_AT_LIMIT = 124
#: How long a run may go on after its process was asked to end; then it is given back, in seconds.
STOP_PATIENCE = 20.0
#: Time to report a finished run to the worker before the process ends, in seconds.
LEAVE_AFTER = 0.1

NEVER = float("inf")
#: What a run hears of in its own way.
_OURS = (signal.SIGTERM, signal.SIGALRM)


class GiveBack(BaseException):
    """This process must end: the event that it runs is given back."""


class RunSignals:
    """The signals of one process. Made in its main thread, where its handlers run."""

    def __init__(self) -> None:
        self._busy = False
        self._in_handler = False
        self._asked_to_end = False
        # Moments on the monotonic clock.
        self._limit_at = self._hard_limit_at = self._give_back_at = NEVER
        self._others: dict[signal.Signals, Any] = {}
        let_copies_be_programs(_OURS, self._be_a_program)

    @property
    def leaving(self) -> bool:
        """Whether this process is about to end, so that no further run is to begin in it."""
        return self._asked_to_end

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Inside the block, from claim to result, the process does not end.

        Outside of it the signals are whose they were: the process may run other tasks, too.
        """
        self._busy = True
        # A process that is about to end has kept its own handlers since the last block.
        if not self._asked_to_end:
            on_signal = {signal.SIGTERM: self._on_end, signal.SIGALRM: self._on_alarm}
            self._others = {number: signal.signal(number, on_signal[number]) for number in _OURS}
        try:
            yield
        finally:
            self._busy = False
            if self._asked_to_end:
                signal.setitimer(signal.ITIMER_REAL, LEAVE_AFTER)
            else:
                for number, handler in self._others.items():
                    signal.signal(number, handler)

    @contextmanager
    def handler(self, _event: Event, limit: float) -> Iterator[None]:
        """Inside the block, where a handler runs an event, its time limit (in seconds) holds.

        Raises:
            TimeLimitReached: the limit is reached.
            GiveBack: the process must end, so the event is to be given back.
        """
        self._limit_at = monotonic() + limit
        self._hard_limit_at = self._limit_at + HARD_LIMIT_AFTER
        self._in_handler = True
        try:
            self._set_alarm()
            yield
        finally:
            self._in_handler = False
            signal.setitimer(signal.ITIMER_REAL, 0)

    def hold_up(self) -> None:
        """Note that a handler blocks the event loop, and goes on doing so after its run was stopped.

        Every async handler of this process would wait for it, so the process ends with this run; another follows it.
        """
        self._asked_to_end = True

    def _set_alarm(self) -> None:
        following = min(self._limit_at, self._hard_limit_at, self._give_back_at)
        signal.setitimer(signal.ITIMER_REAL, max(0.001, following - monotonic()))

    def _on_end(self, _number: int, frame: FrameType | None) -> None:
        if not self._busy:
            self._end(frame)
        elif not self._asked_to_end:
            self._asked_to_end = True
            self._give_back_at = monotonic() + STOP_PATIENCE
            if self._in_handler:
                self._set_alarm()

    def _on_alarm(self, _number: int, frame: FrameType | None) -> None:
        if self._in_handler:
            self._interrupt()
        elif self._asked_to_end and not self._busy:
            self._end(frame)

    def _interrupt(self) -> None:
        now = monotonic()
        if now >= self._hard_limit_at:
            os._exit(EXIT_AT_LIMIT)
        limit_reached, patience_over = now >= self._limit_at, now >= self._give_back_at
        if limit_reached:
            self._limit_at = NEVER
        if patience_over:
            self._give_back_at = NEVER
        self._set_alarm()
        if limit_reached:
            raise TimeLimitReached
        if patience_over:
            raise GiveBack

    def _be_a_program(self) -> None:
        """What a handler has forked ends at once; no run of its parent's is to be saved in it."""
        if self._busy:
            for number in _OURS:
                signal.signal(number, signal.SIG_DFL)

    def _end(self, frame: FrameType | None) -> None:
        """What Celery would have done on SIGTERM."""
        others = self._others.get(signal.SIGTERM)
        if callable(others):
            others(signal.SIGTERM, frame)
