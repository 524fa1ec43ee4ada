"""How is a record changed that many processes share? Compute from what was last seen, and write only if it still stands.

Nothing is locked in the store and no process waits for another: whoever wrote first wins, and the others compute
again from what the winner wrote. What a process remembers spares the look before the write, so that a change nobody
disputes is one round trip.
"""

from __future__ import annotations

import os
import random
import threading
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from dlq_console.clock import monotonic
from dlq_console.errors import StoreUnavailable
from dlq_console.resilience.state.memory import steady_now
from dlq_console.resilience.state.records import AS_IT_IS, Answer, Change, Changing, Kind, Reading, Record

#: A change that others got in the way of so often is given up.
TRIES = 200
#: The first tries follow at once; later ones wait up to so many seconds, drawn by lot.
_PATIENT_AFTER = 3
_LONGEST_PAUSE = 0.01
#: A remembered time may be off by so many seconds; the store refuses a write that was computed with a worse one.
CLOCK_TOLERANCE = 0.25
#: Changes of one record by threads of one process take turns in one of so many queues.
_TURNS = 64


@dataclass(frozen=True, slots=True)
class Loaded:
    """What the store holds under a name, as text (None: nothing), and its time."""

    text: str | None
    now: float


@dataclass(frozen=True, slots=True)
class Swapped:
    """Whether a write was kept; `current` is what stands instead, where the store told."""

    done: bool
    now: float
    current: Loaded | None = None


class OptimisticState(ABC):
    """A shared state whose store can compare and set one text in one step."""

    local: ClassVar[bool] = False
    refresh_every: ClassVar[float] = 0.1

    def __init__(self) -> None:
        self._callbacks: list[Callable[[], object]] = []
        self._forget()
        _living.add(self)

    def _forget(self) -> None:
        self._turns = tuple(threading.Lock() for _ in range(_TURNS))
        self._seen: dict[tuple[str, str], str | None] = {}
        self._ahead: float | None = None
        self._failed_at = -1.0
        self._failure = ""

    @abstractmethod
    def _load(self, kind: Kind[Any], name: str) -> Loaded:
        """What is stored under the name."""

    @abstractmethod
    def _load_all(self, kind: Kind[Any], names: Collection[str] | None) -> tuple[Mapping[str, str], float]:
        """What is stored under these names, or under all names of a listed kind."""

    @abstractmethod
    def _swap(self, kind: Kind[Any], name: str, seen: Loaded, text: str | None, keep_for: float) -> Swapped:
        """Write `text` (None: remove) if `seen` still stands and its time is not off by more than the tolerance."""

    def change(self, kind: Kind[Record], name: str, change: Changing[Record, Answer]) -> Answer:
        """Change one record; others may be changing it at the same time.

        Raises:
            StoreUnavailable: the store cannot be reached, or others were faster every time.
        """
        began = monotonic()
        with self._turns[hash((kind.name, name)) % _TURNS]:
            if self._failed_at > began:
                # While this thread waited for its turn another one waited for the store in vain.
                raise StoreUnavailable(self._failure)
            try:
                return self._change(kind, name, change)
            except StoreUnavailable as error:
                self._failed_at, self._failure = monotonic(), str(error)
                raise

    def _change(self, kind: Kind[Record], name: str, change: Changing[Record, Answer]) -> Answer:
        seen, certain = self._recalled(kind, name)
        for turn in range(TRIES):
            outcome = change(_decoded(kind, seen.text), seen.now)
            text = seen.text if outcome.record is AS_IT_IS else _encoded(kind, outcome)
            if text == seen.text:
                if certain:
                    return outcome.answer
                seen, certain = self._look(kind, name), True
                continue
            swapped = self._swap(kind, name, seen, text, outcome.keep_for)
            self._learn(kind, name, swapped.now, Loaded(text, swapped.now) if swapped.done else None)
            if swapped.done:
                return outcome.answer
            seen, certain = swapped.current or self._look(kind, name), True
            _pause(turn)
        raise StoreUnavailable(
            f'"{name}" was changed by others {TRIES} times while this process tried to; nothing was changed.'
        )

    def read(self, kind: Kind[Record], name: str) -> Reading[Record]:
        """One record as the store holds it now."""
        loaded = self._look(kind, name)
        return Reading(_decoded(kind, loaded.text), loaded.now)

    def read_all(
        self, kind: Kind[Record], names: Collection[str] | None = None
    ) -> tuple[Mapping[str, Record], float]:
        """The records of these names, or all of a listed kind."""
        if names is not None and not names:
            return {}, self.now()
        texts, now = self._load_all(kind, names)
        self._ahead = now - monotonic()
        decoded = {name: kind.decode(text) for name, text in texts.items()}
        return {name: record for name, record in decoded.items() if record is not None}, now

    def now(self) -> float:
        """The store's time, told from its last answer; the host's own where it has never answered."""
        return steady_now() if self._ahead is None else self._ahead + monotonic()

    def when_closed(self, callback: Callable[[], object]) -> None:
        """Call `callback` when the state is closed, before its connections are."""
        self._callbacks.append(callback)

    def close(self) -> None:
        """Close connections; the next use opens new ones."""
        for callback in self._callbacks:
            callback()
        self._disconnect()

    @abstractmethod
    def _disconnect(self) -> None:
        """Close the connections to the store."""

    def _look(self, kind: Kind[Any], name: str) -> Loaded:
        loaded = self._load(kind, name)
        self._learn(kind, name, loaded.now, loaded)
        return loaded

    def _recalled(self, kind: Kind[Any], name: str) -> tuple[Loaded, bool]:
        """What this process last saw; it is certain only where the store was just asked."""
        if self._ahead is None or not kind.remembered:
            return self._look(kind, name), True
        return Loaded(self._seen.get((kind.name, name)), self.now()), False

    def _learn(self, kind: Kind[Any], name: str, now: float, loaded: Loaded | None) -> None:
        self._ahead = now - monotonic()
        if kind.remembered and loaded is not None:
            self._seen[kind.name, name] = loaded.text


def _decoded(kind: Kind[Record], text: str | None) -> Record | None:
    return None if text is None else kind.decode(text)


def _encoded(kind: Kind[Record], outcome: Change[Record, Any]) -> str | None:
    record = outcome.record
    return None if record is None or record is AS_IT_IS else kind.encode(record)


def _pause(turn: int) -> None:
    if turn >= _PATIENT_AFTER:
        time.sleep(random.uniform(0, _LONGEST_PAUSE))  # noqa: S311 - spreads contenders, keeps no secret


_living: weakref.WeakSet[OptimisticState] = weakref.WeakSet()


def _after_fork() -> None:
    for state in list(_living):
        state._forget()  # noqa: SLF001 - its own module


os.register_at_fork(after_in_child=_after_fork)
