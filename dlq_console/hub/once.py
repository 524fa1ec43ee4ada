"""How does an effect in the caller's own database happen once, however often its handler runs?"""

from __future__ import annotations

from functools import cache

from dlq_console.hub import callers
from dlq_console.hub.callers import Door
from dlq_console.hub.enqueue import AnySession
from dlq_console.settings import read_settings
from dlq_console.store.once import mark
from dlq_console.store.store import Store

_DOOR = Door("once(session, key)", "await session.run_sync(once, key)")
_MAKES = ("postgresql", "sqlite")


def once(session: AnySession, key: str, *, scope: str = "") -> bool:
    """Whether what `key` stands for is still to be done; if so, it counts as done when this transaction commits.

        with Session(engine) as session, session.begin():
            if once(session, event.effect_key):
                session.add(Booking(...))

    A mark is written in the transaction of `session`, so the mark and the effect are kept together or not at all. Of two
    transactions that come with one key at the same moment, the second one waits for the first: it gets False if that
    commits, and True if it rolls back. A second call in the same transaction gets False. For effects elsewhere, such as
    a call to an outside system, it promises nothing.

    Args:
        session: what `Hub.enqueue` takes, in a transaction on the database that holds the hub's tables.
        key: names the effect; `event.effect_key` for one that belongs to an event.
        scope: keeps apart effects that might have equal keys, at most 120 characters.

    Raises:
        ValueError: `session` commits each statement by itself.
        TypeError: `session` is something else, or on a database of another make.
        PayloadRefused: key or scope is no text that can be stored.
        StoreUnavailable: the database refuses; the sentence says what to do.
        ConfigurationError: a setting is wrong. The prefix of the tables is that of the environment, DLQ_TABLE_PREFIX; a
            hub that was given other settings has `hub.once`.
    """
    make = callers.make_of(session, _DOOR)
    if make not in _MAKES:
        raise TypeError(f"{_DOOR.call} needs a database on PostgreSQL or SQLite, not on {make}.")
    return _once(session, key, scope, _prefix(), make)


def once_in(store: Store, session: AnySession, key: str, *, scope: str) -> bool:
    """As `once`, for the tables of `store`."""
    return _once(session, key, scope, store.tables.prefix, store.engines.dialect)


def _once(session: AnySession, key: str, scope: str, prefix: str, make: str) -> bool:
    with callers.joined(session, make, _DOOR) as into:
        if into.own_transaction:
            raise ValueError(
                f"{_DOOR.call} needs a transaction, and this connection commits each statement by itself: begin one, so "
                "that the mark and the effect are committed together."
            )
        return mark(into.connection, prefix, make, key=key, scope=scope)


@cache
def _prefix() -> str:
    return read_settings().table_prefix
