"""Do the memory, the open files and the threads of a worker stay flat, however many events it runs?

One worker with 4 slots and its periodic steps; 100,000 events (with `--full`; otherwise 20,000, or as many as `--events` says)
of 8 accounts in ten portions, of which every fiftieth ends as a dead letter. After each portion all processes of the worker
are looked at together. What the first portion has made counts as made for good.

`--worker table` is a worker in table mode, once on PostgreSQL and once on SQLite. `--worker celery` is `dlq-console worker`
with a broker, `--worker attached` the worker of a Celery application that a hub is attached to; both are measured on
PostgreSQL and Redis with the prefork pool. A process of these has up to three connections to its database, of which the
second (its heartbeat comes while something runs) and the third are opened when they are needed for the first time.

The rows of a portion are deleted before the next one, as the prune step does: each connection to SQLite keeps up to 64 MB of
the file in memory, and would grow with the file until then.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.report import Report, argument_parser, load
from dlq_console import NewEvent
from dlq_console.clock import monotonic
from dlq_console.store.migrate import upgrade
from tests.services.postgres import PostgresServer
from tests.services.process import Child, wait_until
from tests.services.redis import RedisServer
from tests.workers.celery_table import GUEST, OURS, CeleryTable
from tests.workers.table import SOON, Table

PORTIONS = 10
SLOTS = 4
ACCOUNTS = 8
#: One of so many events ends as a dead letter.
DEAD_EVERY = 50
#: Events per second below which something else is wrong.
SLOWEST = 20
#: What must not be reached, in per cent.
GROWTH = 5
#: How the kinds of Celery workers are started.
PROGRAMS = {"celery": OURS, "attached": GUEST}


@dataclass(frozen=True, slots=True)
class Size:
    """All processes of a worker together."""

    megabytes: float
    files: int
    threads: int
    processes: int

    def __str__(self) -> str:
        return (
            f"{self.megabytes:.1f} MB resident, {self.files} open files, {self.threads} threads in {self.processes} "
            "processes"
        )


def size(worker: Child) -> Size:
    """What the worker and its children hold at this moment."""
    leader = psutil.Process(worker.pid)
    family = [leader, *leader.children(recursive=True)]
    return Size(
        megabytes=sum(process.memory_info().rss for process in family) / 1e6,
        files=sum(process.num_fds() for process in family),
        threads=sum(process.num_threads() for process in family),
        processes=len(family),
    )


def run(table: Table, numbers: range) -> None:
    """Put a portion in, wait until all of it has ended, and forget it."""
    table.hub.enqueue_many(
        NewEvent(
            kind="exits" if number % DEAD_EVERY == 0 else "noop",
            account=f"filial-{number % ACCOUNTS}",
            entity_id=str(number),
            payload={"folder": str(table.folder)},
        )
        for number in numbers
    )
    ended = "SELECT count(*) FROM {event} WHERE status IN ('done', 'dead')"
    wait_until(
        lambda: table.value(ended) == len(numbers),
        SOON + len(numbers) / SLOWEST,
        f"{len(numbers)} events to end",
    )
    with table.hub.store.write() as connection:
        for rows in (table.hub.store.tables.event, table.hub.store.tables.attempt):
            connection.execute(rows.delete())
    # The notes of the handlers are no part of the worker.
    for note in table.folder.iterdir():
        note.unlink()


def soak(report: Report, table: Table, worker: Child, events: int, more_files: int = 0) -> None:
    """Measure a worker that has just started and may come to open `more_files` after the first portion."""
    portion = events // PORTIONS
    sizes = []
    began = monotonic()
    for number in range(PORTIONS):
        run(table, range(number * portion, (number + 1) * portion))
        sizes.append(size(worker))
        report.note(f"after {(number + 1) * portion:,} events: {sizes[-1]}")
    report.note(f"{events / (monotonic() - began):,.0f} events per second, all in all")
    first, last = sizes[0], sizes[-1]
    report.under("growth of memory", 100 * (last.megabytes / first.megabytes - 1), "%", GROWTH)
    report.at_most("more open files", last.files - first.files, "files", more_files)
    report.at_most("more threads", last.threads - first.threads, "threads", 0)


def in_table_mode(report: Report, name: str, url: str, events: int) -> None:
    """Measure a worker in table mode on one engine."""
    report.heading(f"table mode, {name}, {events:,} events; {load()}")
    upgrade(url)
    with started() as (folder, start):
        table = Table(url, folder, start)
        soak(report, table, table.start_worker("--slots", str(SLOTS)), events)
        table.hub.close()


def through_celery(report: Report, name: str, program: Sequence[str], url: str, events: int) -> None:
    """Measure a Celery worker."""
    report.heading(f"{name}, PostgreSQL and Redis, {events:,} events; {load()}")
    upgrade(url)
    with RedisServer() as redis, started() as (folder, start):
        table = CeleryTable(url, redis.url, folder, start)
        worker = table.start_celery("--concurrency", str(SLOTS), program=program)
        soak(report, table, worker, events, more_files=2 * (SLOTS + 1))
        table.hub.close()


@contextmanager
def started() -> Iterator[tuple[Path, _Start]]:
    """A folder for notes, and a way to start processes that end with the block."""
    start = _Start()
    with tempfile.TemporaryDirectory(prefix="dlq-soak-") as folder:
        try:
            yield Path(folder), start
        finally:
            for child in start.children:
                child.stop()
                child.close()


class _Start:
    """Starts processes that end with the measurement."""

    def __init__(self) -> None:
        self.children: list[Child] = []

    def __call__(
        self,
        arguments: Sequence[str | Path],
        *,
        env: Mapping[str, str] | None = None,
        folder: Path | None = None,
    ) -> Child:
        self.children.append(Child(arguments, env=env, folder=folder))
        return self.children[-1]


def main() -> int:
    """Exit status 1 when a bar was missed."""
    parser = argument_parser(__doc__)
    parser.add_argument(
        "--worker", choices=["table", *PROGRAMS], default="table", help="which kind of worker"
    )
    parser.add_argument("--events", type=int, metavar="N", help=f"how many events, a multiple of {PORTIONS}")
    options = parser.parse_args()
    events = options.events or (100_000 if options.full else 20_000)
    report = Report()
    with PostgresServer() as server, server.database() as url:
        if options.worker == "table":
            in_table_mode(report, "PostgreSQL", url, events)
        else:
            through_celery(report, f"{options.worker} worker", PROGRAMS[options.worker], url, events)
    if options.worker == "table":
        with tempfile.TemporaryDirectory(prefix="dlq-soak-") as folder:
            in_table_mode(report, "SQLite", f"sqlite:///{folder}/events.db", events)
    return report.status


if __name__ == "__main__":
    sys.exit(main())
