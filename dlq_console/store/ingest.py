"""How an intention becomes a row: checked, keyed, and inserted in the caller's transaction.

The insert can never fail for what the payload holds, since everything that either engine refuses is refused before;
an enqueue therefore cannot break the transaction it takes part in.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection

from dlq_console.errors import IdempotencyConflict, PayloadRefused
from dlq_console.store import keys
from dlq_console.store.canonical import read_payload
from dlq_console.store.clock import to_microseconds
from dlq_console.store.field_rows import Kept, keep
from dlq_console.store.field_values import Pairs, values_of
from dlq_console.store.lanes import is_held_up, promote
from dlq_console.store.states import Status
from dlq_console.store.store import Store

#: Rows, and characters of their payloads, per statement of `insert_many`.
CHUNK = 1000
CHUNK_SIZE = 4_000_000
#: Characters of `origin`.
MAX_ORIGIN = 120
#: Times outside of these years may be beyond what Python can read once a duration or a zone is added.
FIRST_YEAR, LAST_YEAR = 1970, 9998

#: `due` and `give_up` are computed from the present moment, so that they are told by the database.
_DUE = "{greatest}({now}, coalesce({run_at}, {now}))"
_GIVE_UP = "{least}(coalesce({expires_at}, {due} + {max_wait}), {due} + {max_wait})"

_COLUMNS = """
    kind, account, entity_id, idempotency_key, payload_hash, effect_key, version, payload, ordering_key, lane, on_dead,
    max_attempts, origin, trace_context, expires_at, status, due_at, next_run_at, give_up_at, created_at,
    updated_at
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
        "ordering_key",
        "lane",
        "on_dead",
    )
    rest = ("max_attempts", "origin", "trace_context", "expires_at")
    due = _DUE.replace("{run_at}", fields["run_at"])
    give_up = _GIVE_UP.replace("{due}", due)
    give_up = give_up.replace("{expires_at}", fields["expires_at"]).replace("{max_wait}", fields["max_wait"])
    waits = is_held_up(fields["lane"])
    if follows := fields.get("follows"):
        waits = f"({waits} OR {follows})"
    columns = ", ".join(fields[name] for name in (*words, *rest))
    return f"""
INSERT INTO {{event}} ({_COLUMNS})
SELECT {columns}, CASE WHEN {waits} THEN 'blocked' ELSE 'pending' END, {due}, {due}, {give_up}, {{now}}, {{now}} {source}
ON CONFLICT (idempotency_key) DO NOTHING
RETURNING id, idempotency_key, status, next_run_at <= {{now}} AS due
"""


_TEXTS = (
    "kind", "account", "entity_id", "idempotency_key", "payload_hash", "effect_key", "version", "payload", "ordering_key",
    "lane", "on_dead", "origin", "trace_context",
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
    },
)

#: Many rows travel as one JSON parameter: one short statement, whatever their number.
INSERT_MANY_POSTGRES = _insert(
    "FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS r(place integer, kind text, account text, entity_id text, "
    "idempotency_key text, payload_hash text, effect_key text, version text, payload text, ordering_key text, lane text, "
    "on_dead text, follows boolean, max_attempts integer, origin text, trace_context text, expires_at timestamptz, run_at timestamptz, max_wait double precision) "
    "ORDER BY r.place",
    {name: f"r.{name}" for name in (*_TEXTS, "follows", "max_attempts", "expires_at", "run_at")}
    | {"max_wait": "make_interval(secs => r.max_wait)"},
)
_SQLITE_FIELDS = {
    name: f"json_extract(r.value, '$.{name}')"
    for name in (*_TEXTS, "follows", "max_attempts", "expires_at", "run_at", "max_wait")
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

TAKE_BACK_POSTGRES = """
DELETE FROM {event} WHERE id IN (SELECT CAST(value AS bigint) FROM jsonb_array_elements_text(CAST(:ids AS jsonb)))
"""
TAKE_BACK_SQLITE = "DELETE FROM {event} WHERE id IN (SELECT value FROM json_each(:ids))"

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
    ordering_key: str | None
    lane: str | None
    #: `block` or `skip` for an event of a lane.
    on_dead: str | None
    max_attempts: int | None
    origin: str | None
    trace_context: str | None
    run_at: datetime | None
    expires_at: datetime | None
    max_wait: float
    #: Values of the payload by which it is listed and found.
    fields: Pairs = ()


@dataclass(frozen=True, slots=True)
class Ingested:
    """What became of an intention: its event, whether it is a new one, and whether the workers are to be told."""

    id: int
    created: bool
    status: str
    lease_epoch: int
    to_send: bool = False


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
    ordering_key: str | None = None,
    lane: str | None = None,
    on_dead: str | None = None,
    origin: str | None = None,
    trace_context: str | None = None,
    max_attempts: int | None = None,
    max_wait: float = 604_800,
    max_bytes: int = 256_000,
    columns: Sequence[str] = (),
) -> Intention:
    """Check everything and make the key. `columns` are the paths by which its kind is listed and found.

    Raises:
        PayloadRefused: something cannot be stored; the message names it and says what to send instead.
    """
    text = read_payload(payload, max_bytes=max_bytes)
    kind_text = keys.check_text(kind, "kind", max_length=keys.MAX_KIND)
    account_text = keys.check_text(account, "account", max_length=keys.MAX_ACCOUNT)
    entity_text = keys.check_text(entity_id, "entity_id", max_length=keys.MAX_ENTITY_ID)
    version_text = keys.check_version(version)
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
        payload_hash=keys.content_hash(
            kind=kind_text,
            account=account_text,
            entity_id=entity_text,
            version=version_text,
            canonical=text.canonical,
        ),
        effect_key=keys.effect_key(key),
        version=version_text,
        payload=text.stored,
        ordering_key=ordering_key,
        lane=lane,
        on_dead=on_dead,
        max_attempts=max_attempts,
        origin=None if origin is None else keys.check_text(origin, "origin", max_length=MAX_ORIGIN),
        trace_context=trace_context,
        run_at=_moment(run_at, "run_at"),
        expires_at=_moment(expires_at, "expires_at"),
        max_wait=max_wait,
        fields=values_of(text.stored, columns),
    )


def _moment(moment: object, name: str) -> datetime | None:
    if moment is None:
        return None
    if not isinstance(moment, datetime):
        raise PayloadRefused(f"{name}: {type(moment).__name__} is not supported; send an aware datetime.")
    if moment.utcoffset() is None:
        raise PayloadRefused(f"{name}: a time without a zone is ambiguous; send an aware datetime.")
    if not FIRST_YEAR < moment.year < LAST_YEAR:
        raise PayloadRefused(f"{name}: send a time between the years {FIRST_YEAR} and {LAST_YEAR}.")
    return moment.astimezone(UTC)


def insert_one(store: Store, connection: Connection, new: Intention) -> Ingested:
    """Insert in the transaction of `connection`, or find the event that exists under the same key.

    Raises:
        IdempotencyConflict: the event that exists has another payload.
    """
    parameters = _parameters(new)
    while True:
        row = connection.execute(store.statement(INSERT_ONE), parameters).first()
        if row is not None:
            made = _new(row)
            _keep_fields(store, connection, [new], [made])
            return made
        found = connection.execute(store.statement(EXISTING), {"key": new.idempotency_key}).first()
        # None: it was pruned between the two statements, so the key is free again.
        if found is not None:
            return _folded(new, found)


def insert_many(store: Store, connection: Connection, news: Sequence[Intention]) -> list[Ingested]:
    """Insert all or none in the transaction of `connection`; answers in the order given.

    Raises:
        IdempotencyConflict: one of them exists with another payload; then none of them is in.
    """
    answers: list[Ingested] = []
    made: list[int] = []
    try:
        for chunk in _chunks(news):
            answers += _insert_chunk(store, connection, chunk, made)
    except IdempotencyConflict:
        # Not by a savepoint: where the driver of SQLite has begun no transaction yet, releasing one would commit.
        template = TAKE_BACK_SQLITE if store.sqlite else TAKE_BACK_POSTGRES
        connection.execute(store.statement(template), {"ids": json.dumps(made)})
        raise
    # Not before all are in, so that there is nothing more to be taken back.
    _keep_fields(store, connection, news, answers)
    return answers


def _keep_fields(
    store: Store, connection: Connection, news: Sequence[Intention], answers: Sequence[Ingested]
) -> None:
    pairs = zip(news, answers, strict=True)
    keep(store, connection, [Kept(each.id, new.fields) for new, each in pairs if new.fields and each.created])


def _chunks(news: Sequence[Intention]) -> Iterator[Sequence[Intention]]:
    start = size = 0
    for place, new in enumerate(news):
        size += len(new.payload)
        if place > start and (place - start == CHUNK or size > CHUNK_SIZE):
            yield news[start:place]
            start, size = place, len(new.payload)
    if news:
        yield news[start:]


def _insert_chunk(
    store: Store, connection: Connection, news: Sequence[Intention], made: list[int]
) -> list[Ingested]:
    template = INSERT_MANY_SQLITE if store.sqlite else INSERT_MANY_POSTGRES
    rows = json.dumps(_json_rows(store, news))
    inserted = {
        row.idempotency_key: row for row in connection.execute(store.statement(template), {"rows": rows})
    }
    made += [row.id for row in inserted.values()]
    known = {} if len(inserted) == len(news) else _existing(store, connection, news)
    answers = []
    for new in news:
        row = inserted.pop(new.idempotency_key, None)
        if row is not None:
            answers.append(_new(row))
        elif new.idempotency_key in known:
            answers.append(_folded(new, known[new.idempotency_key]))
        else:  # pruned between the two statements
            answers.append(insert_one(store, connection, new))
    return _let_go(store, connection, news, answers) if known else answers


def _let_go(
    store: Store, connection: Connection, news: Sequence[Intention], answers: list[Ingested]
) -> list[Ingested]:
    """What waits behind a repeat that was folded into an event which has ended waits for nothing."""
    asked: set[str] = set()
    for place, (new, each) in enumerate(zip(news, answers, strict=True)):
        if new.lane is None or each.status != Status.BLOCKED or not each.created or new.lane in asked:
            continue
        asked.add(new.lane)
        if promote(store, connection, new.lane):
            answers[place] = replace(each, status=Status.PENDING)
    return answers


def _new(row: Any) -> Ingested:
    return Ingested(
        row.id,
        created=True,
        status=row.status,
        lease_epoch=0,
        to_send=bool(row.due) and row.status == Status.PENDING,
    )


def _folded(new: Intention, found: Any) -> Ingested:
    if new.payload_hash != found.payload_hash:
        raise IdempotencyConflict
    return Ingested(found.id, created=False, status=found.status, lease_epoch=found.lease_epoch)


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


def _parameters(new: Intention) -> dict[str, Any]:
    return {name: getattr(new, name) for name in Intention.__slots__ if name != "fields"}


def _json_rows(store: Store, news: Sequence[Intention]) -> list[dict[str, Any]]:
    """The rows of one statement, which cannot see one another: each is told whether one of its lane stands before it."""
    lanes: set[str] = set()
    rows = []
    for place, new in enumerate(news):
        rows.append(_json_row(store, place, new) | {"follows": new.lane in lanes})
        if new.lane is not None:
            lanes.add(new.lane)
    return rows


def _json_row(store: Store, place: int, new: Intention) -> dict[str, Any]:
    # What is absent in JSON is NULL in the row.
    row = {name: value for name, value in _parameters(new).items() if value is not None}
    for name in ("run_at", "expires_at"):
        if name in row:
            row[name] = to_microseconds(row[name]) if store.sqlite else row[name].isoformat()
    return row | {"place": place}
