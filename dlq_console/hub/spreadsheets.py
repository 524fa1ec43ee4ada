"""How does a table become a CSV file that a spreadsheet opens as it was meant, and that never runs as a formula?"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from unicodedata import normalize

#: Lets spreadsheets read the file as UTF-8.
BYTE_ORDER_MARK = "\ufeff"
#: What stands between the cells where the decimal sign is a comma, as in Brazil, and where it is a point.
SEMICOLON, COMMA = ";", ","

#: A spreadsheet takes a cell that begins like this for a formula.
_FORMULA_STARTS = frozenset("=+-@\t\r\n")


def lines(rows: Iterable[Sequence[object]], *, separator: str) -> Iterator[str]:
    """Each row as a line of text with its line end.

    Args:
        rows: of cells: texts, numbers, or None for an empty cell.
        separator: SEMICOLON or COMMA.
    """
    written = io.StringIO()
    writer = csv.writer(written, delimiter=separator, lineterminator="\r\n")
    for row in rows:
        writer.writerow([cell(value) for value in row])
        yield written.getvalue()
        written.seek(0)
        written.truncate()


def cell(value: object) -> str:
    """The text of one cell; a text that a spreadsheet would run as a formula begins with an apostrophe."""
    if value is None:
        return ""
    text = str(value)
    if isinstance(value, (int, float)):
        return text
    # Neither white space before the sign nor its full-width form keeps every spreadsheet from running it.
    begins = normalize("NFKC", text.lstrip(" \u00a0")[:1])
    return f"'{text}" if begins in _FORMULA_STARTS else text
