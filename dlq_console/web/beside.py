"""What stands beside the events of a list: fields of their payloads, who has them on the desk, what they are tagged."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import NamedTuple

from flask_babel import gettext

from dlq_console.store import desk, fields
from dlq_console.store.desk import NO_MARKS, Marks
from dlq_console.store.queries import Listed
from dlq_console.web import display
from dlq_console.web.hub import hub, store

#: Fields of the payload that a row has room for, and characters of one.
MOST_SHOWN, LONGEST_SHOWN = 3, 40
#: Tags that a row has room for.
TAGS_SHOWN = 3


#: A number that cannot be a code: it has a fraction, and no zeros before it. A whole number may be one, so it stays as it is.
_FRACTION = re.compile(r"-?(?:0|[1-9][0-9]{0,14})\.[0-9]{1,6}")
_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]{0,14})")


class Cell(NamedTuple):
    """One field of a row, as the language of the request writes it."""

    text: str
    numeric: bool


@dataclass(frozen=True, slots=True)
class Column:
    """A field of the payload that a list shows: where it is, and what the kind calls it."""

    path: str
    label: str


@dataclass(frozen=True, slots=True)
class Beside:
    """What is known beside some events, by event id.

    `columns` are those of a list that holds one kind only; in any other, each row says what its fields are called.
    """

    columns: tuple[Column, ...] = ()
    values: dict[int, dict[str, str]] = field(default_factory=dict)
    marks: dict[int, Marks] = field(default_factory=dict)

    def cells(self, event: Listed) -> tuple[Cell, ...]:
        """The fields of an event, one for each of the columns."""
        known = self.values.get(event.id, {})
        return tuple(_cell(known.get(column.path, "")) for column in self.columns)

    def in_words(self, event: Listed) -> str:
        """The fields of an event whose list has no columns for them: "Total 1.240,00 · Customer 5521"."""
        if self.columns:
            return ""
        known = self.values.get(event.id, {})
        return " · ".join(
            f"{column.label} {_cell(known[column.path]).text}"
            for column in columns_of(event.kind)
            if known.get(column.path)
        )

    def on_desk(self, event: Listed) -> str:
        """Who has an event, what it is tagged, and until when it is out of sight, in few words."""
        marks = self.marks.get(event.id, NO_MARKS)
        words = [gettext("with %(name)s", name=marks.assignee)] if marks.assignee else []
        words += [f"#{tag}" for tag in marks.tags[:TAGS_SHOWN]]
        if len(marks.tags) > TAGS_SHOWN:
            words.append(f"+{len(marks.tags) - TAGS_SHOWN}")
        shown = display.current()
        if marks.snoozed_until and marks.snoozed_until > shown.now:
            words.append(gettext("snoozed until %(time)s", time=shown.moment(marks.snoozed_until)))
        return " · ".join(words)


def beside(events: Sequence[Listed], kinds: Sequence[str] = ()) -> Beside:
    """What there is to show beside `events`.

    Args:
        events: of one page of a list.
        kinds: those that the list was asked for; one alone gets columns of its own.
    """
    ids = [event.id for event in events]
    present = {event.kind for event in events}
    columns = columns_of(kinds[0]) if len(kinds) == 1 else ()
    if not ids:
        return Beside(columns)
    has_fields = columns or any(columns_of(kind) for kind in present)
    return Beside(columns, fields.read(store(), ids) if has_fields else {}, desk.marks(store(), ids))


def columns_of(kind: str) -> tuple[Column, ...]:
    """The fields that lists show of events of a kind, as its policy names them."""
    shown = list(hub().policy(kind).columns.items())[:MOST_SHOWN]
    return tuple(Column(path, label) for label, path in shown)


def field_labels(kind: str) -> dict[str, str]:
    """What a kind calls the fields of its payload: path -> label."""
    return {path: label for label, path in hub().policy(kind).columns.items()}


def _cell(text: str) -> Cell:
    if _FRACTION.fullmatch(text):
        return Cell(display.current().decimal(Decimal(text)), numeric=True)
    return Cell(cut(text, LONGEST_SHOWN), numeric=_WHOLE.fullmatch(text) is not None)


def cut(text: str, most: int) -> str:
    """`text`, or its beginning where it is longer than `most` characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
