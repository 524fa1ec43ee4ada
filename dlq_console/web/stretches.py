"""Which stretch of a long list does an address ask for, and where are those before and behind it?"""

from __future__ import annotations

from collections.abc import Callable

from flask import abort, request

#: Rows of a page, and characters of a name that is searched for.
PER_PAGE, LONGEST_NAME = 50, 120


def asked() -> tuple[str, int]:
    """The part of a name that is searched for, and the place of the first row; 400 where they mean nothing."""
    name, start = request.args.get("q", "").strip(), request.args.get("start", "0")
    if len(name) > LONGEST_NAME or not (start.isascii() and start.isdigit() and len(start) < 8):
        abort(400)
    return name, int(start)


def turns(address: Callable[[int], str], start: int, number: int, *, rows: int = PER_PAGE) -> dict[str, str]:
    """Where the rows before and behind those from `start` on are, of so many; empty where there are none."""
    return {
        "newer": address(max(0, start - rows)) if start else "",
        "older": address(start + rows) if number > start + rows else "",
    }
