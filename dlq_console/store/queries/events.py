"""What is there to know about one event: everything it holds, why it waits, its attempts, who did what?"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, RowMapping

from dlq_console.resilience import pacing
from dlq_console.resilience.breaker import CircuitState
from dlq_console.resilience.breaker.rules import effective_state
from dlq_console.store import doors
from dlq_console.store.claim_sql import LIVE
from dlq_console.store.cursors import MAX_ID
from dlq_console.store.doors import NEVER, PROBING
from dlq_console.store.events import (
    EVENT_COLUMNS,
    SUMMARY_COLUMNS,
    Attempt,
    AuditEntry,
    Event,
    EventSummary,
    event_from_row,
    read_time,
)
from dlq_console.store.lanes import head_of
from dlq_console.store.limits import decode
from dlq_console.store.presence import DEAD_AFTER
from dlq_console.store.queries.doors import told
from dlq_console.store.queries.pages import summary
from dlq_console.store.queries.routes import ANY, Accounts, prepared
from dlq_console.store.scope_names import METHOD_NAME, Scope, account_scope, method_scope, provider_scope
from dlq_console.store.states import READY, Status
from dlq_console.store.store import Store

#: Most attempts and most acts that are read for one event; the newest ones.
MAX_HISTORY = 500
#: Most events whose present state is read at once.
MAX_IDS = 500

_CLOSED = "SELECT max(s.closed_until) FROM {scope} s WHERE s.closed_until > {now}"
_METHOD = f"s.type = 'method' AND s.name = {METHOD_NAME}"
#: Workers keep their accounts as a JSON list; an empty cell means all accounts.
_SERVES = {
    True: "EXISTS (SELECT 1 FROM json_each(w.accounts) served WHERE served.value = e.account)",
    False: "jsonb_exists(CAST(w.accounts AS jsonb), e.account)",
}


def _one_event(*, sqlite: bool, visible: str) -> str:
    columns = ", ".join(f"e.{name}" for name in EVENT_COLUMNS)
    return f"""
SELECT {columns},
    CASE WHEN e.next_run_at > {{now}} THEN e.next_run_at END AS waits_until,
    ({_CLOSED} AND s.type = 'account' AND s.name = e.account) AS account_until,
    ({_CLOSED} AND {_METHOD}) AS method_until,
    ({_CLOSED} AND s.type = 'provider' AND s.name = k.provider) AS provider_until,
    (SELECT max(s.paced_until) FROM {{scope}} s WHERE s.paced_until > {{now}}
        AND ({_METHOD} OR (s.type = 'provider' AND s.name = k.provider))) AS pace_until,
    EXISTS (
        SELECT 1 FROM {{scope}} s WHERE s.guarded = {PROBING}
            AND ((s.type = 'account' AND s.name = e.account) OR ({_METHOD}))
    ) AS probing,
    (SELECT s.max_running FROM {{scope}} s WHERE s.type = 'account' AND s.name = e.account) AS max_running,
    e.priority AS priority, k.name AS handled, k.provider AS provider, k.limits AS limits, k.timeout AS timeout, {{now}} AS now,
    EXISTS (SELECT 1 FROM {{kind}}) AS any_handled,
    EXISTS (
        SELECT 1 FROM {{worker}} w WHERE w.heartbeat_at > {{now}} - {{interval[{DEAD_AFTER}]}}
            AND (w.accounts IS NULL OR {_SERVES[sqlite]})
    ) AS worker_alive,
    CASE WHEN e.status IN ('blocked', 'pending', 'failed') AND e.lane IS NOT NULL THEN {head_of("e.lane")} END AS head
FROM {{event}} e LEFT JOIN {{kind}} k ON k.name = e.kind
WHERE e.id = :id AND {visible}
"""


def get_event(store: Store, event_id: int, *, accounts: Accounts = None) -> Event | None:
    """One event with payload and result, and why it waits; None where there is none that may be seen."""
    if not 0 < event_id <= MAX_ID:
        return None
    visible = ANY if accounts is None else "e.account IN :visible_list"
    parameters: dict[str, Any] = {"id": event_id} | (
        {} if accounts is None else {"visible_list": list(accounts)}
    )
    template = _one_event(sqlite=store.sqlite, visible=visible)
    with store.read() as connection:
        row = connection.execute(prepared(store, template, parameters), parameters).mappings().one_or_none()
        if row is None:
            return None
        event = event_from_row(row, store.queue(row["account"], row["lane"]))
        if event.status in READY:
            event = replace(event, **_waiting(store, connection, row, accounts))
    blocked_by = row["head"] if row["head"] != event.id else None
    if event.status == Status.BLOCKED or blocked_by is not None:
        event = replace(event, waiting_for="earlier_event", blocked_by=blocked_by)
    return event


def _waiting(store: Store, connection: Connection, row: RowMapping, accounts: Accounts) -> dict[str, Any]:
    """What holds a ready event up: the door that opens last, unless nobody is there to run it at all."""
    if row["any_handled"] and row["handled"] is None:
        return {"waiting_for": "no_handler"}
    known = {
        "time": row["waits_until"],
        "account_closed": row["account_until"],
        "method_closed": row["method_until"],
        "provider_closed": row["provider_until"],
        "pace": row["pace_until"],
    }
    closed = [(until, name) for name, value in known.items() if (until := read_time(value))]
    last = max(closed, default=None)
    # That nothing may run at once does not end by itself.
    if row["max_running"] == 0 and (last is None or last[0].timestamp() < NEVER):
        return {"waiting_for": "limit"}
    if last is not None:
        until, name = last
        return {"waiting_for": name, "waiting_until": until} | _cause(store, connection, name, row, accounts)
    if not row["worker_alive"]:
        return {"waiting_for": "no_worker"}
    if kept := _kept_for_fresh(store, connection, row):
        return kept
    return {"waiting_for": "probe"} if row["probing"] and _in_test(store, connection, row) else {}


def _cause(
    store: Store, connection: Connection, name: str, row: RowMapping, accounts: Accounts
) -> dict[str, Any]:
    """By what the door is closed: the cause that lasts longest; nothing where it has opened meanwhile."""
    if name not in _SCOPES:
        return {}
    door = doors.look(store, connection, _SCOPES[name](row))
    now = read_time(row["now"])
    causes = doors.causes(door, now.timestamp()) if door and now else []
    if door is None or now is None or not causes:
        return {}
    first = told(door, causes[0], now.timestamp(), accounts)
    return {
        "waiting_until": first.until,
        "waiting_cause": first.cause,
        "waiting_reason": first.reason,
        "waiting_by": first.by,
    }


def _kept_for_fresh(store: Store, connection: Connection, row: RowMapping) -> dict[str, Any]:
    """Whether all failing answers that may still be risked are kept for work that was never run, and until when."""
    now = read_time(row["now"])
    if row["limits"] is None or now is None or (row["priority"] == LIVE and row["total_attempts"] == 0):
        return {}
    limits = decode(row["limits"], row["provider"], row["timeout"])
    waits = []
    for name, allowed in (("method_closed", limits.method), ("account_closed", limits.account)):
        door = doors.look(store, connection, _SCOPES[name](row)) if allowed.budget else None
        if door is not None:
            waits.append(pacing.exhausted_until(door.pace, allowed, now.timestamp(), fresh=False))
    until = max((wait for wait in waits if wait is not None), default=None)
    if until is None:
        return {}
    return {
        "waiting_for": "reserve",
        "waiting_until": datetime.fromtimestamp(until, UTC) if until < NEVER else None,
    }


def _in_test(store: Store, connection: Connection, row: RowMapping) -> bool:
    """Whether a circuit lets only probes through, the event's own where its kind has one."""
    now = read_time(row["now"])
    for name in ("account_closed", "method_closed"):
        door = doors.look(store, connection, _SCOPES[name](row))
        if door and now and effective_state(door.circuit, now.timestamp()) is CircuitState.HALF_OPEN:
            return True
    return False


#: Which scope a closed door belongs to.
_SCOPES: dict[str, Callable[[RowMapping], Scope]] = {
    "account_closed": lambda row: account_scope(row["account"]),
    "method_closed": lambda row: method_scope(row["account"], row["kind"]),
    "provider_closed": lambda row: provider_scope(row["provider"]),
}


_PAYLOAD = "SELECT payload FROM {event} WHERE id = :id"


def summaries(store: Store, ids: Sequence[int], *, accounts: Accounts = None) -> dict[int, EventSummary]:
    """The present state of some events, by id; those that are gone or may not be seen are left out."""
    wanted = [event_id for event_id in ids if 0 < event_id <= MAX_ID][:MAX_IDS]
    if not wanted or accounts == ():
        return {}
    parameters: dict[str, Any] = {"wanted_ids": wanted} | (
        {} if accounts is None else {"visible_list": list(accounts)}
    )
    visible = ANY if accounts is None else "account IN :visible_list"
    template = f"SELECT {', '.join(SUMMARY_COLUMNS)} FROM {{event}} WHERE id IN :wanted_ids AND {visible}"
    with store.read() as connection:
        rows = connection.execute(prepared(store, template, parameters), parameters).all()
    return {row.id: summary(store, row) for row in rows}


def payload_json(store: Store, connection: Connection, event_id: int) -> str | None:
    """The payload of an event as it is stored, as the transaction of `connection` sees it; None where there is no such event."""
    if not 0 < event_id <= MAX_ID:
        return None
    text: str | None = connection.execute(store.statement(_PAYLOAD), {"id": event_id}).scalar()
    return text


def attempts(store: Store, event_id: int) -> tuple[Attempt, ...]:
    """How each run of an event ended, newest first."""
    return tuple(
        Attempt(**_attempt_values(row))
        for row in _history(store, "attempt", ", ".join(field.name for field in fields(Attempt)), event_id)
    )


def _attempt_values(row: RowMapping) -> dict[str, Any]:
    values = _values(row, ("due_at", "started_at", "ended_at"))
    return values | {"answer": None if values["answer"] is None else json.loads(values["answer"])}


def audit(store: Store, event_id: int) -> tuple[AuditEntry, ...]:
    """What people and programs did with an event, newest first."""
    return tuple(
        AuditEntry(**_values(row, ("at",)))
        for row in _history(store, "audit", ", ".join(field.name for field in fields(AuditEntry)), event_id)
    )


def _history(store: Store, table: str, columns: str, event_id: int) -> Sequence[RowMapping]:
    template = f"SELECT {columns} FROM {{{table}}} WHERE event_id = :id ORDER BY id DESC LIMIT {MAX_HISTORY}"
    with store.read() as connection:
        return connection.execute(store.statement(template), {"id": event_id}).mappings().all()


def _values(row: RowMapping, times: tuple[str, ...]) -> dict[str, Any]:
    return {name: read_time(value) if name in times else value for name, value in row.items()}
