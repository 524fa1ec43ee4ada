"""The composition root: one `Hub` per process holds settings, store, handlers and publisher together."""

from __future__ import annotations

import os
import tempfile
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, get_args

from sqlalchemy import Connection

from dlq_console.clock import monotonic
from dlq_console.errors import EventNotFound
from dlq_console.hub import actions
from dlq_console.hub.after_commit import after_commit, perform
from dlq_console.hub.dispatch import Message, NoPublisher, Publisher
from dlq_console.hub.enqueue import AnySession, Enqueued, NewEvent, OnDuplicate, connection_of
from dlq_console.hub.execution import run_claimed
from dlq_console.hub.handlers import AnyHandler, Registry
from dlq_console.hub.policy import DEFAULT_POLICY, Policy
from dlq_console.settings import Settings, read_settings
from dlq_console.store import claims, dispatching, ingest, kinds, migrate, queries, transitions
from dlq_console.store.clock import DatabaseClock
from dlq_console.store.events import Event
from dlq_console.store.ingest import Ingested, Intention
from dlq_console.store.kinds import PublishedKind
from dlq_console.store.presence import new_worker_id
from dlq_console.store.states import Status
from dlq_console.store.store import Store

#: How long a process believes what it has read about the published kinds, in seconds.
KINDS_BELIEVED = 15


class Hub:
    """Where events go in, are run, and are acted upon.

    Opens nothing before first use and is safe to build before a fork. Settings are read from the environment unless
    given. Use one per process.
    """

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = settings or read_settings()
        self.registry = Registry()
        self.store = Store(
            self.settings.database_url,
            table_prefix=self.settings.table_prefix,
            queue_prefix=self.settings.queue_prefix,
        )
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self.after_fork()
        _living.add(self)

    @classmethod
    def from_env(cls) -> Hub:
        """The same as `Hub()`."""
        return cls()

    @classmethod
    def in_memory(cls) -> Hub:
        """A hub for tests: its own empty database, gone at `close`; `hub.clock.advance(60)` moves its time.

        The database is a private temporary SQLite file, because one in memory cannot be shared by threads.
        """
        folder = tempfile.TemporaryDirectory(prefix="dlq-console-")
        hub = cls(read_settings(database_url=f"sqlite:///{folder.name}/events.db", broker_url=""))
        hub._folder = folder
        hub.migrate()
        return hub

    @property
    def clock(self) -> DatabaseClock:
        """The clock of this hub's store."""
        return self.store.clock

    def migrate(self) -> None:
        """Create the tables, or bring them to the version of this program."""
        migrate.upgrade(self.settings.database_url, self.settings.table_prefix)

    def after_fork(self) -> None:
        """Forget what belongs to the parent process."""
        self._lock = threading.Lock()
        self._publisher: Publisher | None = None
        self._kinds: dict[str, PublishedKind] = {}
        self._kinds_until = 0.0
        self._worker = ""
        self._published: list[PublishedKind] = []

    def close(self) -> None:
        """Close connections; the hub may be used again afterwards, except one made by `in_memory`."""
        if self._publisher is not None:
            self._publisher.close()
            self._publisher = None
        self.store.engines.dispose()
        if self._folder is not None:
            self._folder.cleanup()

    # Handlers

    def handler(self, kind: str, *, policy: Policy = DEFAULT_POLICY) -> Callable[[AnyHandler], AnyHandler]:
        """Decorator: make a function `(event)` or `(event, run)`, sync or async, the handler of `kind`.

        Raises:
            ConfigurationError: the kind has a handler already, or the function takes other arguments.
        """
        return self.registry.register(kind, policy)

    def publish_kinds(self, worker: str) -> None:
        """Tell producers and the console what this process can run."""
        published = self.registry.kinds()
        kinds.publish(self.store, published, worker)
        self._published = published

    def _publish_new_kinds(self) -> None:
        # The claim reads attempts, time limit and provider of a kind where workers have published them.
        if self.registry.kinds() != self._published:
            self.publish_kinds(self.worker)

    def known_kinds(self) -> dict[str, PublishedKind]:
        """The kinds that workers have published; may be some seconds old."""
        with self._lock:
            if monotonic() >= self._kinds_until:
                self._kinds = kinds.published(self.store)
                self._kinds_until = monotonic() + KINDS_BELIEVED
            return self._kinds

    # In

    def enqueue(
        self,
        kind: str,
        *,
        account: str,
        entity_id: str,
        payload: Any,
        session: AnySession | None = None,
        idempotency_key: str | None = None,
        version: str | None = None,
        run_at: datetime | None = None,
        expires_at: datetime | None = None,
        on_duplicate: OnDuplicate = "return",
        origin: str | None = None,
    ) -> Enqueued:
        """Put an event in, or find the one that exists.

        Args:
            kind: what is to be done, such as `order.create`.
            account: on whose account of the outside system.
            entity_id: the business number people know it by.
            payload: what the handler needs; any JSON value.
            session: a SQLAlchemy Session or Connection whose transaction the event joins; None for its own.
            idempotency_key: your own key instead of the one made from the content.
            version: makes the same content a new event (price 10, 12, and 10 again).
            run_at: not before this moment (aware).
            expires_at: not after this moment (aware).
            on_duplicate: "reprocess_dead" lets a dead event of the same key run again.
            origin: which program sent it, for the event page.

        Raises:
            PayloadRefused: something cannot be stored; nothing was sent to the database.
            IdempotencyConflict: the same key was used before with another payload.
            StoreUnavailable: the database cannot be reached.
        """
        new = self._intention(
            NewEvent(
                kind=kind,
                account=account,
                entity_id=entity_id,
                payload=payload,
                idempotency_key=idempotency_key,
                version=version,
                run_at=run_at,
                expires_at=expires_at,
            ),
            origin,
        )
        if on_duplicate not in get_args(OnDuplicate):
            raise ValueError('on_duplicate: write "return" or "reprocess_dead".')
        if on_duplicate == "return":
            return self._enqueue([new], session, partial(self._insert, new))[0]
        return self._enqueue([new], session, partial(self._insert_or_revive, new), transaction=True)[0]

    def enqueue_many(
        self,
        events: Iterable[NewEvent],
        *,
        session: AnySession | None = None,
        origin: str | None = None,
    ) -> list[Enqueued]:
        """Put many events in, all or none; the answers stand in the order of the events.

        Raises:
            As `enqueue`; then none of them is in.
        """
        news = [self._intention(new, origin) for new in events]
        return self._enqueue(news, session, partial(self._insert_all, news), transaction=True) if news else []

    def _enqueue(
        self,
        news: Sequence[Intention],
        session: AnySession | None,
        insert: Callable[[Connection], list[Ingested]],
        *,
        transaction: bool = False,
    ) -> list[Enqueued]:
        if session is not None:
            connection = connection_of(session, self.store.engines.dialect)
            made = insert(connection)
            after_commit(connection, partial(self._entered, news, made))
        else:
            made = self.store.transact(insert) if transaction else self._in_one_statement(insert)
            perform([partial(self._entered, news, made)])
        return [
            Enqueued(id=each.id, created=each.created, status=each.status, load=self.get) for each in made
        ]

    def _in_one_statement(self, insert: Callable[[Connection], list[Ingested]]) -> list[Ingested]:
        with self.store.single_statement() as connection:
            return insert(connection)

    def _insert(self, new: Intention, connection: Connection) -> list[Ingested]:
        return [ingest.insert_one(self.store, connection, new)]

    def _insert_all(self, news: Sequence[Intention], connection: Connection) -> list[Ingested]:
        return ingest.insert_many(self.store, connection, news)

    def _insert_or_revive(self, new: Intention, connection: Connection) -> list[Ingested]:
        made = ingest.insert_one(self.store, connection, new)
        if made.status != Status.DEAD:
            return [made]
        epoch = transitions.reprocess(
            self.store,
            connection,
            made.id,
            actor=new.origin or "enqueue",
            note="sent again by its producer",
            max_wait=new.max_wait,
            seen_epoch=made.lease_epoch,
        )
        if epoch is None:
            return [made]
        return [replace(made, status=Status.PENDING, lease_epoch=epoch, to_send=True)]

    def _intention(self, new: NewEvent, origin: str | None) -> Intention:
        policy = self.policy(new.kind)
        return ingest.intention(
            kind=new.kind,
            account=new.account,
            entity_id=new.entity_id,
            payload=new.payload,
            version=new.version,
            idempotency_key=new.idempotency_key,
            run_at=new.run_at,
            expires_at=new.expires_at,
            origin=origin,
            # Nothing is known of the kind yet: the claim fills in what its workers have published by then.
            max_attempts=None if policy is DEFAULT_POLICY else policy.max_attempts,
            max_wait=policy.max_wait,
            max_bytes=self.settings.payload_max_bytes,
            sent=bool(self.settings.broker_url),
        )

    def _entered(self, news: Sequence[Intention], made: Sequence[Ingested]) -> None:
        """After the commit: count folded duplicates and tell the workers."""
        duplicates = Counter(each.id for each in made if not each.created)
        if duplicates:
            with self.store.write() as connection:
                ingest.count_duplicates(self.store, connection, duplicates)
        if self.settings.broker_url:
            self.dispatch(
                [
                    self.message(each.id, each.lease_epoch, new.kind, new.account)
                    for new, each in zip(news, made, strict=True)
                    if each.to_send
                ]
            )

    # Dispatch

    @property
    def publisher(self) -> Publisher:
        """Hands messages to the broker; does nothing in table mode."""
        with self._lock:
            if self._publisher is None:
                self._publisher = self._make_publisher()
            return self._publisher

    def _make_publisher(self) -> Publisher:
        if not self.settings.broker_url:
            return NoPublisher()
        from dlq_console.workers.celery_publisher import (
            CeleryPublisher,  # Celery is loaded only where it is used
        )

        return CeleryPublisher(self.settings.broker_url)

    def message(self, event_id: int, lease_epoch: int, kind: str, account: str) -> Message:
        """The message that lets a worker run an event."""
        return Message(event_id, lease_epoch, self.store.queue(account), self.policy(kind).timeout)

    def dispatch(self, messages: Sequence[Message]) -> int:
        """Send messages; those that could not be sent are marked, so that the relay sends them soon.

        Returns how many were sent.
        """
        sent = set(self.publisher.publish(messages)) if messages else set()
        unsent = [message.event_id for message in messages if message.event_id not in sent]
        if unsent:
            dispatching.not_sent(self.store, unsent)
        return len(sent)

    # Out

    def get(self, event_id: int) -> Event:
        """One event with everything.

        Raises:
            EventNotFound: there is no such event.
        """
        event = queries.get_event(self.store, event_id)
        if event is None:
            raise EventNotFound(f"There is no event {event_id}; it may have been pruned.")
        return event

    def run(self, event_id: int) -> Event:
        """Run one due event in this process and return it as it is afterwards.

        An event that is not due, or that another worker has, is returned as it is. Time limits need a worker: here
        only async handlers are stopped.

        Raises:
            EventNotFound: there is no such event.
        """
        self._publish_new_kinds()
        event = claims.claim_one(
            self.store, event_id, worker=self.worker, lease_seconds=self.settings.lease_seconds
        )
        if event is not None:
            run_claimed(self.store, self.registry, event)
        return self.get(event_id)

    def run_due(self, limit: int = 100) -> int:
        """Run up to `limit` due events in this process, one after the other; returns how many were run."""
        self._publish_new_kinds()
        ran = 0
        while ran < limit:
            events = claims.claim_any(
                self.store, worker=self.worker, limit=1, lease_seconds=self.settings.lease_seconds
            )
            if not events:
                break
            for event in events:
                run_claimed(self.store, self.registry, event)
                ran += 1
        return ran

    @property
    def worker(self) -> str:
        """The name under which this process claims events."""
        with self._lock:
            if not self._worker:
                self._worker = new_worker_id()
            return self._worker

    # What a person may do

    def reprocess(
        self,
        event_id: int,
        *,
        actor: str = "operator",
        note: str | None = None,
        attempts: int | None = None,
        after: float = 0,
        seen_epoch: int | None = None,
    ) -> Event:
        """Let a dead event run again; returns it as it is then.

        Args:
            event_id: which event.
            actor: who asks for it.
            note: why.
            attempts: how many attempts it gets; None for what the policy says.
            after: seconds from now until it may run.
            seen_epoch: the `lease_epoch` that the person saw; refused when the event has moved on since.

        Raises:
            EventNotFound: there is no such event.
            ActionNotAllowed: its status does not allow it; `.status` says which it is.
        """
        actions.reprocess(
            self.store,
            event_id,
            actor=actor,
            note=note,
            attempts=attempts,
            after=after,
            max_wait=self.policy(self.get(event_id).kind).max_wait,
            seen_epoch=seen_epoch,
        )
        # Nothing is sent from here: a click never waits for a broker, the relay of the workers sends it.
        return self.get(event_id)

    def discard(
        self, event_id: int, *, actor: str, note: str | None = None, seen_epoch: int | None = None
    ) -> Event:
        """Decide that an event shall not run; returns it as it is then.

        Raises:
            EventNotFound: there is no such event.
            ActionNotAllowed: its status does not allow it; `.status` says which it is.
        """
        actions.discard(self.store, event_id, actor=actor, note=note, seen_epoch=seen_epoch)
        return self.get(event_id)

    def policy(self, kind: str) -> Policy:
        """How a kind is run: by its handler here, else as workers have published it, else the defaults."""
        handler = self.registry.get(kind)
        if handler is not None:
            return handler.policy
        known = self.known_kinds().get(kind)
        if known is None:
            return DEFAULT_POLICY
        return replace(
            DEFAULT_POLICY,
            max_attempts=known.max_attempts,
            timeout=known.timeout,
            **{name: known.policy[name] for name in ("base_delay", "max_delay", "jitter", "max_wait")},
        )


_living: weakref.WeakSet[Hub] = weakref.WeakSet()


def _after_fork() -> None:
    for hub in list(_living):
        hub.after_fork()


os.register_at_fork(after_in_child=_after_fork)
