"""Can a thousand people leave the health page open, each asking every 5 s, on two cores?

The console runs as `dlq-console serve` runs it: gunicorn with two processes, on PostgreSQL and on SQLite. A thousand
accounts; every 2 s a step keeps a new state in which ten accounts have changed, as a busy installation would. A thousand
viewers, each a person with a session and a connection of their own, ask for the live part of the page every 5 s (by up to
15 percent more or less) and send the ETag that they got last, as browsers do. Everything shares the machine.

Beside it: the page itself, in a closed loop of one client, and the same viewers asking `/healthz`, which does nothing.
"""

from __future__ import annotations

import asyncio
import random
import re
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from flask import Flask
from flask.sessions import SecureCookieSessionInterface

from benchmarks.dead_letters_page import Client
from benchmarks.report import Report, argument_parser, load, milliseconds, percentile
from dlq_console.clock import monotonic, utc_now
from dlq_console.health import spelling
from dlq_console.health.values import AccountHealth, Counts, Flow, Health, Why, Word
from dlq_console.store import people, snapshots
from dlq_console.store.migrate import upgrade
from dlq_console.store.store import Store
from tests.services.postgres import DURABLE, PostgresServer
from tests.services.process import Child, free_port

ACCOUNTS, CHANGING, PROCESSES = 1_000, 10, 2
#: Seconds between two polls of a viewer, and two states.
EVERY, STATE_EVERY = 5.0, 2.0
JITTER = 0.15
P99_MS, PAGE_P95_MS, CPU_GOAL = 100, 30, 60
SECRET = "only-for-this-benchmark-" + 16 * "0"
_STATEMENTS, _TIMING = re.compile(rb"X-Statements: (\d+)"), re.compile(r"app;dur=([0-9.]+)")


@dataclass
class Heard:
    """What all viewers met: seconds of each answer, how many of each status, failures, statements that answers cost."""

    took: list[float] = field(default_factory=list)
    status: Counter[int] = field(default_factory=Counter)
    failed: int = 0
    statements: int = 0


async def view(port: int, path: str, cookie: str, until: float, heard: Heard, chance: random.Random) -> None:
    """One viewer: asks, waits, asks again over the same connection."""
    await asyncio.sleep(chance.uniform(0, EVERY))
    reader, writer, tag, known = None, None, "", False
    while monotonic() < until:
        began = monotonic()
        try:
            if writer is None or reader is None:
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
            lines = [f"GET {path} HTTP/1.1", "Host: 127.0.0.1", "HX-Request: true", "Accept-Language: pt-BR"]
            lines += [f"Cookie: dlq_console={cookie}"] + ([f"If-None-Match: {tag}"] if tag else [])
            writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 10)
            length = re.search(rb"[Cc]ontent-[Ll]ength: (\d+)", head)
            if length:
                await asyncio.wait_for(reader.readexactly(int(length[1])), 10)
            status = int(head.split(b" ", 2)[1])
            heard.took.append(monotonic() - began)
            heard.status[status] += 1
            heard.failed += status not in (200, 304)
            # The first poll of a session is looked up by itself, wherever its connection has come to.
            if known and (found := _STATEMENTS.search(head)):
                heard.statements += int(found[1])
            known = True
            tag = found[1].decode() if (found := re.search(rb'ETag: ("[^"]+")', head)) else ""
            if b"connection: close" in head.lower():
                writer.close()
                reader = writer = None
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            heard.failed += 1
            reader = writer = None
        rest = EVERY * chance.uniform(1 - JITTER, 1 + JITTER) - (monotonic() - began)
        await asyncio.sleep(max(0.0, rest))
    if writer is not None:
        writer.close()


async def all_view(port: int, path: str, cookies: list[str], seconds: float) -> Heard:
    """Every viewer at once, for some seconds."""
    heard, until = Heard(), monotonic() + seconds
    await asyncio.gather(
        *(
            view(port, path, cookie, until, heard, random.Random(number))
            for number, cookie in enumerate(cookies)
        )
    )
    return heard


def cookies_of(store: Store, number: int) -> list[str]:
    """A person with a session each, as the log-in form opens it."""
    app = Flask("viewers")
    app.secret_key = SECRET
    signer = SecureCookieSessionInterface().get_signing_serializer(app)
    assert signer is not None
    # One password is hashed, not a thousand: nobody logs in with it.
    somebody = people.add_user(store, "viewer", "only-for-this-benchmark", role="viewer")
    return [str(signer.dumps({"token": people.open_session(store, somebody)})) for _ in range(number)]


def state(turn: int) -> Health:
    """A thousand accounts; ten of them stand a little otherwise with every turn."""
    now = utc_now()
    calm = utc_now().replace(hour=0, minute=0, second=0, microsecond=0)
    accounts = []
    for number in range(ACCOUNTS):
        one = AccountHealth(
            account=f"filial-{number:04}",
            word=Word.OK,
            since=calm,
            why=Why.FINE,
            slots=4,
            flow=Flow(minutes=5),
        )
        if number % (ACCOUNTS // CHANGING) == 0:
            counts = Counts(due=turn % 50 + 1, running=2, dead=number % 7, oldest_due_at=now)
            one = replace(one, word=Word.DEGRADED, why=Why.DEAD_LETTERS, counts=counts)
        accounts.append(one)
    return Health(as_of=now, accounts=tuple(accounts))


@contextmanager
def steps(store: Store) -> Iterator[None]:
    """A new state every two seconds inside the block."""
    stop = threading.Event()

    def keep() -> None:
        turn = 0
        while True:
            snapshots.keep(store, spelling.ACCOUNTS, spelling.account_values(state(turn)))
            snapshots.keep(store, spelling.WORKERS, {})
            turn += 1
            if stop.wait(STATE_EVERY):
                return

    snapshots.keep(store, spelling.ACCOUNTS, spelling.account_values(state(0)))
    thread = threading.Thread(target=keep, daemon=True)
    thread.start()
    yield
    stop.set()
    thread.join()


def processor_time(parent: int) -> float:
    """Seconds that the children of a process have computed so far."""
    total = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            total += int(fields[11]) + int(fields[12])
    return total / 100


def measure(report: Report, engine: str, url: str, *, viewers: int, seconds: float) -> None:
    """Put the console in front of a database and let everybody look."""
    upgrade(url)
    store = Store(url)
    report.heading(f"health_viewers on {engine}: {viewers} viewers, {ACCOUNTS} accounts; {load()}")
    cookies = cookies_of(store, viewers)
    port = free_port()
    program = [sys.executable, "-m", "benchmarks.timed_console", f"127.0.0.1:{port}", str(PROCESSES)]
    with Child(program, env={"DLQ_DATABASE_URL": url, "DLQ_SECRET_KEY": SECRET}) as server, steps(store):
        server.wait_for_line("Listening at")
        asyncio.run(all_view(port, "/_f/health", cookies, EVERY * 2))  # warm: everybody has asked once
        before, began = processor_time(server.pid), monotonic()
        heard = asyncio.run(all_view(port, "/_f/health", cookies, seconds))
        spent, lasted = processor_time(server.pid) - before, monotonic() - began
        bare = asyncio.run(all_view(port, "/healthz", cookies, min(seconds, 15.0)))
        pages = pages_of(port, cookies[0])
    store.engines.dispose()
    report.at_most("polls that failed", heard.failed, "", 0)
    report.under(
        "a poll, seen by the viewer, p99", 1_000 * percentile(heard.took, 99), "ms", P99_MS,
        f"/healthz: {1_000 * percentile(bare.took, 99):.1f} ms",
    )  # fmt: skip
    report.at_most("statements per second for all of them", heard.statements / lasted, "", 4.0 * PROCESSES)
    report.under("the page itself, server time p95", 1_000 * percentile(pages, 95), "ms", PAGE_P95_MS)
    cpu = 100 * spent / lasted
    report.note(f"web processes together: {cpu:.0f} % of one core (goal: under {CPU_GOAL} %)")
    report.note(f"{len(heard.took) / lasted:.0f} polls/s, {milliseconds(heard.took)}; {dict(heard.status)}")


def pages_of(port: int, cookie: str) -> list[float]:
    """Server time of the whole page, one after the other."""
    client, took = Client(port, f"dlq_console={cookie}"), []
    for _ in range(100):
        answer, text = client.ask("GET", "/health")
        assert answer.status == 200, text
        timing = _TIMING.search(answer.headers["Server-Timing"])
        assert timing
        took.append(float(timing[1]) / 1_000)
        time.sleep(0.05)
    return took


def main() -> int:
    """Measure, print, and say by the exit status whether every bar was reached."""
    parser = argument_parser(__doc__)
    parser.add_argument("--viewers", type=int, default=1_000)
    options = parser.parse_args()
    report = Report()
    seconds = 120.0 if options.full else 30.0
    with PostgresServer(DURABLE) as server:
        url = server.create_database("viewers")
        measure(report, "PostgreSQL, fsync on", url, viewers=options.viewers, seconds=seconds)
    with tempfile.TemporaryDirectory(prefix="dlq-benchmark-") as folder:
        url = f"sqlite:///{Path(folder) / 'viewers.db'}"
        measure(report, "SQLite", url, viewers=options.viewers, seconds=seconds)
    return report.status


if __name__ == "__main__":
    sys.exit(main())
