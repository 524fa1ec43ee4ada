"""How events come in: checked, written in the right transaction, and told to the workers after its commit."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import get_args

from sqlalchemy import Connection

from dlq_console.errors import StoreUnavailable
from dlq_console.hub import ordering
from dlq_console.hub.after_commit import perform
from dlq_console.hub.callers import joined
from dlq_console.hub.enqueue import AnySession, NewEvent, OnDuplicate
from dlq_console.hub.policy import DEFAULT_POLICY, Policy
from dlq_console.resilience.tracing import traceparent
from dlq_console.store import acts, ingest
from dlq_console.store.ingest import Ingested, Intention
from dlq_console.store.internal import check_account_name, check_kind_name
from dlq_console.store.keys import MAX_ENTITY_ID, check_text
from dlq_console.store.states import Status
from dlq_console.store.store import Store

#: Tells the workers of new events of these accounts.
Tell = Callable[[Sequence[str]], object]
#: Puts checked events in over a connection.
Insert = Callable[[Sequence[Intention], Connection], list[Ingested]]


class Entrance:
    """The way in of one hub.

    Args:
        store: where the rows go.
        policy: how a kind is run.
        max_bytes: the largest payload, in bytes of JSON.
        tell: is given what has come in, after the commit; None in table mode.
    """

    def __init__(
        self, store: Store, policy: Callable[[str], Policy], *, max_bytes: int, tell: Tell | None
    ) -> None:
        self._store = store
        self._policy = policy
        self._max_bytes = max_bytes
        self._tell = tell
        self._of_thread = threading.local()

    def enter(
        self, event: NewEvent, session: AnySession | None, origin: str | None, on_duplicate: OnDuplicate
    ) -> Ingested:
        """Put one event in, or find the one that exists."""
        return self.put(self.check(event, origin, on_duplicate), session, on_duplicate)

    def enter_many(
        self, events: Sequence[NewEvent], session: AnySession | None, origin: str | None
    ) -> list[Ingested]:
        """Put all in, or none; the answers stand in the order of the events."""
        news = [self.check(event, origin) for event in events]
        return self._enter(news, session, self._insert_all, transaction=True) if news else []

    def put(self, new: Intention, session: AnySession | None, on_duplicate: OnDuplicate) -> Ingested:
        """Put a checked event in, or find the one that exists."""
        if on_duplicate == "return":
            # Two statements where fields of the payload are kept.
            return self._enter([new], session, self._insert, transaction=bool(new.fields))[0]
        return self._enter([new], session, self._insert_or_revive, transaction=True)[0]

    def check(self, new: NewEvent, origin: str | None, on_duplicate: OnDuplicate = "return") -> Intention:
        """Check everything that is known of an event before it is put in.

        Raises:
            PayloadRefused: something cannot be stored.
            ValueError: `on_duplicate` is no choice.
        """
        if on_duplicate not in get_args(OnDuplicate):
            raise ValueError('on_duplicate: write "return" or "reprocess_dead".')
        # As handlers write it, so that a producer's slip of the hand finds the policy too.
        kind = check_kind_name(new.kind)
        policy = self._policy(kind)
        # As the store writes them, so that one account or number has one lane.
        account = check_account_name(new.account)
        entity_id = check_text(new.entity_id, "entity_id", max_length=MAX_ENTITY_ID)
        ordering_key, lane, on_dead = ordering.place(
            policy, account, entity_id, ordering_key=new.ordering_key, serial=new.serial
        )
        return ingest.intention(
            kind=kind,
            account=account,
            entity_id=entity_id,
            payload=new.payload,
            version=new.version,
            idempotency_key=new.idempotency_key,
            run_at=new.run_at,
            expires_at=new.expires_at,
            ordering_key=ordering_key,
            lane=lane,
            on_dead=on_dead,
            origin=origin,
            trace_context=traceparent(),
            # Nothing is known of the kind yet: the claim fills in what its workers have published by then.
            max_attempts=None if policy is DEFAULT_POLICY else policy.max_attempts,
            max_wait=policy.max_wait,
            max_bytes=self._max_bytes,
            columns=tuple(policy.columns.values()),
        )

    def _enter(
        self,
        news: Sequence[Intention],
        session: AnySession | None,
        insert: Insert,
        *,
        transaction: bool = False,
    ) -> list[Ingested]:
        if session is None:
            with self._not_interrupted():
                made = self._insert_alone(partial(insert, news), transaction=transaction)
                perform([partial(self._entered, news, made)])
            return made
        with joined(session, self._store.engines.dialect) as into:
            made = insert(news, into.connection)
        # Where nobody tells of the commit, the relay finds them.
        if into.after_commit is not None:
            into.after_commit(partial(self._entered, news, made))
        return made

    @contextmanager
    def _not_interrupted(self) -> Iterator[None]:
        """Refuses what could never end: on SQLite the interrupted enqueue would wait for this one, and this for that.

        Raises:
            StoreUnavailable: a signal handler has interrupted an enqueue and enqueues in its turn.
        """
        if self._store.sqlite and getattr(self._of_thread, "inside", False):
            raise StoreUnavailable(
                "A signal handler has interrupted an enqueue of this thread, and SQLite has one writer only: let it set "
                "a flag, and enqueue after it has returned. Nothing was changed."
            )
        self._of_thread.inside = True
        try:
            yield
        finally:
            self._of_thread.inside = False

    def _insert_alone(
        self, insert: Callable[[Connection], list[Ingested]], *, transaction: bool
    ) -> list[Ingested]:
        if transaction:
            return self._store.transact(insert)
        with self._store.single_statement() as connection:
            return insert(connection)

    def _entered(self, news: Sequence[Intention], made: Sequence[Ingested]) -> None:
        """After the commit: count folded duplicates and tell the workers."""
        duplicates = Counter(each.id for each in made if not each.created)
        if duplicates:
            with self._store.write() as connection:
                ingest.count_duplicates(self._store, connection, duplicates)
        if self._tell is not None:
            accounts = {new.account for new, each in zip(news, made, strict=True) if each.to_send}
            if accounts:
                self._tell(sorted(accounts))

    def _insert(self, news: Sequence[Intention], connection: Connection) -> list[Ingested]:
        return [ingest.insert_one(self._store, connection, new) for new in news]

    def _insert_all(self, news: Sequence[Intention], connection: Connection) -> list[Ingested]:
        return ingest.insert_many(self._store, connection, news)

    def _insert_or_revive(self, news: Sequence[Intention], connection: Connection) -> list[Ingested]:
        return [self._insert_or_revive_one(new, connection) for new in news]

    def _insert_or_revive_one(self, new: Intention, connection: Connection) -> Ingested:
        made = ingest.insert_one(self._store, connection, new)
        if made.status != Status.DEAD:
            return made
        epoch = acts.reprocess(
            self._store,
            connection,
            made.id,
            actor=new.origin or "enqueue",
            note="sent again by its producer",
            max_wait=new.max_wait,
            seen_epoch=made.lease_epoch,
        )
        if epoch is None:
            return made
        status = acts.status_of(self._store, connection, made.id) or made.status
        return replace(made, status=status, lease_epoch=epoch, to_send=status == Status.PENDING)
