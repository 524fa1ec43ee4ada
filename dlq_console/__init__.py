"""DLQ Console: failed integration work, understood, fixed and run again.

The public names are loaded at first use, so that `import dlq_console` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dlq_console.errors import ActionNotAllowed as ActionNotAllowed
    from dlq_console.errors import ConfigurationError as ConfigurationError
    from dlq_console.errors import DLQError as DLQError
    from dlq_console.errors import EventNotFound as EventNotFound
    from dlq_console.errors import IdempotencyConflict as IdempotencyConflict
    from dlq_console.errors import LeaseLost as LeaseLost
    from dlq_console.errors import OutcomeUnknown as OutcomeUnknown
    from dlq_console.errors import PayloadRefused as PayloadRefused
    from dlq_console.errors import PermanentError as PermanentError
    from dlq_console.errors import RateLimited as RateLimited
    from dlq_console.errors import StoreUnavailable as StoreUnavailable
    from dlq_console.errors import TransientError as TransientError
    from dlq_console.errors import UnknownKind as UnknownKind
    from dlq_console.hub.enqueue import Enqueued as Enqueued
    from dlq_console.hub.enqueue import NewEvent as NewEvent
    from dlq_console.hub.handlers import Run as Run
    from dlq_console.hub.once import once as once
    from dlq_console.hub.policy import Policy as Policy
    from dlq_console.resilience.backpressure import QueueGuard as QueueGuard
    from dlq_console.resilience.breaker import CircuitBreaker as CircuitBreaker
    from dlq_console.resilience.breaker import CircuitBreakerConfig as CircuitBreakerConfig
    from dlq_console.resilience.breaker import CircuitBreakerRegistry as CircuitBreakerRegistry
    from dlq_console.resilience.breaker import CircuitState as CircuitState
    from dlq_console.resilience.budget import init_budget as init_budget
    from dlq_console.resilience.budget import remaining_budget as remaining_budget
    from dlq_console.resilience.bulkhead import Bulkhead as Bulkhead
    from dlq_console.resilience.bulkhead import BulkheadConfig as BulkheadConfig
    from dlq_console.resilience.bulkhead import BulkheadRegistry as BulkheadRegistry
    from dlq_console.resilience.errors import BudgetExceededError as BudgetExceededError
    from dlq_console.resilience.errors import BulkheadFullError as BulkheadFullError
    from dlq_console.resilience.errors import BulkheadTimeoutError as BulkheadTimeoutError
    from dlq_console.resilience.errors import CircuitOpenError as CircuitOpenError
    from dlq_console.resilience.guard import guard as guard
    from dlq_console.resilience.idempotency import idempotent_node as idempotent_node
    from dlq_console.resilience.orphans import OrphanScanner as OrphanScanner
    from dlq_console.resilience.recovery import RecoveryConsumer as RecoveryConsumer
    from dlq_console.resilience.redis_state import RedisState as RedisState
    from dlq_console.resilience.retry import RetryConfig as RetryConfig
    from dlq_console.resilience.retry import with_retry as with_retry
    from dlq_console.resilience.state import MemoryState as MemoryState
    from dlq_console.resilience.state import SharedState as SharedState
    from dlq_console.resilience.tracing import traced_node as traced_node
    from dlq_console.runtime import Hub as Hub
    from dlq_console.settings import Settings as Settings
    from dlq_console.store.events import Event as Event
    from dlq_console.store.shared_state import SqlState as SqlState

_HOMES = {
    "dlq_console.errors": (
        "ActionNotAllowed", "ConfigurationError", "DLQError", "EventNotFound", "IdempotencyConflict", "LeaseLost",
        "OutcomeUnknown", "PayloadRefused", "PermanentError", "RateLimited", "StoreUnavailable", "TransientError",
        "UnknownKind",
    ),
    "dlq_console.hub.enqueue": ("Enqueued", "NewEvent"),
    "dlq_console.hub.handlers": ("Run",),
    "dlq_console.hub.once": ("once",),
    "dlq_console.hub.policy": ("Policy",),
    "dlq_console.resilience.backpressure": ("QueueGuard",),
    "dlq_console.resilience.breaker": (
        "CircuitBreaker", "CircuitBreakerConfig", "CircuitBreakerRegistry", "CircuitState",
    ),
    "dlq_console.resilience.budget": ("init_budget", "remaining_budget"),
    "dlq_console.resilience.bulkhead": ("Bulkhead", "BulkheadConfig", "BulkheadRegistry"),
    "dlq_console.resilience.errors": (
        "BudgetExceededError", "BulkheadFullError", "BulkheadTimeoutError", "CircuitOpenError",
    ),
    "dlq_console.resilience.guard": ("guard",),
    "dlq_console.resilience.idempotency": ("idempotent_node",),
    "dlq_console.resilience.orphans": ("OrphanScanner",),
    "dlq_console.resilience.recovery": ("RecoveryConsumer",),
    "dlq_console.resilience.redis_state": ("RedisState",),
    "dlq_console.resilience.retry": ("RetryConfig", "with_retry"),
    "dlq_console.resilience.state": ("MemoryState", "SharedState"),
    "dlq_console.resilience.tracing": ("traced_node",),
    "dlq_console.runtime": ("Hub",),
    "dlq_console.settings": ("Settings",),
    "dlq_console.store.events": ("Event",),
    "dlq_console.store.shared_state": ("SqlState",),
}  # fmt: skip
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [  # noqa: PLE0604 - the table above is the one list of public names
    *_HOME_OF
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _HOME_OF[name]
    if home.startswith("dlq_console.resilience."):
        # What is protected without a state of its own shares that of the environment, found at the first call.
        import_module("dlq_console.resilience.defaults").offer_defaults(_process_defaults)
    return getattr(import_module(home), name)


def _process_defaults() -> Any:
    return import_module("dlq_console.runtime").process_defaults()


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME_OF])
