"""The composition root: one `Hub` per process holds settings, store, handlers and publisher together."""

from __future__ import annotations

import os
import tempfile
import weakref

from dlq_console.hub.core import HubCore
from dlq_console.hub.dispatch import NoPublisher, Publisher
from dlq_console.settings import Settings, read_settings


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
