"""How is something that many ask for made only now and then? By one of those who ask; the others take the one before.

What a process keeps it keeps for each of its databases: see `OfStore`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from threading import Lock
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from dlq_console.clock import monotonic
from dlq_console.errors import StoreUnavailable
from dlq_console.store.store import Store

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
Memory = TypeVar("Memory")

#: Seconds after which the database is asked again that was away.
AGAIN = 5.0
#: Seconds that anybody waits for what somebody else is making for the first time.
PATIENCE = 5.0


@dataclass(frozen=True, slots=True)
class Kept(Generic[Value]):
    """Something that was made, and when, by `clock.monotonic`."""

    value: Value
    made_at: float
    until: float


class Keeper(Generic[Key, Value]):
    """Values by key, each made at most every so many seconds. While the database is away the last ones stay.

    Args:
        seconds: for which a value is not made again.
        most: values; with more than that all are forgotten.
    """

    def __init__(self, seconds: float, *, most: int) -> None:
        self._seconds, self._most = seconds, most
        self._kept: dict[Key, Kept[Value]] = {}
        self._making = Lock()

    def get(self, key: Key, make: Callable[[], Value]) -> Kept[Value]:
        """The value of `key`, made by `make` where there is none or it is too old.

        Raises:
            StoreUnavailable: the database is away, or whoever is asking it does not come back, and nothing was kept.
        """
        kept = self._kept.get(key)
        if kept is not None and kept.until > monotonic():
            return kept
        # Who has an old value does not wait for a new one.
        if not self._making.acquire(timeout=PATIENCE if kept is None else 0):
            if kept is None:
                raise StoreUnavailable("The database was asked already and has not answered.")
            return kept
        try:
            return self._made(key, make)
        finally:
            self._making.release()

    def forget(self) -> None:
        """Make everything anew."""
        self._kept = {}

    def _made(self, key: Key, make: Callable[[], Value]) -> Kept[Value]:
        kept = self._kept.get(key)
        if kept is not None and kept.until > monotonic():
            return kept
        try:
            value = make()
        except StoreUnavailable:
            if kept is None:
                raise
            kept = Kept(kept.value, kept.made_at, monotonic() + AGAIN)
        else:
            kept = Kept(value, monotonic(), monotonic() + self._seconds)
        if len(self._kept) >= self._most:
            self._kept = {}
        self._kept[key] = kept
        return kept


class OfStore(Generic[Memory]):
    """One memory for each database, made when it is first asked for and gone with it: a process may have several.

    Args:
        make: makes an empty one.
    """

    def __init__(self, make: Callable[[], Memory]) -> None:
        self._make = make
        self._lock = Lock()
        self._memories: WeakKeyDictionary[Store, Memory] = WeakKeyDictionary()

    def get(self, store: Store) -> Memory:
        """The memory of that database, the same for all threads."""
        known = self._memories.get(store)
        if known is None:
            with self._lock:
                known = self._memories.setdefault(store, self._make())
        return known
