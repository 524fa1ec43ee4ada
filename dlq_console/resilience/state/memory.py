"""How is state shared by the threads and tasks of one process? Records in a dictionary, changed under a short lock."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any, ClassVar

from dlq_console.clock import monotonic
from dlq_console.resilience.forks import forget_in_child
from dlq_console.resilience.state.records import AS_IT_IS, Answer, Changing, Kind, Reading, Record

#: After so many changes the records whose time is over are swept out.
_SWEEP_EVERY = 1000

_started = time.time() - monotonic()


def steady_now() -> float:
    """Seconds since 1970 by a clock that is never set: it went with the host's clock when the process started."""
    return _started + monotonic()


class MemoryState:
    """State of this process alone; the same rules as the shared ones, and the way to try them in a test.

    A forked child starts with an empty one: the calls of its parent are not its own.

    Args:
        clock: tells the time in seconds since 1970; a test may hand in its own.
    """

    local: ClassVar[bool] = True
    refresh_every: ClassVar[float] = 1.0

    def __init__(self, clock: Callable[[], float] = steady_now) -> None:
        self._clock = clock
        self._callbacks: list[Callable[[], object]] = []
        self.forget()
        forget_in_child(self)

    def forget(self) -> None:
        """Drop every record."""
        self._lock = threading.Lock()
        self._kept: dict[tuple[str, str], tuple[Any, float]] = {}
        self._changes = 0

    def change(self, kind: Kind[Record], name: str, change: Changing[Record, Answer]) -> Answer:
        """Change one record under the lock."""
        key = (kind.name, name)
        with self._lock:
            now = self._clock()
            outcome = change(self._standing(key, now), now)
            if outcome.record is AS_IT_IS:
                return outcome.answer
            if outcome.record is None:
                self._kept.pop(key, None)
            else:
                self._kept[key] = (outcome.record, now + outcome.keep_for)
            self._sweep_sometimes(now)
            return outcome.answer

    def read(self, kind: Kind[Record], name: str) -> Reading[Record]:
        """One record; takes no lock, because records are never changed in place."""
        now = self._clock()
        return Reading(self._standing((kind.name, name), now), now)

    def read_all(
        self, kind: Kind[Record], names: Collection[str] | None = None
    ) -> tuple[Mapping[str, Record], float]:
        """The records of these names, or all of the kind."""
        now = self._clock()
        with self._lock:
            keys = [key for key in self._kept if key[0] == kind.name and (names is None or key[1] in names)]
            found = {name: self._standing((kind_name, name), now) for kind_name, name in keys}
        return {name: record for name, record in found.items() if record is not None}, now

    def now(self) -> float:
        """The clock's time."""
        return self._clock()

    def when_closed(self, callback: Callable[[], object]) -> None:
        """Call `callback` when the state is closed."""
        self._callbacks.append(callback)

    def close(self) -> None:
        """Nothing is open; the records stay."""
        for callback in self._callbacks:
            callback()

    def _standing(self, key: tuple[str, str], now: float) -> Any:
        record, until = self._kept.get(key, (None, 0.0))
        return record if now < until else None

    def _sweep_sometimes(self, now: float) -> None:
        self._changes += 1
        if self._changes % _SWEEP_EVERY == 0:
            self._kept = {key: kept for key, kept in self._kept.items() if now < kept[1]}
