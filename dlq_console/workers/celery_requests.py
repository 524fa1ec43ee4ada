"""What does the main process of a Celery worker do about a message whose run it hands to its pool?

It hears at once when the process that runs it is gone: killed, crashed, or ended by force at its time limit. Then
nobody has to wait until the lease lapses, and the attempt can say how it ended. When the main process dies too, the
lease is what remains.
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

from billiard.exceptions import TimeLimitExceeded, WorkerLostError
from celery.worker.request import Request

from dlq_console.hub.core import HubCore
from dlq_console.hub.endings import died, timed_out
from dlq_console.store import holding, transitions
from dlq_console.workers.celery_signals import EXIT_AT_LIMIT

logger = logging.getLogger(__name__)

_SIGNAL = re.compile(r"signal \d+ \((\w+)\)")
_EXIT = re.compile(r"exitcode (\d+)")


@dataclass(frozen=True, slots=True)
class Loss:
    """A process that is gone while it ran a message.

    Attributes:
        event_id: which event the message named.
        pid: the process.
        how: how it ended, such as "was killed by SIGKILL"; None when it was ended at the time limit.
    """

    event_id: int
    pid: int
    how: str | None


#: Filled by the main thread, emptied by the companion, which may wait for the database.
Losses = SimpleQueue[Loss]


def owner_of(worker: str, pid: int) -> str:
    """Under which name a process of a worker claims events."""
    return f"{worker}/{pid}"


def settle(hub: HubCore, worker: str, loss: Loss) -> None:
    """End the run of a lost process. Nothing happens when it had ended the run, or had not claimed the event yet."""
    event = holding.running_as(hub.store, loss.event_id, owner_of(worker, loss.pid))
    if event is None:
        return
    policy = hub.policy(event.kind)
    ending = timed_out(event, policy) if loss.how is None else died(event, policy, how=loss.how)
    transitions.end(hub.store, event, ending)


class WatchedRequest(Request):
    """A message in the main process."""

    def acknowledge(self) -> None:
        """Tell the broker that the message has been dealt with.

        Celery logs a failure and goes on with the connection, on which the message then counts as unfinished for
        good: after as many failures as there are slots, the worker takes nothing any more and says nothing. Here a
        failure on the present connection counts as its loss; on one that is lost already there is nothing to do.
        """
        if self.acknowledged:
            return
        consumer = self._event_task().consumer
        present = (
            consumer.task_consumer is not None and consumer.task_consumer.channel is self.message.channel
        )
        self.on_ack(logger, () if present else consumer.connection_errors)
        self.acknowledged = True

    def on_failure(self, exc_info: Any, send_failed_event: bool = True, return_ok: bool = False) -> None:
        """Note when the process is gone. Called by Celery for whatever the task did not end well with."""
        super().on_failure(exc_info, send_failed_event, return_ok)
        error = getattr(exc_info.exception, "exc", exc_info.exception)
        if self.worker_pid and isinstance(error, WorkerLostError | TimeLimitExceeded):
            how = None if isinstance(error, TimeLimitExceeded) else _how(str(error))
            self._event_task().losses.put(Loss(self.args[0], int(self.worker_pid), how))

    def _event_task(self) -> Any:
        """Our task, which holds what its requests need; Celery only knows it as a task."""
        return self.task


def _how(told: str) -> str | None:
    if killed := _SIGNAL.search(told):
        return f"was killed by {killed[1]}"
    if left := _EXIT.search(told):
        return None if int(left[1]) == EXIT_AT_LIMIT else f"ended by itself with exit status {left[1]}"
    return "died"
