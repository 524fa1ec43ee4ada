"""Five layers around a call to another service, in one order: breaker, bulkhead, budget, retry, idempotent call.

For code outside the hub as well: it imports nothing of it. The names are loaded at first use. `guard` is in the module
of its name, `RedisState` in `redis_state`, the one module that needs a client of Redis, and `SqlState` with the rest
of the database.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dlq_console.resilience.backpressure import QueueGuard as QueueGuard
    from dlq_console.resilience.breaker import CircuitBreaker as CircuitBreaker
    from dlq_console.resilience.breaker import CircuitBreakerConfig as CircuitBreakerConfig
    from dlq_console.resilience.breaker import CircuitBreakerRegistry as CircuitBreakerRegistry
    from dlq_console.resilience.breaker import CircuitState as CircuitState
    from dlq_console.resilience.breaker import Window as Window
    from dlq_console.resilience.budget import init_budget as init_budget
    from dlq_console.resilience.budget import remaining_budget as remaining_budget
    from dlq_console.resilience.bulkhead import Bulkhead as Bulkhead
    from dlq_console.resilience.bulkhead import BulkheadConfig as BulkheadConfig
    from dlq_console.resilience.bulkhead import BulkheadRegistry as BulkheadRegistry
    from dlq_console.resilience.bulkhead import LocalBulkhead as LocalBulkhead
    from dlq_console.resilience.errors import BudgetExceededError as BudgetExceededError
    from dlq_console.resilience.errors import BulkheadFullError as BulkheadFullError
    from dlq_console.resilience.errors import BulkheadTimeoutError as BulkheadTimeoutError
    from dlq_console.resilience.errors import CircuitOpenError as CircuitOpenError
    from dlq_console.resilience.errors import Refusal as Refusal
    from dlq_console.resilience.errors import StillRunningError as StillRunningError
    from dlq_console.resilience.idempotency import IdempotentCalls as IdempotentCalls
    from dlq_console.resilience.idempotency import idempotent_node as idempotent_node
    from dlq_console.resilience.orphans import OrphanScanner as OrphanScanner
    from dlq_console.resilience.orphans import WorkRegister as WorkRegister
    from dlq_console.resilience.recovery import RecoveryConsumer as RecoveryConsumer
    from dlq_console.resilience.retry import RetryConfig as RetryConfig
    from dlq_console.resilience.retry import with_retry as with_retry
    from dlq_console.resilience.state import MemoryState as MemoryState
    from dlq_console.resilience.state import SharedState as SharedState
    from dlq_console.resilience.tracing import traced_node as traced_node

_HOMES = {
    "backpressure": ("QueueGuard",),
    "breaker": ("CircuitBreaker", "CircuitBreakerConfig", "CircuitBreakerRegistry", "CircuitState", "Window"),
    "budget": ("init_budget", "remaining_budget"),
    "bulkhead": ("Bulkhead", "BulkheadConfig", "BulkheadRegistry", "LocalBulkhead"),
    "errors": (
        "BudgetExceededError", "BulkheadFullError", "BulkheadTimeoutError", "CircuitOpenError", "Refusal",
        "StillRunningError",
    ),
    "idempotency": ("IdempotentCalls", "idempotent_node"),
    "orphans": ("OrphanScanner", "WorkRegister"),
    "recovery": ("RecoveryConsumer",),
    "retry": ("RetryConfig", "with_retry"),
    "state": ("MemoryState", "SharedState"),
    "tracing": ("traced_node",),
}  # fmt: skip
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [  # noqa: PLE0604 - the table above is the one list of public names
    *_HOME_OF
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME_OF])
