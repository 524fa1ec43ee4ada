"""How long does the server take for a page of dead letters at a million events?

1,000,000 events of which 30,000 are dead; the page is filtered by kind and account and shows 50 rows. The console runs
as `dlq-console serve` runs it: gunicorn with two processes. Eight clients ask, each over one connection kept open, for
pages of a random kind and account: first paced (each opens a page a second on average, at random moments; the bar holds
for this), then in a closed loop (the next page as soon as the last one has come, which shows what the machine can
deliver). Meanwhile a worker claims and completes 200 no-op events a second on the same database.

Server time is measured inside the process: from the moment the request was read until the whole answer was built,
waiting for the other threads and processes of the machine included. On both engines.

Compared with: the bare time of the same statements, sent by the driver alone while nobody else asks.
"""

from __future__ import annotations

import random
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from sqlalchemy import event

from benchmarks.busy import busy_worker
from benchmarks.report import Report, arguments, load, milliseconds, percentile
from benchmarks.rows import ACCOUNTS, KINDS, Group, fill
from dlq_console.clock import monotonic
from dlq_console.store import people, queries
from dlq_console.store.filters import EventFilter
from dlq_console.store.migrate import upgrade
from dlq_console.store.store import Store
from tests.services.postgres import DURABLE, PostgresServer
from tests.services.process import Child, free_port

CLIENTS = 8
PROCESSES = 2
DEAD, WAITING, ALL = 30_000, 70_000, 1_000_000
BAR_MS = 25
STATEMENTS = 4
#: Seconds between two pages of one paced client, on average.
PACE = 1.0
NAME, PASSWORD = "benchmark", "only-for-this-benchmark"
_DURATION = re.compile(r"(app|cpu);dur=([0-9.]+)")
_TOKEN = re.compile(r'name="csrf_token" value="([^"]+)"')


@dataclass(frozen=True, slots=True)
class Seen:
    """What one page cost, in seconds: inside the server, of that computing, and for the client."""

    server: float
    computing: float
    client: float
    statements: int


class Client:
    """One browser: a connection kept open and a cookie."""

    def __init__(self, port: int, cookie: str = "") -> None:
        self._connection = HTTPConnection("127.0.0.1", port, timeout=60)
        self.cookie = cookie

    def ask(self, method: str, path: str, body: str = "") -> tuple[HTTPResponse, str]:
        """Send a request and read the whole answer."""
        headers = {"Cookie": self.cookie} if self.cookie else {}
        if body:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        self._connection.request(method, path, body, headers)
        answer = self._connection.getresponse()
        text = answer.read().decode()
        if given := answer.headers["Set-Cookie"]:
            self.cookie = given.split(";")[0]
        return answer, text

    def log_in(self) -> str:
        """Log in as a person does; returns the cookie."""
        _, form = self.ask("GET", "/login")
        token = _TOKEN.search(form)
        assert token, form
        fields = {"csrf_token": token[1], "name": NAME, "password": PASSWORD}
        answer, text = self.ask("POST", "/login", urlencode(fields))
        assert answer.status == 303, text
        return self.cookie

    def page(self) -> Seen:
        """Open the dead letters of a random kind and account."""
        chosen = {"kind": random.choice(KINDS), "account": f"filial-{random.randrange(ACCOUNTS)}"}
        began = time.perf_counter()
        answer, text = self.ask("GET", f"/dead-letters?{urlencode(chosen)}")
        took = time.perf_counter() - began
        assert answer.status == 200, text
        assert text.count('<tr id="row-') == 50, "a page of 50 rows was expected"
        spent = {
            name: float(value) / 1000 for name, value in _DURATION.findall(answer.headers["Server-Timing"])
        }
        return Seen(spent["app"], spent["cpu"], took, int(answer.headers["X-Statements"]))


@contextmanager
def console(url: str) -> Iterator[int]:
    """The console on a free port, warm."""
    port = free_port()
    arguments = [sys.executable, "-m", "benchmarks.timed_console", f"127.0.0.1:{port}", str(PROCESSES)]
    settings = {"DLQ_DATABASE_URL": url, "DLQ_SECRET_KEY": "only-for-this-benchmark-" + 16 * "0"}
    with Child(arguments, env=settings) as server:
        server.wait_for_line("Listening at")
        yield port


def ask_for(port: int, cookie: str, seconds: float, pace: float) -> list[Seen]:
    """Eight clients for some seconds; `pace` is the mean time between two pages of one of them, 0 for a closed loop."""

    def visit(number: int) -> list[Seen]:
        client, seen, chance = Client(port, cookie), [], random.Random(number)
        due = monotonic() + chance.uniform(0, pace)
        until = monotonic() + seconds
        while (now := monotonic()) < until:
            time.sleep(max(0.0, due - now))
            seen.append(client.page())
            # As with people: late answers do not move the next question.
            due += chance.uniform(0, 2 * pace)
        return seen

    with ThreadPoolExecutor(CLIENTS) as pool:
        return [one for seen in pool.map(visit, range(CLIENTS)) for one in seen]


def measure(report: Report, engine: str, url: str, seconds: float) -> None:
    """Fill a database, put the console in front of it, and ask."""
    upgrade(url)
    store = Store(url)
    began = monotonic()
    done = Group(count=ALL - DEAD - WAITING, status="done")
    fill(store, done, Group(count=DEAD, status="dead"), Group(count=WAITING, status="pending"))
    report.heading(f"dead_letters_page on {engine}; filled in {monotonic() - began:.0f} s; {load()}")
    people.add_user(store, NAME, PASSWORD, role="operator")
    bare, number = bare_statements(store)
    store.engines.dispose()
    with console(url) as port:
        cookie = Client(port).log_in()
        ask_for(port, cookie, 2.0, 0.0)  # warm: templates compiled, statements prepared
        with busy_worker(url) as rate:
            paced = ask_for(port, cookie, seconds, PACE)
            closed = ask_for(port, cookie, seconds, 0.0)
    beside = f"its {number} statements bare: {bare * 1000:.1f} ms"
    report.under(
        f"server time p95, {CLIENTS} clients, each a page every {PACE:g} s on average",
        1000 * percentile([one.server for one in paced], 95), "ms", BAR_MS, beside,
    )  # fmt: skip
    tell(report, paced, seconds)
    report.note("the same in a closed loop:")
    tell(report, closed, seconds)
    report.at_most("statements per page", max(one.statements for one in paced + closed), "", STATEMENTS)
    report.note(f"the worker completed {rate[0]:,.0f} events/s meanwhile")


def tell(report: Report, seen: list[Seen], seconds: float) -> None:
    """Where the time of these pages went."""
    report.note(
        f"{len(seen) / seconds:.0f} pages/s; server time {milliseconds([one.server for one in seen])}"
    )
    report.note(f"of which computing {milliseconds([one.computing for one in seen])}")
    report.note(f"seen by the client {milliseconds([one.client for one in seen])}")


def bare_statements(store: Store) -> tuple[float, int]:
    """Seconds for the statements of the page by the driver alone, and how many they are."""
    sent: list[tuple[str, Any]] = []
    engine = store.engines.read()
    flt = EventFilter(kind=(KINDS[0],), account=("filial-1",))

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        if statement != "BEGIN":
            sent.append((statement, parameters))

    event.listen(engine, "before_cursor_execute", note)
    queries.dead_letters(store, flt)
    event.remove(engine, "before_cursor_execute", note)
    took = []
    pooled = engine.raw_connection()
    cursor = pooled.cursor()
    for _ in range(50):
        began = time.perf_counter()
        for statement, parameters in sent:
            cursor.execute(statement, parameters)
            cursor.fetchall()
        took.append(time.perf_counter() - began)
    pooled.close()
    return statistics.median(took), len(sent)


def main() -> int:
    """Measure, print, and say by the exit status whether every bar was reached."""
    options = arguments(__doc__)
    report = Report()
    seconds = 60.0 if options.full else 20.0
    with PostgresServer(DURABLE) as server:
        measure(report, "PostgreSQL, fsync on", server.create_database("page"), seconds)
    with tempfile.TemporaryDirectory(prefix="dlq-benchmark-") as folder:
        measure(report, "SQLite", f"sqlite:///{Path(folder) / 'page.db'}", seconds)
    return report.status


if __name__ == "__main__":
    sys.exit(main())
