"""How does an event get in without holding up an event loop?

Whatever waits for a database of the hub's own happens in a thread. The caller's own transaction is joined where it
lives: on the loop, over the caller's async driver.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from sqlalchemy import Connection
from sqlalchemy.orm import Session

from dlq_console.hub.callers import is_async
from dlq_console.hub.enqueue import NewEvent, OnDuplicate
from dlq_console.hub.entrance import Entrance
from dlq_console.store.ingest import Ingested, Intention

if TYPE_CHECKING:
    # Needs a library that only its users have.
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession, async_scoped_session

    AnyAsyncSession = AsyncSession | async_scoped_session[AsyncSession] | AsyncConnection


async def enter(
    entrance: Entrance,
    event: NewEvent,
    session: AnyAsyncSession | None,
    origin: str | None,
    on_duplicate: OnDuplicate,
) -> Ingested:
    """Put one event in, or find the one that exists.

    Raises:
        TypeError: the session is not one for asyncio.
        As `Entrance.enter`.
    """
    if session is None:
        return await asyncio.to_thread(entrance.enter, event, None, origin, on_duplicate)
    if not is_async(session):
        name = type(session).__name__
        raise TypeError(
            f"aenqueue(session=...) takes an AsyncSession or AsyncConnection of SQLAlchemy, not {name}; call `enqueue` in "
            "the thread in which its transaction is open."
        )
    # What is known of the kind is read from the hub's own database.
    new = await asyncio.to_thread(entrance.check, event, origin, on_duplicate)
    return await _one(session).run_sync(partial(_put, entrance, new, on_duplicate))


def _one(session: AnyAsyncSession) -> AsyncSession | AsyncConnection:
    # At the top it would load a library that only users of it have.
    from sqlalchemy.ext.asyncio import async_scoped_session

    return session() if isinstance(session, async_scoped_session) else session


def _put(
    entrance: Entrance, new: Intention, on_duplicate: OnDuplicate, session: Session | Connection
) -> Ingested:
    return entrance.put(new, session, on_duplicate)
