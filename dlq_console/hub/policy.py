"""How a kind of event is run: how often, how long, and when it is tried again."""

from __future__ import annotations

import random
from dataclasses import dataclass, fields
from typing import Any, Literal

from dlq_console.errors import ConfigurationError


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The rules of one kind. Times are in seconds.

    Attributes:
        max_attempts: attempts until the event is dead.
        base_delay: wait after the first failure; it doubles with every further one.
        max_delay: the longest such wait.
        jitter: fraction by which a wait is shuffled either way, or "full" for anything between nothing and the wait.
        timeout: how long one run may take.
        provider: the outside system, where several accounts share it.
        retry_on: errors of the handler that are tried again besides `TransientError`.
        on_unknown: what follows `OutcomeUnknown`: "retry", or "hold" for a person to decide.
        max_age: an event older than this is dead `too_old` instead of being run.
        max_wait: longest time from due to start, closed doors included; then dead `expired`.
    """

    max_attempts: int = 6
    base_delay: float = 30
    max_delay: float = 3600
    jitter: float | Literal["full"] = 0.2
    timeout: float = 60
    provider: str | None = None
    retry_on: tuple[type[BaseException], ...] = (ConnectionError, TimeoutError)
    on_unknown: Literal["retry", "hold"] = "retry"
    max_age: float | None = None
    max_wait: float = 604_800

    def __post_init__(self) -> None:
        if (
            isinstance(self.max_attempts, bool)
            or not isinstance(self.max_attempts, int)
            or self.max_attempts < 1
        ):
            raise ConfigurationError("Policy.max_attempts is wrong: write a whole number of at least 1.")
        for name in ("base_delay", "max_delay", "timeout", "max_wait"):
            _positive(name, getattr(self, name))
        if self.max_age is not None:
            _positive("max_age", self.max_age)
        if self.jitter != "full" and not 0 <= self.jitter <= 1:
            raise ConfigurationError('Policy.jitter is wrong: write a fraction from 0 to 1, or "full".')
        if self.on_unknown not in ("retry", "hold"):
            raise ConfigurationError('Policy.on_unknown is wrong: write "retry" or "hold".')

    def delay_after(self, attempt: int) -> float:
        """Seconds to wait after `attempt` (counted from 1) has failed, shuffled."""
        # The exponent is capped before the power, so that no number of attempts can overflow.
        delay = min(self.base_delay * 2.0 ** min(attempt - 1, 60), self.max_delay)
        if self.jitter == "full":
            return random.uniform(0, delay)  # noqa: S311 - spreads load, hides nothing
        return delay * random.uniform(1 - self.jitter, 1 + self.jitter)  # noqa: S311 - as above

    def published(self) -> dict[str, Any]:
        """The plain values that workers publish for producers and the console."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        values["retry_on"] = [error.__name__ for error in self.retry_on]
        return values


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _positive(name: str, value: float) -> None:
    if not 0 < value < float("inf"):
        raise ConfigurationError(f"Policy.{name} is wrong: write a number of seconds greater than 0.")


#: For a kind about which nothing is known.
DEFAULT_POLICY = Policy()
