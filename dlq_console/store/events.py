"""What an event and its attempts look like outside the store: frozen values, never rows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import RowMapping

from dlq_console.store.canonical import decode_payload
from dlq_console.store.clock import from_microseconds
from dlq_console.store.keys import is_content_key

#: Attempts where neither the event nor its kind says otherwise.
DEFAULT_MAX_ATTEMPTS = 6

#: Columns of the event table that lists show: everything but payload and result.
SUMMARY_COLUMNS = (
    "id", "kind", "account", "entity_id", "idempotency_key", "effect_key", "version", "ordering_key", "lane",
    "status", "reason", "attempts", "total_attempts", "max_attempts", "cycle", "due_at", "next_run_at",
    "expires_at", "lease_epoch", "lease_owner", "created_at", "updated_at", "started_at", "finished_at", "error_type", "last_error",
    "verdict", "fingerprint", "died_again", "duplicates", "last_duplicate_at", "origin", "parent_id", "bulk_id",
    "trace_context", "doubts", "superseded_by",
)  # fmt: skip
EVENT_COLUMNS = (*SUMMARY_COLUMNS, "payload", "result")

TIMES = frozenset(
    {"due_at", "next_run_at", "expires_at", "created_at", "updated_at", "started_at", "finished_at"}
    | {"last_duplicate_at"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventSummary:
    """One event as lists show it: without payload and result. Times are aware, in UTC."""

    id: int
    kind: str
    account: str
    entity_id: str
    idempotency_key: str
    effect_key: str
    version: str | None
    ordering_key: str | None
    lane: str | None
    queue: str
    status: str
    reason: str | None
    attempts: int
    total_attempts: int
    max_attempts: int
    cycle: int
    due_at: datetime
    next_run_at: datetime
    expires_at: datetime | None
    lease_epoch: int
    lease_owner: str | None
    created_at: datetime
    updated_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    error_type: str | None
    last_error: str | None
    verdict: str | None
    fingerprint: str | None
    died_again: str | None
    duplicates: int
    last_duplicate_at: datetime | None
    origin: str | None
    parent_id: int | None
    bulk_id: int | None
    trace_context: str | None
    #: 0 where it is known whether the outside system has it.
    doubts: int
    #: The newer event of its entity that made it needless.
    superseded_by: int | None
    #: Why a due event does not run: `time`, `account_closed`, `method_closed`, `provider_closed`, `pace`, `probe`,
    #: `reserve` (the failing answers that are left are kept for fresh work), `limit` (its account may run nothing at
    #: once), `no_handler`, `no_worker`; `earlier_event` for a blocked one; None where nothing holds it up. Computed when read,
    #: never stored.
    waiting_for: str | None = None
    #: Until when, where that is known.
    waiting_until: datetime | None = None
    #: By what the door is closed: `provider`, `circuit`, `pause`, `auth`; with the reason in the words of whoever gave
    #: it, and the person or program that decided it.
    waiting_cause: str | None = None
    waiting_reason: str | None = None
    waiting_by: str | None = None
    #: The earlier event of its lane that it waits behind.
    blocked_by: int | None = None

    @property
    def is_keyed_by_content(self) -> bool:
        """Whether nothing but its content tells it from another event, so that a return to it looks like a repeat."""
        return self.version is None and is_content_key(self.idempotency_key)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event(EventSummary):
    """One event with everything: what a handler receives and what the event page shows."""

    payload: Any
    result: Any
    #: The payload as it is stored: JSON text, digit for digit.
    payload_json: str

    @property
    def exact_payload(self) -> Any:
        """The payload with every number that is not whole as a Decimal, for people and programs that read money."""
        return decode_payload(self.payload_json, exact=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """How one run of an event ended. `wait_seconds` is the time until the next one, where there is one."""

    id: int
    event_id: int
    cycle: int
    number: int
    lease_epoch: int
    due_at: datetime
    started_at: datetime
    ended_at: datetime
    outcome: str
    error_type: str | None
    error: str | None
    traceback: str | None
    verdict: str | None
    fingerprint: str | None
    wait_seconds: float | None
    worker: str | None
    #: Whether the outside system applied the call: `not_applied`, `applied`, `unknown`.
    effect: str | None
    #: Which scope the verdict concerns: `event`, `account`, `method`, `provider`.
    reach: str | None
    #: Where the wait was found.
    wait_source: str | None
    #: Which rule of which set decided.
    rule: str | None
    rules_version: str | None
    #: What the outside system said, redacted: status, code, content_type, excerpt, phase.
    answer: dict[str, Any] | None

    @property
    def run_seconds(self) -> float:
        """How long it ran."""
        return (self.ended_at - self.started_at).total_seconds()


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """What one person or program did."""

    id: int
    at: datetime
    actor: str
    action: str
    event_id: int | None
    subject: str | None
    note: str | None
    before: str | None
    after: str | None
    #: By which door: `console`, `api`, `cli`, `python`; None for what the hub did by itself.
    via: str | None = None
    #: From which address, where there was one.
    address: str | None = None
    #: Of an act upon many: its run, and what that run selected.
    bulk_id: int | None = None
    filter: str | None = None
    #: Whose act it is to see.
    account: str | None = None


def read_time(value: Any) -> datetime | None:
    """A time column as either engine's driver returns it."""
    if value is None:
        return None
    return from_microseconds(value) if isinstance(value, int) else value.astimezone(UTC)


def summary_values(row: RowMapping | dict[str, Any], queue: str) -> dict[str, Any]:
    """Arguments of `EventSummary` from a row that holds SUMMARY_COLUMNS."""
    values = {name: read_time(row[name]) if name in TIMES else row[name] for name in SUMMARY_COLUMNS}
    values["max_attempts"] = values["max_attempts"] or DEFAULT_MAX_ATTEMPTS
    values["queue"] = queue
    return values


def event_from_row(row: RowMapping | dict[str, Any], queue: str) -> Event:
    """An event from a row that holds EVENT_COLUMNS."""
    result = row["result"]
    return Event(
        **summary_values(row, queue),
        payload=decode_payload(row["payload"]),
        payload_json=row["payload"],
        result=None if result is None else decode_payload(result),
    )
