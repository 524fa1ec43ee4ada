"""What happens to the next call to an account of the simulated ERP?

A `Mood` plays the script of the account: one random draw per call from a generator of its own, so that the same seed
and the same order of calls meet the same faults. Spells (slow, out of service) follow the clock; blocks follow what was
refused.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from random import Random

from dlq_console.demo.erp_temper import Fate, Temper


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
        self._writes = 0
        self._blocks = Blocks(clock)

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
        return self._clock() < self._outage_until or self._in_spell(
            temper.outage_every, temper.outage_lasts, temper.outage_after
        )

    @property
    def slow(self) -> bool:
        """Whether a slow spell is on at this moment."""
        return self._in_spell(self._temper.slow_every, self._temper.slow_lasts)

    @property
    def blocked(self) -> list[str]:
        """The kinds of calls that are blocked at this moment."""
        return self._blocks.standing()

    def next_fate(self, resource: str, *, writes: bool = True) -> Fate:
        """Decide what happens to the next call.

        One draw per call that writes, also when the draw is not needed; no drawn fault strikes one that only asks.
        """
        drawn = self._drawn_fate() if writes else Fate.ANSWERED
        if self.out_of_service:
            return Fate.UNAVAILABLE
        if (blocked := self._blocks.met_by(resource, self._temper)) is not None:
            return blocked
        if not self._admits():
            return Fate.LIMITED
        if drawn is Fate.ANSWERED and self.slow:
            return Fate.SLOW
        return drawn

    def has_refused(self, resource: str) -> None:
        """A business rule has refused a call."""
        self._blocks.count_refusal(resource, self._temper)

    def seconds_to_wait(self, resource: str) -> int:
        """Whole seconds, at least 1, after which the block is over, or the limit takes a call again."""
        blocked = self._blocks.seconds_left(resource)
        if blocked or not self._taken:
            return max(1, blocked)
        return max(1, math.ceil(self._taken[0] + self._temper.window - self._clock()))

    def _in_spell(self, every: float, lasts: float, after: float = 0.0) -> bool:
        if not every:
            return False
        begins = after or every - lasts
        return begins <= (self._clock() - self._healthy_since) % every < begins + lasts

    def _drawn_fate(self) -> Fate:
        drawn = self._random.random()
        self._writes += 1
        if self._temper.late_every and (self._writes - 1) % self._temper.late_every == 0:
            return Fate.LATE
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


class Blocks:
    """Which kinds of calls an account blocks, because it had to refuse too many of them.

    Args:
        clock: seconds that never go back.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._refused: dict[str, deque[float]] = {}
        self._until: dict[str, float] = {}

    def count_refusal(self, resource: str, temper: Temper) -> None:
        """One more call of this kind was refused."""
        if temper.block_after:
            self._refused.setdefault(resource, deque(maxlen=temper.block_after)).append(self._clock())

    def met_by(self, resource: str, temper: Temper) -> Fate | None:
        """What the next call of this kind meets: a block begins with the call that is told of it."""
        if self.seconds_left(resource):
            self._until[resource] = self._clock() + temper.block_lasts
            return Fate.WHILE_BLOCKED
        refused = self._refused.get(resource, ())
        recent = sum(at > self._clock() - temper.block_window for at in refused)
        if not temper.block_after or recent < temper.block_after:
            return None
        del self._refused[resource]
        self._until[resource] = self._clock() + temper.block_lasts
        return Fate.BLOCKED

    def seconds_left(self, resource: str) -> int:
        """Whole seconds until this kind is let through again; 0 where it is."""
        now = self._clock()
        return max(0, math.ceil(self._until.get(resource, now) - now))

    def standing(self) -> list[str]:
        """The kinds that are blocked at this moment."""
        return [resource for resource in list(self._until) if self.seconds_left(resource)]
