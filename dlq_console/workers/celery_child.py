"""One process of the Celery pool: it runs the events that messages name, one after the other.

The message only wakes: whether the event may run is decided by the claim. A message that comes too early, twice, under
another epoch, or for an account without room is dropped; what still waits is marked, so that the relay sends it when
there is room.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from celery import Task

from dlq_console.clock import monotonic
from dlq_console.errors import StoreUnavailable
from dlq_console.hub.core import HubCore
from dlq_console.hub.execution import finish, run_claimed
from dlq_console.hub.policy import DEFAULT_POLICY
from dlq_console.store import claims, dispatching, presence, transitions
from dlq_console.store.claims import ReadyAccount
from dlq_console.store.events import Event
from dlq_console.store.store import Store
from dlq_console.workers.celery_broker import RUN_EVENT
from dlq_console.workers.celery_requests import Losses, WatchedRequest, owner_of
from dlq_console.workers.celery_signals import HARD_LIMIT_AFTER, GiveBack, RunSignals

logger = logging.getLogger(__name__)

#: How long the number of slots of all workers is believed, in seconds.
SLOTS_BELIEVED = 5.0
#: After a look at an account found nothing to send, the next one waits so long, in seconds. The relay looks as often;
#: this look only keeps a backlog flowing between two of its turns.
LOOK_PAUSE = 1.0

if TYPE_CHECKING:
    _Task = Task[Any, None]
else:
    _Task = Task  # its types are known to the stubs only


class RunEvent(_Task):
    """The task behind every message.

    Args:
        hub: holds the handlers.
        worker: the id of the worker.
    """

    name = RUN_EVENT
    Request = f"{WatchedRequest.__module__}:{WatchedRequest.__name__}"
    acks_late = True
    ignore_result = True
    max_retries = 0

    def __init__(self, hub: HubCore, worker: str) -> None:
        self._hub = hub
        self._worker = worker
        self._process: PoolProcess | None = None
        self._pid = 0
        # For the requests in the main process.
        self.losses: Losses = SimpleQueue()
        self.consumer: Any = None

    def run(self, event_id: int, lease_epoch: int) -> None:
        """Run an event if it may run, and if the message was sent for the run that is due."""
        if self._process is None or self._pid != os.getpid():
            self._pid = os.getpid()
            self._process = PoolProcess(self._hub, owner_of(self._worker, self._pid))
        hard_limit, _ = self.request.timelimit or (None, None)
        self._process.run(event_id, lease_epoch, hard_limit)


class PoolProcess:
    """What lives as long as a process of the pool. Made by its first message, in its main thread."""

    def __init__(self, hub: HubCore, owner: str) -> None:
        self._hub = hub
        self._store = hub.store
        self._owner = owner
        self._signals = RunSignals()
        self._heartbeat = Heartbeat(hub.store, hub.settings.lease_seconds)
        self._slots = 0
        self._slots_until = 0.0
        self._look_after: dict[str, float] = {}

    def run(self, event_id: int, epoch: int, hard_limit: float | None) -> None:
        """Claim the event, run it and send what may run next.

        Args:
            event_id: which event.
            epoch: the one that the message names.
            hard_limit: seconds after which the main process kills this one, as the message says; None for never.
        """
        with self._signals.busy():
            try:
                self._run(event_id, epoch, hard_limit)
            except StoreUnavailable as error:
                # Unclaimed, it is sent again; claimed, it is rescued when its lease lapses.
                logger.warning("event %s: %s", event_id, error)
            except GiveBack:
                logger.warning("event %s is given back", event_id)

    def _run(self, event_id: int, epoch: int, hard_limit: float | None) -> None:
        event = claims.claim_one(
            self._store,
            event_id,
            worker=self._owner,
            slots=self._slots_now(),
            lease_seconds=self._hub.settings.lease_seconds,
            # A message of another epoch is a copy, or was sent before the database was restored from a backup.
            epoch=epoch,
        )
        if event is None:
            dispatching.not_sent(self._store, [event_id])
            return
        handler = self._hub.registry.get(event.kind)
        limit = DEFAULT_POLICY.timeout if handler is None else handler.policy.timeout
        if hard_limit is not None and hard_limit < limit + HARD_LIMIT_AFTER:
            # Sent by a program that did not know this kind yet; it is sent again with the limit known here.
            finish(self._store, event, transitions.released())
        else:
            self._run_claimed(event, limit)
        self._send_next(event.account)

    def _run_claimed(self, event: Event, limit: float) -> None:
        with self._heartbeat.of(event):
            run_claimed(
                self._store,
                self._hub.registry,
                event,
                while_running=self._signals.handler(limit),
                stops=(GiveBack,),
            )

    def _slots_now(self) -> int:
        if monotonic() >= self._slots_until:
            self._slots = presence.slots(self._store)
            self._slots_until = monotonic() + SLOTS_BELIEVED
        return self._slots

    def _send_next(self, account: str) -> None:
        if monotonic() < self._look_after.get(account, 0.0):
            return
        line = ReadyAccount(account, max_running=None, running=0, slots=self._slots)
        due = dispatching.take_unsent(self._store, line, 2 * line.limit)
        self._hub.dispatch([self._hub.message(e.id, e.lease_epoch, e.kind, e.account, e.lane) for e in due])
        self._look_after[account] = 0.0 if due else monotonic() + LOOK_PAUSE


class Heartbeat:
    """A thread that keeps the lease of the event alive which this process runs."""

    def __init__(self, store: Store, lease_seconds: float) -> None:
        self._store = store
        self._lease_seconds = lease_seconds
        self._held: tuple[int, int] | None = None
        threading.Thread(target=self._work, name="dlq-console-heartbeat", daemon=True).start()

    @contextmanager
    def of(self, event: Event) -> Iterator[None]:
        """Keep the lease of `event` alive inside the block."""
        self._held = (event.id, event.lease_epoch)
        try:
            yield
        finally:
            self._held = None

    def _work(self) -> None:
        pause = threading.Event()
        # The claim gave a whole lease, so a beat every third of it comes in time whenever the run began.
        while not pause.wait(self._lease_seconds / 3):
            held = self._held
            if held is not None:
                self._extend(held)

    def _extend(self, held: tuple[int, int]) -> None:
        try:
            lost = transitions.extend(self._store, [held], lease_seconds=self._lease_seconds)
        except StoreUnavailable as error:
            logger.warning("event %s: its lease was not extended: %s", held[0], error)
            return
        if lost and self._held == held:
            logger.warning("event %s: its lease was lost, what its run writes is refused", held[0])
