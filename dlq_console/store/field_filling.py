"""Which dead letters lack values of fields that their kind has configured since they died? They are given them, newest first.

How far that has come is kept with the kind. Whatever dies from then on, or is taken back to dead, has its values written
with it (`field_rows.keep_configured`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, RowMapping

from dlq_console.store.clock import from_microseconds, to_microseconds
from dlq_console.store.events import read_time
from dlq_console.store.field_rows import Kept, keep
from dlq_console.store.field_values import values_of
from dlq_console.store.id_lists import as_ids, ids_sql
from dlq_console.store.store import Store

#: Dead letters of one transaction: their payloads are read, and each may be large.
CHUNK = 50
#: Dead letters that one turn looks at.
MOST_AT_ONCE = 1_000

_KINDS = "SELECT name, policy, filled FROM {kind} ORDER BY name"
_NEWEST = """
SELECT id, finished_at, lease_epoch, payload FROM {event}
WHERE status = 'dead' AND kind = :kind ORDER BY finished_at DESC, id DESC LIMIT :limit
"""
_NEXT = _NEWEST.replace("ORDER BY", "AND (finished_at, id) < (:before_at, :before_id) ORDER BY")
_EPOCHS = "SELECT id, lease_epoch FROM {event} WHERE status = 'dead' AND id IN"
#: Only from where it was read: two that work at once do the same, and one of them goes on.
_GO_ON = "UPDATE {kind} SET filled = :filled WHERE name = :kind AND coalesce(filled, '') = :was"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the older dead letters of a kind have their values.

    Attributes:
        paths: of which fields.
        over: whether all of them do.
        before: time and id of the last one that was looked at; the next ones died before it.
    """

    paths: tuple[str, ...] = ()
    over: bool = True
    before: tuple[datetime, int] | None = None

    def towards(self, paths: tuple[str, ...]) -> Progress:
        """How far it has come when these are the fields that are configured."""
        if paths == self.paths:
            return self
        return Progress(paths, over=self.over and set(paths) <= set(self.paths))

    def __str__(self) -> str:
        before = self.before and (to_microseconds(self.before[0]), self.before[1])
        return json.dumps({"paths": self.paths, "over": self.over, "before": before})


@dataclass(frozen=True, slots=True)
class _Kind:
    """`was` is the progress as it is written there; empty where nothing is."""

    name: str
    paths: tuple[str, ...]
    was: str

    @property
    def progress(self) -> Progress:
        if not self.was:
            return Progress()
        found = json.loads(self.was)
        before = found["before"] and (from_microseconds(found["before"][0]), found["before"][1])
        return Progress(tuple(found["paths"]), found["over"], before)


def fill(store: Store, *, most: int = MOST_AT_ONCE) -> int:
    """Give values to dead letters of kinds whose fields have changed; returns how many were looked at.

    Args:
        store: the store.
        most: how many are looked at before it leaves the rest to the next turn.
    """
    looked = 0
    for kind in _kinds(store):
        progress = kind.progress.towards(kind.paths)
        if progress != kind.progress:
            # Begun by the next turn: what is dying right now by the older fields has died by then.
            with store.write() as connection:
                _go_on(store, connection, kind, progress)
        elif not progress.over:
            looked += _walk(store, kind, progress, most - looked)
        if looked >= most:
            break
    return looked


def _kinds(store: Store) -> list[_Kind]:
    with store.read() as connection:
        rows = connection.execute(store.statement(_KINDS)).all()
    return [_Kind(row.name, _paths(row.policy), row.filled or "") for row in rows]


def _paths(policy: str) -> tuple[str, ...]:
    return tuple(sorted(set(json.loads(policy).get("columns", {}).values())))


def _walk(store: Store, kind: _Kind, progress: Progress, most: int) -> int:
    looked = 0
    while looked < most and not progress.over:
        limit = min(CHUNK, most - looked)
        found = _dead(store, kind.name, progress, limit)
        progress = _behind(progress, found, over=len(found) < limit)
        if not _fill(store, kind, progress, found):
            break
        kind = replace(kind, was=str(progress))
        looked += len(found)
    return looked


def _dead(store: Store, kind: str, progress: Progress, limit: int) -> list[RowMapping]:
    asked: dict[str, Any] = {"kind": kind, "limit": limit}
    template = _NEWEST
    if progress.before is not None:
        template, (asked["before_at"], asked["before_id"]) = _NEXT, progress.before
    with store.read() as connection:
        return list(connection.execute(store.statement(template), asked).mappings())


def _behind(progress: Progress, found: list[RowMapping], *, over: bool) -> Progress:
    if over:
        return Progress(progress.paths)
    ended = read_time(found[-1]["finished_at"])
    assert ended is not None  # noqa: S101 - for the type checker; what is dead has ended
    return replace(progress, before=(ended, found[-1]["id"]))


def _fill(store: Store, kind: _Kind, progress: Progress, found: list[RowMapping]) -> bool:
    """Write the values of a chunk and how far it has come; whether nobody else has written that meanwhile."""
    epochs = {row["id"]: row["lease_epoch"] for row in found}
    values = [Kept(row["id"], values_of(row["payload"], progress.paths)) for row in found]

    def work(connection: Connection) -> bool:
        same = _unchanged(store, connection, epochs)
        keep(store, connection, (one for one in values if one.event_id in same))
        return _go_on(store, connection, kind, progress)

    return store.transact(work)


def _unchanged(store: Store, connection: Connection, epochs: dict[int, int]) -> set[int]:
    """Those that are dead as they were read, and stay so until this is written: another run may rebuild the payload."""
    lock = "" if store.sqlite else "ORDER BY id FOR SHARE"
    read = store.statement(f"{_EPOCHS} {ids_sql(store, 'event_ids')} {lock}")
    rows: Iterable[Any] = connection.execute(read, {"event_ids": as_ids([*epochs])})
    return {row.id for row in rows if row.lease_epoch == epochs[row.id]}


def _go_on(store: Store, connection: Connection, kind: _Kind, progress: Progress) -> bool:
    written = {"kind": kind.name, "was": kind.was, "filled": str(progress)}
    return connection.execute(store.statement(_GO_ON), written).rowcount == 1
