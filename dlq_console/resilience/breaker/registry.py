"""The circuit breakers of a program."""

from __future__ import annotations

from collections.abc import Mapping

from dlq_console.resilience.breaker.breaker import CircuitBreaker, Listener
from dlq_console.resilience.breaker.config import CircuitBreakerConfig
from dlq_console.resilience.registry import Registry
from dlq_console.resilience.state import MemoryState, SharedState


class CircuitBreakerRegistry(Registry[CircuitBreaker, CircuitBreakerConfig]):
    """The circuit breakers of a program, one for each name.

    Args:
        configs: per name; any other name gets the default.
        state: where the circuits are kept; None: in this process alone.
        on_transition: as for each breaker.
    """

    def __init__(
        self,
        configs: Mapping[str, CircuitBreakerConfig] | None = None,
        *,
        state: SharedState | None = None,
        on_transition: Listener | None = None,
    ) -> None:
        kept_in = state if state is not None else MemoryState()

        def make(name: str, config: CircuitBreakerConfig | None) -> CircuitBreaker:
            return CircuitBreaker(name, config, state=kept_in, on_transition=on_transition)

        super().__init__(make, configs)
