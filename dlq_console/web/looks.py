"""What was looked up for pages that many watch is looked up once a second by each process, not by each of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from flask import current_app

from dlq_console.clock import monotonic
from dlq_console.errors import StoreUnavailable
from dlq_console.web.keeping import Keeper

Value = TypeVar("Value")

#: What is older, in seconds, is not told as how things stand, but as what it is: the database is away.
OLDEST = 4.0
_EXTENSION = "dlq_console_looks"


def kept(name: str, read: Callable[[], Value], *, seconds: float = 1.0) -> Value:
    """What `read` has found, at most `seconds` ago while the database is there.

    Raises:
        StoreUnavailable: it has been away for longer than that.
    """
    keeper: Keeper[str, Any] = _keepers().setdefault(name, Keeper(seconds, most=1))
    found = keeper.get(name, read)
    if monotonic() - found.made_at > max(OLDEST, 2 * seconds):
        raise StoreUnavailable("The database is away.")
    return cast(Value, found.value)


def forget() -> None:
    """Look again at once: somebody has just changed something here."""
    _keepers().clear()


def _keepers() -> dict[str, Keeper[str, Any]]:
    """Of this application: a process may have several, each with its own database."""
    return cast(dict[str, Keeper[str, Any]], current_app.extensions.setdefault(_EXTENSION, {}))
