"""How long does the server take for the pages of triage with millions of events and hundreds of thousands of dead ones?

`--events N` says how many events there are on PostgreSQL (default 200,000, with `--full` 10,000,000); 3 of 100 are dead, a
hundred per cause and 3,000 causes at most. SQLite gets a tenth of them. Then a twentieth of all rows is updated while vacuum is
off. Each page is opened again and again with other values through the application itself, in this process and without a
network; what is measured is the whole answer of the server. `--kept URL` measures in a database of its own that stays: filled
when it is empty, else taken as it is.
"""

from __future__ import annotations

import gc
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from benchmarks.report import Report, argument_parser, load, percentile
from benchmarks.triage_addresses import Asked, pages, restricted
from benchmarks.triage_rows import ACCOUNTS, Size, fill, sample_of, update_without_vacuum
from dlq_console.app import create_app
from dlq_console.clock import utc_now
from dlq_console.runtime import Hub
from dlq_console.settings import Settings
from dlq_console.store import people, rollups, views
from dlq_console.store.filters import EventFilter
from dlq_console.store.store import Store
from dlq_console.web import health_seen
from tests.services.postgres import PostgresServer
from tests.services.process import Child
from tests.web.visitor import Visitor

PASSWORD = "only-for-this-benchmark"
P95_MS, MAX_MS = 50, 100
#: How often each page is opened.
TIMES = 40
#: For the steps to have looked at everything once.
STEPS_SECONDS = 120
EVENTS, FULL_EVENTS = 200_000, 10_000_000
#: A quarter of the memory of the machine, as PostgreSQL's documentation advises, in megabytes.
BUFFERS = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4_000_000
#: Nobody cleans up behind the updates.
NO_VACUUM = {"autovacuum": "off", "shared_buffers": f"{BUFFERS}MB", "max_wal_size": "8GB"}


def measure(report: Report, visitor: Visitor, asked: Asked) -> None:
    """Open one kind of page many times."""
    chance = random.Random(asked.name)

    def open_one() -> None:
        address = asked.address(chance)
        answer = visitor.post(address, **asked.form(chance)) if asked.form else visitor.get(address)
        assert answer.status_code in (200, 303), (address, answer.status_code)

    tell(report, asked.name, open_one)


def measure_preview(report: Report, hub: Hub) -> None:
    """What a bulk run of a whole account would mean."""
    chance = random.Random("preview")

    def preview() -> None:
        flt = EventFilter(account=(f"filial-{chance.randrange(ACCOUNTS)}",))
        hub.bulk.preview("reprocess", flt, actor="benchmark")

    tell(report, "bulk preview, without its page", preview)


def tell(report: Report, name: str, act: Callable[[], None]) -> None:
    """Do it many times and say how long it took."""
    # Warm: templates compiled, statements prepared.
    for _ in range(6):
        act()
    took = []
    for _ in range(TIMES):
        began = time.perf_counter()
        act()
        took.append(1000 * (time.perf_counter() - began))
    beside = f"median {statistics.median(took):.1f}, max {max(took):.1f} ms"
    report.under(f"{name}, p95", percentile(took, 95), "ms", P95_MS, beside)
    if max(took) >= MAX_MS:
        report.under(f"{name}, slowest", max(took), "ms", MAX_MS)


def on(report: Report, engine: str, url: str, size: Size) -> None:
    """Fill a database, unless it is filled, and open every page in front of it."""
    hub = Hub(Settings(database_url=url, secret_key="only-for-this-benchmark-" + 16 * "0"))
    hub.migrate()
    sample = sample_of(hub.store, 2_000)
    took = 0.0
    if not sample:
        took = fill(hub.store, size)
        update_without_vacuum(hub.store, size)
        sample = sample_of(hub.store, 2_000)
    report.heading(
        f"triage_pages on {engine}: {size.events:,} events, {size.dead:,} dead in {size.groups:,} groups, "
        f"{size.updates:,} updates; filled in {took:.0f} s; {load()}"
    )
    read_dead_letters(report, hub)
    visitor = entered(hub, "benchmark")
    view = kept_view(hub)
    confined = entered(hub, "confined", ["filial-3", "filial-17"])
    # As `dlq-console serve` does.
    gc.collect()
    gc.freeze()
    with steps(hub, url):
        for asked in pages(sample, visitor, view):
            measure(report, visitor, asked)
        for asked in restricted(sample):
            measure(report, confined, asked)
        measure_preview(report, hub)
    hub.close()


@contextmanager
def steps(hub: Hub, url: str) -> Iterator[None]:
    """The periodic steps in a process of their own, as in production: the overview takes its figures from what they see."""
    # The minutes of the last week, which the steps would make while pages are opened.
    while not is_rolled_up(hub.store):
        rollups.roll_up(hub.store)
    # Nothing is pruned of a database that stays.
    settings = {"DLQ_DATABASE_URL": url, "DLQ_RETENTION_DAYS": "36500"}
    with Child([sys.executable, "-m", "dlq_console", "scheduler"], env=settings) as scheduler:
        scheduler.wait_until(
            lambda: not health_seen.look(hub.store).is_doubtful,
            STEPS_SECONDS,
            "the steps to know what there is",
        )
        yield


def is_rolled_up(store: Store) -> bool:
    """Whether the minutes are made until now."""
    until = rollups.rolled_until(store)
    return until is not None and utc_now() - until < timedelta(minutes=3)


def read_dead_letters(report: Report, hub: Hub) -> None:
    """Read every dead letter once, as after a morning of work: what people look at all day is in memory then."""
    statement = (
        "SELECT count(*) FROM (SELECT last_error FROM {event} WHERE status = 'dead'"
        " ORDER BY account, finished_at, id LIMIT 1000000) AS every"
    )
    began = time.perf_counter()
    with hub.store.read() as connection:
        connection.execute(hub.store.statement(statement)).one()
    report.note(f"every dead letter was read once before, in {time.perf_counter() - began:.1f} s")


def entered(hub: Hub, name: str, accounts: list[str] | None = None) -> Visitor:
    """Somebody with an open session, who may see these accounts or all."""
    person = people.verify_login(hub.store, name, PASSWORD) or people.add_user(
        hub.store, name, PASSWORD, role="editor", accounts=accounts
    )
    visitor = Visitor(create_app(hub))
    with visitor.client.session_transaction() as session:
        session["token"] = people.open_session(hub.store, person)
    visitor.get("/settings/preferences")
    return visitor


def kept_view(hub: Hub) -> int:
    """The id of a view of the first person."""
    person = people.verify_login(hub.store, "benchmark", PASSWORD)
    assert person is not None
    kept = views.listed(hub.store, person)
    return kept[0].id if kept else views.save(hub.store, person, name="auth", filter_="reason=auth").id


def main() -> int:
    """Measure, print, and say by the exit status whether every bar was reached."""
    parser = argument_parser(__doc__)
    parser.add_argument("--events", type=int, help="how many events on PostgreSQL")
    parser.add_argument("--kept", metavar="URL", help="a database that stays, measured alone")
    options = parser.parse_args()
    events = options.events or (FULL_EVENTS if options.full else EVENTS)
    report = Report()
    if options.kept:
        on(report, "a kept database", options.kept, Size(events))
        return report.status
    with PostgresServer(NO_VACUUM) as server:
        on(report, "PostgreSQL", server.create_database("triage"), Size(events))
    with tempfile.TemporaryDirectory(prefix="dlq-benchmark-") as folder:
        on(report, "SQLite", f"sqlite:///{Path(folder) / 'triage.db'}", Size(max(10_000, events // 10)))
    return report.status


if __name__ == "__main__":
    sys.exit(main())
