"""How does a person read a payload? As labelled fields, groups and small tables, with secrets masked.

The whole JSON, masked as well, is one click away, so what is too deep or too long for a table is only pointed at.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from dlq_console.redact import MASK, masked

#: Groups inside groups beyond this depth are only found in the JSON.
MAX_DEPTH = 4
#: Fields of one group, rows of one table, lines of one list.
MAX_ITEMS = 100
#: Characters of one text.
MAX_TEXT = 1000
#: A list of objects is a table when each has at most this many fields, all of them plain.
MAX_COLUMNS = 8

PlainKind = Literal["text", "number", "yes", "no", "nothing", "masked", "deeper"]


@dataclass(frozen=True, slots=True)
class Plain:
    """One value. `kind` says what it is; `text` is what to print, empty for yes, no, nothing and deeper."""

    kind: PlainKind
    text: str = ""
    cut: bool = False
    shape: str = "plain"


@dataclass(frozen=True, slots=True)
class Group:
    """The fields of an object, and how many more there are."""

    fields: tuple[tuple[str, Node], ...]
    more: int = 0
    shape: str = "group"


@dataclass(frozen=True, slots=True)
class Grid:
    """A list of objects of one kind, as a table."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Plain, ...], ...]
    more: int = 0
    shape: str = "grid"


@dataclass(frozen=True, slots=True)
class Lines:
    """Any other list."""

    items: tuple[Node, ...]
    more: int = 0
    shape: str = "lines"


Node = Plain | Group | Grid | Lines
#: Writes a number that is not whole.
Spell = Callable[[float | Decimal], str]


def readable(payload: Any, spell: Spell = str) -> Node:
    """The payload as something that `shared/payload.html` can draw; `spell` writes the numbers that are not whole."""
    return _Reader(spell).node(masked(payload), 0)


def raw_json(payload: Any) -> str:
    """The payload as indented JSON, secrets masked, no digit of a number lost."""
    return _json(masked(payload), "")


class _Reader:
    def __init__(self, spell: Spell) -> None:
        self._spell = spell

    def node(self, value: Any, depth: int) -> Node:
        if not isinstance(value, (Mapping, list)):
            return self._plain(value)
        if not value:
            return Plain("nothing")
        if depth > MAX_DEPTH:
            return Plain("deeper")
        if isinstance(value, Mapping):
            shown = list(value.items())[:MAX_ITEMS]
            return Group(
                tuple((label(name), self.node(one, depth + 1)) for name, one in shown),
                len(value) - len(shown),
            )
        return self._list(value, depth)

    def _list(self, values: Sequence[Any], depth: int) -> Node:
        shown = values[:MAX_ITEMS]
        more = len(values) - len(shown)
        columns = _columns(shown)
        if columns:
            rows = tuple(tuple(self._plain(row.get(column)) for column in columns) for row in shown)
            return Grid(tuple(label(column) for column in columns), rows, more)
        return Lines(tuple(self.node(one, depth + 1) for one in shown), more)

    def _plain(self, value: Any) -> Plain:
        if value is None or value == "":
            return Plain("nothing")
        if value == MASK:
            return Plain("masked", MASK)
        if isinstance(value, bool):
            return Plain("yes" if value else "no")
        if isinstance(value, int):
            return Plain("number", str(value))
        if isinstance(value, (float, Decimal)):
            return Plain("number", self._spell(value))
        text = str(value)
        return Plain("text", text[:MAX_TEXT], cut=len(text) > MAX_TEXT)


def _columns(rows: Sequence[Any]) -> tuple[str, ...]:
    """The names of the fields of all rows, or none where the rows do not make a table."""
    names: dict[str, None] = {}
    for row in rows:
        if not isinstance(row, Mapping) or any(isinstance(value, (Mapping, list)) for value in row.values()):
            return ()
        names.update(dict.fromkeys(row))
    return tuple(names) if len(names) <= MAX_COLUMNS else ()


def label(name: str) -> str:
    """A field's name as a label: `customer_code` reads "Customer code"."""
    spaced = name.replace("_", " ").strip()
    return spaced[:1].upper() + spaced[1:]


def _json(value: Any, indent: str) -> str:
    deeper = indent + "  "
    if isinstance(value, Mapping) and value:
        lines = (f"{deeper}{_text(str(name))}: {_json(one, deeper)}" for name, one in value.items())
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(f"{deeper}{_json(one, deeper)}" for one in value) + f"\n{indent}]"
    return str(value) if isinstance(value, Decimal) else _text(value)


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
