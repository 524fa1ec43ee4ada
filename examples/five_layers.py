"""A slow search agent does not take booking down: the five layers in a small program, with figures.

Eight threads serve two kinds of requests: bookings, which take a few milliseconds, and searches, which ask an agent.
In the middle of the run the agent hangs. The same requests are served twice: once the program calls both services as
they are, once each of them behind a guard. Some customers also send their booking twice, and some attempts to book find
no connection. Nothing is needed but the library:

    python -m examples.five_layers
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Lock

from dlq_console import (
    BulkheadConfig,
    CircuitBreakerConfig,
    DLQError,
    MemoryState,
    RetryConfig,
    guard,
    init_budget,
)
from dlq_console.clock import monotonic

THREADS = 8
#: Requests of each kind per second.
RATE = 40
#: What a call takes in seconds: a booking, a search, a search while the agent hangs.
BOOKING, SEARCH, HANGING = 0.005, 0.01, 3.0
#: How long customers wait for a search and for a booking, in seconds. One second of it is kept for the program's own work.
SEARCH_BUDGET, BOOKING_BUDGET = 1.5, 10.0
#: Of so many bookings one is sent twice, half a second later, and one finds no connection at its first attempt.
TWICE_EVERY, UNCONNECTED_EVERY = 10, 15
TWICE_AFTER = RATE // 2

#: The agent is left alone after two failures, for a second; it has two of the threads at most.
SEARCH_BREAKER = CircuitBreakerConfig(failure_threshold=2, success_threshold=1, recovery_timeout=1)
SEARCH_ROOM = BulkheadConfig(max_concurrent=2, timeout=2, acquire_timeout=0)
BOOKING_RETRY = RetryConfig(max_attempts=3, base_delay=0.01, retryable_exceptions=(ConnectionError,))


@dataclass
class Agent:
    """The search agent, and when it hangs (moments of the monotonic clock)."""

    hangs_from: float
    hangs_until: float

    def search(self) -> str:
        """Answer one search."""
        hanging = self.hangs_from <= monotonic() < self.hangs_until
        time.sleep(HANGING if hanging else SEARCH)
        return "three flights"


@dataclass
class BookingService:
    """The service that books; what it has booked is its effect."""

    lock: Lock = field(default_factory=Lock)
    attempts: Counter[int] = field(default_factory=Counter)
    booked: Counter[int] = field(default_factory=Counter)

    def book(self, number: int) -> str:
        """Make one booking."""
        with self.lock:
            self.attempts[number] += 1
            if number % UNCONNECTED_EVERY == 0 and self.attempts[number] == 1:
                raise ConnectionRefusedError
            self.booked[number] += 1
        time.sleep(BOOKING)
        return f"confirmation of {number}"


@dataclass
class Seen:
    """What the customers saw: seconds from asking to confirmation, and how searches and failed bookings ended."""

    lock: Lock = field(default_factory=Lock)
    waits: list[float] = field(default_factory=list)
    searches: Counter[str] = field(default_factory=Counter)
    not_booked: Counter[str] = field(default_factory=Counter)
    booked_twice: int = 0

    @property
    def p95(self) -> float:
        """Within how many seconds 95 % of the bookings were confirmed."""
        return statistics.quantiles(self.waits, n=20, method="inclusive")[-1]


Booking = Callable[[int], object]
Searching = Callable[[], object]


def serve(seconds: float, booking: Booking, searching: Searching) -> Seen:
    """Serve requests at their rate with a few threads, and tell what was seen."""
    seen = Seen()

    def one_booking(number: int, asked: float) -> None:
        try:
            with init_budget(max(0.0, BOOKING_BUDGET - (monotonic() - asked))):
                booking(number)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what the customer sees
            with seen.lock:
                seen.not_booked[type(error).__name__] += 1
        else:
            with seen.lock:
                seen.waits.append(monotonic() - asked)

    def one_search() -> None:
        how = "answered"
        try:
            with init_budget(SEARCH_BUDGET):
                searching()
        except DLQError as refusal:
            how = type(refusal).__name__
        with seen.lock:
            seen.searches[how] += 1

    with ThreadPoolExecutor(THREADS) as pool:
        began = monotonic()
        for number in range(1, round(seconds * RATE) + 1):
            time.sleep(max(0.0, began + number / RATE - monotonic()))
            pool.submit(one_search)
            pool.submit(one_booking, number, monotonic())
            sent_before = number - TWICE_AFTER
            if sent_before > 0 and sent_before % TWICE_EVERY == 0:
                pool.submit(one_booking, sent_before, monotonic())
    return seen


def as_they_are(seconds: float) -> Seen:
    """The story without guards; the agent hangs for the second third of it."""
    service = BookingService()
    seen = serve(seconds, service.book, _agent(seconds).search)
    return _with_effects(seen, service)


def behind_guards(seconds: float) -> Seen:
    """The same story with a guard around each service."""
    # In one process a state in memory does; of several, all would share `RedisState` or the database.
    state = MemoryState()
    service = BookingService()
    searching = guard("search_agent", breaker=SEARCH_BREAKER, bulkhead=SEARCH_ROOM, state=state)(
        _agent(seconds).search
    )
    booking = guard(
        "booking", retry=BOOKING_RETRY, idempotency_key=lambda number: f"booking {number}", state=state
    )(service.book)
    return _with_effects(serve(seconds, booking, searching), service)


def _agent(seconds: float) -> Agent:
    return Agent(monotonic() + seconds / 3, monotonic() + 2 * seconds / 3)


def _with_effects(seen: Seen, service: BookingService) -> Seen:
    seen.booked_twice = sum(times > 1 for times in service.booked.values())
    return seen


def in_words(how: str, seen: Seen) -> str:
    """What was seen, for people."""
    return (
        f"{how}\n"
        f"  bookings  {len(seen.waits)} confirmed, 95 % within {1000 * seen.p95:.0f} ms,"
        f" the slowest after {1000 * max(seen.waits):.0f} ms; {_counted(seen.not_booked) or 'none'} failed;"
        f" {seen.booked_twice} booked twice\n"
        f"  searches  {_counted(seen.searches)}"
    )


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{number} {name}" for name, number in counts.most_common())


def main(given: Sequence[str] | None = None) -> int:
    """Tell the story."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=9.0, help="how long each run takes")
    seconds: float = parser.parse_args(given).seconds
    if not 1 <= seconds <= 600:
        parser.error("--seconds: write a number from 1 to 600.")
    print(
        f"{RATE} bookings and {RATE} searches a second for {seconds:g} s, {THREADS} threads;"
        f" the search agent hangs for {seconds / 3:g} s.",
        flush=True,
    )
    print(in_words("called as they are", as_they_are(seconds)), flush=True)
    print(in_words("behind guards", behind_guards(seconds)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
