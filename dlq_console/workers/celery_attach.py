"""How are events run inside the Celery workers that somebody has already?

The application gets one task and one step of its start-up, and keeps everything else: its tasks, its default queue,
its serializer, its acknowledgements and time limits. What our task needs otherwise it says about itself.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

from celery import Celery
from kombu import Connection

from dlq_console.errors import ConfigurationError
from dlq_console.hub.core import HubCore
from dlq_console.store.presence import new_worker_id
from dlq_console.workers.celery_broker import account_queue, is_amqp
from dlq_console.workers.celery_child import RunEvent
from dlq_console.workers.celery_step import ServeEvents, Serving, make_ready, step_for

logger = logging.getLogger(__name__)

#: Which hub an application runs the events of.
_attached: WeakKeyDictionary[Celery, HubCore] = WeakKeyDictionary()
_JSON = {"json", "application/json"}
#: Longer than RabbitMQ lets a message be held in some of its versions, in seconds.
LONG = 15 * 60
_GREEN = ("gevent", "eventlet")


def attach(
    hub: HubCore, app: Celery, *, accounts: Sequence[str] | None = None, scheduler: bool = True
) -> None:
    """Let the workers of `app` run the events of `hub`. Harmless in programs that only send.

    Args:
        hub: holds the handlers.
        app: the application of the workers. Its configuration is neither read nor changed before a worker starts.
        accounts: the accounts its workers serve; None for all, also those that come later.
        scheduler: whether its workers may also host the periodic steps.

    Raises:
        ConfigurationError: no broker is set, or the application runs the events of another hub.
    """
    if not hub.settings.broker_url:
        raise ConfigurationError(
            "DLQ_BROKER_URL is missing: give the hub the broker of the Celery application it is attached to."
        )
    if (other := _attached.get(app)) is not None:
        if other is hub:
            return
        raise ConfigurationError(
            "Attach one hub only: this Celery application runs the events of another one."
        )
    _attached[app] = hub
    serving = Serving(
        hub=hub, run_event=RunEvent(hub, new_worker_id()), accounts=accounts, scheduler=scheduler
    )
    app.steps["worker"].add(step_for(serving, GuestStep))
    if getattr(app, "finalized", False):
        app.register_task(serving.run_event)
    else:
        # Registering it now would read the configuration before its owner has written it.
        app.on_after_finalize.connect(lambda **_: app.register_task(serving.run_event), weak=False)


class GuestStep(ServeEvents):
    """The step in a worker that has tasks of its own: it checks first whether the two can live together."""

    def __init__(self, worker: Any, **options: Any) -> None:
        """Called by Celery before the pool is forked.

        Raises:
            ConfigurationError: events cannot be run in this worker; the message says why.
            StoreUnavailable: the database cannot be reached.
        """
        super().__init__(worker, **options)
        _check(worker, self.serving.hub)
        make_ready(self.serving)
        self.serving.run_event.has_own_process = _pool(worker) == "prefork"
        if not self.serving.run_event.has_own_process:
            logger.warning(
                "The %s pool cannot end a run: where a handler goes on past its time limit, its event is ended as timed "
                "out and this worker ends, to be started again. Use the prefork pool for time limits that hold.",
                _pool(worker),
            )
        if _may_end(worker.app, self.serving.hub):
            logger.warning(
                "RabbitMQ ends this worker when a run takes longer than the broker lets a message be held, 30 minutes as "
                "a rule, and some handler may: set broker_channel_error_retry = True."
            )
        self._choose_queues(worker.app)

    def start(self, worker: Any) -> None:
        """Take part, and say so."""
        super().start(worker)
        logger.info(
            "worker %s runs events of %s",
            self.serving.run_event.worker,
            self.serving.hub.settings.queue_prefix,
        )

    def _choose_queues(self, app: Celery) -> None:
        """With Celery's option `-Q`, the worker serves what stands there; without, it finds its queues itself."""
        queues: Any = app.amqp.queues
        self.serving.finds_queues = queues._consume_from is None  # noqa: SLF001 - nothing public tells about the option
        prefix = f"{self.serving.hub.settings.queue_prefix}."
        for name in list(queues.consume_from):
            if name.startswith(prefix):
                # As the publisher declares it, whatever the application makes of unknown queues.
                queues.select_add(account_queue(name))


def _may_end(app: Celery, hub: HubCore) -> bool:
    """Whether the worker could end in the middle of a long run, because its broker closes the channel."""
    longest = max((kind.timeout for kind in hub.registry.kinds()), default=0)
    return is_amqp(hub.settings.broker_url) and longest > LONG and not app.conf.broker_channel_error_retry


def _pool(worker: Any) -> str:
    """Such as `prefork`, `thread` or `solo`."""
    name: str = worker.pool_cls.__module__
    return name.rpartition(".")[2]


def _check(worker: Any, hub: HubCore) -> None:
    app: Celery = worker.app
    if _pool(worker) in _GREEN:
        raise ConfigurationError(
            f"Run the worker with another pool than {_pool(worker)}: handlers and the database driver block, so the leases "
            "of all its events would lapse together."
        )
    if not _JSON & set(app.conf.accept_content):
        raise ConfigurationError("Add json to accept_content: the messages of the hub are JSON.")
    if (app.connection_for_read().transport_options or {}).get("global_keyprefix"):
        raise ConfigurationError(
            "The broker_transport_options name a global_keyprefix, under which the hub does not send: leave it out, and "
            "give the two a Redis database of their own."
        )
    _check_broker(Connection(hub.settings.broker_url), app.connection_for_read())


def _check_broker(sends: Connection, reads: Connection) -> None:
    """Hosts may have several names, so another one is only worth a warning."""
    if _place(sends) != _place(reads):
        raise ConfigurationError(
            f"DLQ_BROKER_URL is {sends.as_uri()} and the Celery application reads from {reads.as_uri()}: name one broker."
        )
    if sends.hostname != reads.hostname:
        logger.warning(
            "DLQ_BROKER_URL names the host %s and the Celery application reads from %s; nothing is run unless these are one.",
            sends.hostname,
            reads.hostname,
        )


def _place(connection: Connection) -> tuple[Any, ...]:
    info = connection.info()
    return connection.transport.driver_type, info["port"], str(info["virtual_host"]).strip("/") or "0"
