"""The composition root: one `Hub` per process holds settings, store, handlers and publisher together."""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dlq_console.hub.core import HubCore
from dlq_console.hub.dispatch import NoPublisher, Publisher
from dlq_console.settings import Settings, read_settings

if TYPE_CHECKING:
    from celery import Celery


class Hub(HubCore):
    """Where events go in, are run, and are acted upon.

    Opens nothing before first use and is safe to build before a fork. Settings are read from the environment unless
    given. Use one per process.
    """

    def __init__(self, settings: Settings | None = None) -> None:
        settings = settings or read_settings()
        super().__init__(settings, lambda: _publisher(settings))
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        _living.add(self)

    @classmethod
    def from_env(cls) -> Hub:
        """The same as `Hub()`."""
        return cls()

    @classmethod
    def in_memory(cls) -> Hub:
        """A hub for tests: its own empty database, gone at `close`; `hub.clock.advance(60)` moves its time.

        The database is a private temporary SQLite file, because one in memory cannot be shared by threads.
        """
        folder = tempfile.TemporaryDirectory(prefix="dlq-console-")
        hub = cls(read_settings(database_url=f"sqlite:///{folder.name}/events.db", broker_url=""))
        hub._folder = folder
        hub.migrate()
        return hub

    def attach(self, app: Celery, *, accounts: Sequence[str] | None = None, scheduler: bool = True) -> None:
        """Let the workers of your own Celery application run the events of this hub; your tasks and configuration stay.

        Args:
            app: your application. Its broker must be the one of DLQ_BROKER_URL.
            accounts: the accounts that its workers serve; None for all, also those that come later.
            scheduler: whether its workers may also host the periodic steps.

        Raises:
            ConfigurationError: no broker is set, or the application runs the events of another hub.
        """
        from dlq_console.workers.celery_attach import attach  # Celery is loaded only where it is used

        attach(self, app, accounts=accounts, scheduler=scheduler)

    def close(self) -> None:
        """Close connections; the hub may be used again afterwards, except one made by `in_memory`."""
        super().close()
        if self._folder is not None:
            self._folder.cleanup()


def _publisher(settings: Settings) -> Publisher:
    if not settings.broker_url:
        return NoPublisher()
    from dlq_console.workers.celery_publisher import CeleryPublisher  # Celery is loaded only where it is used

    return CeleryPublisher(settings.broker_url)


_living: weakref.WeakSet[Hub] = weakref.WeakSet()


def _after_fork() -> None:
    for hub in list(_living):
        hub.after_fork()


os.register_at_fork(after_in_child=_after_fork)
