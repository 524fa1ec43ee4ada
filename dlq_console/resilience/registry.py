"""Where does a program get the one breaker, or bulkhead, of a service? From a registry, by name."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, Generic, Protocol, TypeVar

from dlq_console.errors import ConfigurationError
from dlq_console.resilience.forks import forget_in_child


class HasStats(Protocol):
    """What a registry holds."""

    def stats(self) -> dict[str, Any]:
        """Its figures."""
        ...


Thing = TypeVar("Thing", bound=HasStats)
Config = TypeVar("Config")


class Registry(Generic[Thing, Config]):
    """Things with a name and a configuration, one for each name.

    Args:
        make: builds one from its name and configuration.
        configs: per name, where `get` is called without one.

    Raises:
        ConfigurationError: `configs` is no mapping.
    """

    def __init__(
        self, make: Callable[[str, Config | None], Thing], configs: Mapping[str, Config] | None
    ) -> None:
        if configs is not None and not isinstance(configs, Mapping):
            raise ConfigurationError(f"The configurations of a registry are a dict by name, not {configs!r}.")
        self._make = make
        self._configs = dict(configs or {})
        self._things: dict[str, Thing] = {}
        self.forget()
        forget_in_child(self)

    def forget(self) -> None:
        """Wait for no thread of another process, as in a forked child; what was made stays."""
        self._lock = threading.Lock()

    def get(self, name: str, config: Config | None = None) -> Thing:
        """The thing of this name, the same one each time.

        Raises:
            ConfigurationError: the name is not fit, or it exists with another configuration.
        """
        with self._lock:
            thing = self._things.get(name)
            if thing is None:
                config = config or self._configs.get(name)
                thing = self._things[name] = self._make(name, config)
                if config is not None:
                    self._configs[name] = config
            elif config is not None and config != self._configs.get(name):
                raise ConfigurationError(
                    f'"{name}" is configured already, and otherwise; give its configuration in one place.'
                )
            return thing

    def stats(self) -> dict[str, dict[str, Any]]:
        """The figures of each, by name."""
        with self._lock:
            things = dict(self._things)
        return {name: thing.stats() for name, thing in things.items()}
