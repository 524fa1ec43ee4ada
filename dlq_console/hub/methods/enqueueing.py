"""How do events go into a hub?"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from dlq_console.hub import async_enqueue, once, queue_letters
from dlq_console.hub.enqueue import AnySession, Enqueued, NewEvent, OnDuplicate
from dlq_console.hub.methods.base import HubBase
from dlq_console.store.ingest import Ingested

if TYPE_CHECKING:
    from dlq_console.hub.async_enqueue import AnyAsyncSession


class EnqueueMethods(HubBase):
    """Every way by which something comes in."""

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

    def on_full(self, kind: str, *, account: str) -> Callable[[Any], None]:
        """What makes dead letters of the items that a `QueueGuard` refuses, for its `on_full`.

        An item becomes a dead event with the reason `queue_full` and the item as its payload. Reprocess runs the handler
        of its kind, which may do the item or queue it again. An item whose dead letter stands is counted on it.

        Args:
            kind: of the events.
            account: of the events; that of the outside system, or the name of the queue.
        """
        return queue_letters.letters(self.store, self._entrance, kind, account)
