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
    from dlq_console.runtime import Hub as Hub
    from dlq_console.settings import Settings as Settings
    from dlq_console.store.events import Event as Event

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
    "dlq_console.runtime": ("Hub",),
    "dlq_console.settings": ("Settings",),
    "dlq_console.store.events": ("Event",),
}  # fmt: skip
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [  # noqa: PLE0604 - the table above is the one list of public names
    *_HOME_OF
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME_OF])
