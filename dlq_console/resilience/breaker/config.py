"""When does a circuit open, and when does it close again? Decided by whoever calls, never stored."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from dlq_console.errors import ConfigurationError, PermanentError
from dlq_console.resilience import checks

ErrorClasses = type[BaseException] | tuple[type[BaseException], ...]

#: Longest count window: its outcomes are written with the record.
LARGEST_WINDOW = 1000
#: A circuit that needs more good probes in a row than this would never close.
LARGEST_SUCCESS_THRESHOLD = 1000
#: What a service asks for counts for so long at least, in seconds, or for recovery_timeout where that is shorter: a
#: moment would let the next caller in at once.
SHORTEST_ASKED = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Opens by the share of bad calls among the last ones, instead of by failures in a row.

    Attributes:
        calls: how many of the last calls are looked at; or
        seconds: how long back is looked.
        minimum_calls: fewer prove nothing.
        failure_rate: opens at this share of failures (0 to 1); None: failures do not count.
        slow_rate: opens at this share of slow calls (0 to 1); None: slow calls do not count.
        slow_after: a call that takes longer is slow, in seconds.
    """

    calls: int | None = None
    seconds: float | None = None
    minimum_calls: int = 10
    failure_rate: float | None = 0.5
    slow_rate: float | None = None
    slow_after: float | None = None

    def __post_init__(self) -> None:
        self._check_length()
        self._check_rates()

    def _check_length(self) -> None:
        checks.count(self.minimum_calls, "minimum_calls")
        if (self.calls is None) == (self.seconds is None):
            raise ConfigurationError(
                "A window is a number of calls or a number of seconds: give one of them."
            )
        if self.calls is None:
            checks.seconds(self.seconds, "seconds of a window", above=0)
            return
        checks.count(self.calls, "calls of a window")
        checks.number(self.calls, "calls of a window", at_most=LARGEST_WINDOW)
        if self.minimum_calls > self.calls:
            raise ConfigurationError(
                f"minimum_calls is {self.minimum_calls}, but the window never holds more than {self.calls} calls."
            )

    def _check_rates(self) -> None:
        if self.failure_rate is None and self.slow_rate is None:
            raise ConfigurationError(
                "A window needs a failure_rate or a slow_rate; with neither it never opens."
            )
        if (self.slow_rate is None) != (self.slow_after is None):
            raise ConfigurationError("slow_rate and slow_after belong together: give both or neither.")
        for rate, what in ((self.failure_rate, "failure_rate"), (self.slow_rate, "slow_rate")):
            if rate is not None:
                checks.number(rate, what, above=0, at_most=1)
        if self.slow_after is not None:
            checks.seconds(self.slow_after, "slow_after", above=0)


@dataclass(frozen=True, slots=True)
class CircuitBreakerConfig:
    """How one circuit behaves; times in seconds.

    Attributes:
        failure_threshold: failures in a row that open it, where no window is given.
        success_threshold: probes that must succeed before it closes, 1,000 at most.
        recovery_timeout: how long it stays open before a probe is let through.
        expected_exception: errors that count as failures; every other one is no evidence either way.
        ignored_exceptions: errors that are no evidence all the same; stronger than the other two lists.
        half_open_max_calls: probes that may be under way at once.
        recovery_multiplier: the open time grows by this factor with each probe that fails.
        max_recovery_timeout: longest open time, also where the service itself asks for more (Retry-After).
        window: opens by a share of bad calls instead of by failures in a row.
        success_exceptions: errors that prove the service alive, such as a business answer.
    """

    failure_threshold: int = 5
    success_threshold: int = 2
    recovery_timeout: float = 30.0
    expected_exception: ErrorClasses = Exception
    ignored_exceptions: ErrorClasses = ()
    half_open_max_calls: int = 1
    recovery_multiplier: float = 1.0
    max_recovery_timeout: float = 600.0
    window: Window | None = None
    success_exceptions: ErrorClasses = (PermanentError,)

    def __post_init__(self) -> None:
        checks.count(self.failure_threshold, "failure_threshold")
        checks.count(self.success_threshold, "success_threshold")
        checks.number(
            self.success_threshold, "success_threshold", at_least=1, at_most=LARGEST_SUCCESS_THRESHOLD
        )
        checks.count(self.half_open_max_calls, "half_open_max_calls")
        checks.seconds(self.recovery_timeout, "recovery_timeout")
        checks.number(self.recovery_multiplier, "recovery_multiplier", at_least=1)
        checks.seconds(self.max_recovery_timeout, "max_recovery_timeout")
        for field in ("expected_exception", "ignored_exceptions", "success_exceptions"):
            checks.errors(getattr(self, field), field)
        if self.window is not None and not isinstance(self.window, Window):
            raise ConfigurationError(f"window must be a Window, not {self.window!r}.")
        if self.max_recovery_timeout < self.recovery_timeout and self.recovery_multiplier > 1:
            raise ConfigurationError(
                f"max_recovery_timeout ({self.max_recovery_timeout:g} s) is shorter than recovery_timeout"
                f" ({self.recovery_timeout:g} s), so it could never grow."
            )

    def plain(self) -> dict[str, Any]:
        """Everything but its error classes, as values that JSON knows: what is shown beside a circuit."""
        window = self.window
        return {
            "failure_threshold": self.failure_threshold,
            "success_threshold": self.success_threshold,
            "recovery_timeout": self.recovery_timeout,
            "half_open_max_calls": self.half_open_max_calls,
            "recovery_multiplier": self.recovery_multiplier,
            "max_recovery_timeout": max(self.max_recovery_timeout, self.recovery_timeout),
            "window": None if window is None else asdict(window),
        }

    def open_time(self, reopened: int, asked: float | None = None) -> float:
        """How long the circuit stays open.

        Args:
            reopened: how many probes have failed since it was last closed.
            asked: how long the service asked to be left alone, if it did.
        """
        longest = max(self.max_recovery_timeout, self.recovery_timeout)
        if asked is not None:
            return min(max(asked, min(SHORTEST_ASKED, self.recovery_timeout)), longest)
        grown = self.recovery_timeout
        for _ in range(reopened):
            if grown >= longest or self.recovery_multiplier == 1:
                break
            grown *= self.recovery_multiplier
        return min(grown, longest)
