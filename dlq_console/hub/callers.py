"""Whose transaction does a call join? That of the session or connection which its caller gives."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from dlq_console.errors import StoreUnavailable
from dlq_console.hub.joining import Joined, Way
from dlq_console.hub.raw_connections import RawConnections, is_instance
from dlq_console.hub.refusals import explain
from dlq_console.hub.sqlalchemy_sessions import SqlAlchemySessions


@dataclass(frozen=True, slots=True)
class Door:
    """A call that joins transactions, as error messages name it.

    Attributes:
        call: what was called.
        of_async: what to write for a session for asyncio.
    """

    call: str
    of_async: str


ENQUEUE = Door("enqueue(session=...)", "await hub.aenqueue(..., session=...)")

_ASYNC = ("AsyncSession", "async_scoped_session", "AsyncConnection")
_ways: list[Way] = [SqlAlchemySessions(), RawConnections()]


def register(way: Way) -> None:
    """Let a framework's own way in come before those that the hub has by itself."""
    _ways.insert(0, way)


def is_async(session: object) -> bool:
    """Whether `session` is one of SQLAlchemy's for asyncio."""
    return any(is_instance(session, "sqlalchemy.ext.asyncio", name) for name in _ASYNC)


@contextmanager
def joined(session: object, dialect: str, door: Door = ENQUEUE) -> Iterator[Joined]:
    """Inside the block the transaction of `session` is joined.

    Args:
        session: a Session, a `scoped_session` or a Connection of SQLAlchemy, a DB-API connection, or what a framework
            has registered.
        dialect: name of the hub's own database; the tables can only be in a database of that make.
        door: what was called.

    Raises:
        TypeError: it is something else, or a connection to a database of another make.
        StoreUnavailable: the database refuses in a way that a person has to know about; the sentence says what to do.
    """
    way = _way_of(session, door)
    make = way.dialect(session)
    if make != dialect:
        raise TypeError(
            f"{door.call} joins a transaction of the hub's own {dialect} database, not of one on {make}."
        )
    try:
        with way.join(session) as joined_:
            yield joined_
    except Exception as error:
        sentence = explain(error)
        if sentence is None:
            raise
        raise StoreUnavailable(sentence) from error


def make_of(session: object, door: Door) -> str:
    """The make of the database of `session`: "sqlite", "postgresql" or another.

    Raises:
        TypeError: it is no session or connection.
    """
    return _way_of(session, door).dialect(session)


def _way_of(session: object, door: Door) -> Way:
    for way in _ways:
        if way.takes(session):
            return way
    name = type(session).__name__
    if is_async(session):
        raise TypeError(f"{door.call} does not take an {name}; use: {door.of_async}")
    raise TypeError(
        f"{door.call} takes a SQLAlchemy Session or Connection, or a connection of psycopg, psycopg2, sqlite3 "
        f"or Django, not {name}."
    )
