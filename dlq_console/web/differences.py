"""What is different between two payloads? Field by field, with secrets masked, computed here and bounded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from dlq_console.redact import MASK, Path, inside
from dlq_console.web.payload import Plain, Spell, label, plain
from dlq_console.web.space import Space, weight

#: Values of one payload that are compared; of more than that nothing is said.
MOST_VALUES = 10_000
#: Differences that are shown, and characters of each value.
SHOWN, LONGEST = 20, 80
#: Bytes of markup around one of them.
_AROUND = 160

#: From the outside inwards: names of fields, numbers of items.
Place = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """A value that is not the same in both; `before` or `after` is None where it is missing."""

    what: Literal["added", "removed", "changed"]
    field: str
    before: Plain | None
    after: Plain | None


@dataclass(frozen=True, slots=True)
class Differences:
    """The first differences in the order of the fields, and how many `more` there are."""

    items: tuple[Difference, ...] = ()
    more: int = 0


class TooLarge(Exception):
    """There are too many values to compare."""


def differences(
    before: Any,
    after: Any,
    spell: Spell = str,
    *,
    labels: Mapping[str, str] | None = None,
    size: int | None = None,
) -> Differences | None:
    """What became different from one payload to another; None where they are too large to be compared.

    A masked field that changed is named, its values stay masked. `labels`, path -> label, are what the kind calls them. `size` are
    the bytes of the page that they may fill; as much as SHOWN of them take if left out.
    """
    try:
        old, new = _values(before), _values(after)
    except TooLarge:
        return None
    holding = _holding(old) | _holding(new)
    # That something was empty is told by what was added to it.
    places = [
        place for place in dict.fromkeys([*old, *new]) if not _same(old, new, place) and place not in holding
    ]
    shown = [
        _called(_difference(place, old, new, before, after, spell), place, labels or {})
        for place in places[:SHOWN]
    ]
    if size is not None:
        space = Space(size)
        shown = [one for one in shown if space.fill(_weight(one))]
    return Differences(tuple(shown), len(places) - len(shown))


def _weight(found: Difference) -> int:
    values = (one.text for one in (found.before, found.after) if one)
    return _AROUND + sum(map(weight, (found.field, *values)))


def _values(payload: Any) -> dict[Place, Any]:
    """Every value that holds no others, by its place."""
    found: dict[Place, Any] = {}
    ahead: list[tuple[Place, Any]] = [((), payload)]
    while ahead:
        place, value = ahead.pop()
        inner = _inner(value)
        if inner:
            ahead += [((*place, name), one) for name, one in reversed(inner)]
        else:
            found[place] = value
        if len(found) + len(ahead) > MOST_VALUES:
            raise TooLarge
    return found


def _holding(values: dict[Place, Any]) -> set[Place]:
    """The places of all objects and lists that hold something."""
    return {place[:depth] for place in values for depth in range(len(place))}


def _inner(value: Any) -> list[tuple[str | int, Any]]:
    if isinstance(value, Mapping):
        return [(str(name), one) for name, one in value.items()]
    return list(enumerate(value)) if isinstance(value, list) else []


def _same(old: dict[Place, Any], new: dict[Place, Any], place: Place) -> bool:
    """Whether both have the same there; true and 1 are not the same, 12.5 and 12.50 are."""
    if place not in old or place not in new:
        return False
    one, other = old[place], new[place]
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def _difference(
    place: Place, old: dict[Place, Any], new: dict[Place, Any], before: Any, after: Any, spell: Spell
) -> Difference:
    what: Literal["added", "removed", "changed"] = (
        "added" if place not in old else "removed" if place not in new else "changed"
    )
    return Difference(
        what,
        _field(place),
        None if what == "added" else _shown(before, place, old[place], spell),
        None if what == "removed" else _shown(after, place, new[place], spell),
    )


def _called(found: Difference, place: Place, labels: Mapping[str, str]) -> Difference:
    """The difference by the name that its kind gives the field."""
    word = labels.get(".".join(map(str, place)))
    return replace(found, field=word) if word else found


def _field(place: Place) -> str:
    """The way to a value in words: "Items 2, Price"; items are counted from 1."""
    words: list[str] = []
    for step in place:
        if isinstance(step, str):
            words.append(label(step)[:LONGEST])
        elif words:
            words[-1] += f" {step + 1}"
        else:
            words.append(str(step + 1))
    return ", ".join(words)


def _shown(payload: Any, place: Place, value: Any, spell: Spell) -> Plain:
    if _is_masked(payload, place):
        return Plain("nothing") if value is None or value == "" else Plain("masked", MASK)
    return Plain("nothing") if isinstance(value, (Mapping, list)) else plain(value, spell, most=LONGEST)


def _is_masked(payload: Any, place: Place) -> bool:
    value: Any = payload
    path: Path = ()
    for step in place:
        if isinstance(step, str):
            within = inside(value, step, path)
            if within is None:
                return True
            path = within
        value = value[step]
    return False
