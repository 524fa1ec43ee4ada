"""What does every part of a hub stand on? Settings, store, state, kinds and the way to the broker, from beginning to end.

All that a hub holds is made here; the classes beside this one add methods only.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from dlq_console.errors import EventNotFound
from dlq_console.hub.channels import Channels, read_channels
from dlq_console.hub.dispatch import Message, NoPublisher, Publisher
from dlq_console.hub.entrance import Entrance
from dlq_console.hub.handlers import Registry
from dlq_console.hub.kinds import KnownKinds
from dlq_console.hub.policy import Policy
from dlq_console.hub.routes import Routes
from dlq_console.resilience import BulkheadRegistry, CircuitBreakerRegistry, SharedState
from dlq_console.resilience.services import NO_SERVICES, Services
from dlq_console.settings import Settings
from dlq_console.store import dispatching, migrate, queries
from dlq_console.store.clock import DatabaseClock
from dlq_console.store.events import Event
from dlq_console.store.internal import OWN_ACCOUNT
from dlq_console.store.kinds import PublishedKind
from dlq_console.store.presence import new_worker_id
from dlq_console.store.shared_state import SqlState
from dlq_console.store.store import Store

MakeState = Callable[[Store], SharedState]
#: Brings up to date how an account stands, or all do (None), after somebody has acted upon its door.
JudgeAgain = Callable[[Store, str | None], None]


class HubBase:
    """What a hub holds, and what all of its parts ask for.

    Args:
        settings: what was configured.
        make_publisher: makes the publisher at its first use, once per process.
        make_state: makes the state that guards of all programs share, from the store; it opens nothing.
        services: how breakers and bulkheads of services are configured.
        judge_again: called after each act of a person upon a door; None where nobody tells how accounts stand.
    """

    def __init__(
        self,
        settings: Settings,
        make_publisher: Callable[[], Publisher],
        *,
        make_state: MakeState = SqlState,
        services: Services = NO_SERVICES,
        judge_again: JudgeAgain | None = None,
    ) -> None:
        self.registry = Registry()
        self._judge_again = judge_again
        self.services = services
        self._set_up(settings, make_publisher, make_state)

    def _set_up(
        self, settings: Settings, make_publisher: Callable[[], Publisher], make_state: MakeState
    ) -> None:
        self.settings = settings
        self.registry.rules_path = Path(settings.rules) if settings.rules else None
        self.registry.payload_max_bytes = settings.payload_max_bytes
        self.registry.channels = Channels(partial(read_channels, settings))
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

    @property
    def worker(self) -> str:
        """The name under which this process claims events."""
        with self._lock:
            if not self._worker:
                self._worker = new_worker_id()
            return self._worker

    def get(self, event_id: int) -> Event:
        """One event with everything.

        Raises:
            EventNotFound: there is no such event.
            TypeError: the id is no whole number.
        """
        check_id(event_id)
        event = queries.get_event(self.store, event_id)
        if event is None:
            raise EventNotFound(f"There is no event {event_id}; it may have been pruned.")
        return event

    def publish_kinds(self, worker: str) -> None:
        """Tell producers and the console what this process can run."""
        self._kinds.publish(worker)

    def known_kinds(self) -> dict[str, PublishedKind]:
        """The kinds that workers have published; may be some seconds old."""
        return self._kinds.published()

    def policy(self, kind: str) -> Policy:
        """How a kind is run: by its handler here, else as workers have published it, else the defaults."""
        return self._kinds.policy(kind)

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
        # Messages of alerts are brought by whoever hosts the periodic steps, also where no worker lives.
        accounts = [account for account in accounts if account != OWN_ACCOUNT]
        due = dispatching.take_unsent(self.store, accounts)
        return self.dispatch([self.message(e.id, e.lease_epoch, e.kind, e.account, e.lane) for e in due])


def check_id(event_id: object) -> None:
    """Refuse what is no id. True would be taken for event 1."""
    if not isinstance(event_id, int) or isinstance(event_id, bool):
        raise TypeError(
            f"event_id: write the whole number that enqueue returned as .id, not {event_id!r:.80}."
        )
