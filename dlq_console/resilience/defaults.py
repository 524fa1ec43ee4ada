"""Which shared state and configuration does a guard use that was given none? What the program registered.

The composition root registers how they are made; they are made at the first call, so that importing opens nothing.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from dlq_console.errors import ConfigurationError
from dlq_console.resilience.forks import forget_in_child
from dlq_console.resilience.services import Services
from dlq_console.resilience.state import MemoryState, SharedState

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Defaults:
    """What a process uses where nothing else was said."""

    state: SharedState
    services: Services = field(default_factory=Services)


class _Registered:
    """How the defaults are made, and the ones that were."""

    def __init__(self) -> None:
        self._make: Callable[[], Defaults] | None = None
        self._made: Defaults | None = None
        self.forget()
        forget_in_child(self)

    def forget(self) -> None:
        """Wait for no thread of another process, as in a forked child; what was registered stays."""
        # Making them may register them: whoever builds a hub for it does.
        self._lock = threading.RLock()

    def offer(self, make: Callable[[], Defaults]) -> None:
        """Say how, unless it was said already."""
        with self._lock:
            if self._make is None and self._made is None:
                self._make = make

    def register(self, make: Callable[[], Defaults] | None) -> None:
        """Say how; what was made before is used no more."""
        with self._lock:
            self._make, self._made = make, None

    def withdraw(self, make: Callable[[], Defaults]) -> None:
        """Say no more what this one said."""
        with self._lock:
            if self._make == make:
                self._make, self._made = None, None

    def get(self) -> Defaults:
        """The defaults of this process; local ones, with a warning, where nobody said how."""
        with self._lock:
            if self._made is None:
                if self._make is None:
                    logger.warning(
                        "No shared state was registered: circuits and slots are of this process alone."
                    )
                self._made = Defaults(MemoryState()) if self._make is None else self._make()
            return self._made


_registered = _Registered()


def register_defaults(make: Callable[[], Defaults] | None) -> None:
    """Say how the defaults of this process are made, at their first use; None for local ones."""
    _registered.register(make)


def offer_defaults(make: Callable[[], Defaults]) -> None:
    """As `register_defaults`, unless the program has said it already."""
    _registered.offer(make)


def withdraw_defaults(make: Callable[[], Defaults]) -> None:
    """Undo `register_defaults`, unless another one was registered since."""
    _registered.withdraw(make)


def process_defaults() -> Defaults:
    """The defaults of this process."""
    return _registered.get()


def lasting_state() -> SharedState:
    """The default state, for calls that must not be made twice.

    Raises:
        ConfigurationError: it would be gone with the process.
    """
    state = _registered.get().state
    if state.local:
        raise ConfigurationError(
            "An idempotent call needs a state that outlives the process: hand one in, or configure a database or Redis."
        )
    return state
