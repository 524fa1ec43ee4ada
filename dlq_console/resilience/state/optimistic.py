"""How is a record changed that many processes share? Compute from what was last seen, and write only if it still stands.

Nothing is locked in the store and no process waits for another: whoever wrote first wins, and the others compute
again from what the winner wrote. The threads of one process do not race each other but go together. What a process
remembers spares the look before the write, so that a change nobody disputes is one round trip.
"""

from __future__ import annotations

import logging
import random
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any, ClassVar, cast

from dlq_console.clock import monotonic
from dlq_console.errors import StoreUnavailable
from dlq_console.resilience import checks
from dlq_console.resilience.forks import forget_in_child
from dlq_console.resilience.state.memory import steady_now
from dlq_console.resilience.state.records import (
    AS_IT_IS,
    Answer,
    Change,
    Changing,
    Contended,
    Kind,
    Reading,
    Record,
)
from dlq_console.resilience.state.together import Turns, Wish, compute_all

logger = logging.getLogger(__name__)

#: A change that others were faster with for so many seconds, and so many times, is given up: a process that was held up
#: for long has lost one race, not many.
PATIENCE = 1.0
_FEWEST_LOSSES = 4
#: The first tries follow at once; later ones wait for a time drawn by lot, up to twice as long each time.
_AT_ONCE = 2
_FIRST_PAUSE, _LONGEST_PAUSE = 0.002, 0.05
#: A remembered time may be off by so many seconds; the store refuses a write that was computed with a worse one.
CLOCK_TOLERANCE = 0.25
#: Threads of one process that change a record take turns in one of so many queues.
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
    """A shared state whose store can compare and set one text in one step.

    Args:
        timeout: the longest wait for an answer of the store, in seconds.

    Raises:
        ConfigurationError: that is no time to wait.
    """

    local: ClassVar[bool] = False
    refresh_every: ClassVar[float] = 0.1

    def __init__(self, timeout: float) -> None:
        checks.number(timeout, "timeout", above=0)
        self._timeout = timeout
        self._callbacks: list[Callable[[], object]] = []
        self.forget()
        forget_in_child(self)

    def forget(self) -> None:
        """Remember nothing of what was seen, and wait for no thread of another process."""
        self._turns = tuple(Turns() for _ in range(_TURNS))
        self._seen: dict[tuple[str, str], str | None] = {}
        self._ahead: float | None = None
        self._failed_at = -1.0
        self._failure = ""
        self._unreadable: set[tuple[str, str]] = set()

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
            StoreUnavailable: the store cannot be reached.
            Contended: it can, but others were faster every time.
        """
        began = monotonic()
        wish: Wish[Record, Answer] = Wish((kind.name, name), change)
        turns = self._turns[hash(wish.key) % _TURNS]
        # Whoever is before this thread races others for a while, or waits for the store in vain, and then it is told.
        patience = 2 * (PATIENCE + self._timeout)
        if not turns.go(wish, patience, partial(self._fulfil, kind, name, began)):
            raise _contended(name)
        if wish.error is not None:
            raise wish.error
        return cast(Answer, wish.answer)

    def _fulfil(self, kind: Kind[Any], name: str, began: float, wishes: list[Wish[Any, Any]]) -> None:
        """Keep what all these threads want, or tell each of them why not."""
        try:
            # While this thread waited for its turn, another one may have waited for the store in vain.
            if self._failed_at > began:
                raise StoreUnavailable(self._failure)
            self._change(kind, name, wishes)
        except StoreUnavailable as error:
            for wish in wishes:
                wish.error = type(error)(str(error))
                wish.error.__cause__ = error
        for wish in wishes:
            wish.is_over = True

    def _change(self, kind: Kind[Any], name: str, wishes: list[Wish[Any, Any]]) -> None:
        try:
            self._race(kind, name, wishes)
        except Contended:
            raise
        except StoreUnavailable as error:
            self._failed_at, self._failure = monotonic(), str(error)
            raise

    def _race(self, kind: Kind[Any], name: str, wishes: list[Wish[Any, Any]]) -> None:
        deadline = monotonic() + PATIENCE
        seen, certain = self._recalled(kind, name)
        for losses in count():
            outcome = compute_all(wishes, self._decoded(kind, name, seen.text), seen.now)
            text = seen.text if outcome.record is AS_IT_IS else _encoded(kind, outcome)
            if text == seen.text:
                if certain:
                    return
                seen, certain = self._look(kind, name), True
                continue
            swapped = self._swap(kind, name, seen, text, outcome.keep_for)
            self._learn(kind, name, swapped.now, Loaded(text, swapped.now) if swapped.done else None)
            if swapped.done:
                return
            if losses + 1 >= _FEWEST_LOSSES and monotonic() >= deadline:
                raise _contended(name)
            seen, certain = self._look_again(kind, name, swapped.current, losses), True

    def read(self, kind: Kind[Record], name: str) -> Reading[Record]:
        """One record as the store holds it now."""
        loaded = self._look(kind, name)
        return Reading(self._decoded(kind, name, loaded.text), loaded.now)

    def read_all(
        self, kind: Kind[Record], names: Collection[str] | None = None
    ) -> tuple[Mapping[str, Record], float]:
        """The records of these names, or all of a listed kind."""
        if names is not None and not names:
            return {}, self.now()
        texts, now = self._load_all(kind, names)
        self._ahead = now - monotonic()
        decoded = {name: self._decoded(kind, name, text) for name, text in texts.items()}
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

    def _look_again(self, kind: Kind[Any], name: str, told: Loaded | None, losses: int) -> Loaded:
        """What stands after a lost race; what the store told with it is only fresh when it is used at once."""
        if losses >= _AT_ONCE:
            _pause(losses - _AT_ONCE)
        elif told is not None:
            return told
        return self._look(kind, name)

    def _recalled(self, kind: Kind[Any], name: str) -> tuple[Loaded, bool]:
        """What this process last saw; it is certain only where the store was just asked."""
        if self._ahead is None or not kind.remembered:
            return self._look(kind, name), True
        return Loaded(self._seen.get((kind.name, name)), self.now()), False

    def _learn(self, kind: Kind[Any], name: str, now: float, loaded: Loaded | None) -> None:
        self._ahead = now - monotonic()
        if kind.remembered and loaded is not None:
            self._seen[kind.name, name] = loaded.text

    def _decoded(self, kind: Kind[Record], name: str, text: str | None) -> Record | None:
        """The record; none where the text is damaged, which is told once."""
        if text is None:
            return None
        record = kind.decode(text)
        if record is None and (kind.name, name) not in self._unreadable:
            self._unreadable.add((kind.name, name))
            logger.warning(
                "What stands in the shared state as the %s %s cannot be read; it counts as nothing and is replaced by"
                " the next change.",
                kind.name,
                name,
            )
        return record


def _encoded(kind: Kind[Record], outcome: Change[Record, Any]) -> str | None:
    record = outcome.record
    return None if record is None or record is AS_IT_IS else kind.encode(record)


def _pause(times: int) -> None:
    longest = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2**times)
    time.sleep(random.uniform(0, longest))  # noqa: S311 - spreads contenders, keeps no secret


def _contended(name: str) -> Contended:
    return Contended(
        f'"{name}" was changed by others again and again for {PATIENCE:g} s; nothing was changed.'
    )
