"""How does a person read a payload? As labelled fields, groups and small tables, with secrets masked.

Only what is shown is looked at: of a payload of 5 MB or 10,000 fields a page shows the beginning, and the whole of it is
one click away as JSON, masked as well.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from dlq_console.hub.pointers import step
from dlq_console.redact import MASK, Path, inside, masked, masked_text
from dlq_console.web.space import Space, weight
from dlq_console.web.visible import escaped

#: Groups inside groups beyond this depth are only found in the JSON.
MAX_DEPTH = 4
#: Fields of one group, rows of one table, lines of one list.
MAX_ITEMS = 100
#: Characters of one text.
MAX_TEXT = 1000
#: Characters beyond those that are searched for secrets; one that begins among those shown ends here.
_MARGIN = 4000
#: A list of objects is a table when each has at most this many fields, all of them plain.
MAX_COLUMNS = 8
#: Bytes of a page for the fields of a payload, and for its JSON; a longer JSON is downloaded.
SPACE, JSON_SPACE = 12_000, 8_000
#: Bytes of markup around one value.
_AROUND = 40

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


@dataclass(frozen=True, slots=True)
class Reading:
    """A payload as `shared/payload.html` draws it, and the pointers of what is masked in it."""

    node: Node
    hidden: tuple[str, ...] = ()


def read(
    payload: Any, spell: Spell = str, *, size: int = SPACE, labels: Mapping[str, str] | None = None
) -> Reading:
    """What a page shows of a payload.

    Args:
        payload: any JSON value.
        spell: writes the numbers that are not whole.
        size: bytes of the page that it may fill.
        labels: path -> what the kind calls the field there; all others are called by their names.
    """
    reader = _Reader(spell, Space(size), labels or {})
    return Reading(reader.node(payload, "", ()), tuple(reader.hidden))


def readable(payload: Any, spell: Spell = str, *, size: int = SPACE) -> Node:
    """The same without the pointers."""
    return read(payload, spell, size=size).node


def plain(value: Any, spell: Spell = str, *, most: int = MAX_TEXT) -> Plain:
    """One value that is no object and no list; `most` are the characters of a text that are shown."""
    if value is None or value == "":
        return Plain("nothing")
    if isinstance(value, bool):
        return Plain("yes" if value else "no")
    if isinstance(value, int):
        return Plain("number", str(value))
    if isinstance(value, (float, Decimal)):
        return Plain("number", spell(value))
    text = masked_text(str(value)[: most + _MARGIN])
    return Plain("text", text[:most], cut=len(text) > most)


def raw_json(payload: Any) -> str:
    """The payload as indented JSON, secrets masked, no digit of a number lost."""
    return indented(masked(payload))


def indented(value: Any) -> str:
    """Any JSON value as indented JSON, nothing masked; characters that nobody sees are written out."""
    return _json(value, "")


def short_json(payload: Any, payload_json: str) -> str:
    """`raw_json` where a page has room for it, else empty."""
    if len(payload_json) > JSON_SPACE:
        return ""
    raw = raw_json(payload)
    return raw if weight(raw) <= JSON_SPACE else ""


class _Reader:
    def __init__(self, spell: Spell, space: Space, labels: Mapping[str, str]) -> None:
        self._spell = spell
        self._labels = {"".join(map(step, path.split("."))): word for path, word in labels.items()}
        self._space = space
        self.hidden: list[str] = []

    def node(self, value: Any, pointer: str, path: Path) -> Node:
        if not isinstance(value, (Mapping, list)):
            return self._plain(value, pointer)
        if not value:
            return Plain("nothing")
        if pointer.count("/") > MAX_DEPTH:
            self._space.fill(_AROUND)
            return Plain("deeper")
        return (
            self._group(value, pointer, path)
            if isinstance(value, Mapping)
            else self._list(value, pointer, path)
        )

    def _group(self, fields: Mapping[str, Any], pointer: str, path: Path) -> Group:
        shown: list[tuple[str, Node]] = []
        for name in fields:
            name_shown = self._space.take(self._label(name, pointer + step(name)), most=MAX_TEXT)
            if len(shown) == MAX_ITEMS or not self._space.fill(_AROUND):
                break
            shown.append((name_shown, self._field(fields, name, pointer, path)))
        return Group(tuple(shown), len(fields) - len(shown))

    def _label(self, name: str, pointer: str) -> str:
        return self._labels.get(pointer) or label(name)

    def _field(self, fields: Mapping[str, Any], name: str, pointer: str, path: Path) -> Node:
        value, here = fields[name], pointer + step(name)
        within = inside(fields, name, path)
        if within is not None:
            return self.node(value, here, within)
        # That a secret is missing is worth knowing, and no secret.
        if value is None or value == "":
            return Plain("nothing")
        self.hidden.append(here)
        return Plain("masked", MASK)

    def _list(self, values: Sequence[Any], pointer: str, path: Path) -> Node:
        columns = _columns(values[:MAX_ITEMS])
        if columns:
            return self._grid(values, columns, pointer, path)
        items: list[Node] = []
        for place, value in enumerate(values[:MAX_ITEMS]):
            if not self._space.fill(_AROUND):
                break
            items.append(self.node(value, pointer + step(place), path))
        return Lines(tuple(items), len(values) - len(items))

    def _grid(self, values: Sequence[Any], columns: tuple[str, ...], pointer: str, path: Path) -> Grid:
        rows: list[tuple[Plain, ...]] = []
        for place, value in enumerate(values[:MAX_ITEMS]):
            if not self._space.fill(_AROUND * len(columns)):
                break
            here = pointer + step(place)
            rows.append(tuple(self._cell(value, column, here, path) for column in columns))
        return Grid(
            tuple(self._space.take(label(column), most=MAX_TEXT) for column in columns),
            tuple(rows),
            len(values) - len(rows),
        )

    def _cell(self, row: Mapping[str, Any], column: str, pointer: str, path: Path) -> Plain:
        cell = self._field(row, column, pointer, path) if column in row else Plain("nothing")
        assert isinstance(cell, Plain), "columns are made of plain values"  # noqa: S101 - tells the type checker
        return cell

    def _plain(self, value: Any, pointer: str) -> Plain:
        made = plain(value, self._spell)
        if made.kind == "text" and MASK in made.text and MASK not in str(value):
            self.hidden.append(pointer)
        shown = self._space.take(made.text)
        return Plain(made.kind, shown, cut=made.cut or len(shown) < len(made.text))


def _columns(rows: Sequence[Any]) -> tuple[str, ...]:
    """The names of the fields of all rows, or none where the rows do not make a table."""
    names: dict[str, None] = {}
    for row in rows:
        if not isinstance(row, Mapping) or any(isinstance(value, (Mapping, list)) for value in row.values()):
            return ()
        names.update(dict.fromkeys(row))
        if len(names) > MAX_COLUMNS:
            return ()
    return tuple(names)


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
    return escaped(json.dumps(value, ensure_ascii=False))
