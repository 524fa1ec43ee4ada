"""How an intention becomes a row: checked, keyed, and inserted in the caller's transaction.

The insert can never fail for what the payload holds, since everything that either engine refuses is refused before;
an enqueue therefore cannot break the transaction it takes part in.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from dlq_console.errors import IdempotencyConflict, PayloadRefused
from dlq_console.store import keys
from dlq_console.store.canonical import read_payload
from dlq_console.store.clock import to_microseconds
from dlq_console.store.store import Store

#: Rows per statement of `insert_many`.
CHUNK = 1000

#: `due` and `give_up` are computed from the present moment, so that they are told by the database.
_DUE = "{greatest}({now}, coalesce({run_at}, {now}))"
_GIVE_UP = "{least}(coalesce({expires_at}, {due} + {max_wait}), {due} + {max_wait})"

_COLUMNS = """
    kind, account, entity_id, idempotency_key, payload_hash, effect_key, version, payload, max_attempts, origin,
    trace_context, expires_at, status, due_at, next_run_at, give_up_at, dispatched_at, created_at, updated_at
"""


def _insert(source: str, fields: Mapping[str, str]) -> str:
    words = (
        "kind",
        "account",
        "entity_id",
        "idempotency_key",
        "payload_hash",
        "effect_key",
        "version",
        "payload",
    )
    rest = ("max_attempts", "origin", "trace_context", "expires_at")
    due = _DUE.replace("{run_at}", fields["run_at"])
    give_up = _GIVE_UP.replace("{due}", due)
    give_up = give_up.replace("{expires_at}", fields["expires_at"]).replace("{max_wait}", fields["max_wait"])
    sent = f"CASE WHEN {fields['sent']} AND {due} <= {{now}} THEN {{now}} END"
    columns = ", ".join(fields[name] for name in (*words, *rest))
    return f"""
INSERT INTO {{event}} ({_COLUMNS})
SELECT {columns}, 'pending', {due}, {due}, {give_up}, {sent}, {{now}}, {{now}} {source}
ON CONFLICT (idempotency_key) DO NOTHING
RETURNING id, idempotency_key
"""


_TEXTS = (
    "kind", "account", "entity_id", "idempotency_key", "payload_hash", "effect_key", "version", "payload", "origin",
    "trace_context",
)  # fmt: skip

INSERT_ONE = _insert(
    # A WHERE keeps SQLite from reading ON CONFLICT as a join condition.
    "WHERE true",
    {name: f"CAST(:{name} AS text)" for name in _TEXTS}
    | {
        "max_attempts": "CAST(:max_attempts AS integer)",
        "expires_at": "CAST(:expires_at AS {time})",
        "run_at": "CAST(:run_at AS {time})",
        "max_wait": "{interval[max_wait]}",
        "sent": "CAST(:sent AS boolean)",
    },
)

#: Many rows travel as one JSON parameter: one short statement, whatever their number.
INSERT_MANY_POSTGRES = _insert(
    "FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS r(place integer, kind text, account text, entity_id text, "
    "idempotency_key text, payload_hash text, effect_key text, version text, payload text, max_attempts integer, "
    "origin text, trace_context text, expires_at timestamptz, run_at timestamptz, max_wait double precision, sent boolean) "
    "ORDER BY r.place",
    {name: f"r.{name}" for name in (*_TEXTS, "max_attempts", "expires_at", "run_at", "sent")}
    | {"max_wait": "make_interval(secs => r.max_wait)"},
)
_SQLITE_FIELDS = {
    name: f"json_extract(r.value, '$.{name}')"
    for name in (*_TEXTS, "max_attempts", "expires_at", "run_at", "max_wait", "sent")
}
INSERT_MANY_SQLITE = _insert(
    "FROM json_each(:rows) AS r WHERE true ORDER BY json_extract(r.value, '$.place')",
    _SQLITE_FIELDS | {"max_wait": f"CAST({_SQLITE_FIELDS['max_wait']} * 1000000 AS INTEGER)"},
)

EXISTING = "SELECT id, status, payload_hash, lease_epoch FROM {event} WHERE idempotency_key = :key"
EXISTING_MANY_POSTGRES = """
SELECT id, idempotency_key, status, payload_hash, lease_epoch FROM {event}
WHERE idempotency_key IN (SELECT jsonb_array_elements_text(CAST(:keys AS jsonb)))
"""
EXISTING_MANY_SQLITE = """
SELECT id, idempotency_key, status, payload_hash, lease_epoch FROM {event}
WHERE idempotency_key IN (SELECT value FROM json_each(:keys))
"""

COUNT_DUPLICATE = """
UPDATE {event} SET duplicates = duplicates + :times, last_duplicate_at = {now} WHERE id = :id
"""


@dataclass(frozen=True, slots=True)
class Intention:
    """A checked event, ready to be inserted. `max_wait` is in seconds."""

    kind: str
    account: str
    entity_id: str
    idempotency_key: str
    payload_hash: str
    effect_key: str
    version: str | None
    payload: str
    max_attempts: int | None
    origin: str | None
    trace_context: str | None
    run_at: datetime | None
    expires_at: datetime | None
    max_wait: float
    #: Whether a message is sent right after the commit.
    sent: bool


@dataclass(frozen=True, slots=True)
class Ingested:
    """What became of an intention: its event, and whether it is a new one."""

    id: int
    created: bool
    status: str
    lease_epoch: int


def intention(
    *,
    kind: object,
    account: object,
    entity_id: object,
    payload: object,
    version: object = None,
    idempotency_key: object = None,
    run_at: datetime | None = None,
    expires_at: datetime | None = None,
    origin: str | None = None,
    max_attempts: int | None = None,
    max_wait: float = 604_800,
    max_bytes: int = 256_000,
    sent: bool = False,
) -> Intention:
    """Check everything and make the key.

    Raises:
        PayloadRefused: something cannot be stored; the message names it and says what to send instead.
    """
    text = read_payload(payload, max_bytes=max_bytes)
    kind_text = keys.check_text(kind, "kind", max_length=keys.MAX_KIND)
    account_text = keys.check_text(account, "account", max_length=keys.MAX_ACCOUNT)
    entity_text = keys.check_text(entity_id, "entity_id", max_length=keys.MAX_ENTITY_ID)
    version_text = (
        None
        if version is None
        else keys.check_text(version, "version", max_length=keys.MAX_VERSION, allow_empty=True)
    )
    key = (
        keys.canonical_content_key(
            kind=kind_text,
            account=account_text,
            entity_id=entity_text,
            version=version_text,
            canonical=text.canonical,
        )
        if idempotency_key is None
        else keys.own_key(idempotency_key)
    )
    return Intention(
        kind=kind_text,
        account=account_text,
        entity_id=entity_text,
        idempotency_key=key,
        payload_hash=text.digest,
        effect_key=keys.effect_key(key),
        version=version_text,
        payload=text.stored,
        max_attempts=max_attempts,
        origin=origin,
        trace_context=None,
        run_at=_aware(run_at, "run_at"),
        expires_at=_aware(expires_at, "expires_at"),
        max_wait=max_wait,
        sent=sent,
    )


def _aware(moment: datetime | None, name: str) -> datetime | None:
    if moment is None:
        return None
    if moment.tzinfo is None:
        raise PayloadRefused(f"{name}: a time without a zone is ambiguous; send an aware datetime.")
    return moment


def insert_one(store: Store, connection: Connection, new: Intention) -> Ingested:
    """Insert in the transaction of `connection`, or find the event that exists under the same key.

    Raises:
        IdempotencyConflict: the event that exists has another payload.
    """
    parameters = _parameters(new)
    while True:
        row = connection.execute(store.statement(INSERT_ONE), parameters).first()
        if row is not None:
            return Ingested(row.id, created=True, status="pending", lease_epoch=0)
        found = connection.execute(store.statement(EXISTING), {"key": new.idempotency_key}).first()
        # None: it was pruned between the two statements, so the key is free again.
        if found is not None:
            _same_payload(new, found.payload_hash)
            return Ingested(found.id, created=False, status=found.status, lease_epoch=found.lease_epoch)


def insert_many(store: Store, connection: Connection, news: Sequence[Intention]) -> list[Ingested]:
    """Insert all in the transaction of `connection`; answers in the order given.

    Raises:
        IdempotencyConflict: one of them exists with another payload; roll the transaction back.
    """
    answers: list[Ingested] = []
    for start in range(0, len(news), CHUNK):
        answers += _insert_chunk(store, connection, news[start : start + CHUNK])
    return answers


def _insert_chunk(store: Store, connection: Connection, news: Sequence[Intention]) -> list[Ingested]:
    template = INSERT_MANY_SQLITE if store.sqlite else INSERT_MANY_POSTGRES
    rows = json.dumps([_json_row(store, place, new) for place, new in enumerate(news)])
    inserted = {
        row.idempotency_key: row.id for row in connection.execute(store.statement(template), {"rows": rows})
    }
    known = inserted if len(inserted) == len(news) else _existing(store, connection, news)
    answers = []
    for new in news:
        id_ = inserted.pop(new.idempotency_key, None)
        if id_ is not None:
            answers.append(Ingested(id_, created=True, status="pending", lease_epoch=0))
            continue
        found = known[new.idempotency_key]
        _same_payload(new, found.payload_hash)
        answers.append(Ingested(found.id, created=False, status=found.status, lease_epoch=found.lease_epoch))
    return answers


def _existing(store: Store, connection: Connection, news: Sequence[Intention]) -> dict[str, Any]:
    template = EXISTING_MANY_SQLITE if store.sqlite else EXISTING_MANY_POSTGRES
    wanted = json.dumps([new.idempotency_key for new in news])
    return {
        row.idempotency_key: row for row in connection.execute(store.statement(template), {"keys": wanted})
    }


def count_duplicates(store: Store, connection: Connection, times: Mapping[int, int]) -> None:
    """Count folded duplicates on the events they were folded into: event id -> how many."""
    # In the order of ids, so that two transactions that count the same events cannot deadlock.
    rows = [{"id": id_, "times": number} for id_, number in sorted(times.items())]
    if rows:
        connection.execute(store.statement(COUNT_DUPLICATE), rows)


def _same_payload(new: Intention, payload_hash: str) -> None:
    if new.payload_hash != payload_hash:
        raise IdempotencyConflict


def _parameters(new: Intention) -> dict[str, Any]:
    return {name: getattr(new, name) for name in Intention.__slots__}


def _json_row(store: Store, place: int, new: Intention) -> dict[str, Any]:
    row = _parameters(new)
    for name in ("run_at", "expires_at"):
        moment = row[name]
        if moment is not None:
            row[name] = to_microseconds(moment) if store.sqlite else moment.isoformat()
    return row | {"place": place}
