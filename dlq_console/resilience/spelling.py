"""How is the input of a call spelled, so that the same input always has the same spelling?

Key order, 10 and 10.0, and the composition of accents make no difference. A value without a stable spelling is a
clear error, never its `repr`.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import unicodedata
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

from dlq_console.errors import PayloadRefused


def spelled(value: Any, where: str = "input") -> str:
    """The one spelling of a value.

    Raises:
        PayloadRefused: some part of it has none; the message says where.
    """
    return json.dumps(
        _plain(value, where), sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False
    )


def digest(*parts: str) -> str:
    """32 hex digits over the parts, each with its length, so that no two lists of parts share them."""
    text = "".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _plain(value: Any, where: str) -> Any:
    if isinstance(value, Enum):
        return _plain(value.value, where)
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, str):
        return unicodedata.normalize("NFC", value)
    if isinstance(value, (float, Decimal)):
        return _number(value, where)
    if isinstance(value, Mapping):
        return {_key(key, where): _plain(each, f"{where}.{key}") for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each, f"{where}[{place}]") for place, each in enumerate(value)]
    return _plain_object(value, where)


def _plain_object(value: Any, where: str) -> Any:
    if isinstance(value, datetime):
        return (value.astimezone(UTC) if value.tzinfo else value).isoformat()
    if isinstance(value, (date, UUID)):
        return str(value)
    if isinstance(value, (set, frozenset)):
        return sorted(spelled(each, where) for each in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _plain({field.name: getattr(value, field.name) for field in dataclasses.fields(value)}, where)
    if hasattr(value, "model_dump"):
        return _plain(value.model_dump(mode="json"), where)
    raise PayloadRefused(
        f"{where} holds a {type(value).__name__}, which has no stable spelling; pass its id instead."
    )


def _number(value: float | Decimal, where: str) -> int | float | str:
    if not math.isfinite(value):
        raise PayloadRefused(f"{where} holds {value}, which is not a number.")
    if value == int(value):
        return int(value)
    return (
        value
        if isinstance(value, float) and Decimal(repr(value)) == value
        else str(Decimal(str(value)).normalize())
    )


def _key(key: Any, where: str) -> str:
    if not isinstance(key, str):
        raise PayloadRefused(f"{where} has the key {key!r}; keys are text.")
    return unicodedata.normalize("NFC", key)
