"""What does one line of a list say about an event? Only that is read: all columns of fifty rows take four times as long."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from sqlalchemy import Row

from dlq_console.store.events import EventSummary, read_time
from dlq_console.store.store import Store

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Shape(Generic[Item]):
    """Which columns are read of each row of a list, and what is made of a row that begins with them."""

    columns: tuple[str, ...]
    made_of: Callable[[Store, Row[Any]], Item]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventLine:
    """One event as a line of the console shows it. Times are aware, in UTC."""

    id: int
    kind: str
    account: str
    entity_id: str
    status: str
    reason: str | None
    attempts: int
    total_attempts: int
    lease_epoch: int
    created_at: datetime
    finished_at: datetime | None
    error_type: str | None
    last_error: str | None
    #: As in `EventSummary`; lists do not ask what an event waits for.
    waiting_for: str | None = None


#: An event of which at least that is known.
Listed = EventLine | EventSummary

_COLUMNS = (
    "id", "kind", "account", "entity_id", "status", "reason", "attempts", "total_attempts", "lease_epoch", "created_at",
    "finished_at", "error_type", "last_error",
)  # fmt: skip


def _line(_store: Store, row: Row[Any]) -> EventLine:
    values = dict(zip(_COLUMNS, row, strict=False))
    for name in ("created_at", "finished_at"):
        values[name] = read_time(values[name])
    return EventLine(**values)


LINES = Shape(_COLUMNS, _line)
