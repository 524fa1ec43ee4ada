"""Which share of the last calls was bad? Computed over the last so many calls, or over the last so many seconds."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dlq_console.resilience.breaker.config import Window
from dlq_console.resilience.breaker.record import BreakerRecord

#: A time window is kept in so many spans; the oldest goes as a whole.
SPANS = 10

# How one call ended, in a count window.
_GOOD, _SLOW, _FAILED, _FAILED_SLOWLY = ".", "s", "f", "b"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What calls have proved about a service, counted; the failure, if there is one, came last.

    Attributes:
        good: calls that succeeded in time.
        slow: calls that succeeded, but slowly.
        failed: calls that failed (`failed_slowly` of them slowly).
        failed_slowly: see above.
        error: class of the last error.
        retry_after: how long the service asked to be left alone, in seconds.
    """

    good: int = 0
    slow: int = 0
    failed: int = 0
    failed_slowly: int = 0
    error: str = ""
    retry_after: float | None = None

    @property
    def successes(self) -> int:
        """Calls that succeeded, slow or not."""
        return self.good + self.slow


#: One call that succeeded in time.
GOOD = Evidence(good=1)


@dataclass(frozen=True, slots=True)
class Shares:
    """What a window holds: how many calls, and how many of them failed or were slow."""

    calls: int
    failures: int
    slow: int


def add(record: BreakerRecord, window: Window, evidence: Evidence, now: float) -> BreakerRecord:
    """The record with the evidence in its window."""
    if window.calls is not None:
        quick_failures = evidence.failed - evidence.failed_slowly
        letters = (
            _GOOD * min(evidence.good, window.calls)
            + _SLOW * min(evidence.slow, window.calls)
            + _FAILED * quick_failures
            + _FAILED_SLOWLY * evidence.failed_slowly
        )
        return replace(record, outcomes=(record.outcomes + letters)[-window.calls :])
    return replace(record, buckets=_added(record, window, evidence, now))


def shares(record: BreakerRecord, window: Window, now: float) -> Shares:
    """What the window of the record holds at this moment."""
    if window.calls is not None:
        outcomes = record.outcomes[-window.calls :]
        failed_slowly = outcomes.count(_FAILED_SLOWLY)
        return Shares(
            len(outcomes), outcomes.count(_FAILED) + failed_slowly, outcomes.count(_SLOW) + failed_slowly
        )
    buckets = _recent(record, window, now)
    return Shares(sum(b[1] for b in buckets), sum(b[2] for b in buckets), sum(b[3] for b in buckets))


def too_bad(found: Shares, window: Window) -> str:
    """Why these shares open the circuit; empty when they do not."""
    if found.calls < window.minimum_calls:
        return ""
    for rate, bad, word in (
        (window.failure_rate, found.failures, "failed"),
        (window.slow_rate, found.slow, "were slow"),
    ):
        # Multiplied, not divided: a share that is exactly reached must count as reached.
        if rate is not None and bad >= rate * found.calls - 1e-9:
            return f"{bad} of the last {found.calls} calls {word}"
    return ""


def _added(
    record: BreakerRecord, window: Window, evidence: Evidence, now: float
) -> tuple[tuple[float, int, int, int], ...]:
    buckets = _recent(record, window, now)
    calls = evidence.successes + evidence.failed
    slow = evidence.slow + evidence.failed_slowly
    span = _length(window) / SPANS
    if buckets and now < buckets[-1][0] + span:
        start, had_calls, had_failures, had_slow = buckets[-1]
        return *buckets[:-1], (start, had_calls + calls, had_failures + evidence.failed, had_slow + slow)
    return *buckets, (now, calls, evidence.failed, slow)


def _recent(record: BreakerRecord, window: Window, now: float) -> tuple[tuple[float, int, int, int], ...]:
    """The spans that are not too old; one of the future was written before the clock was set back and is dropped."""
    return tuple(bucket for bucket in record.buckets if now - _length(window) < bucket[0] <= now)


def _length(window: Window) -> float:
    return window.seconds or 0.0
