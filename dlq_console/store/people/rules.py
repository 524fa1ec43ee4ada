"""Which names, passwords and accounts are accepted? Every refusal is a sentence that says what to write instead."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from hashlib import sha256
from unicodedata import category, normalize

from dlq_console.errors import DLQError
from dlq_console.store.people.roles import Role

MIN_PASSWORD = 8
#: Characters; far more than anybody types, and little enough to hash.
MAX_PASSWORD = 200
MAX_NAME = 60
MAX_ACCOUNTS = 200
MAX_ACCOUNT = 120

#: No colon: "token:" and "cli:" before a name say in the audit that it was no person.
_NAME = re.compile(r"\w[\w.@+-]*")


class PeopleError(DLQError):
    """The name, password, role or account cannot be used."""

    def __init__(self, message: str | None = None, *, cause: str = "", **facts: object) -> None:
        #: What is wrong, for whoever says it in another language, and the `facts` of that sentence; empty where nobody does.
        self.cause = cause
        self.facts = facts
        super().__init__(message)


class NameTaken(PeopleError):
    """The name is in use already."""


class NoSuchName(PeopleError):
    """Nobody has this name."""


def clean_name(name: str) -> str:
    """A name as it is kept: in lower case, so that no two differ only in that.

    Raises:
        PeopleError: it is no name; the message says what one is.
    """
    cleaned = normalize("NFKC", name).strip().casefold()
    if len(cleaned) > MAX_NAME or not _NAME.fullmatch(cleaned):
        raise PeopleError(
            f"name: use 1 to {MAX_NAME} letters, digits and . _ @ + -, beginning with a letter or a digit."
        )
    return cleaned


def check_password(password: str, name: str) -> str:
    """A password as it is hashed: in Unicode form NFC, so that every keyboard types the same one.

    Raises:
        PeopleError: it is too weak or cannot be typed.
    """
    cleaned = normalize("NFC", password)
    if len(cleaned) < MIN_PASSWORD:
        raise PeopleError(f"password: it has {len(cleaned)} characters; use at least {MIN_PASSWORD}.")
    if len(cleaned) > MAX_PASSWORD:
        raise PeopleError(f"password: it has {len(cleaned)} characters; use at most {MAX_PASSWORD}.")
    if _unstorable(cleaned):
        raise PeopleError("password: a control character is not allowed; remove it.")
    if cleaned.casefold() == name:
        raise PeopleError("password: it is the name; choose another one.")
    return cleaned


def check_role(role: str) -> Role:
    """The role of that name.

    Raises:
        PeopleError: there is none.
    """
    try:
        return Role(role)
    except ValueError as error:
        raise PeopleError(f"role: choose one of {', '.join(Role)}.") from error


def write_accounts(accounts: Sequence[str] | None) -> str | None:
    """Accounts as the tables hold them: a JSON list, or nothing for all.

    Raises:
        PeopleError: none is named, or one is no account name.
    """
    if accounts is None:
        return None
    names = list(dict.fromkeys(normalize("NFC", account).strip() for account in accounts))
    if not names or len(names) > MAX_ACCOUNTS:
        raise PeopleError(
            f"accounts: name 1 to {MAX_ACCOUNTS}, or leave them out for all.",
            cause="accounts_number",
            limit=MAX_ACCOUNTS,
        )
    if any(not name or len(name) > MAX_ACCOUNT or _unstorable(name) for name in names):
        raise PeopleError(
            f"accounts: use 1 to {MAX_ACCOUNT} printable characters for each.",
            cause="accounts_characters",
            limit=MAX_ACCOUNT,
        )
    return json.dumps(names)


def hash_of(secret: str) -> str:
    """What is kept of a secret that was drawn at random: such secrets cannot be guessed, so a fast hash will do."""
    return sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _unstorable(text: str) -> bool:
    return any(category(character) in ("Cc", "Cs") for character in text)
