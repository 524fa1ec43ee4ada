"""How to act once somebody else's transaction has committed, and only then.

SQLAlchemy tells of a commit before it happens. So the commit is only noted, and the acts follow at the next sign that
it went through: the connection goes back to its pool, or begins anew. A commit that fails drops them; so does the
rollback of the transaction, or of the savepoint in which they were asked for. Listening on the connection rather than
on a Session serves both, also a Session that joined an outer transaction.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from sqlalchemy import Connection, Engine, ExceptionContext, event

logger = logging.getLogger(__name__)

Act = Callable[[], None]
_KEY = "dlq_console.after_commit"


@dataclass
class _Pending:
    """What is to be done for one connection, each with the savepoints in which it was asked for."""

    acts: list[tuple[Act, frozenset[str]]] = field(default_factory=list)
    committed: bool = False


def after_commit(connection: Connection, act: Act) -> None:
    """Call `act` when the transaction of `connection` has committed. An error of `act` is logged, never raised."""
    if connection.dialect.is_async:
        act = partial(_beside_the_loop, act)
    if commits_by_itself(connection):
        perform([act])
        return
    _listen(connection.engine)
    connection.info.setdefault(_KEY, _Pending()).acts.append((act, _savepoints(connection)))


def commits_by_itself(connection: Connection) -> bool:
    """Whether each statement of `connection` is committed by itself, by its own options or by those of its engine."""
    # SQLAlchemy tells of the engine's options nowhere else.
    return connection._is_autocommit_isolation()  # noqa: SLF001


def perform(acts: Iterable[Act]) -> None:
    """Do what was waiting for a commit. It has happened, so an error is logged and never raised."""
    for act in acts:
        try:
            act()
        except Exception:
            logger.exception("after the commit: the relay will send what could not be sent now")


def _beside_the_loop(act: Act) -> None:
    """Do it in a thread: it may wait for a broker or a database, and the event loop serves others meanwhile."""
    _ = asyncio.get_running_loop().run_in_executor(None, perform, [act])


def _listen(engine: Engine) -> None:
    if event.contains(engine, "commit", _on_commit):
        return
    event.listen(engine, "commit", _on_commit)
    event.listen(engine, "commit_twophase", _on_commit_twophase)
    event.listen(engine, "handle_error", _on_error)
    event.listen(engine, "rollback", _on_rollback)
    event.listen(engine, "rollback_twophase", _on_rollback_twophase)
    event.listen(engine, "rollback_savepoint", _on_rollback_savepoint)
    event.listen(engine, "checkin", _on_checkin)
    if not event.contains(Engine, "begin", _on_begin):
        # For all engines, because such listeners come first: one of the caller's own may take SQLite's only write lock.
        event.listen(Engine, "begin", _on_begin)


def _on_commit(connection: Connection) -> None:
    pending = connection.info.get(_KEY)
    if pending is not None:
        pending.committed = True


def _on_commit_twophase(connection: Connection, _xid: Any, _is_prepared: bool) -> None:
    _on_commit(connection)


def _on_error(context: ExceptionContext) -> None:
    connection = context.connection
    if connection is None or connection.closed or connection.invalidated:
        return
    pending = connection.info.get(_KEY)
    # No statement can come between a commit and the begin that follows it, so it was the commit that failed.
    if pending is not None and pending.committed:
        del connection.info[_KEY]


def _on_rollback(connection: Connection) -> None:
    # Of a connection that was lost SQLAlchemy tells nothing any more, and its pool forgets what was noted on it.
    if not connection.invalidated:
        connection.info.pop(_KEY, None)


def _on_rollback_twophase(connection: Connection, _xid: Any, _is_prepared: bool) -> None:
    _on_rollback(connection)


def _on_rollback_savepoint(connection: Connection, name: str, _context: Any) -> None:
    pending = None if connection.invalidated else connection.info.get(_KEY)
    if pending is not None:
        pending.acts = [(act, savepoints) for act, savepoints in pending.acts if name not in savepoints]


def _savepoints(connection: Connection) -> frozenset[str]:
    """The names of the savepoints that are open now."""
    names = []
    nested = connection.get_nested_transaction()
    while nested is not None:
        # SQLAlchemy tells the name nowhere else: its event comes before the name is made.
        names.append(nested._savepoint)  # noqa: SLF001
        nested = nested._previous_nested  # noqa: SLF001
    return frozenset(names)


def _on_begin(connection: Connection) -> None:
    _perform(connection.info)


def _on_checkin(_dbapi_connection: Any, record: Any) -> None:
    _perform(record.info)


def _perform(info: dict[Any, Any]) -> None:
    pending = info.get(_KEY)
    if pending is not None and pending.committed:
        del info[_KEY]
        perform(act for act, _ in pending.acts)
