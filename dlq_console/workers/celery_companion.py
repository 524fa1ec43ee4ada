"""What goes on beside a Celery worker?

It says that it is alive, ends the runs of processes that are gone, and finds accounts whose queue is not served yet.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from dlq_console.clock import monotonic
from dlq_console.errors import StoreUnavailable
from dlq_console.hub.core import HubCore
from dlq_console.store import presence
from dlq_console.workers.celery_broker import account_queue
from dlq_console.workers.celery_queues import served_queues
from dlq_console.workers.celery_requests import Loss, settle

if TYPE_CHECKING:
    from dlq_console.workers.celery_child import RunEvent

logger = logging.getLogger(__name__)

#: How often new accounts are looked for, in seconds.
LOOK_EVERY = 1.0
#: How often the worker says that it is alive, in seconds.
BEAT_EVERY = 10.0
#: The longest pause while the database is away, in seconds.
LONGEST_PAUSE = 10.0


class Companion:
    """A thread of the main process. Made once the pool has been forked.

    Args:
        hub: holds the handlers.
        run_event: the task of the worker; the main thread puts into its `losses` what happened to the pool.
        accounts: those that the worker serves; None for all.
        announce: says that the worker is there.
        finds: whether it is to be given the queues of these accounts as work comes up in them.
    """

    def __init__(
        self,
        hub: HubCore,
        run_event: RunEvent,
        accounts: Sequence[str] | None,
        announce: Callable[[], None],
        *,
        finds: bool,
    ) -> None:
        self._hub = hub
        self._store = hub.store
        self._worker = run_event.worker
        self._losses = run_event.losses
        self._lost: Loss | None = None
        self._consumer = run_event.consumer
        self._accounts = accounts
        self._announce = announce
        self._finds = finds
        self._state = "running"
        self._wake = threading.Event()
        self._left = False
        self._next_beat = monotonic() + BEAT_EVERY
        self._thread = threading.Thread(target=self._work, name="dlq-console-companion", daemon=True)
        self._thread.start()

    def stopping(self) -> None:
        """Say that no further event is begun here."""
        self._state, self._next_beat = "stopping", 0.0
        self._wake.set()

    def leave(self) -> None:
        """Say that the worker has stopped, and end."""
        self._left = True
        self._wake.set()
        self._thread.join(5)
        try:
            self._settle_losses()
            presence.leave(self._store, self._worker)
        except StoreUnavailable as error:
            logger.warning("the worker could not say that it stopped: %s", error)

    def _work(self) -> None:
        pause = LOOK_EVERY
        while not self._left:
            try:
                self._turn()
                pause = LOOK_EVERY
            except StoreUnavailable as error:
                pause = min(LONGEST_PAUSE, 2 * pause)
                logger.warning("no look at the database for %.0f s: %s", pause, error)
            except Exception:
                # Whatever it is, this thread goes on: without it the worker would count as dead.
                logger.exception("the next look at the database comes in %.0f s", pause)
            self._wake.wait(pause)
            self._wake.clear()

    def _turn(self) -> None:
        if monotonic() >= self._next_beat:
            if not presence.beat(self._store, self._worker, self._state):
                # It was silent for so long that it was forgotten.
                self._announce()
                presence.beat(self._store, self._worker, self._state)
            self._next_beat = monotonic() + BEAT_EVERY
        self._settle_losses()
        if self._state == "running":
            # Only the main thread may touch the pool and the connection to the broker.
            # Celery looks for lost processes too, but an idle one only every five seconds.
            self._consumer.hub.call_soon(self._consumer.pool.maintain_pool)
            if self._finds:
                self._serve_new_queues()

    def _settle_losses(self) -> None:
        # Kept until it is written: the database may be away.
        while self._lost is not None or not self._losses.empty():
            self._lost = self._lost or self._losses.get()
            settle(self._hub, self._worker, self._lost)
            self._lost = None

    def _serve_new_queues(self) -> None:
        served = self._consumer.app.amqp.queues.consume_from
        for name in served_queues(self._hub, self._accounts):
            if name not in served:
                self._consumer.hub.call_soon(self._serve, name)

    def _serve(self, name: str) -> None:
        """In the main thread. The selection is what a reconnected consumer begins with, so the queue is kept."""
        queue = account_queue(name)
        self._consumer.app.amqp.queues.select_add(queue)
        consuming = self._consumer.task_consumer
        if consuming is not None and not consuming.consuming_from(name):
            consuming.add_queue(queue)
            consuming.consume()
            logger.info("serves %s", name)
