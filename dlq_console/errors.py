"""Every error a caller of the hub can meet. The docstring of a class is its message."""

from __future__ import annotations

from typing import Any, Literal

RateLimitScope = Literal["account", "method", "provider"]


class DLQError(Exception):
    """Something in DLQ Console refused the call."""

    def __init__(self, message: str | None = None) -> None:
        self.message = message or _first_sentence(type(self))
        super().__init__(self.message)


def _first_sentence(cls: type) -> str:
    return " ".join((cls.__doc__ or cls.__name__).split())


# What a handler raises to say how an attempt ended.


class TransientError(DLQError):
    """The outside system could not do it now; the same call may work later."""


class PermanentError(DLQError):
    """The outside system refused this for good; a person must change something first."""


class RateLimited(DLQError):
    """The outside system asks for fewer calls; nothing of this scope runs until it allows it again."""

    def __init__(
        self,
        retry_after: float = 60.0,
        scope: RateLimitScope = "account",
        message: str | None = None,
    ) -> None:
        self.retry_after = retry_after
        self.scope: RateLimitScope = scope
        super().__init__(message)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.retry_after, self.scope, self.message)


class OutcomeUnknown(DLQError):
    """The call may or may not have been applied by the outside system."""


# What the hub raises to its callers.


class PayloadRefused(DLQError):
    """The payload holds something that cannot be stored as JSON."""

    def __init__(self, message: str | None = None, *, cause: str = "", **facts: object) -> None:
        #: What is wrong, for whoever says it in another language, and the `facts` of that sentence; empty where nobody does.
        self.cause = cause
        self.facts = facts
        super().__init__(message)


class IdempotencyConflict(DLQError):
    """The same idempotency key was used before for another event (account, kind, number, version or payload differ)."""


class UnknownKind(DLQError):
    """No worker has published a handler for this kind of event."""


class EventNotFound(DLQError):
    """There is no event with this id; it may have been pruned."""


class ActionNotAllowed(DLQError):
    """The event is in a status that does not allow this action."""

    def __init__(
        self, message: str | None = None, *, status: str = "", action: str = "", newer: int | None = None
    ) -> None:
        self.status = status
        self.action = action
        #: The newer event of the same entity because of which it was refused.
        self.newer = newer
        super().__init__(message)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild_action_not_allowed, (type(self), self.message, self.status, self.action, self.newer)


def _rebuild_action_not_allowed(
    cls: type[ActionNotAllowed], message: str, status: str, action: str, newer: int | None = None
) -> ActionNotAllowed:
    return cls(message, status=status, action=action, newer=newer)


class LeaseLost(DLQError):
    """This run no longer owns its event: another worker was given it, so nothing it does counts any more."""


class StoreUnavailable(DLQError):
    """The database cannot be reached; nothing was changed."""

    def __init__(self, message: str | None = None, *, for_everybody: str | None = None) -> None:
        #: The same for people and programs who need not know where the database is.
        self.for_everybody = for_everybody or _first_sentence(StoreUnavailable)
        super().__init__(message)


class ConfigurationError(DLQError):
    """A setting is missing or wrong."""
