"""What does an event through Celery and Redis cost, beside a bare Celery task? Neither does anything.

Redis in memory; PostgreSQL with fsync on and otherwise its own defaults; one sender and one prefork worker of two
processes for each side, all on this machine. Measured from the first send to the last completion, while sender and
worker are busy at the same time.

Bare: `send_task`, Celery's own defaults, one queue, results ignored. Event: `hub.enqueue`, one committed transaction
each, over ten accounts, until every row is done. The two take turns, so that other work on the machine hits both.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.report import Report, arguments, load
from dlq_console.clock import monotonic
from dlq_console.store.migrate import upgrade
from tests.services.postgres import DURABLE, PostgresServer
from tests.services.process import Child
from tests.services.redis import RedisServer

ACCOUNTS = 10
PROCESSES = 2
#: Pieces of work that each side is given in one turn, and how many turns there are.
TURN = 250
TURNS, MANY_TURNS = 8, 40
#: What an event may cost, in bare tasks.
BAR = 3
#: Seconds within which one turn must be over.
PATIENCE = 120.0

COUNT_DONE = "SELECT count(*) FROM {event} WHERE status = 'done'"


@dataclass
class Side:
    """One of the two.

    Attributes:
        worker: its Celery worker.
        send: sends one piece of work, given its number.
        ran: how many have run so far; cheap.
        ended: how many have ended so far, with everything that belongs to it.
        sent: how many were sent so far.
    """

    worker: Child
    send: Callable[[int], object]
    ran: Callable[[], int]
    ended: Callable[[], int]
    sent: int = 0

    def turn(self) -> float:
        """Milliseconds per piece, from the first send to the last completion."""
        began = monotonic()
        for _ in range(TURN):
            self.sent += 1
            self.send(self.sent)
        self.worker.wait_until(lambda: self.ran() >= self.sent, PATIENCE, "everything to run")
        self.worker.wait_until(lambda: self.ended() >= self.sent, PATIENCE, "everything to end")
        return 1000 * (monotonic() - began) / TURN


@contextmanager
def bare_side(folder: Path) -> Iterator[Side]:
    """A bare task and Celery's own worker."""
    from benchmarks.celery_apps import BARE_TASK, bare

    runs = folder / "tasks"
    with _worker("benchmarks.celery_apps:bare", runs) as worker:
        yield Side(
            worker, lambda _number: bare.send_task(BARE_TASK), lambda: _size(runs), lambda: _size(runs)
        )
    bare.close()


@contextmanager
def event_side(folder: Path) -> Iterator[Side]:
    """An event and the worker of this project."""
    from benchmarks.celery_apps import KIND, hub

    runs = folder / "events"

    def send(number: int) -> object:
        account = f"filial-{number % ACCOUNTS}"
        return hub.enqueue(KIND, account=account, entity_id=str(number), payload={"number": number})

    def ended() -> int:
        with hub.store.read() as connection:
            return int(connection.execute(hub.store.statement(COUNT_DONE)).scalar_one())

    with _worker("dlq_console.workers.celery_worker", runs) as worker:
        yield Side(worker, send, lambda: _size(runs), ended)
    hub.close()


def _worker(app: str, runs: Path) -> Child:
    runs.touch()
    options = ["--pool", "prefork", "--concurrency", str(PROCESSES), "--loglevel", "WARNING"]
    program = [sys.executable, "-m", "celery", "-A", app, "worker", *options]
    return Child(program, env={**os.environ, "BENCHMARK_RUNS": str(runs)})


def _size(file: Path) -> int:
    return file.stat().st_size


def measure(report: Report, folder: Path, turns: int) -> None:
    """Let both take turns, and compare what a piece costs."""
    with bare_side(folder) as bare, event_side(folder) as event:
        bare.turn()
        event.turn()  # both warmed up
        costs = [(bare.turn(), event.turn()) for _ in range(turns)]
    tasks, events = ([cost[side] for cost in costs] for side in (0, 1))
    report.note(f"a bare task: {_spread(tasks)}")
    report.note(f"an event: {_spread(events)}")
    # Of the sums, because a slow moment of the machine counts for both.
    report.at_most("an event costs", sum(events) / sum(tasks), "bare tasks", BAR)


def _spread(costs: list[float]) -> str:
    return f"median {statistics.median(costs):.2f} ms ({min(costs):.2f} to {max(costs):.2f})"


def main() -> int:
    """Measure, print, and say by the exit status whether the bar was reached."""
    options = arguments(__doc__)
    turns = MANY_TURNS if options.full else TURNS
    report = Report()
    with (
        tempfile.TemporaryDirectory() as folder,
        RedisServer() as redis,
        PostgresServer(DURABLE) as postgres,
    ):
        url = postgres.create_database("overhead")
        upgrade(url)
        # Read by this process, which sends, and by both workers.
        os.environ |= {
            "DLQ_BROKER_URL": redis.url,
            "DLQ_DATABASE_URL": url,
            "DLQ_APP": "benchmarks.celery_apps:hub",
            "BENCHMARK_RUNS": str(Path(folder, "unused")),
        }
        report.heading(f"{turns} turns of {TURN} events and tasks; PostgreSQL with fsync on; {load()}")
        measure(report, Path(folder), turns)
    return report.status


if __name__ == "__main__":
    sys.exit(main())
