"""How is one value that is neither a list nor a dict written as JSON, stored and canonical?

The rules are those of `canonical.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from json.encoder import encode_basestring
from math import isfinite
from types import NoneType
from typing import Any
from unicodedata import normalize
from uuid import UUID

#: Digits of a number written out in full, before and after the point together; every finite float has fewer.
MAX_DIGITS = 400

#: One value, written twice: (stored, canonical).
Texts = tuple[str, str]

NOT_FINITE = "NaN and infinity are not JSON; leave it out or send text"
TOO_MANY_DIGITS = f"a number has more than {MAX_DIGITS} digits when written out in full; send it as text"
_NUL = "a NUL character cannot be stored; remove it"
_HALF_CHARACTER = "half a character (a lone surrogate) cannot be stored; send valid Unicode text"
_NO_ZONE = "a datetime without a time zone names no moment; send an aware one, such as datetime.now(UTC)"
_TIME_WITH_ZONE = (
    "a time of day with a zone names no moment; send an aware datetime, or the time without its zone"
)
_OUT_OF_RANGE = "this datetime falls outside the years 1 to 9999 in UTC; send it as text"

#: What a JSON text may hold and the store does not take -> the cause by which it is told in another language.
CAUSES = {
    NOT_FINITE: "not_finite",
    TOO_MANY_DIGITS: "digits",
    _NUL: "nul",
    _HALF_CHARACTER: "half_character",
}

_SURROGATE = re.compile("[\ud800-\udfff]")


class Refused(Exception):
    """Why a value is refused, and the keys and positions that lead to it, innermost first.

    `cause` and `facts` are those of the `PayloadRefused` that it becomes.
    """

    def __init__(self, reason: str, cause: str = "", **facts: object) -> None:
        super().__init__(reason)
        self.cause = cause or CAUSES.get(reason, "")
        self.facts = facts
        self.steps: list[str | int] = []


def write_text(value: str) -> Texts:
    """A text, or a key of a dict."""
    if "\0" in value:
        raise Refused(_NUL)
    stored = encode_basestring(value)
    if value.isascii():
        return stored, stored
    if _SURROGATE.search(value):
        raise Refused(_HALF_CHARACTER)
    normal = normalize("NFC", value)
    return stored, (stored if normal == value else encode_basestring(normal))


def _none(_: None) -> Texts:
    return "null", "null"


def _boolean(value: bool) -> Texts:
    return ("true", "true") if value else ("false", "false")


#: The whole numbers nearest to 0 with too many digits: comparing is far cheaper than writing one out.
_TOO_HIGH = 10**MAX_DIGITS
_TOO_LOW = -_TOO_HIGH


def _integer(value: int) -> Texts:
    if not _TOO_LOW < value < _TOO_HIGH:
        raise Refused(TOO_MANY_DIGITS, limit=MAX_DIGITS)
    digits = int.__repr__(value)
    return digits, digits


def _float(value: float) -> Texts:
    if not isfinite(value):
        raise Refused(NOT_FINITE)
    shortest = float.__repr__(value)
    return shortest, _without_needless_zeros(format(Decimal(shortest), "f") if "e" in shortest else shortest)


def _decimal(value: Decimal) -> Texts:
    if not value.is_finite():
        raise Refused(NOT_FINITE)
    digits, first = len(value.as_tuple().digits), value.adjusted()
    if max(first, 0) + 1 + max(digits - 1 - first, 0) > MAX_DIGITS:
        raise Refused(TOO_MANY_DIGITS, limit=MAX_DIGITS)
    # Formatting is exact; arithmetic and normalize() would round to the precision of the caller's context.
    in_full = format(value, "f")
    return in_full, _without_needless_zeros(in_full)


def _without_needless_zeros(number: str) -> str:
    shorter = number.rstrip("0").rstrip(".") if "." in number else number
    return "0" if shorter == "-0" else shorter


def _datetime(value: datetime) -> Texts:
    if value.utcoffset() is None:
        raise Refused(_NO_ZONE)
    try:
        moment = value.astimezone(UTC)
    except OverflowError:
        raise Refused(_OUT_OF_RANGE) from None
    return _quoted(datetime.isoformat(moment).removesuffix("+00:00") + "Z")


def _date(value: date) -> Texts:
    return _quoted(date.isoformat(value))


def _time(value: time) -> Texts:
    if value.tzinfo is not None:
        raise Refused(_TIME_WITH_ZONE)
    return _quoted(time.isoformat(value))


def _uuid(value: UUID) -> Texts:
    return _quoted(str(value))


def _quoted(plain: str) -> Texts:
    """Text that needs no escaping."""
    quoted = f'"{plain}"'
    return quoted, quoted


#: Subclasses are found by the first entry that fits: a datetime is a date too, and a bool is an int.
SCALARS: dict[type, Callable[[Any], Texts]] = {
    str: write_text,
    bool: _boolean,
    int: _integer,
    float: _float,
    NoneType: _none,
    Decimal: _decimal,
    datetime: _datetime,
    date: _date,
    time: _time,
    UUID: _uuid,
}

#: What to send instead of a type that is not supported; the first entry that fits.
_ADVICE: tuple[tuple[tuple[type, ...], str], ...] = (
    ((bytes, bytearray, memoryview), "send text, or bytes as base64 text"),
    ((set, frozenset), "send a list in an order of your choice"),
    ((timedelta,), "send a number of seconds"),
    ((Mapping,), "send a dict"),
    ((Iterable,), "send a list"),
)


def advice(value: object) -> str:
    """What to send instead of a value whose type is not supported."""
    for types, instead in _ADVICE:
        if isinstance(value, types):
            return instead
    return "send text, a number, True, False, None, a list or a dict"


def a_type(value: object) -> str:
    """What kind of thing `value` is, such as "a set" or "an Order"; never what it holds."""
    name = type(value).__name__
    return f"{'an' if name[:1] in 'AEIOUaeiou' else 'a'} {name}"
