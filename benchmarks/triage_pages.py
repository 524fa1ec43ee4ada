"""How long does the server take for the pages of triage with millions of events and hundreds of thousands of dead ones?

`--events N` says how many events there are on PostgreSQL (default 200,000, with `--full` 10,000,000); 3 of 100 are dead, a
hundred per cause and 3,000 causes at most. SQLite gets a tenth of them. Then a twentieth of all rows is updated while vacuum is
off. Each page is opened again and again with other values through the application itself, in this process and without a
network; what is measured is the whole answer of the server.
"""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlencode

from flask.testing import FlaskClient

from benchmarks.report import Report, argument_parser, load, percentile
from benchmarks.triage_rows import ACCOUNTS, KINDS, PEOPLE, Size, fill, sample_of, update_without_vacuum
from dlq_console.app import create_app
from dlq_console.runtime import Hub
from dlq_console.settings import Settings
from dlq_console.store import people
from dlq_console.store.filters import EventFilter
from tests.services.postgres import PostgresServer

NAME, PASSWORD = "benchmark", "only-for-this-benchmark"
P95_MS, MAX_MS = 50, 100
#: How often each page is opened.
TIMES = 40
EVENTS, FULL_EVENTS = 200_000, 10_000_000
#: Nobody cleans up behind the updates.
NO_VACUUM = {"autovacuum": "off", "shared_buffers": "1GB", "max_wal_size": "8GB"}

Sample = list[tuple[int, str, str, str]]


@dataclass(frozen=True, slots=True)
class Asked:
    """One kind of page: its name, and an address of it with other values each time."""

    name: str
    address: Callable[[random.Random], str]


def dead(**parameters: str) -> str:
    """The address of the dead letters that match."""
    return f"/dead-letters?{urlencode(parameters)}"


def pages(sample: Sample) -> list[Asked]:
    """What people open all day."""

    def of_event(address: Callable[[tuple[int, str, str, str]], str]) -> Callable[[random.Random], str]:
        return lambda chance: address(chance.choice(sample))

    def account(chance: random.Random) -> str:
        return f"filial-{chance.randrange(ACCOUNTS)}"

    return [
        Asked("list", lambda _: "/dead-letters"),
        Asked("list, oldest first", lambda _: dead(sort="oldest")),
        Asked("all events", lambda _: "/events"),
        Asked("kind and account", lambda chance: dead(kind=chance.choice(KINDS), account=account(chance))),
        Asked("reason", lambda chance: dead(reason=chance.choice(("auth", "exhausted")))),
        Asked("class", lambda _: dead(**{"class": "transient"})),
        Asked("group", of_event(lambda one: dead(group=one[3]))),
        Asked("entity", of_event(lambda one: dead(entity=one[2]))),
        Asked("since", lambda _: dead(since="4h")),
        Asked("assignee", lambda chance: dead(assignee=chance.choice(PEOPLE))),
        Asked("nobody has it", lambda _: dead(assignee="-")),
        Asked("tag", lambda chance: dead(tag=f"tag-{chance.randrange(20)}")),
        Asked("attempts", lambda _: dead(attempts="7+")),
        Asked("configured field", of_event(lambda one: dead(**{"payload.number": f"N-{one[0]}"}))),
        Asked(
            "any field", lambda chance: dead(**{"payload.customer_code": str(1000 + chance.randrange(9000))})
        ),
        Asked("text, frequent", lambda _: dead(q="registered")),
        Asked("text, rare", lambda chance: dead(q=f"customer {1000 + chance.randrange(9000)}")),
        Asked("text, nowhere", lambda _: dead(q="zebra crossing")),
        Asked("groups", lambda _: "/groups"),
        Asked("one group", of_event(lambda one: f"/groups/{quote(one[3])}")),
        Asked("event", of_event(lambda one: f"/events/{one[0]}")),
        Asked("search", of_event(lambda one: f"/search?q=N-{one[0]}")),
    ]


def measure(report: Report, client: FlaskClient, asked: Asked) -> None:
    """Open one kind of page many times."""
    chance = random.Random(asked.name)

    def open_one() -> None:
        address = asked.address(chance)
        answer = client.get(address)
        assert answer.status_code in (200, 303), (address, answer.status_code)

    tell(report, asked.name, open_one)


def measure_preview(report: Report, hub: Hub) -> None:
    """What a bulk run of a whole account would mean."""
    chance = random.Random("preview")

    def preview() -> None:
        flt = EventFilter(account=(f"filial-{chance.randrange(ACCOUNTS)}",))
        hub.bulk.preview("reprocess", flt, actor=NAME)

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
    """Fill a database and open every page in front of it."""
    hub = Hub(Settings(database_url=url, secret_key="only-for-this-benchmark-" + 16 * "0"))
    hub.migrate()
    took = fill(hub.store, size)
    update_without_vacuum(hub.store, size)
    report.heading(
        f"triage_pages on {engine}: {size.events:,} events, {size.dead:,} dead in {size.groups:,} groups, "
        f"{size.updates:,} updates; filled in {took:.0f} s; {load()}"
    )
    client = create_app(hub).test_client()
    person = people.add_user(hub.store, NAME, PASSWORD, role="operator")
    with client.session_transaction() as session:
        session["token"] = people.open_session(hub.store, person)
    sample = sample_of(hub.store, 2_000)
    for asked in pages(sample):
        measure(report, client, asked)
    measure_preview(report, hub)
    hub.close()


def main() -> int:
    """Measure, print, and say by the exit status whether every bar was reached."""
    parser = argument_parser(__doc__)
    parser.add_argument("--events", type=int, help="how many events on PostgreSQL")
    options = parser.parse_args()
    events = options.events or (FULL_EVENTS if options.full else EVENTS)
    report = Report()
    with PostgresServer(NO_VACUUM) as server:
        on(report, "PostgreSQL", server.create_database("triage"), Size(events))
    with tempfile.TemporaryDirectory(prefix="dlq-benchmark-") as folder:
        on(report, "SQLite", f"sqlite:///{Path(folder) / 'triage.db'}", Size(max(10_000, events // 10)))
    return report.status


if __name__ == "__main__":
    sys.exit(main())
