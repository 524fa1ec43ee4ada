"""What is known after a storm? Read by plain statements from the tables, and line by line from the ledgers.

Nothing here knows the hub: a fault in how it reads its own tables cannot hide a fault in what it wrote there.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import psycopg

#: Columns that are times: `timestamptz` on PostgreSQL, microseconds since 1970 on SQLite. Here they are seconds.
_TIMES = {"at", "started_at", "ended_at"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """What a shop was told that it has handed over, and how it knows that this is to be treated.

    Attributes:
        at: when it was told, by the monotonic clock of the machine.
    """

    id: int
    entity: str
    kind: str
    account: str
    lane: str | None
    stops: bool
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRow:
    """A row of the event table."""

    id: int
    entity_id: str
    kind: str
    account: str
    lane: str | None
    on_dead: str | None
    effect_key: str
    status: str
    reason: str | None
    attempts: int
    total_attempts: int
    max_attempts: int | None
    cycle: int
    lease_epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptRow:
    """A row of the attempt table: how one run ended."""

    id: int
    event_id: int
    cycle: int
    number: int
    lease_epoch: int
    outcome: str
    error_type: str | None
    started_at: float
    ended_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRow:
    """A row of the audit table: what a person did."""

    id: int
    event_id: int
    action: str
    subject: str | None
    before: str | None
    after: str | None
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A line of the ERP's ledger about a call: `applied`, `repeated` or `refused`.

    Attributes:
        echo: the network had sent the call once more, not the caller.
    """

    account: str
    key: str
    entity: str
    what: str
    echo: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """Everything, each in the order in which it was written down.

    Attributes:
        promises: one list for each shop.
        acts: (action, event id) of what operators were told that they have done.
    """

    promises: Sequence[Sequence[Promise]]
    events: Sequence[EventRow]
    attempts: Sequence[AttemptRow]
    audit: Sequence[AuditRow]
    ledger: Sequence[Entry]
    acts: Sequence[tuple[str, int]] = ()

    def as_json(self) -> str:
        """For a person who looks for what went wrong."""
        return json.dumps(asdict(self), indent=1)


def read_record(
    connection: psycopg.Connection | sqlite3.Connection,
    *,
    shops: Sequence[Path],
    erp: Path,
    acts: Sequence[tuple[str, int]],
) -> Record:
    """Read the tables over `connection`, the ledgers of the shops and that of the ERP."""
    return Record(
        promises=[[Promise(**one) for line in _lines(shop) for one in line] for shop in shops],
        events=[EventRow(**row) for row in _rows(connection, "dlq_event", EventRow)],
        attempts=[AttemptRow(**row) for row in _rows(connection, "dlq_attempt", AttemptRow)],
        audit=[AuditRow(**row) for row in _rows(connection, "dlq_audit", AuditRow)],
        ledger=[Entry(**line) for line in _lines(erp) if line["what"] != "registered"],
        acts=acts,
    )


def _rows(
    connection: psycopg.Connection | sqlite3.Connection, table: str, shape: type
) -> Iterator[dict[str, Any]]:
    names = list(shape.__dataclass_fields__)  # type: ignore[attr-defined] # every shape is a dataclass
    statement = f"SELECT {', '.join(names)} FROM {table} ORDER BY id"
    rows: Iterable[tuple[Any, ...]] = connection.execute(statement)
    for row in rows:
        yield {
            name: _seconds(value) if name in _TIMES else value for name, value in zip(names, row, strict=True)
        }


def _seconds(value: datetime | int) -> float:
    return value.timestamp() if isinstance(value, datetime) else value / 1_000_000


def _lines(path: Path) -> Iterator[Any]:
    for line in path.read_text().splitlines():
        yield json.loads(line)
