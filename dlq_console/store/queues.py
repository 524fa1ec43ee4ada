"""Which queue an account's work travels on: `<prefix>.<account>`, escaped so that two accounts never share one.

Events of the account's serial lane travel on `<prefix>.<account>.serial`; no escaped account contains a dot of its own.
"""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import sha256

#: Characters of an escaped account; AMQP takes 255 bytes for the whole name. A longer one is cut and told apart by a
#: hash behind a dot, which no escaped account contains.
LONGEST = 150
_KEPT = 100
SERIAL_SUFFIX = ".serial"
_ESCAPED = re.compile("~([0-9a-f]{1,6})~")


@lru_cache(maxsize=4096)
def queue_name(prefix: str, account: str, *, serial: bool = False) -> str:
    """The queue of `account`, or of its serial lane.

    Anything but `a-z 0-9 _ -` becomes its hexadecimal code point between tildes, so the name is readable for plain
    accounts, unique for every account, and never too long for a broker.
    """
    escaped = "".join(_escape(character) for character in account)
    if len(escaped) > LONGEST:
        escaped = f"{escaped[:_KEPT]}.{sha256(account.encode()).hexdigest()[:32]}"
    return f"{prefix}.{escaped}{SERIAL_SUFFIX if serial else ''}"


def _escape(character: str) -> str:
    plain = character.isascii() and (character.islower() or character.isdigit() or character in "_-")
    return character if plain else f"~{ord(character):x}~"


def account_of(prefix: str, queue: str) -> str | None:
    """Whose queue that is; None for a queue of another prefix, one that accounts share, or a name that was cut."""
    name = queue.removeprefix(f"{prefix}.").removesuffix(SERIAL_SUFFIX)
    if not queue.startswith(f"{prefix}.") or "." in name:
        return None
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), name)
