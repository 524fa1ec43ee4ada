"""How is a transaction of Django joined, and why does a handler never meet a connection that has died?"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from functools import partial

from asgiref.sync import sync_to_async
from django.db import close_old_connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils.connection import ConnectionProxy

from dlq_console.hub.after_commit import Act, perform
from dlq_console.hub.joining import Joined
from dlq_console.hub.raw_connections import RawConnections


class DjangoConnections:
    """The way in for what Django gives as `connection` or `connections[alias]`."""

    def __init__(self) -> None:
        self._raw = RawConnections()

    def takes(self, session: object) -> bool:
        """Whether it is Django's."""
        return isinstance(session, (BaseDatabaseWrapper, ConnectionProxy))

    def dialect(self, session: BaseDatabaseWrapper) -> str:
        """The make of its database."""
        return self._raw.dialect(session)

    @contextmanager
    def join(self, session: BaseDatabaseWrapper) -> Iterator[Joined]:
        """Inside the block its transaction is joined; without one it is given one, as `atomic` does."""
        if session.in_atomic_block:
            with self._raw.join(session) as joined:
                yield Joined(joined.connection, partial(_on_commit, session))
        elif session.get_autocommit():
            with transaction.atomic(using=session.alias), self.join(session) as joined:
                yield replace(joined, own_transaction=True)
        else:
            # Whoever manages transactions by hand is told of no commit by Django either.
            with self._raw.join(session) as joined:
                yield joined


def _on_commit(session: BaseDatabaseWrapper, act: Act) -> None:
    session.on_commit(lambda: perform([act]))


@contextmanager
def fresh() -> Iterator[None]:
    """As around a request: connections that have died or are too old are replaced."""
    close_old_connections()
    try:
        yield
    finally:
        close_old_connections()


@asynccontextmanager
async def afresh() -> AsyncIterator[None]:
    """The same for an async handler; its queries run in a thread of Django's, which has connections of its own."""
    close = sync_to_async(close_old_connections)
    await close()
    try:
        yield
    finally:
        await close()
