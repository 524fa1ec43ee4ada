"""Does a bulkhead of four hold while its processes are killed, and do all slots come back?

Eight processes enter the bulkhead again and again; each second one of them is killed where it stands, and another one
takes its place. Every process writes down when it was inside, by the one monotonic clock of the machine.

Run as `python -m benchmarks.resilience_bulkhead work ADDRESS FILE`, a process works until it is ended.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Iterable, Sequence
from itertools import accumulate, count
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.report import Report, arguments, load
from dlq_console.clock import monotonic
from dlq_console.resilience import Bulkhead, BulkheadConfig, BulkheadFullError, SharedState
from dlq_console.resilience.redis_state import RedisState
from dlq_console.store.shared_state import SqlState
from tests.services.postgres import PostgresServer
from tests.services.process import Child
from tests.services.redis import RedisServer

PROCESSES, SLOTS, LEASE = 8, 4, 3.0
CONFIG = BulkheadConfig(max_concurrent=SLOTS, timeout=None, acquire_timeout=5, lease=LEASE)


def open_state(address: str) -> SharedState:
    """The state at an address, as a process of its own opens it."""
    return RedisState(address, timeout=5) if address.startswith("redis:") else SqlState(address, timeout=5)


def work(address: str, file: str) -> None:
    """Enter the bulkhead for ever, and write down each time when it was inside."""
    bulkhead = Bulkhead("service", CONFIG, state=open_state(address))
    log = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def inside(number: int) -> None:
        os.write(log, f"+ {os.getpid()} {number} {monotonic()}\n".encode())
        time.sleep(random.uniform(0.01, 0.1))
        os.write(log, f"- {os.getpid()} {number} {monotonic()}\n".encode())

    for number in count():
        try:
            bulkhead.run(inside, number)
        except BulkheadFullError:
            continue


def most_at_once(lines: Iterable[str], killed: dict[int, float]) -> tuple[int, int]:
    """How many were inside at the same moment at most, and how many calls there were."""
    began: dict[tuple[int, int], float] = {}
    moments: list[tuple[float, int]] = []
    for line in lines:
        sign, pid, number, moment = line.split()
        if sign == "+":
            began[int(pid), int(number)] = float(moment)
            moments.append((float(moment), 1))
        else:
            del began[int(pid), int(number)]
            moments.append((float(moment), -1))
    # Who was killed inside left at that moment.
    moments += [(killed[pid], -1) for pid, _ in began]
    calls = sum(step for _, step in moments if step > 0)
    return max(accumulate(step for _, step in sorted(moments))), calls


def measure(report: Report, where: str, address: str, seconds: float) -> None:
    """Let them work, kill one each second, and look at what they wrote."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "inside"
        command = [sys.executable, "-m", "benchmarks.resilience_bulkhead", "work", address, str(file)]
        children = [Child(command) for _ in range(PROCESSES)]
        killed: dict[int, float] = {}
        while not file.exists():
            time.sleep(0.05)
        until = monotonic() + seconds
        while monotonic() < until:
            time.sleep(1)
            victim = children.pop(random.randrange(len(children)))
            end(victim, killed)
            children.append(Child(command))
        for child in children:
            end(child, killed)
        free = seconds_until_free(address)
        most, calls = most_at_once(file.read_text().splitlines(), killed)
    report.at_most(
        f"inside at once, {where}", most, "", SLOTS, f"{calls} calls, {len(killed)} processes killed"
    )
    report.at_least(f"inside at once at most, {where}", most, "", SLOTS)
    report.at_most(f"all slots back after the last death, {where}", free, "s", LEASE + 0.5)


def end(child: Child, killed: dict[int, float]) -> None:
    """Kill a process where it stands."""
    killed[child.pid] = monotonic()
    child.kill()
    child.close()


def seconds_until_free(address: str) -> float:
    """How long it takes until nobody holds a slot."""
    bulkhead = Bulkhead("service", CONFIG, state=open_state(address))
    began = monotonic()
    while bulkhead.stats()["in_use"]:
        time.sleep(0.02)
    bulkhead.shared_state.close()
    return monotonic() - began


def main(given: Sequence[str] | None = None) -> int:
    """Measure, print, and return 1 when a bar was missed."""
    seconds = 60 if arguments(__doc__, given).full else 15
    report = Report()
    report.heading(f"{PROCESSES} processes, {SLOTS} slots, {seconds} s, a lease of {LEASE:g} s ({load()})")
    with RedisServer() as redis:
        measure(report, "Redis", redis.url, seconds)
    with PostgresServer() as postgres, postgres.database() as database:
        SqlState(database).create_table()
        measure(report, "PostgreSQL", database, seconds)
    return report.status


if __name__ == "__main__":
    if sys.argv[1:2] == ["work"]:
        work(*sys.argv[2:])
    sys.exit(main())
