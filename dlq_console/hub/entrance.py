"""How events come in: checked, written in the right transaction, and told to the workers after its commit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from sqlalchemy import Connection

from dlq_console.hub.after_commit import after_commit, perform
from dlq_console.hub.enqueue import AnySession, NewEvent, OnDuplicate, connection_of
from dlq_console.hub.policy import DEFAULT_POLICY, Policy
from dlq_console.store import ingest, transitions
from dlq_console.store.ingest import Ingested, Intention
from dlq_console.store.keys import MAX_KIND, check_text
from dlq_console.store.states import Status
from dlq_console.store.store import Store

#: Tells the workers of new events.
Tell = Callable[[Sequence[tuple[Intention, Ingested]]], None]


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

    def enter(
        self, event: NewEvent, session: AnySession | None, origin: str | None, on_duplicate: OnDuplicate
    ) -> Ingested:
        """Put one event in, or find the one that exists."""
        new = self._checked(event, origin)
        if on_duplicate == "return":
            return self._enter([new], session, partial(self._insert, new))[0]
        return self._enter([new], session, partial(self._insert_or_revive, new), transaction=True)[0]

    def enter_many(
        self, events: Sequence[NewEvent], session: AnySession | None, origin: str | None
    ) -> list[Ingested]:
        """Put all in, or none; the answers stand in the order of the events."""
        news = [self._checked(event, origin) for event in events]
        return self._enter(news, session, partial(self._insert_all, news), transaction=True) if news else []

    def _checked(self, new: NewEvent, origin: str | None) -> Intention:
        # As handlers write it, so that a producer's slip of the hand finds the policy too.
        kind = check_text(new.kind, "kind", max_length=MAX_KIND)
        policy = self._policy(kind)
        return ingest.intention(
            kind=kind,
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
            max_bytes=self._max_bytes,
            sent=self._tell is not None,
        )

    def _enter(
        self,
        news: Sequence[Intention],
        session: AnySession | None,
        insert: Callable[[Connection], list[Ingested]],
        *,
        transaction: bool = False,
    ) -> list[Ingested]:
        if session is not None:
            connection = connection_of(session, self._store.engines.dialect)
            made = insert(connection)
            after_commit(connection, partial(self._entered, news, made))
        else:
            made = self._store.transact(insert) if transaction else self._in_one_statement(insert)
            perform([partial(self._entered, news, made)])
        return made

    def _entered(self, news: Sequence[Intention], made: Sequence[Ingested]) -> None:
        """After the commit: count folded duplicates and tell the workers."""
        duplicates = Counter(each.id for each in made if not each.created)
        if duplicates:
            with self._store.write() as connection:
                ingest.count_duplicates(self._store, connection, duplicates)
        if self._tell is not None:
            self._tell([(new, each) for new, each in zip(news, made, strict=True) if each.to_send])

    def _in_one_statement(self, insert: Callable[[Connection], list[Ingested]]) -> list[Ingested]:
        with self._store.single_statement() as connection:
            return insert(connection)

    def _insert(self, new: Intention, connection: Connection) -> list[Ingested]:
        return [ingest.insert_one(self._store, connection, new)]

    def _insert_all(self, news: Sequence[Intention], connection: Connection) -> list[Ingested]:
        return ingest.insert_many(self._store, connection, news)

    def _insert_or_revive(self, new: Intention, connection: Connection) -> list[Ingested]:
        made = ingest.insert_one(self._store, connection, new)
        if made.status != Status.DEAD:
            return [made]
        epoch = transitions.reprocess(
            self._store,
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
