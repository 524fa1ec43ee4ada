"""Who is logged in? Sessions live on the server, so that they can be ended there.

The person's browser keeps a random token; the table keeps its hash, so that a copy of the table opens nothing.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection

from sqlalchemy import TextClause, bindparam

from dlq_console.store.at_once import write_at_once
from dlq_console.store.people.roles import Person
from dlq_console.store.people.rows import person_from_row
from dlq_console.store.people.rules import hash_of
from dlq_console.store.people.users import CLOSE_SESSIONS
from dlq_console.store.store import Store

#: How long a session lasts unless it is closed before: a working day.
SESSION_SECONDS = 12 * 3_600
#: Seconds between two notes of when a session was last used: not every page is a write.
SEEN_EVERY = 60

OPEN = """
INSERT INTO {sessions} (token_hash, user_id, created_at, seen_at, expires_at)
SELECT :token_hash, id, {now}, {now}, {now} + {interval[seconds]} FROM {users} WHERE id = :id AND disabled_at IS NULL
"""
FIND = f"""
SELECT u.id, u.name, u.role, u.accounts, u.locale, u.timezone, u.theme, u.keys_off,
    s.seen_at < {{now}} - {{interval[{SEEN_EVERY}]}} AS unnoted
FROM {{sessions}} s JOIN {{users}} u ON u.id = s.user_id
WHERE s.token_hash = :token_hash AND s.expires_at > {{now}} AND u.disabled_at IS NULL
"""
#: The same of many at once.
FIND_ALL = f"""
SELECT s.token_hash, u.id, u.name, u.role, u.accounts, u.locale, u.timezone, u.theme, u.keys_off,
    s.seen_at < {{now}} - {{interval[{SEEN_EVERY}]}} AS unnoted
FROM {{sessions}} s JOIN {{users}} u ON u.id = s.user_id
WHERE s.token_hash IN :hashes AND s.expires_at > {{now}} AND u.disabled_at IS NULL
"""
NOTE_ALL = "UPDATE {sessions} SET seen_at = {now} WHERE token_hash IN :hashes"
NOTE = f"""
UPDATE {{sessions}} SET seen_at = {{now}}
WHERE token_hash = :token_hash AND seen_at < {{now}} - {{interval[{SEEN_EVERY}]}}
"""
CLOSE = "DELETE FROM {sessions} WHERE token_hash = :token_hash"
PRUNE = "DELETE FROM {sessions} WHERE expires_at <= {now}"


def open_session(store: Store, person: Person, ttl: float = SESSION_SECONDS) -> str:
    """Begin a session of `ttl` seconds and return its token; expired sessions of everybody are removed."""
    token = secrets.token_urlsafe(32)
    parameters = {"token_hash": hash_of(token), "id": person.id, "seconds": ttl}
    with store.write() as connection:
        connection.execute(store.statement(PRUNE))
        connection.execute(store.statement(OPEN), parameters)
    return token


def session_person(store: Store, token: str) -> Person | None:
    """Whose session that is, in one statement; None where it has ended or its person was disabled.

    About once a minute it is also noted that the session is in use.
    """
    parameters = {"token_hash": hash_of(token)}
    with store.read() as connection:
        row = connection.execute(store.statement(FIND), parameters).mappings().one_or_none()
    if row is None:
        return None
    if row["unnoted"]:
        # Nobody waits for a page because of this; while others write, the next page tries again.
        write_at_once(store, store.statement(NOTE), parameters)
    return person_from_row(row)


def session_people(store: Store, hashes: Collection[str]) -> dict[str, Person]:
    """Whose sessions those are, by the hashes of their tokens, in one statement however many; ended ones are left out.

    Sessions whose use was not noted for a minute are noted, by one more.
    """
    if not hashes:
        return {}
    with store.read() as connection:
        rows = connection.execute(_of_many(store, FIND_ALL), {"hashes": list(hashes)}).mappings().all()
    unnoted = [row["token_hash"] for row in rows if row["unnoted"]]
    if unnoted:
        write_at_once(store, _of_many(store, NOTE_ALL), {"hashes": unnoted})
    return {row["token_hash"]: person_from_row(row) for row in rows}


def _of_many(store: Store, template: str) -> TextClause:
    return store.statement(template).bindparams(bindparam("hashes", expanding=True))


def close_session(store: Store, token: str) -> None:
    """End a session; nothing happens where it has ended already."""
    with store.single_statement() as connection:
        connection.execute(store.statement(CLOSE), {"token_hash": hash_of(token)})


def close_all_sessions(store: Store, user_id: int) -> None:
    """End every session of one person."""
    with store.single_statement() as connection:
        connection.execute(store.statement(CLOSE_SESSIONS), {"id": user_id})
