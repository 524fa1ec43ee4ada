"""Where does the next page of a list begin? An opaque text that holds the sort values of one row.

It is not signed: it carries two whole numbers that are checked, and moves nobody past the filter and the accounts
that bound the list, so a forged one shows no more than a page that could have been asked for anyway.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from dataclasses import dataclass
from typing import Literal

from dlq_console.store.filters import FilterError

Direction = Literal["next", "previous"]

_VERSION = 1
_TEXT = re.compile(r"([0-9])\.([a-z]{1,20})\.(next|previous)\.([0-9]{1,18})\.([0-9]{1,19})")
_MAX_TEXT = 100
#: The last microsecond that a time can name: the end of the year 9999.
_MAX_MICROSECONDS = 253_402_300_799_999_999
#: The largest id that either engine can hold.
MAX_ID = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place in the list called `order`: just after (`next`) or just before (`previous`) the row of these values.

    `microseconds` is when the row's event ended, since 1970; 0 in lists that are sorted by id alone.
    """

    order: str
    direction: Direction
    microseconds: int
    id: int

    def __str__(self) -> str:
        text = f"{_VERSION}.{self.order}.{self.direction}.{self.microseconds}.{self.id}"
        return urlsafe_b64encode(text.encode()).decode().rstrip("=")


def read_cursor(text: str, order: str) -> Cursor | None:
    """The cursor in `text`; None where the list begins at its start.

    Raises:
        FilterError: it is damaged, or belongs to a list that is sorted in another way.
    """
    if not text:
        return None
    match = _TEXT.fullmatch(_decode(text)) if len(text) <= _MAX_TEXT else None
    if match is None or int(match[1]) != _VERSION or match[2] != order:
        raise _refusal()
    direction: Direction = "next" if match[3] == "next" else "previous"
    cursor = Cursor(order, direction, int(match[4]), int(match[5]))
    if cursor.microseconds > _MAX_MICROSECONDS or cursor.id > MAX_ID or str(cursor) != text:
        raise _refusal()
    return cursor


def _decode(text: str) -> str:
    try:
        return urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode("ascii")
    except (NotBase64, ValueError):
        return ""


def _refusal() -> FilterError:
    message = "cursor: it does not belong to this list; leave it out to begin at the start."
    return FilterError(message, name="cursor", cause="cursor")
