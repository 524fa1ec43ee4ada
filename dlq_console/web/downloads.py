"""How does a list leave the console as a file? Line by line, as the spreadsheet of this person opens it by a double click."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from flask import Response, stream_with_context

from dlq_console.hub import spreadsheets
from dlq_console.web import display
from dlq_console.web.i18n import locale_name

CSV = "text/csv; charset=utf-8"


def download(texts: Iterator[str], name: str, content_type: str = CSV) -> Response:
    """A file whose name says of which moment it is; `name` is "audit.csv", say."""
    stem, _, ending = name.rpartition(".")
    file = f"{stem}-{display.current().now:%Y-%m-%dT%H-%M-%SZ}.{ending}"
    return Response(
        stream_with_context(texts),
        headers={"Content-Type": content_type, "Content-Disposition": f'attachment; filename="{file}"'},
    )


def csv_lines(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """The lines of the file, the headings first."""
    separator = spreadsheets.SEMICOLON if locale_name() == "pt_BR" else spreadsheets.COMMA
    yield spreadsheets.BYTE_ORDER_MARK
    yield from spreadsheets.lines([headings], separator=separator)
    yield from spreadsheets.lines(rows, separator=separator)


def time_heading(word: object) -> str:
    """What a column of times is called: it says in which zone they are."""
    return f"{word} ({display.current().zone.key})"


def time_cell(moment: datetime | None) -> str | None:
    """A moment as every spreadsheet reads it, in the person's zone."""
    return None if moment is None else f"{moment.astimezone(display.current().zone):%Y-%m-%d %H:%M:%S}"
