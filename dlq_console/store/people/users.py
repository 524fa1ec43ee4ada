"""How do people come into being, log in, and leave?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from unicodedata import normalize
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from sqlalchemy import Connection

from dlq_console.settings import LOCALES
from dlq_console.store.events import read_time
from dlq_console.store.people.acts import SOMEBODY, note_act, rights
from dlq_console.store.people.roles import Person
from dlq_console.store.people.rows import known_time, person_from_row
from dlq_console.store.people.rules import (
    MAX_PASSWORD,
    NameTaken,
    NoSuchName,
    PeopleError,
    check_password,
    check_role,
    clean_name,
    write_accounts,
)
from dlq_console.store.store import Store

#: Appearances that a person may choose; without a choice the console follows the person's system.
THEMES = ("light", "dark")

_COLUMNS = "id, name, role, accounts, locale, timezone, theme, keys_off"

ADD = """
INSERT INTO {users} (name, password_hash, role, accounts, created_at)
VALUES (:name, :password_hash, :role, :accounts, {now})
ON CONFLICT (name) DO NOTHING
RETURNING id
"""
ALL = f"SELECT {_COLUMNS}, created_at, disabled_at, last_login_at FROM {{users}} ORDER BY name"
LOGIN = f"SELECT {_COLUMNS}, password_hash FROM {{users}} WHERE name = :name AND disabled_at IS NULL"
#: Guarded by what was verified: a password that was changed meanwhile stays as it is.
LOGGED_IN = """
UPDATE {users} SET last_login_at = {now}, password_hash = :new_hash
WHERE id = :id AND password_hash = :old_hash AND disabled_at IS NULL
"""
SET_PASSWORD = "UPDATE {users} SET password_hash = :password_hash WHERE name = :name RETURNING id"  # noqa: S105 - SQL
DISABLE = "UPDATE {users} SET disabled_at = coalesce(disabled_at, {now}) WHERE name = :name RETURNING id"
CLOSE_SESSIONS = "DELETE FROM {sessions} WHERE user_id = :id"
#: NULL leaves a choice as it is, the empty text takes it back.
SET_PREFERENCES = """
UPDATE {users} SET
    locale = nullif(coalesce(CAST(:locale AS text), locale), ''),
    timezone = nullif(coalesce(CAST(:timezone AS text), timezone), ''),
    theme = nullif(coalesce(CAST(:theme AS text), theme), ''),
    keys_off = coalesce(CAST(:keys_off AS integer), keys_off)
WHERE id = :id
"""

_hasher = PasswordHasher()


@dataclass(frozen=True, slots=True, kw_only=True)
class UserEntry:
    """A person as lists show it."""

    person: Person
    created_at: datetime
    disabled_at: datetime | None
    last_login_at: datetime | None


def add_user(
    store: Store,
    name: str,
    password: str,
    *,
    role: str,
    accounts: Sequence[str] | None = None,
    actor: str = SOMEBODY,
) -> Person:
    """Let somebody use the console; `accounts` are those that may be seen, None for all. `actor` did it.

    Raises:
        NameTaken: somebody has this name, perhaps in other letters of upper and lower case.
        PeopleError: something cannot be used; the message says what to write.
    """
    name, known_role, cell = clean_name(name), check_role(role), write_accounts(accounts)
    parameters = {
        "name": name,
        "password_hash": _hasher.hash(check_password(password, name)),
        "role": known_role,
        "accounts": cell,
    }
    with store.write() as connection:
        user_id = connection.execute(store.statement(ADD), parameters).scalar()
        if user_id is None:
            raise NameTaken(f"The user {name} exists already.")
        note_act(store, connection, actor, "add_user", f"user:{name}", rights(known_role, cell))
    return Person(
        id=user_id, name=name, role=known_role, accounts=None if accounts is None else tuple(accounts)
    )


def list_users(store: Store) -> tuple[UserEntry, ...]:
    """Everybody, by name; also those who were disabled."""
    with store.read() as connection:
        rows = connection.execute(store.statement(ALL)).mappings().all()
    return tuple(
        UserEntry(
            person=person_from_row(row),
            created_at=known_time(row["created_at"]),
            disabled_at=read_time(row["disabled_at"]),
            last_login_at=read_time(row["last_login_at"]),
        )
        for row in rows
    )


def verify_login(store: Store, name: str, password: str) -> Person | None:
    """Who that is; None for a wrong password, an unknown name or somebody who was disabled.

    Takes the same work in every case, so that its time does not tell which names exist.
    """
    try:
        name = clean_name(name)
    except PeopleError:
        name = ""
    with store.read() as connection:
        row = connection.execute(store.statement(LOGIN), {"name": name}).mappings().one_or_none()
    old_hash = row["password_hash"] if row else _hash_of_nobody()
    typed = normalize("NFC", password)[: MAX_PASSWORD + 1]
    if not _matches(old_hash, typed) or row is None:
        return None
    new_hash = _hasher.hash(typed) if _hasher.check_needs_rehash(old_hash) else old_hash
    parameters = {"id": row["id"], "old_hash": old_hash, "new_hash": new_hash}
    with store.write() as connection:
        changed = connection.execute(store.statement(LOGGED_IN), parameters).rowcount
    return person_from_row(row) if changed else None


def set_password(store: Store, name: str, password: str, *, actor: str = SOMEBODY) -> None:
    """Give somebody a new password and end all their sessions. `actor` did it.

    Raises:
        NoSuchName: nobody has this name.
        PeopleError: the password cannot be used.
    """
    name = clean_name(name)
    password_hash = _hasher.hash(check_password(password, name))
    with store.write() as connection:
        _change(store, connection, SET_PASSWORD, name=name, password_hash=password_hash)
        note_act(store, connection, actor, "set_password", f"user:{name}")


def disable_user(store: Store, name: str, *, actor: str = SOMEBODY) -> None:
    """Let somebody log in no more and end all their sessions; their name stays taken, because the audit holds it.

    Raises:
        NoSuchName: nobody has this name.
    """
    name = clean_name(name)
    with store.write() as connection:
        _change(store, connection, DISABLE, name=name)
        note_act(store, connection, actor, "disable_user", f"user:{name}")


def set_preferences(
    store: Store,
    person_id: int,
    *,
    locale: str | None = None,
    timezone: str | None = None,
    theme: str | None = None,
    keys_off: bool | None = None,
) -> None:
    """Keep what somebody has chosen; None leaves a choice as it is, the empty text takes it back.

    Raises:
        PeopleError: there is no such choice.
    """
    if locale and locale not in LOCALES:
        raise PeopleError(f"locale: choose one of {', '.join(LOCALES)}.")
    if theme and theme not in THEMES:
        raise PeopleError(f"theme: choose one of {', '.join(THEMES)}.")
    if timezone:
        _check_timezone(timezone)
    parameters = {
        "id": person_id,
        "locale": locale,
        "timezone": timezone,
        "theme": theme,
        "keys_off": None if keys_off is None else int(keys_off),
    }
    with store.write() as connection:
        connection.execute(store.statement(SET_PREFERENCES), parameters)


def _change(store: Store, connection: Connection, template: str, **parameters: str) -> None:
    """Change somebody and end their sessions, in one transaction."""
    user_id = connection.execute(store.statement(template), parameters).scalar()
    if user_id is None:
        raise NoSuchName(f"There is no user {parameters['name']}.")
    connection.execute(store.statement(CLOSE_SESSIONS), {"id": user_id})


def _matches(password_hash: str, typed: str) -> bool:
    try:
        return _hasher.verify(password_hash, typed.encode("utf-8", "surrogatepass"))
    except (VerificationError, InvalidHashError):
        return False


@cache
def _hash_of_nobody() -> str:
    return _hasher.hash("nobody has this password")


def _check_timezone(name: str) -> None:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise PeopleError("timezone: write an IANA name such as America/Sao_Paulo.") from error
