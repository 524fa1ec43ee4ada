"""How fast may calls start, and how many failing answers are left before a provider blocks? Pure functions.

The pace is a theoretical arrival time (generic cell rate algorithm): each start moves it one interval ahead, and a
start is allowed as long as it is no further ahead than the burst. So no minute ever sees more than the rate plus one
burst, and the record is a single number.

The error budget counts the failing answers of the last so many seconds: some providers block whoever gets too many.
What is kept back of it is for fresh work only.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, replace

#: Share of an allowed rate that is used. A burst comes on top, and a provider counts by its own clock.
HEADROOM = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorBudget:
    """How many failing answers a provider puts up with.

    Attributes:
        failures: at so many within `seconds` nothing is called any more.
        seconds: the window.
        keep: so many of them are kept back for fresh work.
    """

    failures: int
    seconds: float
    keep: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one scope allows; None where it sets no limit.

    Attributes:
        per_minute: starts a minute.
        at_once: how many may run at the same time.
        budget: of failing answers.
    """

    per_minute: float | None = None
    at_once: int | None = None
    budget: ErrorBudget | None = None

    @property
    def interval(self) -> float:
        """Seconds between two starts; 0 where there is no rate."""
        return 0.0 if self.per_minute is None else 60.0 / (self.per_minute * HEADROOM)

    @property
    def burst(self) -> int:
        """How many may start at the same moment, where a rate is set: the work of one second, at least one."""
        at_least = 1 if self.per_minute is None else max(1, int(self.per_minute / 60.0))
        return at_least if self.at_once is None else min(at_least, self.at_once)


UNLIMITED = Limits()


@dataclass(frozen=True, slots=True)
class Pace:
    """What is written down about one scope.

    Attributes:
        ahead: the theoretical arrival time of the next start, in seconds since 1970.
        failures: when the last failing answers came, oldest first.
    """

    ahead: float = 0.0
    failures: tuple[float, ...] = ()


BLANK = Pace()


def starts_left(pace: Pace, limits: Limits, now: float) -> int | None:
    """How many may start at this moment; None where no rate is set."""
    if limits.per_minute is None:
        return None
    behind = now + limits.interval * limits.burst - _ahead(pace, limits, now)
    # Rounded for what sums of floats lose.
    return max(0, int(behind / limits.interval + 1e-6))


def started(pace: Pace, limits: Limits, now: float, count: int = 1) -> Pace:
    """The record after `count` starts."""
    if limits.per_minute is None or count == 0:
        return pace
    return replace(pace, ahead=_ahead(pace, limits, now) + count * limits.interval)


def opens_at(pace: Pace, limits: Limits, now: float) -> float:
    """When the next one may start; `now` where it may at once."""
    if limits.per_minute is None or starts_left(pace, limits, now):
        return now
    return _ahead(pace, limits, now) - limits.interval * (limits.burst - 1)


def failed(pace: Pace, limits: Limits, now: float) -> Pace:
    """The record after one failing answer."""
    if limits.budget is None:
        return pace
    return replace(pace, failures=(*recent(pace, limits.budget, now), now)[-limits.budget.failures :])


def recent(pace: Pace, budget: ErrorBudget, now: float) -> tuple[float, ...]:
    """When the failing answers came that still count; one of the future was written before the clock was set back."""
    return tuple(at for at in pace.failures if now - budget.seconds < at <= now)


def failures_left(pace: Pace, limits: Limits, now: float, *, fresh: bool) -> int | None:
    """How many more failing answers may be risked; None where no budget is set.

    Args:
        pace: the record.
        limits: of its scope.
        now: the time, in seconds since 1970.
        fresh: whether it is for work that was never run; the rest must leave it what is kept back.
    """
    if limits.budget is None:
        return None
    kept = 0 if fresh else limits.budget.keep
    return max(0, limits.budget.failures - len(recent(pace, limits.budget, now)) - kept)


def exhausted_until(pace: Pace, limits: Limits, now: float, *, fresh: bool = True) -> float | None:
    """When the budget allows another call; None while it does, infinity where all of it is kept for fresh work.

    Args:
        pace: the record.
        limits: of its scope.
        now: the time, in seconds since 1970.
        fresh: whether the call is for work that was never run.
    """
    if limits.budget is None or failures_left(pace, limits, now, fresh=fresh):
        return None
    allowed = limits.budget.failures - (0 if fresh else limits.budget.keep)
    counted = recent(pace, limits.budget, now)
    # So many of the oldest must no longer count that one more is allowed.
    return counted[len(counted) - allowed] + limits.budget.seconds if allowed > 0 else math.inf


def _ahead(pace: Pace, limits: Limits, now: float) -> float:
    """Never behind the present, and never further ahead than a full burst: then the clock was set back."""
    furthest = now + limits.interval * limits.burst
    return now if pace.ahead > furthest + 60.0 else max(pace.ahead, now)


def encode(pace: Pace) -> str:
    """The record as JSON."""
    return json.dumps(asdict(pace), separators=(",", ":"))


def decode(text: str | None) -> Pace:
    """The inverse of `encode`; a blank record for anything else."""
    try:
        values = json.loads(text or "{}")
        return Pace(float(values.get("ahead", 0.0)), tuple(float(at) for at in values.get("failures", ())))
    except (ValueError, TypeError, AttributeError):
        return BLANK
