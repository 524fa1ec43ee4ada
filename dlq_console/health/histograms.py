"""How are durations counted so that percentiles can be told later, of any span and any number of accounts together?"""

from __future__ import annotations

from collections.abc import Sequence

#: Upper ends of the bins in milliseconds; the last bin has none. Steps of about three from 10 ms to 300 s, then an hour.
BOUNDS_MS = (10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 3_600_000)
BINS = len(BOUNDS_MS) + 1


def percentile(bins: Sequence[int], percent: float, *, largest_ms: float | None = None) -> float | None:
    """The duration in seconds that `percent` of those counted do not exceed; None where none was counted.

    Within a bin durations are taken to be spread evenly, so the answer is off by less than the width of its bin.

    Args:
        bins: how many durations each bin has, BINS of them.
        percent: 0 to 100.
        largest_ms: the largest duration, where it is known; the answer is never above it.
    """
    number = sum(bins)
    if not number:
        return None
    rank = number * percent / 100
    before = 0
    for place, count in enumerate(bins):
        if count and before + count >= rank:
            low = BOUNDS_MS[place - 1] if place else 0
            high = BOUNDS_MS[place] if place < len(BOUNDS_MS) else max(low, largest_ms or 2 * low)
            told = low + (high - low) * max(0.0, rank - before) / count
            return (told if largest_ms is None else min(told, largest_ms)) / 1000
        before += count
    raise AssertionError("unreachable: the ranks of all bins reach the number")
