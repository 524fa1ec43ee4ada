"""How did something go over time? Columns of numbers beside a column of moments, for charts, their tables and CSV."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Range:
    """A span that people choose: how long, and how long each of its points is, in seconds."""

    name: str
    seconds: int
    step: int


#: By the name that stands in addresses.
RANGES = {
    one.name: one
    for one in (
        Range("1h", 3_600, 60),
        Range("6h", 6 * 3_600, 60),
        Range("24h", 86_400, 300),
        Range("7d", 7 * 86_400, 3_600),
        Range("30d", 30 * 86_400, 3_600),
    )
}

#: Numbers are made every fifteen seconds; what is older than this, in seconds, is not shown as current.
STALE_AFTER = 60.0

#: Names of columns: events per point; seconds; events that waited, at most within a point.
EVENTS = ("arrived", "done", "failed", "died", "reopened", "resolved", "superseded", "in_doubt", "duplicates")
SECONDS = (
    "lag_p50", "lag_p95", "wait_p50", "wait_p95", "run_p50", "run_p95", "end_to_end", "oldest_due",
    "lost_retry", "lost_limit", "lost_closed", "lost_order",
)  # fmt: skip
STANDING = ("due", "scheduled", "paused", "blocked", "running", "dead")
#: Attempts that an event took that ended well.
RATIOS = ("tries_per_done",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Figures of one account, one kind of it, or all, point by point, the oldest first.

    Attributes:
        range: the span.
        times: when each point begins; every point is there, whether anything happened in it or not.
        columns: by name, as long as `times`. None where nothing was counted or nobody looked, or not to the end of the
            point; 0 is a zero.
        as_of: up to when everything is counted; None where nobody has ever counted.
        age: seconds since then, by the database's clock.
    """

    range: Range
    times: tuple[datetime, ...] = ()
    columns: Mapping[str, tuple[float | None, ...]] = field(default_factory=dict)
    as_of: datetime | None = None
    age: float = 0.0

    @property
    def is_stale(self) -> bool:
        """Whether more has probably happened than is counted."""
        return self.as_of is not None and self.age > STALE_AFTER
