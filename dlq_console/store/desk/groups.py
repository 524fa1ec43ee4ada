"""Who sees to a cause, and how is it fixed? Kept by fingerprint, whatever becomes of the events that died of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row

from dlq_console.store.acts import record
from dlq_console.store.desk.values import (
    NO_GROUP_MARKS,
    Assignment,
    Change,
    GroupMarks,
    unknown_person,
    write_assignment,
)
from dlq_console.store.desk.writing import KNOWN_PERSON
from dlq_console.store.events import read_time
from dlq_console.store.people.roles import Permission
from dlq_console.store.queries.routes import prepared
from dlq_console.store.store import Store

#: How the audit calls a cause.
SUBJECT = "group:"
#: What is done to a cause, as the audit says it.
PLAYBOOK = "playbook"

_COLUMNS = "fingerprint, playbook, playbook_by, playbook_at, assignee, due_at"
MARKS = f"SELECT {_COLUMNS} FROM {{group_desk}} WHERE fingerprint IN :fingerprint_list"
LOOK = f"SELECT {_COLUMNS} FROM {{group_desk}} WHERE fingerprint = :fingerprint"
#: A cause is known once it was counted, and before that by its dead events.
OPEN = """
INSERT INTO {group_desk} (fingerprint, updated_at)
SELECT CAST(:fingerprint AS text), {now}
WHERE EXISTS (SELECT 1 FROM {error_group} g WHERE g.fingerprint = CAST(:fingerprint AS text))
    OR EXISTS (SELECT 1 FROM {event} e WHERE e.status = 'dead' AND e.fingerprint = CAST(:fingerprint AS text))
ON CONFLICT (fingerprint) DO NOTHING
"""
ASSIGN = f"""
UPDATE {{group_desk}} SET assignee = CAST(:assignee AS text), due_at = :due_at, updated_at = {{now}}
WHERE fingerprint = :fingerprint AND {KNOWN_PERSON}
"""
SET_PLAYBOOK = """
UPDATE {group_desk} SET playbook = CAST(:playbook AS text), playbook_by = :actor, playbook_at = {now}, updated_at = {now}
WHERE fingerprint = :fingerprint
"""


def group_marks(store: Store, fingerprints: Sequence[str]) -> dict[str, GroupMarks]:
    """What people have put on each of some causes; every fingerprint that was asked for is in the answer."""
    found = dict.fromkeys(fingerprints, NO_GROUP_MARKS)
    if not found:
        return {}
    parameters = {"fingerprint_list": list(found)}
    with store.read() as connection:
        rows = connection.execute(prepared(store, MARKS, parameters), parameters).all()
    return found | {row.fingerprint: _marks(row) for row in rows}


def assign_group(
    store: Store, connection: Connection, fingerprint: str, to: Assignment, *, actor: str
) -> Change[Assignment] | None:
    """Let somebody, or nobody, see to a cause; None where there is no such cause.

    Raises:
        PayloadRefused: nobody of that name may log in.
    """
    was = _open(store, connection, fingerprint)
    if was is None:
        return None
    change = Change(Assignment(was.assignee, was.due_at), to)
    if change.happened:
        written = {"fingerprint": fingerprint, "assignee": to.assignee, "due_at": to.due_at}
        if not connection.execute(store.statement(ASSIGN), written).rowcount:
            raise unknown_person(to.assignee)
        before, after = write_assignment(change.before), write_assignment(to)
        _record(store, connection, actor, Permission.ASSIGN, fingerprint, before, after)
    return change


def set_playbook(
    store: Store, connection: Connection, fingerprint: str, text: str | None, *, actor: str
) -> Change[GroupMarks] | None:
    """Write down how a cause is fixed; None where there is no such cause."""
    was = _open(store, connection, fingerprint)
    if was is None:
        return None
    if was.playbook != text:
        written = {"fingerprint": fingerprint, "playbook": text, "actor": actor}
        connection.execute(store.statement(SET_PLAYBOOK), written)
        _record(store, connection, actor, PLAYBOOK, fingerprint, was.playbook, text)
    return Change(was, _look(store, connection, fingerprint, ""))


def _open(store: Store, connection: Connection, fingerprint: str) -> GroupMarks | None:
    """The marks of a cause, locked until the end of the transaction; None where there is no such cause."""
    connection.execute(store.statement(OPEN), {"fingerprint": fingerprint})
    try:
        return _look(store, connection, fingerprint, "" if store.sqlite else " FOR UPDATE")
    except LookupError:
        return None


def _look(store: Store, connection: Connection, fingerprint: str, lock: str) -> GroupMarks:
    row = connection.execute(store.statement(LOOK + lock), {"fingerprint": fingerprint}).one_or_none()
    if row is None:
        raise LookupError(fingerprint)
    return _marks(row)


def _marks(row: Row[Any]) -> GroupMarks:
    return GroupMarks(
        playbook=row.playbook,
        playbook_by=row.playbook_by,
        playbook_at=read_time(row.playbook_at),
        assignee=row.assignee,
        due_at=read_time(row.due_at),
    )


def _record(
    store: Store,
    connection: Connection,
    actor: str,
    action: str,
    fingerprint: str,
    before: str | None,
    after: str | None,
) -> None:
    subject = f"{SUBJECT}{fingerprint}"
    record(store, connection, actor=actor, action=action, subject=subject, before=before, after=after)
