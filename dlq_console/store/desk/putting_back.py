"""How do desks get back what was on them before an act? Each event its own, with a row in the audit like any other change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import TypeVar

from sqlalchemy import Connection

from dlq_console.clock import utc_now
from dlq_console.errors import PayloadRefused
from dlq_console.store.desk.reading import accounts_of
from dlq_console.store.desk.taking_back import unchanged
from dlq_console.store.desk.values import Assignment, Change, read_assignment, read_tags
from dlq_console.store.desk.writing import assign, change_tags, snooze
from dlq_console.store.people.roles import Permission
from dlq_console.store.store import Store

Value = TypeVar("Value")


def put_back(
    store: Store,
    connection: Connection,
    action: str,
    changes: Mapping[int, Change[str | None]],
    owners: Mapping[int, str],
    *,
    actor: str,
) -> int:
    """Undo what an act has made of events, where it is still so; returns for how many.

    Args:
        store: the store.
        connection: its transaction.
        action: ASSIGN, TAG or SNOOZE.
        changes: as `changes_of` tells them.
        owners: the account of each event that may be touched; the others are left as they are.
        actor: who.
    """
    seen = {event_id: change for event_id, change in changes.items() if event_id in owners}
    still = unchanged(store, connection, action, seen)
    before = {event_id: seen[event_id].before for event_id in still}
    return _PUT_BACK[action](store, connection, before, owners, actor)


def _assignments(
    store: Store,
    connection: Connection,
    before: Mapping[int, str | None],
    owners: Mapping[int, str],
    actor: str,
) -> int:
    done = 0
    for to, event_ids in _together({key: _still_due(text) for key, text in before.items()}):
        possible = _seen_by(store, connection, to.assignee, event_ids, owners)
        done += len(assign(store, connection, possible, to, actor=actor))
    return done


def _tags(
    store: Store, connection: Connection, before: Mapping[int, str | None], _owners: object, actor: str
) -> int:
    done = 0
    for text, event_ids in _together(before):
        tags = read_tags(text)
        done += len(change_tags(store, connection, event_ids, add=tags, remove=None, actor=actor))
    return done


def _snoozes(
    store: Store, connection: Connection, before: Mapping[int, str | None], _owners: object, actor: str
) -> int:
    done = 0
    for until, event_ids in _together({key: _ahead(text) for key, text in before.items()}):
        done += len(snooze(store, connection, event_ids, until, actor=actor))
    return done


_PutBack = Callable[[Store, Connection, Mapping[int, "str | None"], Mapping[int, str], str], int]
_PUT_BACK: dict[str, _PutBack] = {
    Permission.ASSIGN: _assignments,
    Permission.TAG: _tags,
    Permission.SNOOZE: _snoozes,
}


def _seen_by(
    store: Store, connection: Connection, name: str | None, event_ids: list[int], owners: Mapping[int, str]
) -> list[int]:
    """Those events to which that person may see to; all where it is nobody."""
    if name is None:
        return event_ids
    try:
        accounts = accounts_of(store, connection, name)
    except PayloadRefused:
        return []
    return [event_id for event_id in event_ids if accounts is None or owners[event_id] in accounts]


def _still_due(text: str | None) -> Assignment:
    to = read_assignment(text)
    return to if to.due_at is None or to.due_at > utc_now() else Assignment(to.assignee)


def _ahead(text: str | None) -> datetime | None:
    until = datetime.fromisoformat(text) if text else None
    return until if until is not None and until > utc_now() else None


def _together(values: Mapping[int, Value]) -> Iterable[tuple[Value, list[int]]]:
    """Every value with the events that get it back."""
    groups: dict[Value, list[int]] = {}
    for event_id, value in values.items():
        groups.setdefault(value, []).append(event_id)
    return groups.items()
