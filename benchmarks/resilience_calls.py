"""What does a protected call cost, in microseconds and in round trips?

The call itself does nothing, so what is measured is the protection. Round trips are those that the calling thread
waits for; the background looks are not among them.
"""

from __future__ import annotations

import sys
import threading
import timeit
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from benchmarks.report import Report, arguments, load
from benchmarks.resilience_peers import PEERS, SHARED_PEERS, MissingPeerError
from dlq_console.resilience import (
    Bulkhead,
    BulkheadConfig,
    CircuitBreaker,
    CircuitBreakerConfig,
    CircuitOpenError,
)
from dlq_console.resilience.redis_state import RedisState
from tests.services.redis import RedisServer

INLINE = BulkheadConfig(timeout=None)
CLOSED = CircuitBreakerConfig(failure_threshold=1, recovery_timeout=60)


def answer() -> int:
    """The service."""
    return 1


def added(call: Callable[[], Any], number: int) -> float:
    """Microseconds that one call takes longer than the service itself; the best of five runs."""
    bare = min(timeit.repeat(answer, number=number, repeat=5)) / number
    return (min(timeit.repeat(call, number=number, repeat=5)) / number - bare) * 1e6


class Trips:
    """Counts the round trips that the calling thread makes."""

    def __init__(self, state: RedisState) -> None:
        self._thread = threading.get_ident()
        self._client = state._redis  # noqa: SLF001 - what is measured can be seen only from inside
        self._execute: Any = self._client.execute_command
        self.count = 0
        self._client.execute_command = self._counted  # type: ignore[method-assign]  # put back by `end`

    def _counted(self, *args: Any, **kwargs: Any) -> Any:
        if threading.get_ident() == self._thread:
            self.count += 1
        return self._execute(*args, **kwargs)

    def per_call(self, call: Callable[[], Any], number: int = 200) -> float:
        """Round trips of one call, on average."""
        self.count = 0
        for _ in range(number):
            call()
        return self.count / number

    def end(self) -> None:
        """Count no more."""
        self._client.execute_command = self._execute  # type: ignore[method-assign]  # as it was


def refused(breaker: CircuitBreaker) -> None:
    """One call that an open circuit refuses."""
    try:
        breaker.call(answer)
    except CircuitOpenError:
        return
    raise AssertionError("the circuit is open")


def measure_local(report: Report, number: int) -> None:
    """Circuits in the memory of one process, and the peers."""
    report.heading(f"A closed circuit, in the process ({load()})")
    beside = []
    for name, make in PEERS.items():
        try:
            call = make()
        except MissingPeerError as missing:
            beside.append(f"{name} {missing}")
        else:
            beside.append(f"{name} {added(partial(call, answer), number):.1f}")
    breaker = CircuitBreaker("service")
    report.under("added to a call", added(lambda: breaker.call(answer), number), "µs", 10, ", ".join(beside))
    bulkhead = Bulkhead("service", INLINE)
    report.note(f"a bulkhead adds {added(lambda: bulkhead.run(answer), number):.1f} µs")
    limited = Bulkhead("service")
    report.note(
        f"a bulkhead with a time limit adds {added(lambda: limited.run(answer), number // 10):.1f} µs (a thread)"
    )


def measure_redis(report: Report, number: int) -> None:
    """Circuits and bulkheads in Redis, and the peers."""
    with RedisServer() as server:
        state = RedisState(server.url, timeout=5)
        report.heading(f"In Redis on loopback ({load()})")
        breaker = CircuitBreaker("service", state=state)
        breaker.call(answer)
        beside = []
        for name, make in SHARED_PEERS.items():
            try:
                call = make(server.url)
            except MissingPeerError as missing:
                beside.append(f"{name} {missing}")
            else:
                beside.append(f"{name} {added(partial(call, answer), number // 20):.1f}")
        report.under(
            "added to a call, closed",
            added(lambda: breaker.call(answer), number),
            "µs",
            10,
            ", ".join(beside),
        )
        bulkhead = Bulkhead("service", INLINE, state=state)
        report.note(f"a bulkhead adds {added(lambda: bulkhead.run(answer), number // 50):.1f} µs")
        trips = Trips(state)
        report.at_most("round trips, circuit closed", trips.per_call(lambda: breaker.call(answer)), "", 0)
        report.at_most(
            "round trips, circuit and bulkhead",
            trips.per_call(lambda: breaker.call(bulkhead.run, answer)),
            "",
            2,
        )
        opened = CircuitBreaker("opened", CLOSED, state=state)
        opened.admit().failed(TimeoutError())
        report.at_most("round trips to refuse while open", trips.per_call(lambda: refused(opened)), "", 0)
        trips.end()
        state.close()


def main(given: Sequence[str] | None = None) -> int:
    """Measure, print, and return 1 when a bar was missed."""
    number = 100_000 if arguments(__doc__, given).full else 20_000
    report = Report()
    measure_local(report, number)
    measure_redis(report, number)
    return report.status


if __name__ == "__main__":
    sys.exit(main())
