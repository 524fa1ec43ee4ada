"""Everything a hub can do, with its settings, store and publisher given. `runtime.Hub` puts them together."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from dlq_console.errors import EventNotFound, PayloadRefused
from dlq_console.hub import actions, async_enqueue, doors, expiry, once, queue_letters, services
from dlq_console.hub.dispatch import Message, NoPublisher, Publisher
from dlq_console.hub.enqueue import AnySession, Enqueued, NewEvent, OnDuplicate
from dlq_console.hub.entrance import Entrance
from dlq_console.hub.execution import run_claimed
from dlq_console.hub.handlers import AnyHandler, Registry
from dlq_console.hub.heartbeat import kept_alive
from dlq_console.hub.kinds import KnownKinds
from dlq_console.hub.policy import DEFAULT_POLICY, Policy
from dlq_console.hub.routes import Routes
from dlq_console.resilience import (
    Bulkhead,
    BulkheadConfig,
    BulkheadRegistry,
    CircuitBreaker,
    CircuitBreakerConfig,
    CircuitBreakerRegistry,
    SharedState,
)
from dlq_console.resilience.breaker.record import Position
from dlq_console.resilience.services import NO_SERVICES, Services
from dlq_console.settings import Settings
from dlq_console.store import claims, dispatching, lanes, migrate, queries
from dlq_console.store.clock import DatabaseClock
from dlq_console.store.events import Event
from dlq_console.store.ingest import Ingested
from dlq_console.store.kinds import PublishedKind
from dlq_console.store.presence import new_worker_id
from dlq_console.store.shared_state import SqlState
from dlq_console.store.store import Store

if TYPE_CHECKING:
    from dlq_console.hub.async_enqueue import AnyAsyncSession

MakeState = Callable[[Store], SharedState]


class HubCore:
    """Where events go in, are run, and are acted upon.

    Args:
        settings: what was configured.
        make_publisher: makes the publisher at its first use, once per process.
        make_state: makes the state that guards of all programs share, from the store; it opens nothing.
        services: how breakers and bulkheads of services are configured.
    """

    def __init__(
        self,
        settings: Settings,
        make_publisher: Callable[[], Publisher],
        *,
        make_state: MakeState = SqlState,
        services: Services = NO_SERVICES,
    ) -> None:
        self.registry = Registry()
        self.services = services
        self._set_up(settings, make_publisher, make_state)

    def _set_up(
        self, settings: Settings, make_publisher: Callable[[], Publisher], make_state: MakeState
    ) -> None:
        self.settings = settings
        self.registry.rules_path = Path(settings.rules) if settings.rules else None
        self.registry.payload_max_bytes = settings.payload_max_bytes
        self.store = Store(
            settings.database_url, table_prefix=settings.table_prefix, queue_prefix=settings.queue_prefix
        )
        self.routes = Routes(self.store, settings.max_queues)
        self._make_publisher = make_publisher
        self._make_state = make_state
        #: What guards of all programs share: in Redis where DLQ_REDIS_URL names one, else in the database.
        self.state: SharedState = make_state(self.store)
        self._breakers = CircuitBreakerRegistry(self.services.breakers, state=self.state)
        self._bulkheads = BulkheadRegistry(self.services.bulkheads, state=self.state)
        self._kinds = KnownKinds(self.store, self.registry)
        self._entrance = Entrance(
            self.store,
            self.policy,
            max_bytes=settings.payload_max_bytes,
            tell=self.send_due if settings.broker_url else None,
        )
        self._forget_process()

    @property
    def clock(self) -> DatabaseClock:
        """The clock of this hub's store."""
        return self.store.clock

    def migrate(self) -> None:
        """Create the tables, or bring them to the version of this program."""
        migrate.upgrade(self.settings.database_url, self.settings.table_prefix)

    @contextmanager
    def on_database(self, database_url: str) -> Iterator[None]:
        """For tests: inside the block this hub works on another database, and tells no broker."""
        settings, make_publisher, make_state = self.settings, self._make_publisher, self._make_state
        elsewhere = settings.model_copy(update={"database_url": database_url, "broker_url": ""})
        self.close()
        self._set_up(elsewhere, NoPublisher, SqlState)
        try:
            yield
        finally:
            self.close()
            self._set_up(settings, make_publisher, make_state)

    def after_fork(self) -> None:
        """Forget what belongs to the parent process."""
        self._forget_process()
        self._kinds.after_fork()

    def _forget_process(self) -> None:
        # A signal handler may come in while its own thread is inside.
        self._lock = threading.RLock()
        self._publisher: Publisher | None = None
        self._worker = ""

    def close(self) -> None:
        """Close connections; the hub may be used again afterwards."""
        if self._publisher is not None:
            self._publisher.close()
            self._publisher = None
        # Before the database, in which its last counts may be kept.
        self.state.close()
        self.store.engines.dispose()

    # Handlers

    def handler(self, kind: str, *, policy: Policy = DEFAULT_POLICY) -> Callable[[AnyHandler], AnyHandler]:
        """Decorator: make a function `(event)` or `(event, run)`, sync or async, the handler of `kind`.

        Raises:
            ConfigurationError: the kind has a handler already, or the function takes other arguments.
        """
        return self.registry.register(kind, policy)

    def verifier(self, kind: str) -> Callable[[AnyHandler], AnyHandler]:
        """Decorator: make a function `(event)` or `(event, run)` the verifier of `kind`.

        It is asked before anything is run again of which nobody knows whether the outside system has it. It returns
        "applied" (or the result as a dict), "not_applied" or "unknown".

        Raises:
            ConfigurationError: the kind has a verifier already, or the function takes other arguments.
        """
        return self.registry.register_verifier(kind)

    def refresh(self, kind: str) -> Callable[[AnyHandler], AnyHandler]:
        """Decorator: make a function `(event)` or `(event, run)` the refresh of `kind`.

        After a reprocess it is asked, before the first run, for the payload that is true by then, and returns it as a
        dict. What it raises counts as raised by the handler, before anything was sent.

        Raises:
            ConfigurationError: the kind has a refresh already, or the function takes other arguments.
        """
        return self.registry.register_refresh(kind)

    def publish_kinds(self, worker: str) -> None:
        """Tell producers and the console what this process can run."""
        self._kinds.publish(worker)

    def known_kinds(self) -> dict[str, PublishedKind]:
        """The kinds that workers have published; may be some seconds old."""
        return self._kinds.published()

    def policy(self, kind: str) -> Policy:
        """How a kind is run: by its handler here, else as workers have published it, else the defaults."""
        return self._kinds.policy(kind)

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
        ordering_key: str | None = None,
        serial: bool | None = None,
        on_duplicate: OnDuplicate = "return",
        origin: str | None = None,
    ) -> Enqueued:
        """Put an event in, or find the one that exists.

        Args:
            kind: what is to be done, such as `order.create`.
            account: on whose account of the outside system.
            entity_id: the business number people know it by.
            payload: what the handler needs; any JSON value.
            session: a SQLAlchemy Session or Connection, or a DB-API connection such as Django's, whose transaction the
                event joins; None for its own.
            idempotency_key: your own key instead of the one made from the content.
            version: makes the same content a new event (price 10, 12, and 10 again).
            run_at: not before this moment (aware).
            expires_at: not after this moment (aware).
            ordering_key: events of the account with the same key are run one at a time, in order; None for what the
                kind's policy says.
            serial: True puts the event into the account's serial lane, whatever its kind; None for what the kind's
                policy says.
            on_duplicate: "reprocess_dead" lets a dead event of the same key run again.
            origin: which program sent it, for the event page.

        Raises:
            PayloadRefused: something cannot be stored; nothing was sent to the database.
            IdempotencyConflict: the same key was used before with another payload.
            StoreUnavailable: the database cannot be reached.
        """
        new = NewEvent(
            kind=kind,
            account=account,
            entity_id=entity_id,
            payload=payload,
            idempotency_key=idempotency_key,
            version=version,
            run_at=run_at,
            expires_at=expires_at,
            ordering_key=ordering_key,
            serial=serial,
        )
        return self._enqueued(self._entrance.enter(new, session, origin, on_duplicate))

    async def aenqueue(
        self,
        kind: str,
        *,
        account: str,
        entity_id: str,
        payload: Any,
        session: AnyAsyncSession | None = None,
        idempotency_key: str | None = None,
        version: str | None = None,
        run_at: datetime | None = None,
        expires_at: datetime | None = None,
        ordering_key: str | None = None,
        serial: bool | None = None,
        on_duplicate: OnDuplicate = "return",
        origin: str | None = None,
    ) -> Enqueued:
        """As `enqueue`, without holding up the event loop.

        The event joins the transaction of an AsyncSession or AsyncConnection of SQLAlchemy. Without one it is put in by
        a thread: a call that is cancelled may still put it in, whole, and the same content again finds that event.
        """
        new = NewEvent(
            kind=kind,
            account=account,
            entity_id=entity_id,
            payload=payload,
            idempotency_key=idempotency_key,
            version=version,
            run_at=run_at,
            expires_at=expires_at,
            ordering_key=ordering_key,
            serial=serial,
        )
        return self._enqueued(await async_enqueue.enter(self._entrance, new, session, origin, on_duplicate))

    def enqueue_many(
        self, events: Iterable[NewEvent], *, session: AnySession | None = None, origin: str | None = None
    ) -> list[Enqueued]:
        """Put many events in, all or none; the answers stand in the order of the events.

        Raises:
            As `enqueue`; then none of them is in.
        """
        news = list(events)
        for place, new in enumerate(news):
            if not isinstance(new, NewEvent):
                raise TypeError(f"enqueue_many: item {place} is no NewEvent but {type(new).__name__}.")
        return [self._enqueued(each) for each in self._entrance.enter_many(news, session, origin)]

    def _enqueued(self, made: Ingested) -> Enqueued:
        return Enqueued(id=made.id, created=made.created, status=made.status, load=self.get)

    def once(self, session: AnySession, key: str, *, scope: str = "") -> bool:
        """As `dlq_console.once`, for a hub whose settings are not those of the environment."""
        return once.once_in(self.store, session, key, scope=scope)

    # Services outside the hub

    def breaker(self, name: str, config: CircuitBreakerConfig | None = None) -> CircuitBreaker:
        """The circuit breaker of a service, shared by all programs on this state; the same object each time.

        Args:
            name: of the service.
            config: None for what DLQ_SERVICES says, else the default.

        Raises:
            ConfigurationError: the name is not fit, or it exists with another configuration.
        """
        return self._breakers.get(name, config)

    def bulkhead(self, name: str, config: BulkheadConfig | None = None) -> Bulkhead:
        """The bulkhead of a service; as `breaker`."""
        return self._bulkheads.get(name, config)

    def on_full(self, kind: str, *, account: str) -> Callable[[Any], None]:
        """What makes dead letters of the items that a `QueueGuard` refuses, for its `on_full`.

        An item becomes a dead event with the reason `queue_full` and the item as its payload. Reprocess runs the handler
        of its kind, which may do the item or queue it again. An item whose dead letter stands is counted on it.

        Args:
            kind: of the events.
            account: of the events; that of the outside system, or the name of the queue.
        """
        return queue_letters.letters(self.store, self._entrance, kind, account)

    # Dispatch

    @property
    def publisher(self) -> Publisher:
        """Hands messages to the broker; does nothing in table mode."""
        with self._lock:
            if self._publisher is None:
                self._publisher = self._make_publisher()
            return self._publisher

    def message(
        self, event_id: int, lease_epoch: int, kind: str, account: str, lane: str | None = None
    ) -> Message:
        """The message that lets a worker run an event."""
        return Message(event_id, lease_epoch, self.routes.queue(account, lane), self.policy(kind).timeout)

    def dispatch(self, messages: Sequence[Message]) -> int:
        """Send messages; those that could not be sent are marked, so that the relay sends them soon.

        Returns how many were sent.
        """
        sent = set(self.publisher.publish(messages)) if messages else set()
        unsent = [message.event_id for message in messages if message.event_id not in sent]
        if unsent:
            dispatching.not_sent(self.store, unsent)
        return len(sent)

    def send_due(self, accounts: Sequence[str]) -> int:
        """Give the broker what may run now of some accounts; returns how many messages were sent."""
        due = dispatching.take_unsent(self.store, accounts)
        return self.dispatch([self.message(e.id, e.lease_epoch, e.kind, e.account, e.lane) for e in due])

    # Out

    def get(self, event_id: int) -> Event:
        """One event with everything.

        Raises:
            EventNotFound: there is no such event.
            TypeError: the id is no whole number.
        """
        _check_id(event_id)
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
            TypeError: the id is no whole number.
        """
        _check_id(event_id)
        self._kinds.publish_new(self.worker)
        event = claims.claim_one(
            self.store, event_id, worker=self.worker, lease_seconds=self.settings.lease_seconds
        )
        if event is not None:
            self._run(event)
        return self.get(event_id)

    def run_due(self, limit: int = 100) -> int:
        """Run up to `limit` due events in this process, one after the other; returns how many were run.

        What was not started in time is buried first, and lanes that nothing holds up any more are let go.
        """
        self._kinds.publish_new(self.worker)
        expiry.bury_overdue(self.store)
        lanes.promote_waiting(self.store)
        ran = 0
        while ran < limit:
            events = claims.claim_any(
                self.store, worker=self.worker, limit=1, lease_seconds=self.settings.lease_seconds
            )
            if not events:
                break
            for event in events:
                self._run(event)
                ran += 1
        return ran

    def _run(self, event: Event) -> None:
        with kept_alive(self.store, event, self.settings.lease_seconds):
            run_claimed(self.store, self.registry, event)

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
        even_if_newer: bool = False,
    ) -> Event:
        """Let a dead event run again; returns it as it is then.

        Args:
            event_id: which event.
            actor: who asks for it.
            note: why.
            attempts: how many attempts it gets; None for what the policy says.
            after: seconds from now until it may run.
            seen_epoch: the `lease_epoch` that the person saw; refused when the event has moved on since.
            even_if_newer: run it although a newer event of its entity exists, where its kind has
                `replay_policy="ask"`.

        Raises:
            EventNotFound: there is no such event.
            ActionNotAllowed: its status does not allow it, `.status` says which it is; or a newer event stands in its
                way, `.newer` is that one's id.
            PayloadRefused: an argument is beyond its limits.
            TypeError: the id is no whole number.
        """
        _check_id(event_id)
        policy = self.policy(self.get(event_id).kind)
        actions.reprocess(
            self.store,
            event_id,
            actor=actor,
            note=note,
            attempts=attempts,
            after=after,
            max_wait=policy.max_wait,
            seen_epoch=seen_epoch,
            replay_policy=policy.replay_policy,
            even_if_newer=even_if_newer,
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
            TypeError: the id is no whole number.
        """
        _check_id(event_id)
        actions.discard(self.store, event_id, actor=actor, note=note, seen_epoch=seen_epoch)
        return self.get(event_id)

    def skip_lane(
        self, lane: str, *, actor: str, note: str | None = None, seen_head: int | None = None
    ) -> Event:
        """Let a lane go on without the dead or failing event it stands behind; returns that event, a dead letter now.

        Raises:
            EventNotFound: nothing waits in this lane.
            ActionNotAllowed: the event it stands behind may still run, or is not `seen_head`, the one that the person
                saw; `.status` says what it is.
        """
        head = actions.skip_lane(self.store, lane, actor=actor, note=note, seen_head=seen_head)
        return self.get(head)

    def pause_account(
        self, name: str, *, actor: str, note: str | None = None, until: datetime | None = None
    ) -> None:
        """Let no further event of an account start, until it is resumed or until a moment; what runs runs to its end.

        Raises:
            PayloadRefused: a name, note or moment is no such thing.
        """
        doors.pause_account(self.store, name, actor=actor, note=note, until=until)

    def resume_account(self, name: str, *, actor: str, note: str | None = None) -> None:
        """Let events of an account start again that is paused, or that its provider had closed, in whole or for some kinds.

        Raises:
            ActionNotAllowed: it is neither.
            PayloadRefused: a name or note is no such thing.
        """
        doors.resume_account(self.store, name, actor=actor, note=note)

    def open_provider(self, name: str, *, actor: str, note: str | None = None) -> None:
        """Let events go to a provider again that had closed itself for all accounts.

        Raises:
            ActionNotAllowed: it is not closed.
            PayloadRefused: a name or note is no such thing.
        """
        doors.open_provider(self.store, name, actor=actor, note=note)

    def force_breaker(
        self,
        name: str,
        position: Literal["open", "closed"],
        *,
        actor: str,
        note: str | None = None,
        seconds: float | None = None,
    ) -> None:
        """Hold a breaker open or closed, for some seconds or until it is reset.

        Args:
            name: as the list shows it: an account, `<account>/<kind>` where the kind has a breaker of its own ("/" and
                "%" in the account are escaped), or a service that guards protect; `service:<name>` is always a service.
            position: "open" lets nothing start, "closed" everything, whatever the calls say.
            actor: who decides it.
            note: why.
            seconds: for how long; None until somebody resets it.

        Raises:
            PayloadRefused: a name, note or time is no such thing.
            StoreUnavailable: the state that guards share is away.
        """
        forced = {"open": Position.FORCED_OPEN, "closed": Position.FORCED_CLOSED}.get(position)
        if forced is None:
            raise PayloadRefused(f'position: write "open" or "closed", not {position!r:.80}.')
        service = services.service_of(self.store, self.state, name)
        if service is None:
            doors.force_circuit(self.store, name, forced, actor=actor, note=note, seconds=seconds)
        else:
            services.force(self.store, self.state, service, forced, actor=actor, note=note, seconds=seconds)

    def reset_breaker(self, name: str, *, actor: str, note: str | None = None) -> None:
        """Close a breaker, and end what a person had decided about it; `name` as for `force_breaker`.

        Raises:
            EventNotFound: there is no such breaker.
            PayloadRefused: a name or note is no such thing.
            StoreUnavailable: the state that guards share is away.
        """
        service = services.service_of(self.store, self.state, name)
        if service is None:
            doors.reset_circuit(self.store, name, actor=actor, note=note)
        else:
            services.reset(self.store, self.state, service, actor=actor, note=note)


def _check_id(event_id: object) -> None:
    """Refuse what is no id. True would be taken for event 1."""
    if not isinstance(event_id, int) or isinstance(event_id, bool):
        raise TypeError(
            f"event_id: write the whole number that enqueue returned as .id, not {event_id!r:.80}."
        )
