"""How does an account of the simulated ERP behave, and what happens to its next call?

A `Temper` is the script, a `Mood` plays it: one random draw per call from a generator of the account's own, so that
the same seed and the same order of calls meet the same faults. Spells (slow, out of service) follow the clock, and
begin with the healthy part. All times are seconds, all rates are shares from 0 to 1.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, fields
from enum import StrEnum
from random import Random


class Fate(StrEnum):
    """What happens to one call."""

    #: It is answered properly.
    ANSWERED = "answered"
    #: It is answered properly, but during a slow spell.
    SLOW = "slow"
    #: The ERP is out of service: HTTP 503, nothing done.
    UNAVAILABLE = "unavailable"
    #: Too many calls: HTTP 429 with the time to wait, nothing done.
    LIMITED = "limited"
    #: A gateway in between broke: HTTP 502 with a page of HTML, nothing done.
    GLITCH = "glitch"
    #: It hangs past every patience, and nothing is done.
    HUNG = "hung"
    #: It is done at once, and the answer comes when the caller has gone.
    LATE = "late"


@dataclass(frozen=True, slots=True, kw_only=True)
class Temper:
    """The script of one account; the defaults are an account without faults."""

    #: The usual time to answer.
    latency: float = 0.02
    #: Share of calls that end in Fate.GLITCH.
    glitch_rate: float = 0.0
    #: Share of calls that end in Fate.HUNG, and how long they hang.
    hang_rate: float = 0.0
    hang: float = 12.0
    #: Share of calls that end in Fate.LATE, and how late the answer is.
    late_rate: float = 0.0
    late: float = 12.0
    #: Most calls taken within any `window` seconds; 0 sets no limit.
    calls_per_window: int = 0
    window: float = 10.0
    #: The last `slow_lasts` of every `slow_every` take `slow_by` longer; 0 means never.
    slow_every: float = 0.0
    slow_lasts: float = 0.0
    slow_by: float = 3.0
    #: The last `outage_lasts` of every `outage_every` are out of service; 0 means never.
    outage_every: float = 0.0
    outage_lasts: float = 0.0
    #: Whether a repeat with the same effect key is recognised. If not, it is a second effect.
    deduplicates: bool = True
    #: Whether a recognised repeat is answered with a fault instead of `duplicate: true`.
    repeat_is_fault: bool = False

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not math.isfinite(value) or value < 0:
                raise ValueError(f"{field.name} of a temper is {value}; write a number from 0 up.")
        if self.glitch_rate + self.hang_rate + self.late_rate > 1:
            raise ValueError("the rates of a temper add up to more than 1; lower one of them.")


#: The accounts of the demo. Hanging and late calls outlast the patience of the sample handlers (8 s).
TEMPERS: dict[str, Temper] = {
    "filial-sp": Temper(latency=0.05),
    "filial-rj": Temper(calls_per_window=12, window=10.0),
    "filial-mg": Temper(hang_rate=0.06),
    "filial-pr": Temper(slow_every=90.0, slow_lasts=30.0, slow_by=2.5, glitch_rate=0.02),
    "filial-ba": Temper(outage_every=150.0, outage_lasts=20.0),
    "filial-rs": Temper(late_rate=0.06),
}


class Mood:
    """Plays a temper, call by call. Not thread-safe: its owner holds a lock.

    Args:
        temper: the script.
        random: the account's own generator.
        clock: seconds that never go back.
    """

    def __init__(self, temper: Temper, random: Random, clock: Callable[[], float]) -> None:
        self._temper = temper
        self._random = random
        self._clock = clock
        self._healthy_since = clock()
        self._outage_until = -math.inf
        self._taken: deque[float] = deque()

    @property
    def temper(self) -> Temper:
        """The script that is played."""
        return self._temper

    def adopt(self, temper: Temper) -> None:
        """Play another script from now on; the generator goes on where it is."""
        self._temper = temper
        self._healthy_since = self._clock()

    def start_outage(self, seconds: float = math.inf) -> None:
        """Go out of service now, until `end_outage` or for so many seconds."""
        self._outage_until = self._clock() + seconds

    def end_outage(self) -> None:
        """Be in service now; the spells of the script start over with their healthy part."""
        self._outage_until = -math.inf
        self._healthy_since = self._clock()

    @property
    def out_of_service(self) -> bool:
        """Whether calls are refused with 503 at this moment."""
        temper = self._temper
        return self._clock() < self._outage_until or self._in_spell(temper.outage_every, temper.outage_lasts)

    @property
    def slow(self) -> bool:
        """Whether a slow spell is on at this moment."""
        return self._in_spell(self._temper.slow_every, self._temper.slow_lasts)

    def next_fate(self) -> Fate:
        """Decide what happens to the next call. One draw per call, also when the draw is not needed."""
        drawn = self._drawn_fate()
        if self.out_of_service:
            return Fate.UNAVAILABLE
        if not self._admits():
            return Fate.LIMITED
        if drawn is Fate.ANSWERED and self.slow:
            return Fate.SLOW
        return drawn

    def seconds_to_wait(self) -> int:
        """Whole seconds, at least 1, after which the limit takes a call again."""
        if not self._taken:
            return 1
        return max(1, math.ceil(self._taken[0] + self._temper.window - self._clock()))

    def _in_spell(self, every: float, lasts: float) -> bool:
        if not every:
            return False
        return (self._clock() - self._healthy_since) % every >= every - lasts

    def _drawn_fate(self) -> Fate:
        drawn = self._random.random()
        for fate, rate in (
            (Fate.GLITCH, self._temper.glitch_rate),
            (Fate.HUNG, self._temper.hang_rate),
            (Fate.LATE, self._temper.late_rate),
        ):
            if drawn < rate:
                return fate
            drawn -= rate
        return Fate.ANSWERED

    def _admits(self) -> bool:
        limit = self._temper.calls_per_window
        if not limit:
            return True
        now = self._clock()
        while self._taken and self._taken[0] <= now - self._temper.window:
            self._taken.popleft()
        if len(self._taken) >= limit:
            return False
        self._taken.append(now)
        return True
