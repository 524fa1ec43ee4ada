"""What does a preview hand out so that the start means the same events? A signed text, for one person and one hour."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass

from itsdangerous import BadSignature, SignatureExpired, URLSafeTimedSerializer

from dlq_console.errors import PayloadRefused
from dlq_console.store.bulk.selections import Selection, from_query, to_query
from dlq_console.store.clock import from_microseconds, to_microseconds

#: Seconds for which a preview may be acted upon.
VALID = 3_600
#: Characters of a token: as many events as may be chosen one by one fit in.
LONGEST = 20_000


@dataclass(frozen=True, slots=True)
class Previewed:
    """What somebody saw: which events, what was to be done to them, and how many there were.

    `expected` is None where they were not counted to the end.
    """

    selection: Selection
    action: str
    expected: int | None


def sign(secret_key: str, previewed: Previewed, actor: str) -> str:
    """The token of one preview; no two are the same, so that each begins one run."""
    selection = previewed.selection
    content = {
        "once": secrets.token_urlsafe(9),
        "actor": actor,
        "action": previewed.action,
        "filter": None if selection.flt is None else to_query(selection.flt),
        "ids": list(selection.event_ids),
        "cut": to_microseconds(selection.cut_at),
        "expected": previewed.expected,
        "accounts": selection.accounts,
    }
    return _serializer(secret_key).dumps(content)


def read(secret_key: str, token: str, actor: str) -> Previewed:
    """What the token was made for.

    Raises:
        PayloadRefused: it is damaged, too old, or was handed to somebody else.
    """
    try:
        if len(token) > LONGEST:
            raise BadSignature("too long")
        content = _serializer(secret_key).loads(token, max_age=VALID)
    except SignatureExpired:
        raise PayloadRefused(
            "selection_token: it is older than an hour; preview the selection again."
        ) from None
    except BadSignature:
        raise PayloadRefused(
            "selection_token: it is none of this console; preview the selection again."
        ) from None
    if content["actor"] != actor:
        raise PayloadRefused(
            "selection_token: it was handed to somebody else; preview the selection yourself."
        )
    accounts = content["accounts"]
    selection = Selection(
        flt=None if content["filter"] is None else from_query(content["filter"]),
        event_ids=tuple(content["ids"]),
        cut_at=from_microseconds(content["cut"]),
        accounts=None if accounts is None else tuple(accounts),
    )
    return Previewed(selection, content["action"], content["expected"])


def seal(secret_key: str, token: str, number: int) -> str:
    """What goes with a number that stood on the page of a preview, so that the start can trust it."""
    said = f"{fingerprint(token)}:{number}"
    return hmac.new(
        f"dlq-console.bulk-number:{secret_key}".encode(), said.encode(), hashlib.sha256
    ).hexdigest()


def is_sealed(secret_key: str, token: str, number: int, sealed: str) -> bool:
    """Whether this number stood on the page that handed out this token."""
    return hmac.compare_digest(seal(secret_key, token, number).encode(), sealed.encode())


def fingerprint(token: str) -> str:
    """What is kept of a token, so that a second start with it finds the first."""
    return hashlib.sha256(token.encode()).hexdigest()


def _serializer(secret_key: str) -> URLSafeTimedSerializer:
    return URLSafeTimedSerializer(secret_key, salt="dlq-console.bulk-selection")
