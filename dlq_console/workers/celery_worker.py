"""The Celery worker: which queues it serves, and what its main process does beside handing messages to its pool.

Started by `dlq-console worker` when a broker is set, or by
`celery -A dlq_console.workers.celery_worker worker -Q erp.filial-sp`; `app` is the Celery application of the hub that
DLQ_APP names. The pool is prefork: a time limit and a crash then concern one event only.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from celery import Celery
from celery.apps.worker import Worker
from celery.worker import state

from dlq_console.errors import ConfigurationError
from dlq_console.hub.core import HubCore
from dlq_console.settings import read_settings
from dlq_console.store.presence import new_worker_id
from dlq_console.workers.celery_broker import configure
from dlq_console.workers.celery_child import RunEvent
from dlq_console.workers.celery_queues import served_queues
from dlq_console.workers.celery_step import Serving, make_ready, step_for
from dlq_console.workers.loading import load_hub

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
        # RabbitMQ closes the channel of a worker that holds a message for longer than it allows, 30 minutes as a rule. That
        # would be the end of the worker, while the run goes on by its row and needs no message any more.
        broker_channel_error_retry=True,
        # Ending what runs because the broker was away for a moment would waste an attempt.
        worker_cancel_long_running_tasks_on_connection_loss=False,
        worker_hijack_root_logger=False,
        worker_redirect_stdouts=False,
    )
    app.register_task(app.serving.run_event)
    app.steps["worker"].add(step_for(app.serving))
    return app


class EventApp(Celery):
    """A Celery application that knows which hub it serves."""

    def __init__(self, hub: HubCore, accounts: Sequence[str] | None, *, scheduler: bool) -> None:
        super().__init__("dlq_console", fixups=[])
        self.serving = Serving(
            hub=hub, run_event=RunEvent(hub, new_worker_id()), accounts=accounts, scheduler=scheduler
        )

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

    def on_before_init(self, quiet: bool = False, **options: Any) -> None:
        """Tell the others what runs here, before any process of the pool exists."""
        super().on_before_init(quiet=quiet, **options)
        make_ready(self.app.serving)
        # Two lines per event, written by Celery, say nothing that the table does not say better.
        for name in ("celery.worker.strategy", "celery.app.trace"):
            logging.getLogger(name).setLevel(logging.WARNING)

    def prepare_args(self, **options: Any) -> dict[str, Any]:
        """Leave out what would make workers talk to one another through the broker."""
        silent = {"without_gossip": True, "without_mingle": True, "without_heartbeat": True}
        return options | silent

    def setup_queues(self, include: Any, exclude: Any = None) -> None:
        """Serve the queues that were asked for, else those of the accounts, else all there are and will be."""
        serving = self.app.serving
        serving.finds_queues = not include
        if not include:
            # An iterator, because Celery takes an empty list as the wish for its own default queue.
            include = iter(served_queues(serving.hub, serving.accounts))
        super().setup_queues(include, exclude)

    def on_init_blueprint(self) -> None:
        """Make sure of the pool."""
        super().on_init_blueprint()
        if not self.pool_cls.__module__.endswith(".prefork"):
            raise ConfigurationError(
                "Run this worker with the prefork pool: no other can end a run at its time limit."
            )

    def on_consumer_ready(self, consumer: Any) -> None:
        """Say so."""
        super().on_consumer_ready(consumer)
        logger.info("worker %s runs %s events at once", self.app.serving.run_event.worker, self.concurrency)


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # Made when it is asked for: `dlq-console worker` imports this module and makes its own.
    return globals().setdefault("app", make_app(load_hub(read_settings().app)))
