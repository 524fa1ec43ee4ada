"""Who may use the console, with which rights, and who is asking? People, their sessions, and tokens of programs."""

from dlq_console.store.people.roles import PERMISSIONS, Permission, Person, Role, may
from dlq_console.store.people.rules import NameTaken, NoSuchName, PeopleError, hash_of
from dlq_console.store.people.sessions import (
    SESSION_SECONDS,
    close_all_sessions,
    close_session,
    open_session,
    session_people,
    session_person,
)
from dlq_console.store.people.tokens import TokenEntry, add_token, list_tokens, revoke_token, token_person
from dlq_console.store.people.users import (
    THEMES,
    UserEntry,
    add_user,
    disable_user,
    list_users,
    set_password,
    set_preferences,
    verify_login,
)

__all__ = [
    "PERMISSIONS",
    "SESSION_SECONDS",
    "THEMES",
    "NameTaken",
    "NoSuchName",
    "PeopleError",
    "Permission",
    "Person",
    "Role",
    "TokenEntry",
    "UserEntry",
    "add_token",
    "add_user",
    "close_all_sessions",
    "close_session",
    "disable_user",
    "hash_of",
    "list_tokens",
    "list_users",
    "may",
    "open_session",
    "revoke_token",
    "session_people",
    "session_person",
    "set_password",
    "set_preferences",
    "token_person",
    "verify_login",
]
