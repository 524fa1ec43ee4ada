"""How fast does a process honour what another one saw, and how many probes get in at the moment of expiry?

Eight processes with sixteen threads each ask as fast as they can from before a circuit is due until after; the one
that is let through keeps its permit. Exactly one may get in, every time.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.processes import Start, in_processes
from benchmarks.report import Report, arguments, load, milliseconds
from benchmarks.resilience_peers import RECOVERY as PEER_RECOVERY
from benchmarks.resilience_peers import SHARED_PEERS, MissingPeerError
from dlq_console.clock import monotonic
from dlq_console.resilience import CircuitBreaker, CircuitBreakerConfig, CircuitOpenError, SharedState
from dlq_console.resilience.redis_state import RedisState
from dlq_console.store.shared_state import SqlState
from tests.services.postgres import PostgresServer
from tests.services.redis import RedisServer

RECOVERY = 0.3
CONFIG = CircuitBreakerConfig(failure_threshold=1, success_threshold=1, recovery_timeout=RECOVERY)
LONG = CircuitBreakerConfig(failure_threshold=1, success_threshold=1, recovery_timeout=60)
PROCESSES, THREADS = 8, 16
#: How long the threads of a round ask around the moment at which the circuit is due, in seconds.
ASKING = 0.6


def open_state(address: str) -> SharedState:
    """The state at an address, as a process of its own opens it."""
    return RedisState(address, timeout=5) if address.startswith("redis:") else SqlState(address, timeout=5)


# Honoured by others


def open_or_see(start: Start, address: str, rounds: int) -> list[float]:
    """One process opens a circuit, the other calls until it is refused; the moments at which they did."""
    state = open_state(address)
    opener = start() == 0
    moments = []
    for number in range(rounds):
        breaker = CircuitBreaker(f"seen {number}", LONG, state=state)
        breaker.call(int)
        start()
        if opener:
            time.sleep(0.05 * (number % 5))
            breaker.admit().failed(TimeoutError())
        else:
            until_refused(breaker)
        moments.append(monotonic())
        start()
    state.close()
    return moments


def until_refused(breaker: CircuitBreaker) -> None:
    """Call, a thousand times a second, until the circuit refuses."""
    while True:
        try:
            breaker.call(int)
        except CircuitOpenError:
            return
        time.sleep(0.001)


def measure_sight(report: Report, where: str, address: str, rounds: int) -> None:
    """From the failure in one process to the refusal in the other."""
    one, other = in_processes(2, open_or_see, address, rounds=rounds)
    delays = [abs(seen - opened) for seen, opened in zip(one, other, strict=True)]
    slowest = 1000 * max(delays)
    report.under(f"opened here, honoured there, {where}", slowest, "ms", 300, milliseconds(delays))


# Probes


def probe(start: Start, address: str, peer: str, rounds: int) -> list[int]:
    """Ask with many threads around the moment at which a circuit is due; how many were let through in each round."""
    state = open_state(address)
    entered = []
    first = start() == 0
    for number in range(rounds):
        name = f"{peer or 'ours'} {number}"
        ask = ours(name, state) if not peer else theirs(peer, address, name)
        start()
        if first:
            ask(True)
        start()
        time.sleep((PEER_RECOVERY if peer else RECOVERY) - ASKING / 2)
        entered.append(sum(in_threads(lambda: asking(ask))))  # noqa: B023 - used within the round
        start()
    state.close()
    return entered


def ours(name: str, state: SharedState) -> Callable[[bool], bool]:
    """Asks our circuit once; whether it was let through as a probe. With True it fails, which opens it."""
    breaker = CircuitBreaker(name, CONFIG, state=state)

    def ask(fail: bool) -> bool:
        try:
            admission = breaker.admit()
        except CircuitOpenError:
            return False
        if fail:
            admission.failed(TimeoutError())
        return admission.probe

    return ask


def theirs(peer: str, address: str, name: str) -> Callable[[bool], bool]:
    """The same with another library; a call that is let through hangs until the round is over."""
    call = SHARED_PEERS[peer](address, name)
    # Its background work begins with the first call.
    call(int)

    def hang() -> None:
        time.sleep(ASKING)

    def fail() -> None:
        raise TimeoutError

    def ask(opens: bool) -> bool:
        try:
            call(fail if opens else hang)
        except Exception:  # noqa: BLE001 - each library refuses with an error of its own
            return False
        return True

    return ask


def asking(ask: Callable[[bool], bool]) -> int:
    """Ask again and again for a while; how often it was let through."""
    until = monotonic() + ASKING
    entered = 0
    while monotonic() < until:
        entered += ask(False)
        time.sleep(0.005)
    return entered


def in_threads(work: Callable[[], Any]) -> list[Any]:
    """Call `work` in so many threads that begin together; their answers."""
    answers: list[Any] = []
    together = threading.Barrier(THREADS, timeout=60)

    def run() -> None:
        together.wait()
        answers.append(work())

    threads = [threading.Thread(target=run, daemon=True) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def measure_probes(report: Report, where: str, address: str, rounds: int) -> None:
    """How many get in, all processes together."""
    entered = in_processes(PROCESSES, probe, address, peer="", rounds=rounds)
    totals = [sum(each) for each in zip(*entered, strict=True)]
    exact = totals.count(1)
    report.at_least(f"rounds with exactly one probe, {where}", exact, f"of {rounds}", rounds)


def measure_peers(report: Report, address: str, rounds: int) -> None:
    """The same with other libraries, to compare."""
    for peer, make in SHARED_PEERS.items():
        try:
            make(address)
        except MissingPeerError as missing:
            report.note(f"{peer} {missing}")
            continue
        entered = in_processes(PROCESSES, probe, address, peer=peer, rounds=rounds)
        totals = [sum(each) for each in zip(*entered, strict=True)]
        report.note(f"{peer} in Redis lets through {', '.join(map(str, totals))} in {rounds} rounds")


def main(given: Sequence[str] | None = None) -> int:
    """Measure, print, and return 1 when a bar was missed."""
    rounds = 100 if arguments(__doc__, given).full else 20
    report = Report()
    report.heading(f"{PROCESSES} processes with {THREADS} threads ({load()})")
    with RedisServer() as redis, PostgresServer() as postgres:
        with postgres.database() as database:
            SqlState(database).create_table()
            for where, address in (("Redis", redis.url), ("PostgreSQL", database)):
                measure_sight(report, where, address, rounds=20)
                measure_probes(report, where, address, rounds)
        measure_peers(report, redis.url, rounds=5)
    return report.status


if __name__ == "__main__":
    sys.exit(main())
