"""How does something get onto the desk? Upon any number of events at once, each with its audit row, in one transaction.

The desk's own row of an event is locked first, also where only tags change: what is then written as "before" is what was
there, and nobody's limit is passed by two at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row

from dlq_console.store.acts import Record, record, record_many
from dlq_console.store.desk.values import (
    MAX_TAGS,
    Assignment,
    Change,
    too_many_tags,
    unknown_person,
    write_assignment,
    write_tags,
    write_time,
)
from dlq_console.store.events import read_time
from dlq_console.store.people.roles import Permission, Role
from dlq_console.store.queries.routes import prepared
from dlq_console.store.states import Status
from dlq_console.store.store import Store

#: In the order of their ids, so that two who act upon the same ones do not lock each other out.
OPEN = """
INSERT INTO {desk} (event_id, updated_at)
SELECT e.id, {now} FROM {event} e WHERE e.id IN :event_ids ORDER BY e.id
ON CONFLICT (event_id) DO NOTHING
"""
LOOK = """
SELECT event_id, assignee, due_at, snoozed_until FROM {desk} WHERE event_id IN :event_ids ORDER BY event_id
"""
#: SQL: the person `:assignee` exists, may log in and do something; also where nobody is meant.
KNOWN_PERSON = f"""
(CAST(:assignee AS text) IS NULL
    OR EXISTS (SELECT 1 FROM {{users}} u WHERE u.name = CAST(:assignee AS text) AND u.disabled_at IS NULL
        AND u.role <> '{Role.VIEWER}'))
"""
ASSIGN = f"""
UPDATE {{desk}} SET assignee = CAST(:assignee AS text), due_at = :due_at, updated_at = {{now}}
WHERE event_id IN :event_ids AND {KNOWN_PERSON}
"""
SNOOZE = f"""
UPDATE {{desk}} SET snoozed_until = :snoozed_until, updated_at = {{now}}
WHERE event_id IN :event_ids
    AND (:wakes = 1 OR EXISTS (SELECT 1 FROM {{event}} e WHERE e.id = event_id AND e.status = '{Status.DEAD}'))
RETURNING event_id
"""
TAGS = "SELECT event_id, tag FROM {tag} WHERE event_id IN :event_ids"
ADD_TAG = "INSERT INTO {tag} (tag, event_id) VALUES (:tag, :event_id) ON CONFLICT (tag, event_id) DO NOTHING"
REMOVE_TAG = "DELETE FROM {tag} WHERE tag = :tag AND event_id = :event_id"
CARRY_OVER = (
    """
INSERT INTO {desk} (event_id, assignee, due_at, updated_at)
SELECT CAST(:new AS bigint), assignee, due_at, {now} FROM {desk} WHERE event_id = :old AND assignee IS NOT NULL
ON CONFLICT (event_id) DO NOTHING
""",
    """
INSERT INTO {tag} (tag, event_id) SELECT tag, CAST(:new AS bigint) FROM {tag} WHERE event_id = :old
ON CONFLICT (tag, event_id) DO NOTHING
""",
)
ADD_NOTE = """
INSERT INTO {note} (at, actor, event_id, text, form)
SELECT {now}, :actor, e.id, :text, :form FROM {event} e WHERE e.id = :id
ON CONFLICT (form) DO NOTHING
RETURNING id
"""


def assign(
    store: Store,
    connection: Connection,
    event_ids: Sequence[int],
    to: Assignment,
    *,
    actor: str,
    told: Record | None = None,
) -> dict[int, Change[Assignment]]:
    """Let somebody, or nobody, see to events; events that do not exist are left out of the answer.

    `told` is what each audit row says besides.

    Raises:
        PayloadRefused: nobody of that name may log in.
    """
    rows = _open(store, connection, event_ids)
    changes = {
        row.event_id: Change(Assignment(row.assignee, read_time(row.due_at)), to) for row in rows.values()
    }
    moved = _moved(changes)
    written = {"assignee": to.assignee, "due_at": to.due_at}
    if moved and _execute(store, connection, ASSIGN, moved, **written).rowcount != len(moved):
        raise unknown_person(to.assignee)
    texts = {key: Change(write_assignment(one.before), write_assignment(to)) for key, one in changes.items()}
    _record(store, connection, actor, Permission.ASSIGN, moved, texts, told)
    return changes


def change_tags(
    store: Store,
    connection: Connection,
    event_ids: Sequence[int],
    *,
    add: Sequence[str],
    remove: Sequence[str] | None,
    actor: str,
    told: Record | None = None,
) -> dict[int, Change[tuple[str, ...]]]:
    """Stick tags to events and take tags off; events that do not exist are left out of the answer.

    Args:
        store: the store.
        connection: its transaction.
        event_ids: which events.
        add: tags as `clean_tags` makes them.
        remove: the same; None takes off all that are not added.
        actor: who.
        told: what each audit row says besides.

    Raises:
        PayloadRefused: an event would have too many.
    """
    changes = {}
    for event_id, tags in tags_of(store, connection, event_ids).items():
        after = {*add} if remove is None else tags - {*remove} | {*add}
        if len(after) > MAX_TAGS and not after <= tags:
            raise too_many_tags()
        changes[event_id] = Change(tuple(sorted(tags)), tuple(sorted(after)))
    _write_tags(store, connection, changes)
    texts = {key: Change(write_tags(one.before), write_tags(one.after)) for key, one in changes.items()}
    _record(store, connection, actor, Permission.TAG, _moved(changes), texts, told)
    return changes


def tags_of(store: Store, connection: Connection, event_ids: Sequence[int]) -> dict[int, set[str]]:
    """The tags of events, which nobody else changes before this transaction ends."""
    tags: dict[int, set[str]] = {event_id: set() for event_id in _open(store, connection, event_ids)}
    if tags:
        for row in _execute(store, connection, TAGS, list(tags)).all():
            tags[row.event_id].add(row.tag)
    return tags


def held_by(store: Store, connection: Connection, event_ids: Sequence[int]) -> dict[int, str | None]:
    """Who sees to each of some events, which nobody else changes before this transaction ends."""
    return {event_id: row.assignee for event_id, row in _open(store, connection, event_ids).items()}


def standing(
    store: Store, connection: Connection, event_ids: Sequence[int]
) -> dict[int, tuple[Assignment, datetime | None]]:
    """Who sees to each of some events, and until when it is out of sight; locked as by `held_by`."""
    return {
        event_id: (Assignment(row.assignee, read_time(row.due_at)), read_time(row.snoozed_until))
        for event_id, row in _open(store, connection, event_ids).items()
    }


def _write_tags(store: Store, connection: Connection, changes: dict[int, Change[tuple[str, ...]]]) -> None:
    for template, rows in (
        (ADD_TAG, [(tag, key) for key, one in changes.items() for tag in {*one.after} - {*one.before}]),
        (REMOVE_TAG, [(tag, key) for key, one in changes.items() for tag in {*one.before} - {*one.after}]),
    ):
        if rows:
            each = [{"tag": tag, "event_id": event_id} for tag, event_id in sorted(rows)]
            connection.execute(store.statement(template), each)


def snooze(
    store: Store,
    connection: Connection,
    event_ids: Sequence[int],
    until: datetime | None,
    *,
    actor: str,
    told: Record | None = None,
) -> dict[int, Change[datetime | None]]:
    """Keep dead events out of sight until a moment, or bring them back; those that are not dead are left out.

    `told` is what each audit row says besides.
    """
    rows = _open(store, connection, event_ids)
    if not rows:
        return {}
    written = {"snoozed_until": until, "wakes": int(until is None)}
    taken = _execute(store, connection, SNOOZE, list(rows), **written).scalars().all()
    changes = {key: Change(read_time(rows[key].snoozed_until), until) for key in taken}
    texts = {key: Change(write_time(one.before), write_time(one.after)) for key, one in changes.items()}
    _record(store, connection, actor, Permission.SNOOZE, _moved(changes), texts, told)
    return changes


def add_note(
    store: Store, connection: Connection, event_id: int, text: str, *, actor: str, form: str | None = None
) -> int | None:
    """Write a note; returns its id, None where there is no such event or the note of this form is there already."""
    parameters = {"id": event_id, "text": text, "form": form, "actor": actor}
    made: int | None = connection.execute(store.statement(ADD_NOTE), parameters).scalar()
    if made is not None:
        record(store, connection, actor=actor, action=Permission.NOTE, event_id=event_id, note=text)
    return made


def carry_over(store: Store, connection: Connection, old: int, new: int) -> None:
    """Let whoever sees to an event see to the one that takes its place, under the same tags; notes stay where they are."""
    for template in CARRY_OVER:
        connection.execute(store.statement(template), {"old": old, "new": new})


def _open(store: Store, connection: Connection, event_ids: Sequence[int]) -> dict[int, Row[Any]]:
    """The desk's row of each of these events, made where there was none and locked until the end of the transaction."""
    if not event_ids:
        return {}
    _execute(store, connection, OPEN, event_ids)
    # A transaction on SQLite is the only writer anyway.
    look = LOOK if store.sqlite else f"{LOOK} FOR UPDATE"
    return {row.event_id: row for row in _execute(store, connection, look, event_ids).all()}


def _execute(
    store: Store, connection: Connection, template: str, event_ids: Sequence[int], **more: Any
) -> Any:
    parameters = more | {"event_ids": list(event_ids)}
    return connection.execute(prepared(store, template, parameters), parameters)


def _moved(changes: dict[int, Change[Any]]) -> list[int]:
    return [event_id for event_id, change in changes.items() if change.happened]


def _record(
    store: Store,
    connection: Connection,
    actor: str,
    action: str,
    event_ids: Sequence[int],
    texts: dict[int, Change[Any]],
    told: Record | None = None,
) -> None:
    each = [
        {
            "event_id": event_id,
            "before": texts[event_id].before or None,
            "after": texts[event_id].after or None,
            **(told or {}),
        }
        for event_id in event_ids
    ]
    record_many(store, connection, actor=actor, action=action, each=each)
