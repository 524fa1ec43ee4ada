"""Where in a payload does a value stand? By its pointer, as RFC 6901 writes it: `/customer/cpf`, `/items/0/token`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: The pointer of the whole payload.
WHOLE = ""
#: Characters of a pointer.
LONGEST = 2_000


class NoSuchPlace(LookupError):
    """There is nothing at this place of the payload."""


def step(name: str | int) -> str:
    """What a pointer gains on the way to the field `name`, or to the item of that number."""
    return "/" + str(name).replace("~", "~0").replace("/", "~1")


def steps(pointer: str) -> list[str]:
    """The names and numbers on the way to a place.

    Raises:
        NoSuchPlace: it is no pointer.
    """
    if pointer == WHOLE:
        return []
    if not pointer.startswith("/") or len(pointer) > LONGEST:
        raise NoSuchPlace(pointer[:LONGEST])
    return [name.replace("~1", "/").replace("~0", "~") for name in pointer[1:].split("/")]


def value_at(payload: Any, pointer: str) -> Any:
    """What stands there.

    Raises:
        NoSuchPlace: there is nothing.
    """
    value = payload
    for name in steps(pointer):
        if isinstance(value, Mapping) and name in value:
            value = value[name]
        elif isinstance(value, list) and name.isascii() and name.isdigit() and int(name[:9]) < len(value):
            value = value[int(name[:9])]
        else:
            raise NoSuchPlace(pointer)
    return value
