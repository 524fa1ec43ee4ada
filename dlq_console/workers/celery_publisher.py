"""Tells the broker which events may run, and never holds its caller up.

No client library can promise how long a call takes: a broker may refuse, stay silent, or freeze with the connection
open. So one thread per process owns the connection and sends; a caller waits for it a bounded time and takes with it
what has been handed over by then. Whatever is sent after that is sent twice, which is harmless: the claim refuses the
second. While the broker is away callers do not wait at all; the thread looks now and then whether it is back.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from queue import SimpleQueue
from uuid import uuid4

from celery import Celery
from kombu import Producer

from dlq_console.clock import monotonic
from dlq_console.hub.dispatch import Message
from dlq_console.redact import redact_text
from dlq_console.workers.celery_broker import (
    RUN_EVENT,
    SOCKET_TIMEOUT,
    account_queue,
    configure,
    is_amqp,
)
from dlq_console.workers.celery_signals import HARD_LIMIT_AFTER

logger = logging.getLogger(__name__)

#: The longest that a caller waits, in seconds.
PATIENCE = 2.0
#: How long a broker that failed is left alone, in seconds.
PAUSE = 2.0
#: How long closing waits for what is being sent, in seconds.
CLOSE_PATIENCE = 1.0
#: AMQP's word for a message that survives a restart of the broker.
PERSISTENT = 2


@dataclass(eq=False)
class _Batch:
    """Messages on their way. `deadline` is on the monotonic clock; after it no further message is begun."""

    messages: Sequence[Message]
    deadline: float
    handed_over: list[int] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)


class CeleryPublisher:
    """The `Publisher` of hubs with a broker. Opens nothing before first use; usable again in a forked child.

    Args:
        broker_url: `redis://` or `amqp://`.
    """

    def __init__(self, broker_url: str) -> None:
        self._broker_url = broker_url
        self._sender: _Sender | None = None
        self._begin_anew()

    def publish(self, messages: Sequence[Message]) -> list[int]:
        """Send; returns the ids of the events whose messages were handed over. Takes at most `PATIENCE` seconds."""
        if not messages:
            return []
        try:
            sender = self._sender_here()
        except (
            RuntimeError
        ) as error:  # no thread can be started: the machine is full, or the process is ending
            logger.warning("no message can be sent from this process: %s", error)
            return []
        return sender.send(messages)

    def close(self) -> None:
        """Let go of the connection; the next `publish` opens another."""
        if self._pid == os.getpid() and self._sender is not None:
            self._sender.close()
        self._begin_anew()

    def _sender_here(self) -> _Sender:
        if self._pid != os.getpid():
            self._begin_anew()
        with self._lock:
            if self._sender is None:
                self._sender = _Sender(self._broker_url)
            return self._sender

    def _begin_anew(self) -> None:
        # Neither the thread nor a lock that it holds survives a fork.
        self._pid = os.getpid()
        self._lock = threading.RLock()  # a signal handler may enqueue while it is held
        self._sender = None


class _Sender:
    """The thread that sends, and what its callers know about it."""

    def __init__(self, broker_url: str) -> None:
        self._app = _publishing_app(broker_url)
        self._declares = is_amqp(broker_url)
        self._link: _Link | None = None
        self._batches: SimpleQueue[_Batch | None] = SimpleQueue()
        #: None while the broker answers, else when to look again.
        self._look_again: float | None = None
        self._thread = threading.Thread(target=self._work, name="dlq-console-publisher", daemon=True)
        self._thread.start()

    def send(self, messages: Sequence[Message]) -> list[int]:
        if self._look_again is not None:
            self._look_for_broker(self._look_again)
            return []
        batch = _Batch(messages, monotonic() + PATIENCE)
        self._batches.put(batch)
        if not batch.ended.wait(PATIENCE) and not batch.handed_over:
            self._is_away(f"no answer within {PATIENCE} seconds")
        return list(batch.handed_over)

    def close(self) -> None:
        self._batches.put(None)
        self._thread.join(CLOSE_PATIENCE)

    def _look_for_broker(self, not_before: float) -> None:
        now = monotonic()
        if now >= not_before and self._batches.empty():
            self._look_again = now + PAUSE
            self._batches.put(_Batch((), now))  # sends nothing, but connects

    def _is_away(self, reason: str) -> None:
        if self._look_again is None:
            logger.warning("the broker takes no messages, they are sent later: %s", redact_text(reason))
        self._look_again = monotonic() + PAUSE

    # In the thread

    def _work(self) -> None:
        while (batch := self._batches.get()) is not None:
            try:
                self._deliver(batch)
            except Exception as error:  # noqa: BLE001 - client libraries raise whatever they like
                self._is_away(f"{type(error).__name__}: {error}")
                self._disconnect()
            batch.ended.set()
        self._disconnect()

    def _deliver(self, batch: _Batch) -> None:
        if self._link is None:
            self._connect()
        self._look_again = None
        for message in batch.messages:
            if monotonic() >= batch.deadline:
                return
            self._hand_over(message)
            batch.handed_over.append(message.event_id)

    def _hand_over(self, message: Message) -> None:
        link = self._link or self._connect()
        try:
            link.send(message)
        except Exception:
            if not link.proven:
                raise
            # It may have died while it was idle, so it is replaced once.
            self._disconnect()
            self._connect().send(message)

    def _connect(self) -> _Link:
        self._link = _Link(self._app, declares=self._declares)
        return self._link

    def _disconnect(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            link.close()


class _Link:
    """One open connection to the broker, used by one thread.

    Attributes:
        proven: whether a message went through it.
    """

    def __init__(self, app: Celery, *, declares: bool) -> None:
        self.proven = False
        self._app = app
        self._declares = declares
        self._declared: set[str] = set()
        self._connection = app.connection_for_write()
        try:
            # Once only: whoever waits for this has no time for the library's own repetitions.
            self._connection.ensure_connection(max_retries=0)
            self._channel = self._connection.channel()
        except Exception:
            self.close()
            raise
        self._producer = Producer(self._channel)

    def send(self, message: Message) -> None:
        if self._declares and message.queue not in self._declared:
            account_queue(message.queue)(self._channel).declare()
            self._declared.add(message.queue)
        headers, properties, body, _ = self._app.amqp.create_task_message(
            str(uuid4()),
            RUN_EVENT,
            args=(message.event_id, message.lease_epoch),
            # Only the hard one: the process that runs the event keeps the time itself.
            time_limit=message.time_limit + HARD_LIMIT_AFTER,
            ignore_result=True,
        )
        self._producer.publish(
            body,
            exchange="",
            routing_key=message.queue,
            serializer="json",
            headers=headers,
            delivery_mode=PERSISTENT,
            # A queue that was deleted meanwhile is an error instead of a message into nowhere.
            mandatory=self._declares,
            confirm_timeout=SOCKET_TIMEOUT,
            retry=False,
            **properties,
        )
        self.proven = True

    def close(self) -> None:
        self._connection.release()


def _publishing_app(broker_url: str) -> Celery:
    app = Celery("dlq_console.publisher", set_as_current=False, autofinalize=False, fixups=[])
    configure(app, broker_url)
    # An idle producer has nobody who would send its heartbeats.
    app.conf.broker_heartbeat = 0
    if is_amqp(broker_url):
        app.conf.broker_transport_options |= {"read_timeout": SOCKET_TIMEOUT, "write_timeout": SOCKET_TIMEOUT}
    return app
