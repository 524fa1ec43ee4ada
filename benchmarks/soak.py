"""Do the memory, the open files and the threads of a worker stay flat, however many events it runs?

One worker in table mode with 4 slots and its periodic steps, once on PostgreSQL and once on SQLite; 100,000 events (with
`--full`; otherwise 20,000) of 8 accounts in ten portions, of which every fiftieth ends as a dead letter. After each portion
all processes of the worker are looked at together. What the first portion has made counts as made for good.

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

from benchmarks.report import Report, arguments, load
from dlq_console import NewEvent
from dlq_console.clock import monotonic
from dlq_console.store.migrate import upgrade
from tests.services.postgres import PostgresServer
from tests.services.process import Child, wait_until
from tests.workers.table import Table

PORTIONS = 10
ACCOUNTS = 8
#: One of so many events ends as a dead letter.
DEAD_EVERY = 50
#: Events per second below which something else is wrong.
SLOWEST = 20
#: What must not be reached, in per cent.
GROWTH = 5


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


def run(table: Table, first: int, events: int) -> None:
    """Put a portion in, wait until all of it has ended, and forget it."""
    table.hub.enqueue_many(
        NewEvent(
            kind="exits" if number % DEAD_EVERY == 0 else "noop",
            account=f"filial-{number % ACCOUNTS}",
            entity_id=str(number),
            payload={"folder": str(table.folder)},
        )
        for number in range(first, first + events)
    )
    ended = "SELECT count(*) FROM {event} WHERE status IN ('done', 'dead')"
    wait_until(lambda: table.value(ended) == events, events / SLOWEST, f"{events} events to end")
    with table.hub.store.write() as connection:
        for rows in (table.hub.store.tables.event, table.hub.store.tables.attempt):
            connection.execute(rows.delete())
    # The notes of the handlers are no part of the worker.
    for note in table.folder.iterdir():
        note.unlink()


def soak(report: Report, name: str, url: str, events: int) -> None:
    """Measure one engine."""
    report.heading(f"{name}, {events:,} events; {load()}")
    upgrade(url)
    with _started() as (folder, start):
        table = Table(url, folder, start)
        worker = table.start_worker("--slots", "4")
        portion = events // PORTIONS
        sizes = []
        began = monotonic()
        for number in range(PORTIONS):
            run(table, number * portion, portion)
            sizes.append(size(worker))
            report.note(f"after {(number + 1) * portion:,} events: {sizes[-1]}")
        report.note(f"{events / (monotonic() - began):,.0f} events per second, all in all")
        table.hub.close()
    first, last = sizes[0], sizes[-1]
    report.under("growth of memory", 100 * (last.megabytes / first.megabytes - 1), "%", GROWTH)
    report.at_most("more open files", last.files - first.files, "files", 0)
    report.at_most("more threads", last.threads - first.threads, "threads", 0)


@contextmanager
def _started() -> Iterator[tuple[Path, _Start]]:
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
    events = 100_000 if arguments(__doc__).full else 20_000
    report = Report()
    with PostgresServer() as server, server.database() as url:
        soak(report, "PostgreSQL", url, events)
    with tempfile.TemporaryDirectory(prefix="dlq-soak-") as folder:
        soak(report, "SQLite", f"sqlite:///{folder}/events.db", events)
    return report.status


if __name__ == "__main__":
    sys.exit(main())
