"""Which failures are on record, with what was said, so that a new rule can be tried against them?"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dlq_console.store.events import read_time
from dlq_console.store.queries.routes import ANY, Accounts, prepared
from dlq_console.store.store import Store

#: Attempts that are looked at, whatever became of them; the newest ones.
SCAN_LIMIT = 50_000
#: Most failures that are returned.
MAX_FAILURES = 2_000

_COLUMNS = "id, event_id, kind, account, ended_at, error_type, error, verdict, rule, rules_version, answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedFailure:
    """One attempt that an answer, or an error, was judged for. `answer` is what is kept of it, redacted."""

    event_id: int
    kind: str
    account: str
    entity_id: str
    ended_at: datetime
    error_type: str | None
    error: str | None
    verdict: str | None
    rule: str | None
    rules_version: str | None
    answer: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Recorded:
    """The newest failures; `complete` where there are no more of them in the time asked for."""

    items: tuple[RecordedFailure, ...]
    complete: bool


def recorded_failures(
    store: Store, *, days: float, limit: int = MAX_FAILURES, accounts: Accounts = None
) -> Recorded:
    """The newest failures of the last days that the rules have judged, among the newest SCAN_LIMIT attempts."""
    visible = ANY if accounts is None else "a.account IN :visible_list"
    template = f"""
SELECT a.*, e.entity_id, (SELECT count(*) FROM (
    SELECT 1 FROM {{attempt}} WHERE ended_at > {{now}} - {{interval[age]}} LIMIT {SCAN_LIMIT + 1}
) AS few) AS attempts FROM (
    SELECT {_COLUMNS} FROM {{attempt}} WHERE ended_at > {{now}} - {{interval[age]}}
    ORDER BY ended_at DESC LIMIT {SCAN_LIMIT}
) AS a JOIN {{event}} e ON e.id = a.event_id
WHERE a.answer IS NOT NULL AND {visible} ORDER BY a.ended_at DESC, a.id DESC LIMIT {limit + 1}
"""
    parameters: dict[str, Any] = {"age": days * 86_400.0}
    if accounts is not None:
        parameters["visible_list"] = list(accounts)
    with store.read() as connection:
        rows = connection.execute(prepared(store, template, parameters), parameters).mappings().all()
    cut = len(rows) > limit or (bool(rows) and rows[0]["attempts"] > SCAN_LIMIT)
    return Recorded(tuple(_failure(row) for row in rows[:limit]), not cut)


def _failure(row: Any) -> RecordedFailure:
    ended_at = read_time(row["ended_at"])
    assert ended_at is not None, "an attempt has ended"  # noqa: S101 - tells the type checker
    return RecordedFailure(
        event_id=row["event_id"],
        kind=row["kind"],
        account=row["account"],
        entity_id=row["entity_id"],
        ended_at=ended_at,
        error_type=row["error_type"],
        error=row["error"],
        verdict=row["verdict"],
        rule=row["rule"],
        rules_version=row["rules_version"],
        answer=json.loads(row["answer"]),
    )
