"""How do programs prove who they are? With a token that was shown once and of which only the hash is kept."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from dlq_console.store.at_once import write_at_once
from dlq_console.store.events import read_time
from dlq_console.store.people.acts import SOMEBODY, note_act, rights
from dlq_console.store.people.roles import Person, Role
from dlq_console.store.people.rows import known_time, read_accounts
from dlq_console.store.people.rules import (
    NameTaken,
    NoSuchName,
    check_role,
    clean_name,
    hash_of,
    write_accounts,
)
from dlq_console.store.store import Store

#: Begins every token, so that one that leaked is recognised for what it is.
PREFIX = "dlq_"
#: Seconds between two notes of when a token was last used.
USED_EVERY = 60

#: The name of a revoked token is free again.
ADD = """
INSERT INTO {tokens} (name, token_hash, role, accounts, created_at)
VALUES (:name, :token_hash, :role, :accounts, {now})
ON CONFLICT (name) DO UPDATE SET
    token_hash = excluded.token_hash, role = excluded.role, accounts = excluded.accounts,
    created_at = excluded.created_at, last_used_at = NULL, revoked_at = NULL
WHERE {tokens}.revoked_at IS NOT NULL
RETURNING id
"""
ALL = "SELECT name, role, accounts, created_at, last_used_at, revoked_at FROM {tokens} ORDER BY name"
FIND = f"""
SELECT name, role, accounts,
    last_used_at IS NULL OR last_used_at < {{now}} - {{interval[{USED_EVERY}]}} AS unnoted
FROM {{tokens}} WHERE token_hash = :token_hash AND revoked_at IS NULL
"""
NOTE = "UPDATE {tokens} SET last_used_at = {now} WHERE token_hash = :token_hash"
REVOKE = "UPDATE {tokens} SET revoked_at = coalesce(revoked_at, {now}) WHERE name = :name"


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenEntry:
    """A token as lists show it."""

    name: str
    role: Role
    accounts: tuple[str, ...] | None
    created_at: datetime
    last_used_at: datetime | None
    revoked_at: datetime | None


def add_token(
    store: Store,
    name: str,
    *,
    role: str,
    accounts: Sequence[str] | None = None,
    actor: str = SOMEBODY,
) -> str:
    """Make a token for a program and return it; nobody can read it again. `actor` did it.

    Raises:
        NameTaken: a token that was not revoked has this name.
        PeopleError: something cannot be used; the message says what to write.
    """
    name = clean_name(name)
    known_role, cell = check_role(role), write_accounts(accounts)
    token = PREFIX + secrets.token_urlsafe(32)
    parameters = {
        "name": name,
        "token_hash": hash_of(token),
        "role": known_role,
        "accounts": cell,
    }
    with store.write() as connection:
        if connection.execute(store.statement(ADD), parameters).scalar() is None:
            raise NameTaken(f"The token {name} exists already; revoke it first or choose another name.")
        note_act(store, connection, actor, "add_token", f"token:{name}", rights(known_role, cell))
    return token


def list_tokens(store: Store) -> tuple[TokenEntry, ...]:
    """Every token by name, also those that were revoked."""
    with store.read() as connection:
        rows = connection.execute(store.statement(ALL)).mappings().all()
    return tuple(
        TokenEntry(
            name=row["name"],
            role=Role(row["role"]),
            accounts=read_accounts(row["accounts"]),
            created_at=known_time(row["created_at"]),
            last_used_at=read_time(row["last_used_at"]),
            revoked_at=read_time(row["revoked_at"]),
        )
        for row in rows
    )


def revoke_token(store: Store, name: str, *, actor: str = SOMEBODY) -> None:
    """Make a token worthless from now on. `actor` did it.

    Raises:
        NoSuchName: there is none of this name.
    """
    name = clean_name(name)
    with store.write() as connection:
        if not connection.execute(store.statement(REVOKE), {"name": name}).rowcount:
            raise NoSuchName(f"There is no token {name}.")
        note_act(store, connection, actor, "revoke_token", f"token:{name}")


def token_person(store: Store, token: str) -> Person | None:
    """Which program that is, in one statement; None where the token is unknown or revoked."""
    parameters = {"token_hash": hash_of(token)}
    with store.read() as connection:
        row = connection.execute(store.statement(FIND), parameters).mappings().one_or_none()
    if row is None:
        return None
    if row["unnoted"]:
        # As with sessions: no program waits because of this.
        write_at_once(store, store.statement(NOTE), parameters)
    return Person(
        id=0, name=f"token:{row['name']}", role=Role(row["role"]), accounts=read_accounts(row["accounts"])
    )
