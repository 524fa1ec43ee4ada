"""A slow search agent does not take booking down: the five layers as an example, with figures.

A small program serves two kinds of requests with eight threads: bookings, which take a few milliseconds, and searches,
which ask an agent. In the middle of the run the agent hangs. Once the program calls both as they are; once each of
them behind a guard. What counts is what the customers who book see.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Lock

from benchmarks.report import Report, arguments, load, percentile
from dlq_console.clock import monotonic
from dlq_console.errors import DLQError
from dlq_console.resilience import BulkheadConfig, CircuitBreakerConfig, MemoryState, RetryConfig
from dlq_console.resilience.guard import guard

THREADS = 8
#: Requests of each kind per second.
RATE = 40
#: What a call takes in seconds: a booking, a search, a search while the agent hangs.
BOOKING, SEARCH, HANGING = 0.005, 0.01, 3.0

#: The agent is left alone after five failures, gets two threads at most, and half a second for each search.
SEARCH_BREAKER = CircuitBreakerConfig(failure_threshold=5, success_threshold=1, recovery_timeout=1)
SEARCH_ROOM = BulkheadConfig(max_concurrent=2, timeout=0.5, acquire_timeout=0)
BOOKING_RETRY = RetryConfig(max_attempts=3, base_delay=0.01)


@dataclass
class Agent:
    """The search agent, and when it hangs (moments of the monotonic clock)."""

    hangs_from: float
    hangs_until: float

    def search(self) -> None:
        """Answer one search."""
        hanging = self.hangs_from <= monotonic() < self.hangs_until
        time.sleep(HANGING if hanging else SEARCH)


def book() -> None:
    """Make one booking."""
    time.sleep(BOOKING)


@dataclass
class Seen:
    """What the customers saw."""

    lock: Lock = field(default_factory=Lock)
    waits: list[float] = field(default_factory=list)
    searches: Counter[str] = field(default_factory=Counter)

    def booked(self, asked: float) -> None:
        """A booking that was asked for at a moment is done."""
        with self.lock:
            self.waits.append(monotonic() - asked)

    def searched(self, how: str) -> None:
        """A search has ended."""
        with self.lock:
            self.searches[how] += 1


def serve(seconds: float, booking: Callable[[], object], searching: Callable[[], object]) -> Seen:
    """Serve requests at their rate with a few threads, and tell what was seen."""
    seen = Seen()

    def one_booking(asked: float) -> None:
        booking()
        seen.booked(asked)

    def one_search() -> None:
        try:
            searching()
        except DLQError as refusal:
            seen.searched(type(refusal).__name__)
        else:
            seen.searched("answered")

    with ThreadPoolExecutor(THREADS) as pool:
        began = monotonic()
        for number in range(round(seconds * RATE)):
            time.sleep(max(0.0, began + number / RATE - monotonic()))
            pool.submit(one_search)
            pool.submit(one_booking, monotonic())
    return seen


def tell(report: Report, how: str, seen: Seen) -> float:
    """Print what was seen; the 95th percentile of the bookings in milliseconds."""
    p95 = 1000 * percentile(seen.waits, 95)
    searches = ", ".join(f"{number} {name}" for name, number in seen.searches.most_common())
    report.note(
        f"{how}: a booking takes {p95:.0f} ms (p95), {1000 * max(seen.waits):.0f} ms at most; searches: {searches}"
    )
    return p95


def main(given: Sequence[str] | None = None) -> int:
    """Run the story twice, print, and return 1 when a bar was missed."""
    seconds = 30.0 if arguments(__doc__, given).full else 9.0
    report = Report()
    report.heading(
        f"{RATE} bookings and {RATE} searches a second; the agent hangs for a third of the time ({load()})"
    )
    agent = Agent(monotonic() + seconds / 3, monotonic() + 2 * seconds / 3)
    plain = tell(report, "called as they are", serve(seconds, book, agent.search))
    agent = Agent(monotonic() + seconds / 3, monotonic() + 2 * seconds / 3)
    state = MemoryState()
    searching = guard("search_agent", breaker=SEARCH_BREAKER, bulkhead=SEARCH_ROOM, state=state)(agent.search)
    booking = guard("booking", retry=BOOKING_RETRY, state=state)(book)
    guarded = tell(report, "behind guards", serve(seconds, booking, searching))
    report.under("bookings while search hangs, p95", guarded, "ms", 100, f"without guards {plain:.0f} ms")
    return report.status


if __name__ == "__main__":
    sys.exit(main())
