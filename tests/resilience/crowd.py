"""Several processes on one shared state at the same moment, forked from a parent that has used it before.

Run as `python -m tests.resilience.crowd WORK ADDRESS PROCESSES THREADS ROUNDS`; prints what each process saw as JSON.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
import threading
import time
from collections.abc import Callable, Iterable
from itertools import accumulate
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from typing import Any

from dlq_console.clock import monotonic
from dlq_console.resilience.breaker import CircuitBreaker, CircuitBreakerConfig
from dlq_console.resilience.bulkhead import Bulkhead, BulkheadConfig
from dlq_console.resilience.errors import CircuitOpenError
from dlq_console.resilience.link import link_to
from dlq_console.resilience.redis_state import RedisState
from dlq_console.resilience.state import SharedState
from dlq_console.store.shared_state import SqlState
from tests.resilience.states import GENEROUS
from tests.services.process import StartChild, wait_until

THREE = BulkheadConfig(max_concurrent=3, timeout=None, acquire_timeout=60)

#: A single failure opens it and a single probe is let through.
PROBED = CircuitBreakerConfig(failure_threshold=1, success_threshold=1, recovery_timeout=0.2)

_fork = multiprocessing.get_context("fork")


def open_by_address(address: str) -> SharedState:
    """The state at an address, as a process of its own opens it."""
    make = RedisState if address.startswith("redis:") else SqlState
    return make(address, timeout=GENEROUS)


def in_threads(count: int, work: Callable[[], Any]) -> list[Any]:
    """Call `work` in so many threads that begin together; their answers."""
    answers: list[Any] = []
    together = threading.Barrier(count, timeout=60)

    def run() -> None:
        together.wait()
        answers.append(work())

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def probes(state: SharedState, barrier: Barrier, threads: int, rounds: int) -> list[int]:
    """Ask with many threads the moment a circuit is due; how many were let through in each round."""
    entered = []
    for number in range(rounds):
        breaker = CircuitBreaker(f"round {number}", PROBED, state=state)
        wait_until(lambda: str(breaker.state) == "half_open", 10, "the open time to be over")  # noqa: B023 - as below
        barrier.wait()
        entered.append(sum(in_threads(threads, lambda: _enters(breaker))))  # noqa: B023 - used within the round
    return entered


def _enters(breaker: CircuitBreaker) -> bool:
    """Whether a caller is let through; it keeps its permit."""
    try:
        return breaker.admit().probe
    except CircuitOpenError:
        return False


def intervals(state: SharedState, barrier: Barrier, threads: int, rounds: int) -> list[tuple[float, float]]:
    """Enter a bulkhead of three again and again with many threads; when each call was inside."""
    bulkhead = Bulkhead("erp", THREE, state=state)
    inside: list[tuple[float, float]] = []

    def call() -> None:
        began = monotonic()
        time.sleep(0.005)
        inside.append((began, monotonic()))

    barrier.wait()
    in_threads(threads, lambda: [bulkhead.run(call) for _ in range(rounds)])
    return inside


def crowded(state: SharedState, barrier: Barrier, threads: int, rounds: int) -> tuple[int, int]:
    """Hurry through a bulkhead of three with many threads; how many calls came in, and how often the state was lost."""
    bulkhead = Bulkhead("erp", THREE, state=state)
    barrier.wait()
    done = in_threads(threads, lambda: [bulkhead.run(int) for _ in range(rounds)])
    return sum(map(len, done)), link_to(state).epoch


def most_at_once(inside: Iterable[tuple[float, float]]) -> int:
    """How many of these intervals overlap at most."""
    moments = sorted([(began, 1) for began, _ in inside] + [(ended, -1) for _, ended in inside])
    return max(accumulate(step for _, step in moments))


def fail_each(state: SharedState, rounds: int) -> None:
    """Open the circuit of each round, from the parent."""
    for number in range(rounds):
        CircuitBreaker(f"round {number}", PROBED, state=state).admit().failed(TimeoutError())


WORKS: dict[str, Callable[[SharedState, Barrier, int, int], Any]] = {
    "probes": probes,
    "intervals": intervals,
    "crowded": crowded,
}


def _child(
    work: str, state: SharedState, barrier: Barrier, threads: int, rounds: int, answers: Connection
) -> None:
    answers.send(WORKS[work](state, barrier, threads, rounds))
    state.close()


def main(work: str, address: str, processes: str, threads: str, rounds: str) -> None:
    """Use the state, fork, and print what the children saw."""
    state = open_by_address(address)
    fail_each(state, int(rounds))
    barrier = _fork.Barrier(int(processes), timeout=60)
    pipes = []
    for _ in range(int(processes)):
        ours, theirs = _fork.Pipe(duplex=False)
        _fork.Process(
            target=_child, args=(work, state, barrier, int(threads), int(rounds), theirs), daemon=True
        ).start()
        theirs.close()
        pipes.append(ours)
    print(json.dumps([ours.recv() for ours in pipes]), flush=True)  # noqa: T201 - read by the test
    state.close()


def run_crowd(
    start_child: StartChild, work: str, address: str, *, processes: int, threads: int, rounds: int
) -> list[Any]:
    """Start a crowd and return what each of its processes saw."""
    arguments = [work, address, str(processes), str(threads), str(rounds)]
    child = start_child([sys.executable, "-m", "tests.resilience.crowd", *arguments])
    answer: list[Any] = json.loads(child.wait_for_line(r"^\[.*\]$", timeout=60).group())
    return answer


if __name__ == "__main__":
    main(*sys.argv[1:])
