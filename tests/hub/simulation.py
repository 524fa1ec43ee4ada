"""A provider with limits, and workers that call it, in simulated time: minutes pass in seconds."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from dlq_console import Hub
from dlq_console.clock import utc_now
from dlq_console.hub.execution import run_claimed
from dlq_console.store import claims
from dlq_console.store.events import Event

#: Seconds that pass between two looks of the workers.
STEP = 0.25


@dataclass
class Provider:
    """Counts calls, how many came within a minute, and how many ran at once; answers as it is told."""

    hub: Hub
    answer: Callable[[Event], object] = lambda event: None
    #: How long a call takes.
    takes: float = 0.0
    passed: float = 0.0
    calls: list[tuple[float, Event]] = field(default_factory=list)

    def now(self) -> float:
        """The simulated time, in seconds."""
        return utc_now().timestamp() + self.passed

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.passed += seconds
        self.hub.clock.advance(seconds)

    def handle(self, event: Event) -> object:
        """The handler of every kind."""
        self.calls.append((self.now(), event))
        return self.answer(event)

    def most_in_a_minute(self, of: Callable[[Event], object] = lambda event: None) -> int:
        """The most calls in any 60 seconds, counted apart for whatever `of` tells apart."""
        windows: dict[object, deque[float]] = {}
        most = 0
        for at, event in self.calls:
            window = windows.setdefault(of(event), deque())
            window.append(at)
            while window[0] <= at - 60:
                window.popleft()
            most = max(most, len(window))
        return most


@dataclass
class Workers:
    """Workers with some slots, which look once in a STEP; each call holds its slot for as long as it takes."""

    provider: Provider
    slots: int = 4
    most_at_once: int = 0
    _running: list[tuple[float, Event]] = field(default_factory=list)

    def run(self, seconds: float, *, until: Callable[[], bool] = lambda: False, step: float = STEP) -> None:
        """Let them work for so long, or until something is so."""
        end = self.provider.now() + seconds
        while self.provider.now() < end and not until():
            self.look()
            self.provider.advance(step)

    def look(self) -> None:
        """End what has ended, and begin what may begin."""
        hub, now = self.provider.hub, self.provider.now()
        for ends, event in list(self._running):
            if ends <= now:
                self._running.remove((ends, event))
                run_claimed(hub.store, hub.registry, event)
        free = self.slots - len(self._running)
        for event in claims.claim_any(hub.store, worker="simulated", limit=free) if free else []:
            if self.provider.takes:
                self._running.append((now + self.provider.takes, event))
            else:
                run_claimed(hub.store, hub.registry, event)
        self.most_at_once = max(self.most_at_once, len(self._running))
