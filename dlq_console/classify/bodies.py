"""What is in a body? JSON or XML as one tree, read with bounds: whatever a stranger sends, reading it ends soon."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator, Mapping
from typing import Any
from xml.parsers import expat

#: Bytes of a body that are looked at.
BODY_LIMIT = 65_536
_XML_DEPTH = 60
_XML_NODES = 5_000
#: Values of one path that are looked at.
_MOST_VALUES = 50
_MOST_STEPS = 1_000
_TEXT_LIMIT = 4_000

#: Charsets of letters alone: Python knows others whose decoding can take very long.
_CHARSET = re.compile(
    r"charset\s{0,3}=\s{0,3}[\"']?(utf-?(?:8|16|32)(?:[lb]e)?|us-ascii|(?:iso-?8859|windows|cp|latin)[-_]?[0-9]{1,4}(?:-[0-9]{1,2})?)\b",
    re.IGNORECASE,
)
_TAG = re.compile(r"<[^<>]{0,500}>")
_GZIP = b"\x1f\x8b"


def decode(body: bytes, content_type: str | None) -> str:
    """The text of a body; never fails, and never holds more than `BODY_LIMIT` characters.

    The named charset comes first, then UTF-8, then Windows-1252, in which nearly every byte is a letter.
    """
    body = _unpacked(body[:BODY_LIMIT])
    named = _CHARSET.search(content_type[:200]) if content_type else None
    for charset in (named[1] if named else "utf-8-sig", "utf-8-sig"):
        try:
            return body.decode(charset)
        except (LookupError, ValueError):
            if text := _cut_in_a_letter(body):
                return text
    return body.decode("cp1252", "replace")


def _cut_in_a_letter(body: bytes) -> str | None:
    """UTF-8 of which only the last letter is missing, as where a body was cut."""
    try:
        body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data":
            return body[: error.start].decode("utf-8-sig", "replace")
    return None


def _unpacked(body: bytes) -> bytes:
    if not body.startswith(_GZIP):
        return body
    try:
        return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(body, BODY_LIMIT)
    except zlib.error:
        return body


def parse(text: str) -> Any:
    """The tree of a JSON or XML text: dicts, lists and scalars; None where it is neither, or too deep, or cut short.

    XML becomes dicts by the local names of its elements; an element that repeats becomes a list.
    """
    start = text.lstrip()[:1]
    if start in {"{", "["}:
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return None
    return _Tree().read(text) if start == "<" else None


class _TooMuchError(Exception):
    """The XML is deeper or larger than any answer of a provider, or defines entities."""


class _Tree:
    """Builds the tree of an XML text."""

    def __init__(self) -> None:
        self._root: dict[str, Any] = {}
        self._open: list[tuple[dict[str, Any], list[str]]] = [(self._root, [])]
        self._nodes = 0

    def read(self, text: str) -> Any:
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.EntityDeclHandler = self._refuse
        try:
            parser.Parse(text, True)
        except (expat.ExpatError, _TooMuchError, ValueError):
            return None
        return self._root

    def _start(self, _name: str, _attributes: Any) -> None:
        self._nodes += 1
        if len(self._open) > _XML_DEPTH or self._nodes > _XML_NODES:
            raise _TooMuchError
        self._open.append(({}, []))

    def _text(self, text: str) -> None:
        self._open[-1][1].append(text)

    def _end(self, name: str) -> None:
        children, texts = self._open.pop()
        value: Any = children or "".join(texts).strip()
        parent = self._open[-1][0]
        local = name.rpartition(":")[2]
        if local not in parent:
            parent[local] = value
        elif isinstance(parent[local], list):
            parent[local].append(value)
        else:
            parent[local] = [parent[local], value]

    def _refuse(self, *_: Any) -> None:
        raise _TooMuchError


def values(tree: Any, path: tuple[str, ...]) -> Iterator[Any]:
    """What stands at a path: names one below the other; "*" is any name; lists are walked through everywhere."""
    found = [tree]
    for name in path:
        found = [value for each in _through_lists(found) for value in _children(each, name)][:_MOST_VALUES]
    return _through_lists(found)


def _through_lists(found: list[Any]) -> Iterator[Any]:
    """What is in the lists, however deep; a list that holds itself ends with the count."""
    waiting = found[::-1]
    for _ in range(_MOST_STEPS):
        if not waiting:
            return
        each = waiting.pop()
        if isinstance(each, list):
            waiting.extend(each[:_MOST_VALUES][::-1])
        else:
            yield each


def _children(tree: Any, name: str) -> Iterator[Any]:
    if not isinstance(tree, Mapping):
        return
    if name == "*":
        yield from list(tree.values())[:_MOST_VALUES]
    elif name in tree:
        yield tree[name]


def loose_values(text: str, name: str) -> Iterator[str]:
    """What stands behind a name in JSON that cannot be parsed, because it was cut or is not quite JSON."""
    pattern = re.compile(
        rf'"{re.escape(name)}"\s{{0,5}}:\s{{0,5}}(?:"((?:[^"\\]|\\.){{0,2000}})|(-?[\w.]{{1,100}}))'
    )
    for match in pattern.finditer(text):
        quoted, bare = match.groups()
        yield bare if quoted is None else _unescaped(quoted)
        return


def _unescaped(quoted: str) -> str:
    try:
        return str(json.loads(f'"{quoted}"', strict=False))
    except ValueError:
        return quoted


def as_text(value: Any) -> str | None:
    """A scalar as text: 6, "6" and 6.0 are the same code; nothing for a tree, null or an empty text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, int):
        return str(value) if value.bit_length() < 128 else None
    if isinstance(value, str | float):
        return str(value)[:_TEXT_LIMIT].strip() or None
    return None


def without_tags(text: str) -> str:
    """The words of an HTML page."""
    return _TAG.sub(" ", text)
