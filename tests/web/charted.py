"""Which numbers do tests of charts show? A day, a month or an hour made by hand, with a spike, a gap and zeros."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dlq_console.clock import utc_now
from dlq_console.health.series import EVENTS, RATIOS, SECONDS, STANDING, Range, Series
from dlq_console.store import series

#: Points in the middle of which nobody looked.
GAP = slice(20, 24)


@dataclass
class Reading:
    """Stands in the place of the store's reading: what it was asked, and what it answers."""

    #: When the last point begins; None: now.
    end: datetime | None = None
    #: Seconds since anybody has counted.
    age: float = 5.0
    asked: list[dict[str, Any]] = field(default_factory=list)
    make: Callable[[Range, datetime], Series] | None = None

    def read(self, _store: object, range_: Range, **asked: Any) -> Series:
        """As `store.series.read`."""
        self.asked.append({"range": range_.name} | asked)
        end = self.end or utc_now()
        series = replace((self.make or series_of)(range_, end), as_of=end, age=self.age)
        if not asked["kind"]:
            return series
        of_kind = {n: column for n, column in series.columns.items() if n not in (*STANDING, "oldest_due")}
        return replace(series, columns=of_kind)


def series_of(range_: Range, end: datetime) -> Series:
    """A slow wave with a spike at two thirds, in every column."""
    number = range_.seconds // range_.step
    last = datetime.fromtimestamp(end.timestamp() // range_.step * range_.step, UTC)
    times = tuple(last - timedelta(seconds=range_.step * back) for back in reversed(range(number)))
    columns = {
        name: _wave(number, place, whole=name in (*EVENTS, *STANDING))
        for place, name in enumerate((*EVENTS, *SECONDS, *STANDING, *RATIOS))
    }
    return Series(range=range_, times=times, columns=columns)


def _wave(number: int, place: int, *, whole: bool) -> tuple[float | None, ...]:
    numbers: list[float | None] = []
    for point in range(number):
        spike = 40 * math.exp(-(((point - number * 2 / 3) / (number / 30)) ** 2))
        height = 3 + place % 5 + 2 * math.sin(point / number * 12 + place) + spike
        numbers.append(float(round(height)) if whole else round(height * 1.7, 2))
    numbers[GAP] = [None] * len(numbers[GAP])
    return tuple(numbers)


@pytest.fixture
def reading(monkeypatch: pytest.MonkeyPatch) -> Reading:
    """What the charts of this test show."""
    made = Reading()
    monkeypatch.setattr(series, "read", made.read)
    return made
