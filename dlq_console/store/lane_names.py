"""What is a lane called?"""

from __future__ import annotations

#: The key of an account's serial lane, and how the name of such a lane ends.
SERIAL = "*"
SERIAL_LANE = f"|{SERIAL}"


def lane_name(account: str, ordering_key: str | None) -> str:
    """The lane of an ordering key within an account; None for the account's serial lane.

    "|" and "%" in either part and a key that is exactly "*" are escaped, so that no two lanes share a name.
    """
    return f"{_escape(account)}|{SERIAL if ordering_key is None else _escape_key(ordering_key)}"


def _escape(text: str) -> str:
    return text.replace("%", "%25").replace("|", "%7C")


def _escape_key(key: str) -> str:
    return "%2A" if key == SERIAL else _escape(key)
