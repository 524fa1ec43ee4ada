"""A person edits a payload that was shown with its secrets masked: which values stand behind the masks they send back?

A mask stands for the value that was hidden in the same place. In a list, items move: one that comes back unchanged is
found wherever it stands now, a changed one only where it is the only one. A mask in any other place stands for nothing,
and the payload is refused rather than saved with it, or with the secret of somebody else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from dlq_console.redact.fields import masked
from dlq_console.redact.text import MASK

#: A place that was not there before.
_NOWHERE = object()


class MisplacedMask(ValueError):
    """A mask stands where nothing was hidden."""

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(path)


def put_back(edited: Any, original: Any, name: str = "payload") -> Any:
    """`edited` with the values of `original` where it shows their mask; both are JSON values.

    Raises:
        MisplacedMask: a mask stands where nothing was hidden, or where it is not clear what was.
    """
    return _put_back(edited, masked(original), original, name)


def _put_back(edited: Any, shown: Any, original: Any, path: str) -> Any:
    if not _has_mask(edited):
        return edited
    if isinstance(edited, Mapping):
        fields = shown if isinstance(shown, Mapping) else {}
        return {
            key: _put_back(
                value, fields.get(key, _NOWHERE), original[key] if key in fields else None, f"{path}.{key}"
            )
            for key, value in edited.items()
        }
    if isinstance(edited, list):
        items = shown if isinstance(shown, list) else []
        return _put_back_items(edited, items, original if items else [], path)
    if edited != shown:
        raise MisplacedMask(path)
    return original


def _put_back_items(edited: list[Any], shown: list[Any], original: list[Any], path: str) -> list[Any]:
    places = _places(edited, shown, original)
    items = []
    for here, item in enumerate(edited):
        place = places.get(here)
        before = _NOWHERE if place is None else shown[place]
        items.append(_put_back(item, before, None if place is None else original[place], f"{path}[{here}]"))
    return items


def _places(edited: list[Any], shown: list[Any], original: list[Any]) -> dict[int, int]:
    """For items with a mask: which one each was, as far as nobody could see it otherwise."""
    came_back, were = _by_spelling(edited), _by_spelling(shown)
    places: dict[int, int] = {}
    for spelling, here in came_back.items():
        alike = were.get(spelling, [])
        if len(alike) == len(here):
            places |= zip(here, alike, strict=True)
        elif alike and all(original[one] == original[alike[0]] for one in alike):
            places |= dict.fromkeys(here, alike[0])
    changed = [here for spelling, all_ in came_back.items() if spelling not in were for here in all_]
    left = [one for spelling, all_ in were.items() if spelling not in came_back for one in all_]
    # One is missing and one is new: it is that one, changed.
    if len(changed) == len(left) == 1:
        places[changed[0]] = left[0]
    return places


def _by_spelling(items: list[Any]) -> dict[str, list[int]]:
    """The places of all items with a mask, by what they look like."""
    found: dict[str, list[int]] = {}
    for place, item in enumerate(items):
        if _has_mask(item):
            found.setdefault(json.dumps(item, sort_keys=True, default=str), []).append(place)
    return found


def _has_mask(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(_has_mask(one) for one in value.values())
    if isinstance(value, list):
        return any(_has_mask(one) for one in value)
    return isinstance(value, str) and MASK in value
