"""What goes on in the main process of a Celery worker that runs events, beside what Celery does itself?

A step of Celery's own start-up, so that it is the same in a worker of ours and in one of a host application.
"""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from celery import signals
from celery.bootsteps import StartStopStep
from celery.worker import state

from dlq_console.errors import ConfigurationError, StoreUnavailable
from dlq_console.hub.core import HubCore
from dlq_console.store import presence, queries
from dlq_console.workers.celery_child import RunEvent
from dlq_console.workers.celery_companion import Companion
from dlq_console.workers.celery_queues import named_accounts
from dlq_console.workers.celery_requests import WatchedRequest
from dlq_console.workers.celery_threads import Overtime
from dlq_console.workers.scheduler import SchedulerThread

logger = logging.getLogger(__name__)


@dataclass(eq=False, kw_only=True)
class Serving:
    """What a worker serves.

    Attributes:
        hub: holds the handlers.
        run_event: the task behind every message; it knows the id of the worker.
        accounts: the accounts that are served; None for all, also those that come later.
        scheduler: whether the worker may also host the periodic steps.
        finds_queues: whether it takes up queues by itself, rather than those that Celery's option `-Q` names.
    """

    hub: HubCore
    run_event: RunEvent
    accounts: Sequence[str] | None = None
    scheduler: bool = True
    finds_queues: bool = True


class ServeEvents(StartStopStep):
    """Runs between the start of the pool and that of the consumer, and ends after the pool.

    The pool has been forked by then, so nothing that is opened here crosses a fork, and whether the broker can be
    reached plays no part.
    """

    requires = ("celery.worker.components:Pool",)
    serving: ClassVar[Serving]

    def __init__(self, worker: Any, **options: Any) -> None:
        super().__init__(worker, **options)
        self._companion: Companion | None = None
        self._steps: SchedulerThread | None = None
        self._overtime: Overtime | None = None

    def start(self, worker: Any) -> None:
        """Take part: from now on this worker counts."""
        serving, id_ = self.serving, self.serving.run_event.worker
        accounts = serving.accounts
        if not serving.finds_queues:
            accounts = named_accounts(serving.hub, worker.app.amqp.queues.consume_from)
        if accounts == []:
            logger.info("this worker was given no queue of an account, so it runs no events")
            return
        serving.run_event.consumer = worker.consumer
        serving.run_event.keep_soft_limit(worker.soft_time_limit)
        announce = partial(
            presence.announce,
            serving.hub.store,
            id_,
            mode="celery",
            slots=worker.concurrency,
            accounts=accounts,
        )
        try:
            announce()
        except StoreUnavailable as error:
            # Celery would add its traceback to the sentence; a service manager starts the worker again.
            logger.error("this worker does not start: %s", error)  # noqa: TRY400 - no fault of ours
            raise SystemExit(1) from error
        self._companion = Companion(
            serving.hub, serving.run_event, serving.accounts, announce, finds=serving.finds_queues
        )
        self._steps = SchedulerThread(serving.hub) if serving.scheduler else None
        if not serving.run_event.has_own_process:
            self._overtime = Overtime(
                serving.hub,
                serving.run_event.thread_runs,
                stopping=self._companion.stopping,
                leave=self._leave,
            )
        # A warm stop tells that the pool has ended by this signal only.
        signals.worker_shutdown.connect(self._on_stopped, sender=worker, weak=False)

    def register_with_event_loop(self, worker: Any, _hub: Any) -> None:
        """Called for every new connection to the broker, the later steps first: this one goes before the pool."""
        watch_again(worker.pool)

    def close(self, _worker: Any) -> None:
        """Begin to stop: events that run have a bounded time to end."""
        if self._companion is not None:
            self._companion.stopping()
        for request in list(state.active_requests):
            process = int(request.worker_pid or 0)
            if isinstance(request, WatchedRequest) and process not in (0, os.getpid()):
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGTERM)

    def stop(self, _worker: Any) -> None:
        """Celery has stopped to take messages and stops its pool next, which waits for threads as long as they take."""
        if self._overtime is not None:
            self._overtime.stopped_consuming()

    def terminate(self, _worker: Any) -> None:
        """A cold stop: the pool is killed right after this, and nobody tells when."""
        self._leave()

    def _on_stopped(self, **_about: Any) -> None:
        self._leave()

    def _leave(self) -> None:
        """Called by the main thread, by the one that looks after time limits, or by both."""
        steps, companion, overtime = self._steps, self._companion, self._overtime
        self._steps = self._companion = self._overtime = None
        if overtime is not None:
            overtime.close()
        if steps is not None:
            steps.stop()
        if companion is not None:
            companion.leave()
        self.serving.hub.close()


def watch_again(pool: Any) -> None:
    """Let a prefork pool watch each of its processes anew, also those of which it believes that they have ended.

    When several processes end in the same moment, Celery may take the end of one for that of the one that took its place.
    It then watches a living process no longer, and at the next connection to the broker the whole worker ends over that.
    """
    for process in getattr(getattr(pool, "_pool", None), "_pool", ()):
        if getattr(process, "_sentinel_poll", True) is None:
            del process._sentinel_poll  # noqa: SLF001 - there is no other way to have Celery open it anew


def make_ready(serving: Serving) -> None:
    """Before the pool is forked: make sure of the tables, and tell the others what runs here.

    Raises:
        ConfigurationError: the tables are missing or of another version.
        StoreUnavailable: the database cannot be reached.
    """
    if reason := queries.why_not_ready(serving.hub.store):
        raise ConfigurationError(reason)
    serving.hub.publish_kinds(serving.run_event.worker)
    # Nothing that is open here shall cross the forks that follow.
    serving.hub.store.engines.dispose()


def step_for(served: Serving, kind: type[ServeEvents] = ServeEvents) -> type[ServeEvents]:
    """The step that serves this; Celery makes its steps itself and gives them nothing but the worker."""
    return type(kind.__name__, (kind,), {"__module__": kind.__module__, "serving": served})
