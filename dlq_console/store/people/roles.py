"""Who may do what? One table, read by pages, API and commands alike."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Role(StrEnum):
    """What somebody is trusted with; each role may do everything that the ones before it may."""

    #: Looks.
    VIEWER = "viewer"
    #: Also runs events again, puts them aside and adds new ones.
    OPERATOR = "operator"
    #: Also changes what an event holds.
    EDITOR = "editor"
    #: Also decides who may do what.
    ADMIN = "admin"


class Permission(StrEnum):
    """Something that not everybody may do."""

    VIEW = "view"
    REPROCESS = "reprocess"
    DISCARD = "discard"
    SKIP_LANE = "skip_lane"
    PAUSE_ACCOUNT = "pause_account"
    RESUME_ACCOUNT = "resume_account"
    FORCE_BREAKER = "force_breaker"
    DECIDE_NODE = "decide_node"
    ENQUEUE = "enqueue"
    RESTORE = "restore"
    CANCEL_SEND = "cancel_send"
    EDIT = "edit"
    PRECHECK = "precheck"
    ASSIGN = "assign"
    TAG = "tag"
    NOTE = "note"
    SNOOZE = "snooze"
    SNOOZE_ALERT = "snooze_alert"
    TEST_ALERT = "test_alert"
    SHARE_VIEW = "share_view"
    BULK = "bulk"
    REVEAL = "reveal"
    AUDIT = "audit"
    DOCTOR = "doctor"
    USERS = "users"
    TOKENS = "tokens"
    EMBEDS = "embeds"


#: The least role that may do it.
PERMISSIONS: dict[Permission, Role] = {
    Permission.VIEW: Role.VIEWER,
    Permission.REPROCESS: Role.OPERATOR,
    Permission.DISCARD: Role.OPERATOR,
    Permission.SKIP_LANE: Role.OPERATOR,
    Permission.PAUSE_ACCOUNT: Role.OPERATOR,
    Permission.RESUME_ACCOUNT: Role.OPERATOR,
    Permission.FORCE_BREAKER: Role.OPERATOR,
    Permission.DECIDE_NODE: Role.OPERATOR,
    Permission.ENQUEUE: Role.OPERATOR,
    Permission.RESTORE: Role.OPERATOR,
    Permission.CANCEL_SEND: Role.OPERATOR,
    Permission.EDIT: Role.EDITOR,
    Permission.PRECHECK: Role.OPERATOR,
    Permission.ASSIGN: Role.OPERATOR,
    Permission.TAG: Role.OPERATOR,
    Permission.NOTE: Role.OPERATOR,
    Permission.SNOOZE: Role.OPERATOR,
    Permission.SNOOZE_ALERT: Role.OPERATOR,
    Permission.TEST_ALERT: Role.OPERATOR,
    Permission.SHARE_VIEW: Role.OPERATOR,
    Permission.BULK: Role.OPERATOR,
    Permission.REVEAL: Role.EDITOR,
    Permission.AUDIT: Role.OPERATOR,
    Permission.DOCTOR: Role.OPERATOR,
    Permission.USERS: Role.ADMIN,
    Permission.TOKENS: Role.ADMIN,
    Permission.EMBEDS: Role.ADMIN,
}

_RANK = {role: rank for rank, role in enumerate(Role)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Somebody who asks: a person, or a program with a token.

    `name` is who the audit says it was: a program's begins with "token:", which no person's can. `accounts` are those
    that may be seen and acted upon; None for all. `id` is 0 for programs. Language, zone and theme are None where the
    person has not chosen; with `keys_off` single keys do nothing in the console.
    """

    id: int
    name: str
    role: Role
    accounts: tuple[str, ...] | None = None
    locale: str | None = None
    timezone: str | None = None
    theme: str | None = None
    keys_off: bool = False

    def sees(self, account: str) -> bool:
        """Whether events of `account` may be seen and acted upon."""
        return self.accounts is None or account in self.accounts


def may(person: Person, permission: str) -> bool:
    """Whether somebody may do something."""
    return _RANK[person.role] >= _RANK[PERMISSIONS[Permission(permission)]]
