"""What have people put on these events, and who could see to one?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection

from dlq_console.store.cursors import MAX_ID
from dlq_console.store.desk.values import NO_MARKS, Marks, Note, unknown_person
from dlq_console.store.events import read_time
from dlq_console.store.people.roles import Role
from dlq_console.store.people.rows import known_time, read_accounts
from dlq_console.store.queries.routes import Accounts, prepared
from dlq_console.store.store import Store

#: Most notes that are read for one event; the newest ones.
MAX_NOTES = 200
#: Most people that are offered.
MAX_PEOPLE = 500

MARKS = """
SELECT event_id, assignee, due_at, CASE WHEN snoozed_until > {now} THEN snoozed_until END AS snoozed_until,
    CAST(NULL AS text) AS tag, 0 AS notes
FROM {desk} WHERE event_id IN :event_ids
UNION ALL
SELECT event_id, NULL, NULL, NULL, tag, 0 FROM {tag} WHERE event_id IN :event_ids
UNION ALL
SELECT event_id, NULL, NULL, NULL, NULL, count(*) FROM {note} WHERE event_id IN :event_ids GROUP BY event_id
"""
NOTES = f"SELECT id, at, actor, text FROM {{note}} WHERE event_id = :id ORDER BY id DESC LIMIT {MAX_NOTES}"
#: Whoever only looks can do nothing about an event.
PEOPLE = f"""
SELECT name, accounts FROM {{users}} WHERE disabled_at IS NULL AND role <> '{Role.VIEWER}' ORDER BY name LIMIT {MAX_PEOPLE}
"""
ACCOUNT = "SELECT account FROM {event} WHERE id = :id"
PERSON = "SELECT accounts FROM {users} WHERE name = :name"
MAY_SEE_TO_IT = f"{PERSON} AND disabled_at IS NULL AND role <> '{Role.VIEWER}'"


def marks(store: Store, event_ids: Sequence[int]) -> dict[int, Marks]:
    """What people have put on each of some events, in one statement; every id that was asked for is in the answer."""
    found: dict[int, dict[str, Any]] = {event_id: {} for event_id in event_ids}
    if not found:
        return {}
    parameters = {"event_ids": list(found)}
    with store.read() as connection:
        rows = connection.execute(prepared(store, MARKS, parameters), parameters).all()
    for row in rows:
        about = found[row.event_id]
        if row.tag is not None:
            about.setdefault("tags", []).append(row.tag)
        elif row.notes:
            about["notes"] = row.notes
        else:
            about["assignee"] = row.assignee
            about["due_at"], about["snoozed_until"] = read_time(row.due_at), read_time(row.snoozed_until)
    return {event_id: _marks(about) for event_id, about in found.items()}


def _marks(about: dict[str, Any]) -> Marks:
    return Marks(**about | {"tags": tuple(sorted(about.get("tags", ())))}) if about else NO_MARKS


def notes(store: Store, event_id: int) -> tuple[Note, ...]:
    """What people wrote about an event, newest first."""
    with store.read() as connection:
        rows = connection.execute(store.statement(NOTES), {"id": event_id}).all()
    return tuple(Note(row.id, known_time(row.at), row.actor, row.text) for row in rows)


def assignable(store: Store, account: str | None = None) -> tuple[str, ...]:
    """Who could see to something of `account`, by name: people who are not disabled and see it; None asks for nobody's sight."""
    with store.read() as connection:
        rows = connection.execute(store.statement(PEOPLE)).all()
    return tuple(row.name for row in rows if account is None or _sees(row.accounts, account))


def account_of(store: Store, event_id: int) -> str | None:
    """Of which account an event is; None where there is no such event."""
    if not 0 < event_id <= MAX_ID:
        return None
    with store.read() as connection:
        account: str | None = connection.execute(store.statement(ACCOUNT), {"id": event_id}).scalar()
    return account


def sees_account(store: Store, name: str, account: str) -> bool:
    """Whether a person sees events of an account; also where there is no such person, of whom others will tell."""
    with store.read() as connection:
        row = connection.execute(store.statement(PERSON), {"name": name}).one_or_none()
    return row is None or _sees(row.accounts, account)


def accounts_of(store: Store, connection: Connection, name: str) -> Accounts:
    """The accounts that a person sees, None for all; nobody changes that before this transaction ends.

    Raises:
        PayloadRefused: nobody of that name may log in.
    """
    look = MAY_SEE_TO_IT if store.sqlite else f"{MAY_SEE_TO_IT} FOR SHARE"
    row = connection.execute(store.statement(look), {"name": name}).one_or_none()
    if row is None:
        raise unknown_person(name)
    return read_accounts(row.accounts)


def _sees(cell: str | None, account: str) -> bool:
    accounts = read_accounts(cell)
    return accounts is None or account in accounts
