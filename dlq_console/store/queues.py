"""Which queue an account's work travels on: `<prefix>.<account>`, escaped so that two accounts never share one."""

from __future__ import annotations

from functools import lru_cache


@lru_cache(maxsize=4096)
def queue_name(prefix: str, account: str) -> str:
    """The queue of `account`.

    Anything but `a-z 0-9 _ -` becomes `~` and the hexadecimal code point between tildes, so the name is readable for
    plain accounts and unique for every account.
    """
    return f"{prefix}.{''.join(_escape(character) for character in account)}"


def _escape(character: str) -> str:
    plain = character.isascii() and (character.islower() or character.isdigit() or character in "_-")
    return character if plain else f"~{ord(character):x}~"
