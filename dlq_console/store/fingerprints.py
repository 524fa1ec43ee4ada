"""Which failures are the same: the error's type and its message without digits and quoted text."""

from __future__ import annotations

import hashlib
import re

_QUOTED = re.compile(r""" "[^"]*" | '[^']*' | “[^”]*” | «[^»]*» | `[^`]*` """, re.VERBOSE)
_DIGITS = re.compile(r"\d+")
_SPACE = re.compile(r"\s+")


def fingerprint(error_type: str, message: str) -> str:
    """32 hex digits that are equal for errors of one cause.

    Two refusals that differ only in the order number or in the quoted customer code are the same cause.
    """
    return hashlib.sha256(f"{error_type}\n{normalise(message)}".encode()).hexdigest()[:32]


def normalise(message: str) -> str:
    """The message without digits, quoted text and differences of case and space."""
    return _SPACE.sub(" ", _DIGITS.sub("", _QUOTED.sub("", message))).strip().casefold()
