"""How is a file of rules read so that every mistake is told with its file, its line and one sentence?"""

from __future__ import annotations

import difflib
import math
import re
import tomllib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NoReturn, TypeVar

from dlq_console.errors import ConfigurationError

Choice = TypeVar("Choice", bound=StrEnum)

_LINE = re.compile(r"\(at line ([0-9]+), column [0-9]+\)|\(at end of document\)")
_HEADER = re.compile(r"\s*\[\[?\s*([\w.\s\"'-]+?)\s*\]\]?\s*(?:#.*)?$")


@dataclass(frozen=True, slots=True)
class Source:
    """One file of rules: its name for people, and its text."""

    name: str
    text: str

    def parsed(self) -> dict[str, Any]:
        """The file as dicts.

        Raises:
            ConfigurationError: it is no TOML.
        """
        try:
            return tomllib.loads(self.text)
        except tomllib.TOMLDecodeError as error:
            found = _LINE.search(str(error))
            line = int(found[1]) if found and found[1] else self.text.count("\n") + 1
            said = _LINE.sub("", str(error)).strip().rstrip(".")
            self.refuse(line, f"this is no TOML: {said}.")

    def refuse(self, line: int, sentence: str) -> NoReturn:
        """Say what is wrong where.

        Raises:
            ConfigurationError: always.
        """
        raise ConfigurationError(f"{self.name}, line {line}: {sentence}")

    def line_of(self, table: str, rule: int | None, key: str | None) -> int:
        """The line of a key, or where it cannot be told, that of its table or rule; 1 at the least.

        Args:
            table: name of the table ("limits", or "when" of a rule), empty for the top.
            rule: which rule of the file, from 0; None outside of rules.
            key: the key to look for.
        """
        block = self._block(table, rule)
        wanted = None if key is None else re.compile(rf"""(?:^|[{{,.\s])["']?{re.escape(key)}["']?\s*=""")
        for number, line in block:
            header = _HEADER.match(line)
            named = header is not None and key is not None and header[1].split(".")[-1] == key
            if named or (wanted is not None and wanted.search(line)):
                return number
        return block[0][0] if block else 1

    def _block(self, table: str, rule: int | None) -> list[tuple[int, str]]:
        """The numbered lines in which a key of the table can stand."""
        lines = [*enumerate(self.text.splitlines(), start=1)]
        heads = [
            (number, found[1].replace(" ", "")) for number, line in lines if (found := _HEADER.match(line))
        ]
        if not table and rule is None:
            # Keys of the file itself come before all tables, so the first of a name is theirs.
            start, end = 1, None
        elif rule is None:
            own = [name.split(".")[0] == table for _number, name in heads]
            start = next((number for (number, _), mine in zip(heads, own, strict=True) if mine), 1)
            end = next((n for (n, _), mine in zip(heads, own, strict=True) if n > start and not mine), None)
        else:
            rules = [number for number, name in heads if name == "rule"]
            start = rules[rule] if rule < len(rules) else 1
            end = rules[rule + 1] if rule + 1 < len(rules) else None
        return [(number, line) for number, line in lines if number >= start and (end is None or number < end)]


class Table:
    """One table of a file, from which each key is taken once; what is left at the end is a mistake."""

    def __init__(self, source: Source, values: Any, *, name: str = "", rule: int | None = None) -> None:
        self.source = source
        self.name = name
        self.rule = rule
        self._known: set[str] = set()
        if not isinstance(values, dict):
            self.source.refuse(source.line_of(name, rule, name), f'"{name}" must be a table.')
        self._values: dict[str, Any] = values

    def refuse(self, key: str | None, sentence: str) -> NoReturn:
        """Say what is wrong with a key.

        Raises:
            ConfigurationError: always.
        """
        self.source.refuse(self.source.line_of(self.name, self.rule, key), sentence)

    def take(self, key: str, default: Any = None) -> Any:
        """The value of a key, of any type."""
        self._known.add(key)
        return self._values.get(key, default)

    def has(self, key: str) -> bool:
        """Whether the key is there."""
        return key in self._values

    def text(self, key: str, default: str | None = None) -> str:
        """A text that is not empty."""
        value = self.take(key, default)
        if value is None:
            self._missing(key)
        if not isinstance(value, str) or not value:
            self.refuse(key, f'"{key}" must be a text in quotes.')
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """One text, or a list of them."""
        value = self.take(key, [])
        found = [value] if isinstance(value, str) else value
        if not isinstance(found, list) or not all(isinstance(each, str) and each for each in found):
            self.refuse(key, f'"{key}" must be a text in quotes, or a list of them.')
        return tuple(found)

    def values(self, key: str) -> tuple[str | int, ...]:
        """One number or text, or a list of them."""
        value = self.take(key, [])
        found = value if isinstance(value, list) else [value]
        if not all(isinstance(each, str | int) and not isinstance(each, bool) for each in found):
            self.refuse(key, f'"{key}" must be a number or a text, or a list of them.')
        return tuple(found)

    def flag(self, key: str, default: bool | None = None) -> bool | None:
        """True or false."""
        value = self.take(key, default)
        if value is not None and not isinstance(value, bool):
            self.refuse(key, f'"{key}" must be true or false.')
        return value

    def number(self, key: str, *, least: float = 0) -> float | None:
        """A finite number."""
        value = self.take(key)
        if value is None:
            return None
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not math.isfinite(value)
            or value < least
        ):
            self.refuse(key, f'"{key}" must be a number of at least {least:g}.')
        return float(value)

    def whole(self, key: str, *, least: int = 1) -> int | None:
        """A whole number."""
        value = self.take(key)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
            self.refuse(key, f'"{key}" must be a whole number of at least {least}.')
        return value

    def choice(
        self, key: str, kind: type[Choice], default: Choice | None = None, *, unsaid: Collection[Choice] = ()
    ) -> Choice:
        """One of a few words; those that are `unsaid` are taken, but offered to nobody."""
        value = self.take(key, default)
        offered = [each for each in kind if each not in unsaid]
        if value is None:
            self._missing(key, f"; it is one of {_words(offered)}")
        try:
            return kind(value)
        except ValueError:
            self.refuse(key, f'"{key}" must be one of {_words(offered)}{_ending(value, map(str, offered))}')

    def table(self, key: str) -> Table:
        """A table below this one; an empty one where it is not there."""
        name = key if self.rule is not None or not self.name else self.name
        return Table(self.source, self.take(key, {}), name=name, rule=self.rule)

    def names(self) -> Sequence[str]:
        """All keys, where any is allowed."""
        return list(self._values)

    def done(self) -> None:
        """Refuse keys that nobody asked for.

        Raises:
            ConfigurationError: there is one.
        """
        for key in self._values:
            if key not in self._known:
                self.refuse(key, f'"{key}" is unknown{self._where()}{_ending(key, self._known)}')

    def _missing(self, key: str, more: str = "") -> NoReturn:
        """Refuse a table without a key that it needs; where it was only misspelt, say that."""
        near = difflib.get_close_matches(key, [each for each in self._values if each not in self._known], n=1)
        if near:
            self.refuse(near[0], f'"{near[0]}" is unknown{self._where()}; did you mean "{key}"?')
        self.refuse(self.name or None, f'"{key}" is missing{self._where()}{more}.')

    def _where(self) -> str:
        return f' in "{self.name}"' if self.name else ""


def _words(kind: Iterable[StrEnum]) -> str:
    return ", ".join(f'"{each}"' for each in kind)


def _ending(word: object, known: Iterable[str]) -> str:
    """The end of a sentence about a wrong word."""
    near = difflib.get_close_matches(str(word), list(known), n=1)
    return f'; did you mean "{near[0]}"?' if near else "."
