"""Do the guards of one name agree about the circuit and the slots that they share?

They may differ in what is each one's own: which errors of its function count, and how long its calls may take. Guards
that are gone, as those of a module that was loaded again, say nothing any more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from weakref import WeakValueDictionary

from dlq_console.errors import ConfigurationError
from dlq_console.resilience.breaker import CircuitBreakerConfig
from dlq_console.resilience.bulkhead import BulkheadConfig
from dlq_console.resilience.state import SharedState


class Configured:
    """How one guard configures what it shares.

    Args:
        name: of the guard.
        breaker: what it was given as such; only a configuration is compared.
        bulkhead: likewise.
        state: the one it was given; None for the default of the process.
    """

    def __init__(self, name: str, breaker: object, bulkhead: object, state: SharedState | None) -> None:
        self.name = name
        self._state = state
        self._found = state
        self._layers: dict[str, Mapping[str, Any]] = {}
        if isinstance(breaker, CircuitBreakerConfig):
            self._layers["circuit"] = breaker.plain()
        if isinstance(bulkhead, BulkheadConfig):
            self._layers["slots"] = {
                "max_concurrent": bulkhead.max_concurrent,
                "local_max_concurrent": bulkhead.local_max_concurrent,
            }
        if self._layers:
            _living[id(self)] = self

    def check(self, state: SharedState) -> None:
        """Look at the others before the first call; `state` is what the default of the process turned out to be.

        Raises:
            ConfigurationError: another guard of this name and state says otherwise.
        """
        self._found = state
        if not self._layers:
            return
        # The references, not the values: others may be made while this looks.
        for other in [reference() for reference in _living.valuerefs()]:
            if other is not None and other.name == self.name and self._shares(other):
                self._agree(other)

    def _shares(self, other: Configured) -> bool:
        if other._found is not None:
            return other._found is self._found
        # Both use the default of the process; that of the other one is not made yet.
        return self._state is None

    def _agree(self, other: Configured) -> None:
        for layer, mine in self._layers.items():
            theirs = other._layers.get(layer, mine)
            for field, value in mine.items():
                if theirs[field] != value:
                    raise ConfigurationError(
                        f'The guards called "{self.name}" share their {layer}, but differ in {field}: {theirs[field]!r}'
                        f" and {value!r}; give them one configuration, or names of their own."
                    )


_living: WeakValueDictionary[int, Configured] = WeakValueDictionary()
