"""How does a view reach the hub of its process, and what does it ask of it?"""

from __future__ import annotations

from typing import Protocol, cast

from flask import current_app

from dlq_console.settings import Settings
from dlq_console.store.events import Event
from dlq_console.store.store import Store

#: Under which name the hub stands in `app.extensions`.
EXTENSION = "dlq_console"


class ConsoleHub(Protocol):
    """The part of the hub that the console uses: it reads rows and acts on single events."""

    @property
    def settings(self) -> Settings:
        """What was configured."""

    @property
    def store(self) -> Store:
        """Where the rows are."""

    def reprocess(self, event_id: int, *, actor: str, note: str | None = None) -> Event:
        """Put a dead event back to work."""

    def discard(self, event_id: int, *, actor: str, note: str | None = None) -> Event:
        """Decide that an event shall not run."""


def hub() -> ConsoleHub:
    """The hub that this application was made with."""
    return cast(ConsoleHub, current_app.extensions[EXTENSION])


def store() -> Store:
    """The store of that hub."""
    return hub().store
