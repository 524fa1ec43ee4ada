"""When are two events the same event? When they have the same idempotency key.

A content key is `v1:<kind>:<account>:<entity_id>:<32 hex digits>`. Kind, account and entity id are there for people to
read: everything but ASCII letters, digits and `_.-~/` is percent-escaped, and where they are longer than 120
characters together each is cut. The digits identify: they begin the SHA-256 of kind, account, entity id, version and
canonical payload, each written as `<length in bytes>:<UTF-8 bytes>`, an absent version as `-:`. `v1` names this rule;
another rule needs another name, so that keys made by this one are still recognised.
"""

from __future__ import annotations

import re
from hashlib import sha256
from unicodedata import normalize
from urllib.parse import quote
from uuid import UUID

from dlq_console.errors import PayloadRefused
from dlq_console.store.canonical import canonical_json
from dlq_console.store.canonical import payload_hash as payload_hash

KEY_VERSION = "v1"

#: Characters.
MAX_KIND = 120
MAX_ACCOUNT = 120
MAX_ENTITY_ID = 200
MAX_VERSION = 200
#: A longer key of the caller's own is stored as its hash: an index entry has to stay small.
MAX_OWN_KEY = 200

_READABLE_LENGTH = 120
#: Three parts of this length and two colons stay within _READABLE_LENGTH.
_CUT_PART_LENGTH = 39

#: The form of every content key, of this and of later rules. Its parts hold no colon, because colons are escaped.
_CONTENT_KEY = re.compile(r"v[0-9]+:[^:]*:[^:]*:[^:]*:[0-9a-f]{32}")

#: Room for 300 digits. Python itself refuses to write out a number of more than 4,300.
_INT_BITS = 1000

#: Control characters, line separators and the marks that turn the direction of what follows them on a page.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_NEEDS_NO_ESCAPE = re.compile(r"[A-Za-z0-9_.\-~/]*").fullmatch


def content_key(*, kind: str, account: str, entity_id: str, version: str | None, payload: object) -> str:
    """The key of an event whose caller gave none.

    Raises:
        PayloadRefused: the payload or one of the texts cannot be stored; the message says which and why.
    """
    return canonical_content_key(
        kind=check_text(kind, "kind", max_length=MAX_KIND),
        account=check_text(account, "account", max_length=MAX_ACCOUNT),
        entity_id=check_text(entity_id, "entity_id", max_length=MAX_ENTITY_ID),
        version=check_version(version),
        canonical=canonical_json(payload),
    )


def canonical_content_key(
    *, kind: str, account: str, entity_id: str, version: str | None, canonical: str
) -> str:
    """`content_key` for texts that were checked and a payload that was made canonical before."""
    digits = _hash(kind, account, entity_id, version, canonical).hex()[:32]
    return f"{KEY_VERSION}:{_readable(kind, account, entity_id)}:{digits}"


def edited_key(key: str, event_id: int) -> str:
    """The key of an edited payload where the event of the content key `key` is out of use; no content has this one."""
    return f"{key[:-32]}{_hash(key, str(event_id)).hex()[:32]}"


def content_hash(*, kind: str, account: str, entity_id: str, version: str | None, canonical: str) -> str:
    """64 hex digits over everything that makes an event what it is: two events of one own key must agree in it."""
    return _hash(kind, account, entity_id, version, canonical).hex()


def own_key(key: object) -> str:
    """A caller's own idempotency key as it is stored.

    Outer white space is removed and the text brought into Unicode form NFC. A key longer than MAX_OWN_KEY becomes
    `sha256:` and 64 hex digits. A key in the form of a content key is refused: it could stand for another event.

    Raises:
        PayloadRefused: it is empty, has characters that cannot be stored, or has the form of a content key.
    """
    text = _clean(key, "idempotency_key")
    if not text:
        raise PayloadRefused("idempotency_key: it is empty; send a text, or leave it out to have one made.")
    if is_content_key(text):
        raise PayloadRefused(
            "idempotency_key: this form is kept for keys made from content; "
            "leave it out to have one made, or choose another form."
        )
    return text if len(text) <= MAX_OWN_KEY else f"sha256:{sha256(text.encode()).hexdigest()}"


def is_content_key(key: str) -> bool:
    """Whether a stored key was made from content; no caller's own key has that form."""
    return _CONTENT_KEY.fullmatch(key) is not None


def effect_key(idempotency_key: str, generation: int = 0) -> str:
    """The key under which an event's effect is known to the outside system: 36 characters of `0-9a-f-`.

    The same for every attempt; another `generation` (counted from 0) makes another one. It has the form of a UUID,
    because many systems accept nothing else as a key.
    """
    octets = bytearray(_hash(idempotency_key, str(generation))[:16])
    # The marks of a UUID made by a hash of its maker's choice: version 8, variant 2 (RFC 9562, section 5.8).
    octets[6] = octets[6] & 0x0F | 0x80
    octets[8] = octets[8] & 0x3F | 0x80
    return str(UUID(bytes=bytes(octets)))


def check_version(value: object) -> str | None:
    """A version as it is stored; None where there is none. The empty text is a version too."""
    if value is None:
        return None
    return check_text(value, "version", max_length=MAX_VERSION, allow_empty=True)


def check_text(value: object, name: str, *, max_length: int, allow_empty: bool = False) -> str:
    """A kind, account, entity id, version or the like as it is stored.

    An int or a UUID is taken as its text. Outer white space is removed and the text brought into Unicode form NFC.

    Args:
        value: what the caller gave.
        name: what error messages call it.
        max_length: in characters.
        allow_empty: whether the empty text means something.

    Raises:
        PayloadRefused: it is no text, empty, too long, or has characters that cannot be stored or shown.
    """
    text = _clean(value, name)
    if not text and not allow_empty:
        raise PayloadRefused(f"{name}: it is empty; send a text.", cause="empty", name=name)
    if len(text) > max_length:
        raise PayloadRefused(
            f"{name}: {len(text):,} characters are more than the limit of {max_length}; shorten it.",
            cause="too_long",
            name=name,
            limit=max_length,
        )
    return text


def _clean(value: object, name: str) -> str:
    text = _as_text(value, name)
    if _SURROGATE.search(text):
        raise PayloadRefused(
            f"{name}: half a character (a lone surrogate) cannot be stored; send valid Unicode text.",
            cause="characters",
            name=name,
        )
    text = normalize("NFC", text).strip()
    if _CONTROL.search(text):
        raise PayloadRefused(
            f"{name}: a control character is not allowed; remove it.", cause="characters", name=name
        )
    return text


def _as_text(value: object, name: str) -> str:
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int) and not isinstance(value, bool):
        if value.bit_length() > _INT_BITS:
            raise PayloadRefused(f"{name}: this number has too many digits; shorten it.")
        return int.__repr__(value)
    if isinstance(value, UUID):
        return str(value)
    raise PayloadRefused(f"{name}: {type(value).__name__} is not supported; send a text.")


def _hash(*parts: str | None) -> bytes:
    digest = sha256()
    for part in parts:
        if part is None:
            digest.update(b"-:")
        else:
            data = part.encode()
            # The length in front: no text can reach over into the next part.
            digest.update(b"%d:" % len(data) + data)
    return digest.digest()


def _readable(*parts: str) -> str:
    whole = ":".join(_escape(part) for part in parts)
    if len(whole) <= _READABLE_LENGTH:
        return whole
    return ":".join(_cut(part) for part in parts)


def _escape(part: str) -> str:
    # ASCII only: which other characters are printable depends on the version of Unicode, and a key must not.
    return part if _NEEDS_NO_ESCAPE(part) else quote(part, safe="/")


def _cut(part: str) -> str:
    """As many whole characters as fit, so that no escape is cut in two."""
    kept = part[:_CUT_PART_LENGTH]
    while len(_escape(kept)) > _CUT_PART_LENGTH:
        kept = kept[:-1]
    return _escape(kept)
