"""How does a test of the read side get rows in any state? By writing them, because the queries ask only what is there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from itertools import count
from typing import Any

from sqlalchemy import insert

from dlq_console.clock import utc_now
from dlq_console.store.states import ENDED
from dlq_console.store.store import Store

_numbers = count(1)


def fill(store: Store, rows: Iterable[Mapping[str, Any]]) -> list[int]:
    """Write one event per mapping, each a second younger than the one before; returns their ids in that order.

    What a mapping leaves out is that of an order of filial-sp which came in and, where its status says so, ended at
    the same moment.
    """
    rows = list(rows)
    start = utc_now() - timedelta(hours=1)
    values = [_event(row, start + timedelta(seconds=number)) for number, row in enumerate(rows)]
    event = store.tables.event
    statement = insert(event).returning(event.c.id, sort_by_parameter_order=True)
    with store.write() as connection:
        return list(connection.execute(statement, values).scalars())


def dead(store: Store, number: int, **values: Any) -> list[int]:
    """Write `number` dead letters."""
    return fill(store, [{"status": "dead"} | values] * number)


def put(store: Store, table: str, **values: Any) -> None:
    """Write one row of another table."""
    with store.write() as connection:
        connection.execute(insert(getattr(store.tables, table)).values(**values))


def _event(row: Mapping[str, Any], moment: datetime) -> dict[str, Any]:
    moment = row.get("at", moment)
    number = next(_numbers)
    status = row["status"]
    event = {
        "kind": "order.create",
        "account": "filial-sp",
        "entity_id": str(number),
        "idempotency_key": f"key-{number}",
        "payload_hash": "0" * 64,
        "effect_key": f"effect-{number}",
        "reason": "permanent" if status == "dead" else None,
        "last_error": "The customer is not registered." if status == "dead" else None,
        "fingerprint": "a" * 32 if status == "dead" else None,
        "payload": "{}",
        "due_at": moment,
        "next_run_at": moment,
        "created_at": moment,
        "updated_at": moment,
        "finished_at": moment if status in ENDED else None,
    }
    return event | {name: value for name, value in row.items() if name != "at"}
