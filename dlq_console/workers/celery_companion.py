"""What goes on beside a Celery worker?

It says that it is alive, ends the runs of processes that are gone, and finds accounts whose queue is not served yet.
"""

from __future__ import annotations

import logging
import threading
from typing import Any

from dlq_console.clock import monotonic
from dlq_console.errors import StoreUnavailable
from dlq_console.hub.core import HubCore
from dlq_console.store import presence
from dlq_console.store.accounts import waiting_accounts
from dlq_console.workers.celery_broker import account_queue
from dlq_console.workers.celery_requests import Loss, Losses, settle

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
        worker: the id under which the worker was announced.
        losses: where the main thread puts what happened to the pool.
        consumer: Celery's consumer.
        serves_all: whether it is to be given the queues of new accounts.
    """

    def __init__(self, hub: HubCore, worker: str, losses: Losses, consumer: Any, *, serves_all: bool) -> None:
        self._hub = hub
        self._store = hub.store
        self._worker = worker
        self._losses = losses
        self._lost: Loss | None = None
        self._consumer = consumer
        self._serves_all = serves_all
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
            presence.beat(self._store, self._worker, self._state)
            self._next_beat = monotonic() + BEAT_EVERY
        self._settle_losses()
        if self._state == "running":
            # Only the main thread may touch the pool and the connection to the broker.
            # Celery looks for lost processes too, but an idle one only every five seconds.
            self._consumer.hub.call_soon(self._consumer.pool.maintain_pool)
            if self._serves_all:
                self._serve_new_accounts()

    def _settle_losses(self) -> None:
        # Kept until it is written: the database may be away.
        while self._lost is not None or not self._losses.empty():
            self._lost = self._lost or self._losses.get()
            settle(self._hub, self._worker, self._lost)
            self._lost = None

    def _serve_new_accounts(self) -> None:
        served = self._consumer.app.amqp.queues.consume_from
        for account in waiting_accounts(self._store):
            name = self._store.queue(account)
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
