"""How does a table become a CSV file that a spreadsheet opens as it was meant, and that never runs as a formula?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import TypeGuard
from unicodedata import normalize

#: Lets spreadsheets read the file as UTF-8.
BYTE_ORDER_MARK = "\ufeff"
#: What stands between the cells where the decimal sign is a comma, as in Brazil, and where it is a point.
SEMICOLON, COMMA = ";", ","
#: Spreadsheets that separate cells by a semicolon do so because of this comma. Nothing stands between thousands.
DECIMAL_SIGNS = {SEMICOLON: ",", COMMA: "."}

Number = int | float | Decimal
_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]{0,14})")
_FRACTION = re.compile(_WHOLE.pattern + r"\.[0-9]{1,15}")

#: A spreadsheet takes a cell that begins like this for a formula.
_FORMULA_STARTS = frozenset("=+-@\t\r\n")
#: What ends a cell, in this file or in one that is opened with another separator than it was written with.
_ENDS_A_CELL = re.compile('[,;\t\r\n"]')


def lines(rows: Iterable[Sequence[object]], *, separator: str) -> Iterator[str]:
    """Each row as a line of text with its line end.

    Args:
        rows: of cells: texts, numbers, or None for an empty cell. The decimal sign of numbers goes with the separator.
        separator: SEMICOLON or COMMA.
    """
    point = DECIMAL_SIGNS[separator]
    for row in rows:
        yield separator.join(_written(value, point) for value in row) + "\r\n"


def number_or_text(text: str) -> Number | str:
    """What was kept as text of a payload: a number, unless its digits may be a code (`0042`, sixteen digits and more).

    Every digit that was given stays, also the zeros at the end.
    """
    if _FRACTION.fullmatch(text):
        return Decimal(text)
    return int(text) if _WHOLE.fullmatch(text) else text


def _written(value: object, point: str) -> str:
    # Digits and their sign are no text: no quotes, in which some programs would take them for one.
    return _digits(value, point) if _is_number(value) else _quoted(cell(value))


def _is_number(value: object) -> TypeGuard[Number]:
    return isinstance(value, (int, float, Decimal))


def _digits(number: Number, point: str) -> str:
    text = format(number, "f") if isinstance(number, Decimal) else str(number)
    return text.replace(".", point)


def _quoted(text: str) -> str:
    """A cell as the file holds it. Not by the `csv` module, which quotes for one separator and knows of no other."""
    return '"{}"'.format(text.replace('"', '""')) if _ENDS_A_CELL.search(text) else text


def cell(value: object) -> str:
    """The text of one cell that holds no number; a text that a spreadsheet would run as a formula begins with an apostrophe."""
    if value is None:
        return ""
    text = str(value)
    # Neither white space before the sign nor its full-width form keeps every spreadsheet from running it.
    begins = normalize("NFKC", text.lstrip(" \u00a0")[:1])
    return f"'{text}" if begins in _FORMULA_STARTS else text
