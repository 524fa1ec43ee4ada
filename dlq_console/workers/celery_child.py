"""One process of the Celery pool: it runs the events that messages name, one after the other.

The message only wakes: whether the event may run is decided by the claim. A message that comes too early, twice, under
another epoch, or for an account without room is dropped; what still waits is marked, so that the relay sends it when
there is room.
"""

from __future__ import annotations

import logging
import os
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from celery import Task

from dlq_console.clock import monotonic
from dlq_console.errors import StoreUnavailable
from dlq_console.hub.core import HubCore
from dlq_console.hub.execution import finish, run_claimed
from dlq_console.hub.handlers import loop_answers
from dlq_console.hub.heartbeat import Heartbeat
from dlq_console.hub.policy import DEFAULT_POLICY
from dlq_console.store import claims, dispatching, presence, transitions
from dlq_console.store.events import Event
from dlq_console.workers.celery_broker import RUN_EVENT
from dlq_console.workers.celery_requests import Losses, WatchedRequest, owner_of
from dlq_console.workers.celery_signals import HARD_LIMIT_AFTER, GiveBack, RunSignals
from dlq_console.workers.celery_strangers import Strangers
from dlq_console.workers.celery_threads import ThreadRuns

logger = logging.getLogger(__name__)

#: How long the number of slots of all workers is believed, in seconds.
SLOTS_BELIEVED = 5.0
#: The time limits of the message are the ones that count; without any of its own, a task takes those of its application.
FAR_BEYOND_ANY_LIMIT = 10_000_000

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
    # Whatever the application has set for tasks of its own: all that it does not say here, a task takes from there.
    acks_late = True
    acks_on_failure_or_timeout = acks_on_failure = acks_on_timeout = True
    reject_on_worker_lost = retry_on_worker_lost = False
    ignore_result = True
    store_errors_even_if_ignored = False
    track_started = False
    max_retries = 0
    rate_limit = 0  # type: ignore[assignment] # none, and none of the application's either
    time_limit = FAR_BEYOND_ANY_LIMIT
    # Where there is a soft limit, Celery's pool sets no timer for the hard one until that has passed; see `keep_soft_limit`.
    soft_time_limit = 0

    def __init__(self, hub: HubCore, worker: str) -> None:
        self._hub = hub
        self.worker = worker
        self._process: PoolProcess | None = None
        self._pid = 0
        # Whether the pool is made of processes, which can be interrupted and ended.
        self.has_own_process = True
        # What runs in this process where it is made of threads.
        self.thread_runs = ThreadRuns()
        # For the requests in the main process.
        self.losses: Losses = SimpleQueue()
        self.consumer: Any = None

    def keep_soft_limit(self, of_pool: float | None) -> None:
        """Keep the soft limit of the worker's own tasks, in seconds, from events.

        The pool applies it wherever a task names none, and the one that is far away here is named in its place. The
        price is that the main process then ends no run at its hard limit: the process that runs it does, unless it is
        frozen or ignores its alarm.
        """
        if of_pool:
            self.soft_time_limit = FAR_BEYOND_ANY_LIMIT
            logger.warning(
                "this worker has a soft time limit of its own: an event whose process is frozen keeps its slot"
            )

    def run(self, event_id: int, lease_epoch: int) -> None:
        """Run an event if it may run, and if the message was sent for the run that is due."""
        queue = str((self.request.delivery_info or {}).get("routing_key"))
        if not queue.startswith(f"{self._hub.settings.queue_prefix}."):
            # Another installation on the same broker counts its events, too.
            logger.warning(
                "a message for event %s came through %s, a queue of others: it is dropped", event_id, queue
            )
            return
        if self._process is None or self._pid != os.getpid():
            self._process = self._begin()
            self._pid = os.getpid()
        hard_limit, _ = self.request.timelimit or (None, None)
        self._process.run(event_id, lease_epoch, hard_limit, queue)

    def _begin(self) -> PoolProcess:
        return PoolProcess(
            self._hub,
            owner_of(self.worker, os.getpid()),
            RunSignals() if self.has_own_process else self.thread_runs,
            Heartbeat(self._hub.store, self._hub.settings.lease_seconds),
        )


class PoolProcess:
    """What lives as long as a process of the pool. Made by its first message, in its main thread.

    Args:
        hub: holds the handlers.
        owner: the name under which it claims events.
        limits: keeps the time of a run.
        heartbeat: keeps the leases of runs alive.
    """

    def __init__(
        self,
        hub: HubCore,
        owner: str,
        limits: RunSignals | ThreadRuns,
        heartbeat: Heartbeat,
    ) -> None:
        self._hub = hub
        self._store = hub.store
        self._owner = owner
        self._limits = limits
        self._heartbeat = heartbeat
        self._strangers = Strangers(hub.store)
        self._slots = 0
        self._slots_until = 0.0

    def run(self, event_id: int, epoch: int, hard_limit: float | None, queue: str) -> None:
        """Claim the event, run it and send what may run next.

        Args:
            event_id: which event.
            epoch: the one that the message names.
            hard_limit: seconds after which the main process kills this one, as the message says; None for never.
            queue: the one that the message came through.
        """
        with self._limits.busy():
            try:
                if self._limits.leaving:
                    dispatching.not_sent(self._store, [event_id])
                else:
                    self._run(event_id, epoch, hard_limit, queue)
            except StoreUnavailable as error:
                # Unclaimed, it is sent again; claimed, it is rescued when its lease lapses.
                logger.warning("event %s: %s", event_id, error)
            except GiveBack:
                logger.warning("event %s is given back", event_id)

    def _run(self, event_id: int, epoch: int, hard_limit: float | None, queue: str) -> None:
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
            self._strangers.look_at(event_id, queue)
            return
        handler = self._hub.registry.get(event.kind)
        limit = DEFAULT_POLICY.timeout if handler is None else handler.policy.timeout
        if hard_limit is not None and hard_limit < limit + HARD_LIMIT_AFTER:
            # Sent by a program that did not know this kind yet; it is sent again with the limit known here.
            finish(self._store, event, transitions.released())
        else:
            self._run_claimed(event, limit)
        # Its place is free now, and what waited behind it in its lane may run.
        self._hub.send_due([event.account])

    def _run_claimed(self, event: Event, limit: float) -> None:
        limit_at = monotonic() + limit
        with self._heartbeat.of(event):
            run_claimed(
                self._store,
                self._hub.registry,
                event,
                while_running=self._limits.handler(event, limit),
                stops=(GiveBack,),
            )
        if monotonic() >= limit_at and not loop_answers():
            logger.warning(
                "event %s: its async handler goes on past its time limit and holds up all others", event.id
            )
            self._limits.hold_up()

    def _slots_now(self) -> int:
        if monotonic() >= self._slots_until:
            self._slots = presence.slots(self._store)
            self._slots_until = monotonic() + SLOTS_BELIEVED
        return self._slots
