"""How fast is a bulk run, and who feels it?

Dead letters among many events on PostgreSQL with fsync on. A process of its own runs the periodic steps, as
`dlq-console scheduler` does; another one puts 200 events a second of other accounts in, claims and completes them; the
console answers eight people who each open a page of dead letters a second. Nothing limits the run: its window is as large
as its selection, and no worker serves its accounts, so that what is measured is the run itself.

Compared with: one UPDATE of as many dead rows that does nothing else, sent by the driver alone, before all that.
"""

from __future__ import annotations

import multiprocessing
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Event

from benchmarks.dead_letters_page import NAME, PASSWORD, Client, Seen, ask_for, console
from benchmarks.report import Report, argument_parser, load, milliseconds, percentile
from benchmarks.rows import Group, fill
from dlq_console.clock import monotonic
from dlq_console.hub.bulk import BulkRun
from dlq_console.runtime import Hub
from dlq_console.settings import read_settings
from dlq_console.store import claims, ingest, people, presence, transitions
from dlq_console.store.events import read_time
from dlq_console.store.filters import EventFilter
from dlq_console.store.store import Store
from tests.services.postgres import DURABLE, PostgresServer
from tests.services.process import Child

#: Events of the live line per second.
LIVE_RATE = 200
ACCEPTED_MS, FROZEN_S, RELEASED_RATE, PAUSED_S, CLAIM_MS, PAGE_MS = 300, 10, 3_000, 1, 250, 100
#: Seconds that anything may take before the benchmark gives up.
PATIENCE = 900

_context = multiprocessing.get_context("spawn")


@contextmanager
def live_line(url: str, took: list[float]) -> Iterator[None]:
    """A process with a line of its own inside the block; afterwards the list holds the seconds of each claim."""
    stop = _context.Event()
    ours, theirs = _context.Pipe(duplex=False)
    process = _context.Process(target=_live, args=(url, stop, theirs), daemon=True)
    process.start()
    theirs.close()
    try:
        yield
    finally:
        stop.set()
        took.extend(ours.recv())
        process.join()


def _live(url: str, stop: Event, answer: Connection) -> None:
    store = Store(url)
    worker = presence.new_worker_id()
    presence.announce(store, worker, mode="table", slots=8, accounts=["live"])
    took = []
    began, number = monotonic(), 0
    while not stop.wait(max(0.0, began + number / LIVE_RATE - monotonic())):
        number += 1
        new = ingest.intention(kind="order.create", account="live", entity_id=f"{began}-{number}", payload={})
        with store.write() as connection:
            ingest.insert_one(store, connection, new)
        asked = time.perf_counter()
        events = claims.claim_any(store, worker=worker, limit=1, only=["live"])
        took.append(time.perf_counter() - asked)
        for event in events:
            transitions.end(store, event, transitions.completed(None))
    answer.send(took)


@contextmanager
def visited(url: str, seen: list[Seen]) -> Iterator[None]:
    """People who open pages inside the block; afterwards the list holds what they saw."""
    stop = threading.Event()
    with console(url) as port:
        cookie = Client(port).log_in()
        ask_for(port, cookie, 2.0, 0.0)  # warm

        def visit() -> None:
            while not stop.is_set():
                seen.extend(ask_for(port, cookie, 1.0, 1.0))

        thread = threading.Thread(target=visit)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()


def measure(report: Report, url: str, events: int, dead: int, items: int) -> None:
    """Fill a database, begin a run, watch it."""
    hub = Hub(read_settings(database_url=url, secret_key="only-for-this-benchmark-" + 16 * "0"))
    hub.migrate()
    began = monotonic()
    fill(hub.store, Group(count=events - dead, status="done"), Group(count=dead, status="dead"))
    people.add_user(hub.store, NAME, PASSWORD, role="operator")
    report.heading(
        f"bulk: {items:,} of {dead:,} dead of {events:,}; filled in {monotonic() - began:.0f} s; {load()}"
    )
    beside = f"one bare UPDATE: {bare_update(hub.store, items):,.0f}/s"
    settings = {"DLQ_DATABASE_URL": url}
    scheduler = Child([sys.executable, "-m", "dlq_console", "scheduler"], env=settings)
    seen: list[Seen] = []
    live: list[float] = []
    with scheduler, visited(url, seen), live_line(url, live):
        run, released, paused = watch(report, hub, oldest(hub.store, items))
    assert run.total == items, run
    report.at_least("let go", released, "items/s", RELEASED_RATE, beside)
    report.under("the pause took effect after", paused, "s", PAUSED_S)
    report.under("slowest live claim meanwhile", 1000 * max(live), "ms", CLAIM_MS)
    report.note(f"live claims: {milliseconds(live)}")
    server = [one.server for one in seen]
    slowest = f"the slowest of {len(server):,}: {1000 * max(server):,.1f} ms"
    report.under("server time of pages meanwhile, p95", 1000 * percentile(server, 95), "ms", PAGE_MS, slowest)
    report.note(f"pages: {milliseconds(server)}")
    hub.close()


def watch(report: Report, hub: Hub, flt: EventFilter) -> tuple[BulkRun, float, float]:
    """Begin a run and pause it half way; returns it, items let go per second, and seconds until the pause held."""
    began = monotonic()
    preview = hub.bulk.preview("reprocess", flt, actor="benchmark")
    report.note(f"preview in {1000 * (monotonic() - began):.0f} ms")
    began = monotonic()
    run_id = hub.bulk.start(
        "reprocess", flt, actor="benchmark", note="benchmark", window=100_000, selection_token=preview.selection_token
    )  # fmt: skip
    report.under("accepted", 1000 * (monotonic() - began), "ms", ACCEPTED_MS)
    run = until(hub, run_id, lambda run: run.frozen_at is not None)
    report.under("frozen", (run.now - run.created_at).total_seconds(), "s", FROZEN_S)
    began = monotonic()
    run = until(hub, run_id, lambda run: run.released >= run.total / 2)
    asked = monotonic()
    at_pause = hub.bulk.pause(run_id, actor="benchmark").released
    paused = monotonic() - asked
    took = asked - began
    time.sleep(PAUSED_S)
    assert hub.bulk.get(run_id).released == at_pause, "the pause did not hold"
    began = monotonic()
    hub.bulk.resume(run_id, actor="benchmark")
    run = until(hub, run_id, lambda run: run.remaining == 0)
    return run, run.total / (took + monotonic() - began), paused


def until(hub: Hub, run_id: int, reached: Callable[[BulkRun], bool]) -> BulkRun:
    """Look at a run every 50 ms until it has come so far."""
    end = monotonic() + PATIENCE
    while not reached(run := hub.bulk.get(run_id)) and monotonic() < end:
        time.sleep(0.05)
    if reached(run):
        return run
    raise TimeoutError(f"the run got no further than {run}")


def oldest(store: Store, items: int) -> EventFilter:
    """The filter of the oldest so many dead events."""
    statement = (
        "SELECT finished_at FROM {event} WHERE status = 'dead' ORDER BY finished_at, id LIMIT 1 OFFSET :n"
    )
    with store.read() as connection:
        end = connection.execute(store.statement(statement), {"n": items}).scalar()
    return EventFilter(to=read_time(end))


def bare_update(store: Store, items: int) -> float:
    """Rows per second of an UPDATE that changes as many dead rows, and is taken back."""
    update = store.statement(
        "UPDATE {event} SET status = 'pending', cycle = cycle + 1, finished_at = NULL WHERE id IN ("
        "SELECT id FROM {event} WHERE status = 'dead' ORDER BY finished_at DESC, id DESC LIMIT :items)"
    )
    with store.engines.write().connect() as connection:
        transaction = connection.begin()
        began = monotonic()
        changed = connection.execute(update, {"items": min(items, 10_000)}).rowcount
        took = monotonic() - began
        transaction.rollback()
    return changed / took


def main() -> int:
    """Measure, print, and say by the exit status whether every bar was reached."""
    parser = argument_parser(__doc__)
    parser.add_argument("--events", type=int, help="in the table; 1,000,000, and 10,000,000 with --full")
    parser.add_argument("--dead", type=int, help="of them; 150,000, and 300,000 with --full")
    parser.add_argument("--items", type=int, default=100_000, help="of which the run consists")
    options = parser.parse_args()
    events = options.events or (10_000_000 if options.full else 1_000_000)
    dead = options.dead or (300_000 if options.full else 150_000)
    report = Report()
    with PostgresServer(DURABLE) as server:
        measure(report, server.create_database("bulk"), events, dead, options.items)
    return report.status


if __name__ == "__main__":
    sys.exit(main())
