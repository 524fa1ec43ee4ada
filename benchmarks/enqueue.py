"""How many events per second do producers enqueue: one commit each, and many in one transaction?

PostgreSQL with fsync on and otherwise its own defaults, 200,000 finished events in the table. Four producers are four
processes that call `hub.enqueue`, each call a transaction of its own. `enqueue_many` is called by one process with
10,000 orders at a time, each call one transaction. A payload is an order of about 300 bytes of JSON; checking it,
writing it down and making its keys is part of what is measured.

Compared with: the same rows inserted into the same table by bare psycopg, without checks and keys.
"""

from __future__ import annotations

import statistics
import sys
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Any

from psycopg import sql

from benchmarks.bare import bare_connection
from benchmarks.processes import Start, in_processes
from benchmarks.report import Report, arguments, load, milliseconds
from benchmarks.rows import ACCOUNTS, Group, fill
from dlq_console.clock import monotonic
from dlq_console.hub.enqueue import NewEvent
from dlq_console.runtime import Hub
from dlq_console.settings import Settings
from dlq_console.store import ingest
from dlq_console.store.ingest import Intention
from tests.services.postgres import DURABLE, PostgresServer

PRODUCERS = 4
FINISHED = 200_000
#: Events per call of `enqueue_many`.
MANY = 10_000
KIND = "order.create"


@dataclass(frozen=True, slots=True)
class Sent:
    """What one producer did."""

    number: int
    seconds: float
    calls: list[float]


def order(number: int) -> dict[str, Any]:
    """A payload as an ERP integration sends it: about 300 bytes of JSON."""
    return {
        "number": str(number),
        "customer_code": str(1_000 + number % 9_000),
        "customer_name": "Padaria Capivara Azul",
        "issued_on": "2026-03-02",
        "lines": [
            {"sku": "P-0031", "description": "Café torrado 500 g", "quantity": 4, "amount": Decimal("75.60")},
            {"sku": "P-0042", "description": "Estante de aço", "quantity": 1, "amount": Decimal("389.00")},
        ],
        "total": Decimal("464.60"),
    }


def _account(number: int) -> str:
    return f"filial-{number % ACCOUNTS}"


def produce(start: Start, url: str, seconds: float) -> Sent:
    """Enqueue one event after the other, each in its own transaction."""
    hub = Hub(Settings(database_url=url))
    name = hub.worker
    number, took = 0, []
    start()
    began = monotonic()
    while (now := monotonic()) < began + seconds:
        number += 1
        hub.enqueue(KIND, account=_account(number), entity_id=f"{name}-{number}", payload=order(number))
        took.append(monotonic() - now)
    return Sent(number, monotonic() - began, took)


def produce_bare(start: Start, url: str, seconds: float) -> Sent:
    """Insert rows that were made ready before, one commit each, by bare psycopg."""
    hub = Hub(Settings(database_url=url))
    connection = bare_connection(hub.store)
    row = _row(_intention(0))
    insert = _insert(row)
    number, took = 0, []
    start()
    began = monotonic()
    while (now := monotonic()) < began + seconds:
        number += 1
        key = f"{hub.worker}-{number}"
        connection.execute(insert, row | {"idempotency_key": key, "entity_id": key})
        took.append(monotonic() - now)
    return Sent(number, monotonic() - began, took)


def _intention(number: int, prefix: str = "") -> Intention:
    return ingest.intention(
        kind=KIND, account=_account(number), entity_id=f"{prefix}{number}", payload=order(number)
    )


def _row(new: Intention) -> dict[str, Any]:
    words = {field.name for field in fields(new)} - {"run_at", "max_wait", "sent"}
    return {name: getattr(new, name) for name in words}


def _insert(row: dict[str, Any]) -> sql.Composed:
    template = """
        INSERT INTO dlq_event ({}, status, due_at, next_run_at, created_at, updated_at)
        VALUES ({}, 'pending', now(), now(), now(), now())
        ON CONFLICT (idempotency_key) DO NOTHING
    """
    names = sql.SQL(", ").join(map(sql.Identifier, row))
    return sql.SQL(template).format(names, sql.SQL(", ").join(map(sql.Placeholder, row)))


def one_by_one(report: Report, url: str, seconds: float) -> None:
    """Four producers, one commit per event."""
    bare = in_processes(PRODUCERS, produce_bare, url, seconds)
    sent = in_processes(PRODUCERS, produce, url, seconds)
    report.at_least(
        f"enqueue, {PRODUCERS} producers, a commit each", _rate(sent), "events/s", 1_000,
        f"bare INSERT: {_rate(bare):,.0f}",
    )  # fmt: skip
    report.note(f"one call: {milliseconds([one for each in sent for one in each.calls])}")


def many(report: Report, url: str, calls: int) -> None:
    """One producer, many events per transaction."""
    hub = Hub(Settings(database_url=url))
    rates, bare = [], []
    for call in range(calls):
        numbers = range(call * MANY, (call + 1) * MANY)
        bare.append(_insert_many_bare(hub, [_intention(number, "bare-") for number in numbers]))
        events = [
            NewEvent(kind=KIND, account=_account(n), entity_id=f"many-{n}", payload=order(n)) for n in numbers
        ]
        began = monotonic()
        made = hub.enqueue_many(events)
        rates.append(MANY / (monotonic() - began))
        assert all(each.created for each in made)
    report.at_least(
        f"enqueue_many, {MANY:,} events a call", statistics.median(rates), "events/s", 10_000,
        f"bare INSERT, many at a time: {statistics.median(bare):,.0f}",
    )  # fmt: skip
    hub.close()


def _insert_many_bare(hub: Hub, news: list[Intention]) -> float:
    rows = [_row(new) for new in news]
    with bare_connection(hub.store) as connection, connection.transaction(), connection.cursor() as cursor:
        began = monotonic()
        cursor.executemany(_insert(rows[0]), rows)
    return len(rows) / (monotonic() - began)


def _rate(sent: list[Sent]) -> float:
    return sum(each.number for each in sent) / statistics.mean(each.seconds for each in sent)


def main() -> int:
    """Measure, print, and say by the exit status whether every bar was reached."""
    options = arguments(__doc__)
    report = Report()
    with PostgresServer(DURABLE) as server:
        report.heading(f"enqueue: PostgreSQL, fsync on; {load()}")
        url = server.create_database("enqueue")
        hub = Hub(Settings(database_url=url))
        hub.migrate()
        fill(hub.store, Group(count=FINISHED, status="done"))
        hub.close()
        one_by_one(report, url, 20.0 if options.full else 6.0)
        many(report, url, 20 if options.full else 5)
    return report.status


if __name__ == "__main__":
    sys.exit(main())
