"""The Celery worker: which queues it serves, and what its main process does beside handing messages to its pool.

Started by `dlq-console worker` when a broker is set, or by
`celery -A dlq_console.workers.celery_worker worker -Q erp.filial-sp`; `app` is the Celery application of the hub that
DLQ_APP names. The pool is prefork: a time limit and a crash then concern one event only.
"""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

from celery import Celery
from celery.apps.worker import Worker
from celery.bootsteps import StartStopStep
from celery.worker import state

from dlq_console.errors import ConfigurationError
from dlq_console.hub.core import HubCore
from dlq_console.settings import read_settings
from dlq_console.store import presence, queries
from dlq_console.store.accounts import waiting_accounts
from dlq_console.store.presence import new_worker_id
from dlq_console.workers.celery_broker import configure
from dlq_console.workers.celery_child import RunEvent
from dlq_console.workers.celery_companion import Companion
from dlq_console.workers.loading import load_hub
from dlq_console.workers.scheduler import SchedulerThread

logger = logging.getLogger(__name__)


def run_worker(
    hub: HubCore, *, concurrency: int = 4, accounts: Sequence[str] | None = None, scheduler: bool = True
) -> int:
    """Run a Celery worker until it is told to stop; returns the exit status.

    Args:
        hub: holds the handlers.
        concurrency: how many events run at once, each in a process of its own.
        accounts: the accounts it serves; None for all, also those that come later.
        scheduler: whether it may also host the periodic steps.

    Raises:
        ConfigurationError: no broker is set, or the tables are missing or of another version.
        StoreUnavailable: the database cannot be reached at the start.
    """
    app = make_app(hub, accounts=accounts, scheduler=scheduler)
    level = logging.getLogger().getEffectiveLevel()
    worker = app.Worker(concurrency=concurrency, pool_cls="prefork", loglevel=level, quiet=True)
    worker.start()
    # Celery ends with 1 after Ctrl-C too; whoever was told to stop and has stopped has done what it should.
    told_to_stop = state.should_stop is not None and state.should_terminate is None
    return 0 if told_to_stop else int(worker.exitcode or 0)


def make_app(hub: HubCore, *, accounts: Sequence[str] | None = None, scheduler: bool = True) -> EventApp:
    """The Celery application that runs the events of `hub`; arguments as for `run_worker`.

    Raises:
        ConfigurationError: no broker is set.
    """
    if not hub.settings.broker_url:
        raise ConfigurationError("DLQ_BROKER_URL is missing: a Celery worker needs redis:// or amqp://.")
    app = EventApp(hub, accounts, scheduler=scheduler)
    configure(app, hub.settings.broker_url)
    app.conf.update(
        worker_pool="prefork",
        worker_prefetch_multiplier=1,
        task_acks_late=True,
        # A message is no proof of anything: what a lost process ran is rescued through its row.
        task_reject_on_worker_lost=False,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        # Ending what runs because the broker was away for a moment would waste an attempt.
        worker_cancel_long_running_tasks_on_connection_loss=False,
        worker_hijack_root_logger=False,
        worker_redirect_stdouts=False,
    )
    app.register_task(app.run_event)
    app.steps["worker"].add(AfterPool)
    return app


class EventApp(Celery):
    """A Celery application that knows which hub it serves."""

    def __init__(self, hub: HubCore, accounts: Sequence[str] | None, *, scheduler: bool) -> None:
        super().__init__("dlq_console", fixups=[])
        self.hub = hub
        self.accounts = accounts
        self.scheduler = scheduler
        self.worker_id = new_worker_id()
        self.run_event = RunEvent(hub, self.worker_id)

    @cached_property
    def Worker(self) -> type[EventWorker]:  # noqa: N802 - Celery's name for it
        """The class that the command line of Celery starts."""
        made: type[EventWorker] = self.subclass_with_self(EventWorker)
        return made


class EventWorker(Worker):
    """The main process of a worker. Celery calls its methods in the order in which they stand here."""

    app: EventApp
    concurrency: int
    pool_cls: Any
    consumer: Any
    _serves_all = False
    _companion: Companion | None = None
    _steps: SchedulerThread | None = None

    def on_before_init(self, quiet: bool = False, **options: Any) -> None:
        """Tell the others what runs here, before any process of the pool exists."""
        super().on_before_init(quiet=quiet, **options)
        if reason := queries.why_not_ready(self.app.hub.store):
            raise ConfigurationError(reason)
        # Two lines per event, written by Celery, say nothing that the table does not say better.
        for name in ("celery.worker.strategy", "celery.app.trace"):
            logging.getLogger(name).setLevel(logging.WARNING)
        self.app.hub.publish_kinds(self.app.worker_id)

    def prepare_args(self, **options: Any) -> dict[str, Any]:
        """Leave out what would make workers talk to one another through the broker."""
        silent = {"without_gossip": True, "without_mingle": True, "without_heartbeat": True}
        return options | silent

    def setup_queues(self, include: Any, exclude: Any = None) -> None:
        """Serve the queues that were asked for, else those of the accounts, else all there are and will be."""
        accounts = self.app.accounts
        self._serves_all = not include and accounts is None
        if not include:
            known = waiting_accounts(self.app.hub.store) if accounts is None else accounts
            # An iterator, because Celery takes an empty list as the wish for its own default queue.
            include = iter([self.app.hub.store.queue(account) for account in known])
        super().setup_queues(include, exclude)

    def on_init_blueprint(self) -> None:
        """Make sure of the pool."""
        super().on_init_blueprint()
        if not self.pool_cls.__module__.endswith(".prefork"):
            raise ConfigurationError(
                "Run this worker with the prefork pool: no other can end a run at its time limit."
            )

    def on_start(self) -> None:
        """Take part: from now on this worker counts."""
        super().on_start()
        presence.announce(
            self.app.hub.store,
            self.app.worker_id,
            mode="celery",
            slots=self.concurrency,
            accounts=self.app.accounts,
        )
        # Nothing that is open here shall cross the forks that follow.
        self.app.hub.store.engines.dispose()

    def on_pool_started(self) -> None:
        """Start the threads, whether or not the broker can be reached: the pool has been forked by now."""
        self.app.run_event.consumer = self.consumer
        self._companion = Companion(
            self.app.hub,
            self.app.worker_id,
            self.app.run_event.losses,
            self.consumer,
            serves_all=self._serves_all,
        )
        self._steps = SchedulerThread(self.app.hub) if self.app.scheduler else None

    def on_consumer_ready(self, consumer: Any) -> None:
        """Say so."""
        super().on_consumer_ready(consumer)
        logger.info("worker %s runs %s events at once", self.app.worker_id, self.concurrency)

    def on_close(self) -> None:
        """Begin to stop: what runs has a bounded time to end."""
        super().on_close()
        if self._companion is not None:
            self._companion.stopping()
        for request in list(state.active_requests):
            if request.worker_pid:
                with suppress(ProcessLookupError):
                    os.kill(request.worker_pid, signal.SIGTERM)

    def on_stopped(self) -> None:
        """The pool has ended."""
        super().on_stopped()
        if self._steps is not None:
            self._steps.stop()
        if self._companion is not None:
            self._companion.leave()
        self.app.hub.close()


class AfterPool(StartStopStep):
    """The place between the start of the pool and that of the consumer."""

    requires = ("celery.worker.components:Pool",)

    def start(self, worker: EventWorker) -> None:
        """Called by Celery."""
        worker.on_pool_started()


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # Made when it is asked for: `dlq-console worker` imports this module and makes its own.
    return globals().setdefault("app", make_app(load_hub(read_settings().app)))
