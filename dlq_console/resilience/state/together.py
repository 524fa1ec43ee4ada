"""How do threads of one process change the same record without racing each other? One of them does it for all who wait.

What they want is computed one after the other, as if each had come by itself, and written down once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic

from dlq_console.resilience.state.records import AS_IT_IS, Answer, Change, Changing, Record

Key = tuple[str, str]


@dataclass(slots=True, eq=False)
class Wish(Generic[Record, Answer]):
    """What one thread wants to do to one record, and what came of it.

    Attributes:
        key: kind and name of the record.
        change: computes what is wanted.
        answer: of the change that was kept.
        error: what the change itself raised, or why it could not be kept.
        is_over: whether one of the two is known.
    """

    key: Key
    change: Changing[Record, Answer]
    answer: Answer | None = None
    error: Exception | None = None
    is_over: bool = False

    def compute(self, record: Record | None, now: float) -> Change[Record, Any]:
        """What is to be written; one that raises changes nothing."""
        self.answer = self.error = None
        try:
            outcome = self.change(record, now)
        except Exception as error:  # noqa: BLE001 - raised again in the thread whose change it is
            self.error = error
            return Change(None)
        self.answer = outcome.answer
        return outcome


def compute_all(
    wishes: Sequence[Wish[Record, Any]], record: Record | None, now: float
) -> Change[Record, Any]:
    """What is to be written after all of them, each computed from what the one before it left."""
    last: Change[Record, Any] = Change(None)
    for wish in wishes:
        outcome = wish.compute(record, now)
        if outcome.record is not AS_IT_IS:
            last, record = outcome, outcome.record
    return last


class Turns:
    """Lets the threads of one process go one at a time; whoever goes takes along all who want the same record."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._lock = threading.Lock()
        self._waiting: list[Wish[Any, Any]] = []

    def go(
        self, wish: Wish[Any, Any], patience: float, fulfil: Callable[[list[Wish[Any, Any]]], None]
    ) -> bool:
        """See to it that the wish is over; False when its turn did not come in time and nobody has begun it.

        Args:
            wish: of this thread.
            patience: seconds to wait for the turn.
            fulfil: settles all wishes that it is given, in bounded time.
        """
        with self._lock:
            self._waiting.append(wish)
        if not self._turn.acquire(timeout=patience):
            if self._withdrawn(wish):
                return False
            # Somebody is just doing it.
            self._turn.acquire()
        try:
            if not wish.is_over:
                fulfil(self._taken(wish))
        finally:
            self._turn.release()
        return True

    def _withdrawn(self, wish: Wish[Any, Any]) -> bool:
        with self._lock:
            if wish not in self._waiting:
                return False
            self._waiting.remove(wish)
            return True

    def _taken(self, own: Wish[Any, Any]) -> list[Wish[Any, Any]]:
        """All who want the same record, in the order in which they came."""
        with self._lock:
            taken = [wish for wish in self._waiting if wish.key == own.key]
            self._waiting = [wish for wish in self._waiting if wish.key != own.key]
        # A thread that was interrupted while it went for others has left them without a result.
        return taken if own in taken else [own, *taken]
