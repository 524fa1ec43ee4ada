"""Where in the ERP is the record of an event? An address that the kind's policy names, with the event's values filled in.

What an event carries comes from outside, so it is quoted, and never chooses the machine that the address leads to.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any
from urllib.parse import SplitResult, quote, urlsplit

from dlq_console.errors import ConfigurationError
from dlq_console.redact import Path, inside, is_secret

#: Characters of the pattern, and of one value that is filled in.
LONGEST, LONGEST_VALUE = 1_000, 200
#: What a pattern may name besides `payload.<path>`.
_NAMES = ("entity_id", "account")
_FROM_PAYLOAD = "payload."
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


def check_open_url(pattern: object) -> None:
    """Refuse what is no pattern of an address.

    Raises:
        ConfigurationError: it is not; the message says what is wrong.
    """
    if not isinstance(pattern, str) or not 0 < len(pattern) <= LONGEST or not pattern.isprintable():
        raise _wrong(f"text of at most {LONGEST} characters")
    parts = _split(pattern)
    if parts is None or not parts.hostname or parts.scheme not in ("http", "https") or " " in pattern:
        raise _wrong("an address that begins with https:// or http://")
    if "{" in parts.netloc or "}" in parts.netloc or parts.username is not None:
        raise _wrong("an address whose machine is written out, without placeholders and names of users")
    names = _PLACEHOLDER.findall(pattern)
    if any(not _is_known(name) for name in names) or set("{}") & set(_PLACEHOLDER.sub("", pattern)):
        raise _wrong(
            "only {entity_id}, {account} and {payload.<path>} in braces, and no field that holds a secret"
        )


def open_url(pattern: str, *, account: str, entity_id: str, payload: Any) -> str | None:
    """The address of one event; None where a value that it needs is missing, masked, or no plain text or number."""
    known: dict[str, Any] = {"account": account, "entity_id": entity_id}
    filled: dict[str, str] = {}
    for name in _PLACEHOLDER.findall(pattern):
        text = _text(known[name] if name in known else _in_payload(payload, name))
        # Browsers take a step of one or two dots for a way up, however it is quoted.
        if not 0 < len(text) <= LONGEST_VALUE or text in (".", ".."):
            return None
        filled[name] = quote(text, safe="")
    return _PLACEHOLDER.sub(lambda match: filled[match[1]], pattern)


def _split(pattern: str) -> SplitResult | None:
    try:
        return urlsplit(pattern)
    except ValueError:  # such as "http://["
        return None


def _is_known(name: str) -> bool:
    if not name.startswith(_FROM_PAYLOAD):
        return name in _NAMES
    steps = name.removeprefix(_FROM_PAYLOAD).split(".")
    return all(steps) and not any(is_secret(step) for step in steps)


def _in_payload(payload: Any, name: str) -> Any:
    value: Any = payload
    path: Path = ()
    for step in name.removeprefix(_FROM_PAYLOAD).split("."):
        if isinstance(value, Mapping):
            within = inside(value, step, path)
            if within is None:
                return None
            value, path = value.get(step), within
        elif isinstance(value, list) and step.isascii() and step.isdigit() and len(step) < 6:
            value = value[int(step)] if int(step) < len(value) else None
        else:
            return None
    return value


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value if value.isprintable() else ""
    plain = isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)
    return str(value) if plain else ""


def _wrong(right: str) -> ConfigurationError:
    return ConfigurationError(f"Policy.open_url is wrong: write {right}.")
