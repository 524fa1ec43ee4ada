"""How often was a circuit open in a span, and for how long? Computed from its transitions alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

_OPEN = "open"


@dataclass(frozen=True, slots=True)
class Openings:
    """What is known of a span.

    Attributes:
        number: how often it opened.
        seconds: how long it was open, by itself; what a person forced is not counted.
        complete: whether the transitions reach back to the beginning of the span; else both are the least they can be.
    """

    number: int
    seconds: float
    complete: bool = True


def openings(
    moves: Iterable[tuple[datetime, str, str]],
    *,
    state: str,
    start: datetime,
    now: datetime,
    complete: bool = True,
) -> Openings:
    """What became of a circuit between `start` and `now`.

    Args:
        moves: when it changed, from what to what, newest first; may reach further back than `start`.
        state: where it stands now.
        start: where the span begins.
        now: where it ends.
        complete: whether there was no older transition; where there may have been, the state before the first is
            taken from that transition, and only what lies after it is counted.
    """
    number, seconds, end, after = 0, 0.0, now, state
    for at, before, became in moves:
        if at <= start:
            complete = True
            break
        if after == _OPEN:
            seconds += max(0.0, (end - at).total_seconds())
        number += became == _OPEN and before != _OPEN
        end, after = at, before
    else:
        if not complete:
            return Openings(number, seconds, complete=False)
    if after == _OPEN:
        seconds += max(0.0, (end - start).total_seconds())
    return Openings(number, seconds)
