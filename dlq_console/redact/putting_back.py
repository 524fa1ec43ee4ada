"""A person edits a payload that was shown with its secrets masked: which values stand behind the masks they send back?

A mask stands for the value that was hidden in the same place. In a list, items move: one that comes back unchanged is
found wherever it stands now, a changed one only where nothing else with a secret has changed or moved. In any doubt the
payload is refused rather than saved with a mask, or with the secret of somebody else. So it is where the secret would
not be hidden any more: an edit is no way around asking to see it.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from enum import StrEnum
from typing import Any

from dlq_console.redact.fields import masked
from dlq_console.redact.text import MASK


class Misplaced(StrEnum):
    """Why no value can take the place of a mask."""

    NOTHING_HIDDEN = "mask"
    UNCERTAIN = "mask_uncertain"
    WOULD_SHOW = "mask_would_show"


class MisplacedMask(ValueError):
    """A mask stands where no hidden value can be put back."""

    def __init__(self, path: str, why: Misplaced) -> None:
        self.path = path
        self.why = why
        super().__init__(path, why)


def put_back(edited: Any, original: Any, name: str = "payload") -> Any:
    """`edited` with the values of `original` where it shows their mask; both are JSON values.

    Raises:
        MisplacedMask: a mask stands where nothing was hidden, where it is not certain what was, or where the value
            would not be hidden any more.
    """
    whole = _put_back(edited, masked(original), original, name)
    _check_hidden(edited, masked(whole), name)
    return whole


def _put_back(edited: Any, shown: Any, original: Any, path: str) -> Any:
    if not _has_mask(edited):
        return edited
    if isinstance(edited, Mapping) and isinstance(shown, Mapping):
        return {
            key: _put_back(value, shown.get(key), original.get(key), f"{path}.{key}")
            for key, value in edited.items()
        }
    if isinstance(edited, list) and isinstance(shown, list):
        return _put_back_items(edited, shown, original, path)
    if edited != shown:
        raise MisplacedMask(_first_mask(edited, path), Misplaced.NOTHING_HIDDEN)
    return original


def _put_back_items(edited: list[Any], shown: list[Any], original: list[Any], path: str) -> list[Any]:
    places = _places(edited, shown)
    items = []
    for here, item in enumerate(edited):
        inner, place = f"{path}[{here}]", places.get(here)
        if place is not None:
            items.append(_put_back(item, shown[place], original[place], inner))
        elif _has_mask(item):
            why = Misplaced.UNCERTAIN if _has_mask(shown) else Misplaced.NOTHING_HIDDEN
            raise MisplacedMask(_first_mask(item, inner), why)
        else:
            items.append(item)
    return items


def _places(edited: list[Any], shown: list[Any]) -> dict[int, int]:
    """For items with a mask: which one each was, where that is certain; no two were the same."""
    now, then = _looks(edited), _looks(shown)
    came_back, were = _by_look(now), _by_look(then)
    places: dict[int, int] = {}
    for look, here in came_back.items():
        alike = were.get(look, set())
        if len(here) == len(alike) == 1:
            places |= zip(here, alike, strict=True)
        elif len(here) >= len(alike):
            # Only their places tell them apart; what stands elsewhere is a copy, or has moved, and has no place.
            places |= {one: one for one in here & alike}
    changed = [one for one in now.keys() | then.keys() if now.get(one) != then.get(one)]
    if len(edited) == len(shown) and len(changed) == 1 and now.get(changed[0]) not in were:
        places[changed[0]] = changed[0]
    return places


def _looks(items: list[Any]) -> dict[int, Hashable]:
    """What every item with a mask looks like, by its place."""
    return {place: _look(item) for place, item in enumerate(items) if _has_mask(item)}


def _by_look(looks: Mapping[int, Hashable]) -> dict[Hashable, set[int]]:
    places: dict[Hashable, set[int]] = {}
    for place, look in looks.items():
        places.setdefault(look, set()).add(place)
    return places


def _look(value: Any) -> Hashable:
    """The same for two values that are written alike, whatever the order of their fields; not for 1, true and "1"."""
    if isinstance(value, Mapping):
        return frozenset((name, _look(one)) for name, one in value.items())
    if isinstance(value, list):
        return tuple(_look(one) for one in value)
    return type(value), str(value)


def _check_hidden(edited: Any, shown: Any, path: str) -> None:
    """Refuse a mask of `edited` where `shown`, the whole payload as it would be shown from now on, has something else."""
    if shown == MASK or not _has_mask(edited):
        return
    if isinstance(edited, Mapping) and isinstance(shown, Mapping):
        for name, value in edited.items():
            _check_hidden(value, shown[name], f"{path}.{name}")
    elif isinstance(edited, list) and isinstance(shown, list):
        for here, (value, one) in enumerate(zip(edited, shown, strict=True)):
            _check_hidden(value, one, f"{path}[{here}]")
    elif edited != shown:
        raise MisplacedMask(path, Misplaced.WOULD_SHOW)


def _has_mask(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(_has_mask(one) for one in value.values())
    if isinstance(value, list):
        return any(_has_mask(one) for one in value)
    return isinstance(value, str) and MASK in value


def _first_mask(value: Any, path: str) -> str:
    """The path of the first mask in a value that holds one."""
    if isinstance(value, Mapping):
        name, inner = next((name, one) for name, one in value.items() if _has_mask(one))
        return _first_mask(inner, f"{path}.{name}")
    if isinstance(value, list):
        here, inner = next((here, one) for here, one in enumerate(value) if _has_mask(one))
        return _first_mask(inner, f"{path}[{here}]")
    return path
