"""The composition root: one `Hub` per process holds settings, store, handlers and publisher together."""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from dlq_console.hub.core import HubCore
from dlq_console.hub.dispatch import NoPublisher, Publisher
from dlq_console.redact import also_secret, read_paths
from dlq_console.resilience import budget
from dlq_console.resilience.defaults import Defaults, register_defaults, withdraw_defaults
from dlq_console.resilience.services import read_services
from dlq_console.resilience.state import SharedState
from dlq_console.settings import Settings, read_settings
from dlq_console.store.shared_state import SqlState
from dlq_console.store.store import Store

if TYPE_CHECKING:
    from celery import Celery


class Hub(HubCore):
    """Where events go in, are run, and are acted upon.

    Opens nothing before first use and is safe to build before a fork. Settings are read from the environment unless
    given. Use one per process: from then on its shared state and services are those of every `guard` that was given
    none, and its budgets those of the process.

    Raises:
        ConfigurationError: a setting is wrong, or the file that DLQ_SERVICES names.
    """

    def __init__(self, settings: Settings | None = None) -> None:
        settings = settings or read_settings()
        also_secret(read_paths(settings.redact))
        super().__init__(
            settings,
            lambda: _publisher(settings),
            make_state=partial(_state, settings.redis_url),
            services=read_services(settings.services),
            judge_again=_judge_again,
        )
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        _living.add(self)
        budget.limits.set(default=settings.budget_default, maximum=settings.budget_max)
        # A hub that nobody holds any more must not live on for this alone.
        self._defaults = partial(_defaults_of, weakref.ref(self))
        register_defaults(self._defaults)

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
            withdraw_defaults(self._defaults)
            self._folder.cleanup()


def process_defaults() -> Defaults:
    """What guards use in a program that has made no hub: what the environment says.

    Raises:
        ConfigurationError: a setting is wrong, or the file that DLQ_SERVICES names.
    """
    hub = Hub()
    return Defaults(hub.state, hub.services)


def _defaults_of(made: weakref.ref[Hub]) -> Defaults:
    hub = made()
    return process_defaults() if hub is None else Defaults(hub.state, hub.services)


def _state(redis_url: str, store: Store) -> SharedState:
    """Where programs share what guards know: in Redis if there is one, else beside the events."""
    if not redis_url:
        return SqlState(store)
    from dlq_console.resilience.redis_state import RedisState  # the client is loaded only where it is used

    return RedisState(redis_url)


def _judge_again(store: Store, account: str | None) -> None:
    from dlq_console.watch.looking import judge_again  # loaded by programs that act upon doors, not by all

    judge_again(store, account)


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
