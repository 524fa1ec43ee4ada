"""How is a row of numbers drawn so small that it fits into a line of text? As steps, in one short path of an SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

#: Usual width of a step and height of the highest, in pixels; `.sparkline` in static/css is as large as 24 of them.
STEP, HEIGHT = 4, 18
#: What happened at all is seen.
_LEAST = 2


@dataclass(frozen=True, slots=True)
class Sparkline:
    """Steps, oldest first; `largest` is the number that the highest one stands for."""

    path: str
    largest: int
    total: int


def sparkline(
    numbers: Sequence[int], *, step: int = STEP, height: int = HEIGHT, scale: int = 0
) -> Sparkline | None:
    """The steps of some numbers; None where all are zero.

    Args:
        numbers: the oldest first.
        step: width of each, in pixels.
        height: of the highest.
        scale: the least that a step of full height stands for, so that little looks like little.
    """
    largest = max(numbers, default=0)
    if largest == 0:
        return None
    tops = groupby(height - _height(number, max(largest, scale), height) for number in numbers)
    steps = "".join(f"V{top}h{step * len(list(same))}" for top, same in tops)
    return Sparkline(f"M0 {height}{steps}V{height}z", largest, sum(numbers))


def _height(number: int, largest: int, height: int) -> int:
    return max(round(height * number / largest), _LEAST) if number else 0
