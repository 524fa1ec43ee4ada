"""What can a protected call be refused with? The docstring of a class is its message."""

from __future__ import annotations

from typing import Any

from dlq_console.errors import DLQError, OutcomeUnknown


class Refusal(DLQError):
    """The call was not made, because a layer of protection refused it."""

    #: The service, as its breaker or bulkhead is called.
    name: str
    #: Seconds after which another try makes sense; None where nobody can know.
    retry_after: float | None

    def __init__(
        self, message: str | None = None, *, name: str = "", retry_after: float | None = None
    ) -> None:
        self.name = name
        self.retry_after = retry_after
        super().__init__(message)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (type(self), self.message, dict(vars(self)))


def _rebuilt(cls: type[Refusal], message: str, values: dict[str, Any]) -> Refusal:
    """What unpickles an error: with its attributes, whatever its constructor wants."""
    error = cls(message)
    vars(error).update(values)
    return error


class CircuitOpenError(Refusal):
    """The circuit breaker is open: the service has failed too often, and nothing is sent to it for now."""


class BulkheadFullError(Refusal):
    """All slots of the bulkhead are taken, and none became free in time."""


class BulkheadTimeoutError(Refusal):
    """The call ran longer than its limit; the service may still have done what it was asked."""


class BudgetExceededError(Refusal):
    """Too little is left of the time that the caller gave for the whole request."""

    #: True when a call that had begun was cut short: then the service may have done what it was asked.
    during_call: bool

    def __init__(
        self,
        message: str | None = None,
        *,
        name: str = "",
        retry_after: float | None = None,
        during_call: bool = False,
    ) -> None:
        self.during_call = during_call
        super().__init__(message, name=name, retry_after=retry_after)


class UndecidedError(OutcomeUnknown):
    """Nobody knows whether the same call had its effect before; it was not made, and somebody must say so first."""


class VerifierFailedError(UndecidedError):
    """Nobody knows whether the same call had its effect before, and its verifier could not be asked."""


class StillRunningError(Refusal):
    """The same call is being made by another process at this moment; its result will be kept."""
