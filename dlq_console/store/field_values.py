"""Which values of a payload are kept for lists and search, and how are they shown?

A kind names the fields by paths (`order.number`, `items.0.sku`). Plain values are kept, as text and cut. What opens
something, such as a password, is never kept; numbers of people, and what DLQ_REDACT names, are kept so that whoever has one
at hand finds its event, and are shown masked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any
from unicodedata import normalize

from dlq_console.redact import MASK, masked
from dlq_console.redact.fields import is_never_shown, redact_text
from dlq_console.store.canonical import decode_payload
from dlq_console.store.filters import MAX_LENGTH

#: Of `{"name": "app_secret", "value": "..."}`: where a list of named values tells what the value beside it is.
_TELLING = ("name", "key", "nome", "chave", "header")

#: A path and the value there, as text.
Pairs = tuple[tuple[str, str], ...]


def values_of(payload: str, paths: Iterable[str]) -> Pairs:
    """The values to keep of a payload, which is JSON as the store has it."""
    paths = tuple(paths)
    if not paths:
        return ()
    # Exactly, so that 12.50 is found as it was sent.
    content = decode_payload(payload, exact=True)
    found = ((path, _kept(content, path.split("."))) for path in paths)
    return tuple((path, text) for path, text in found if text)


def shown(path: str, value: str) -> str:
    """A kept value as lists may show it."""
    names = path.split(".")
    nested: Any = value
    for name in reversed(names):
        nested = {name: nested}
    return str(_at(masked(nested), names))


def _kept(content: Any, names: list[str]) -> str:
    """The value as text; empty where there is none to keep."""
    value = _plain(_at(content, names))
    if not value or any(is_never_shown(name) for name in names):
        return ""
    visible = _at(masked(_along(content, names)), names)
    personal = visible == MASK and not _is_told_secret(content, names) and redact_text(value) in (value, MASK)
    return value if personal or _plain(visible) == value else ""


def _at(content: Any, names: list[str]) -> Any:
    for name in names:
        if isinstance(content, Mapping):
            content = content.get(name)
        elif isinstance(content, list):
            content = content[int(name)] if name.isdecimal() and int(name) < len(content) else None
        else:
            return None
    return content


def _along(content: Any, names: list[str]) -> Any:
    """What stands along a path, and the names beside it that tell what its values are."""
    if not names:
        return content
    if isinstance(content, list):
        return [None] * int(names[0]) + [_along(content[int(names[0])], names[1:])]
    telling = {name: content[name] for name in _TELLING if isinstance(content.get(name), str)}
    return telling | {names[0]: _along(content[names[0]], names[1:])}


def _is_told_secret(content: Any, names: list[str]) -> bool:
    """Whether a name beside the value says that it is a secret."""
    beside = _at(content, names[:-1])
    if not isinstance(beside, Mapping):
        return False
    told = (beside.get(name) for name in _TELLING if name != names[-1])
    return any(isinstance(name, str) and is_never_shown(name) for name in told)


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return format(value, "f")[:MAX_LENGTH]
    if isinstance(value, (str, int)):
        # As filters are read, so that what was typed or copied is found.
        return normalize("NFC", str(value)).strip()[:MAX_LENGTH]
    return ""
