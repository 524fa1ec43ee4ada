"""How to act once somebody else's transaction has committed, and only then.

SQLAlchemy tells of a commit before it happens. So the commit is only noted, and the acts follow at the next sign that
it went through: the connection goes back to its pool, or begins anew. A commit that fails is followed by a rollback,
which drops them; so does the rollback of the savepoint in which they were asked for. Listening on the connection
rather than on a Session serves both, also a Session that joined an outer transaction.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Engine, event

logger = logging.getLogger(__name__)

Act = Callable[[], None]
_KEY = "dlq_console.after_commit"


@dataclass
class _Pending:
    """What is to be done for one connection, and how much of it each open savepoint found there."""

    acts: list[Act] = field(default_factory=list)
    savepoints: list[tuple[str, int]] = field(default_factory=list)
    committed: bool = False


def after_commit(connection: Connection, act: Act) -> None:
    """Call `act` when the transaction of `connection` has committed. An error of `act` is logged, never raised."""
    _listen(connection.engine)
    connection.info.setdefault(_KEY, _Pending()).acts.append(act)


def _listen(engine: Engine) -> None:
    if event.contains(engine, "commit", _on_commit):
        return
    event.listen(engine, "commit", _on_commit)
    event.listen(engine, "rollback", _on_rollback)
    event.listen(engine, "savepoint", _on_savepoint)
    event.listen(engine, "rollback_savepoint", _on_rollback_savepoint)
    event.listen(engine, "release_savepoint", _on_release_savepoint)
    event.listen(engine, "begin", _on_begin)
    event.listen(engine, "checkin", _on_checkin)


def _on_commit(connection: Connection) -> None:
    pending = connection.info.get(_KEY)
    if pending is not None:
        pending.committed = True


def _on_rollback(connection: Connection) -> None:
    connection.info.pop(_KEY, None)


def _on_savepoint(connection: Connection, name: str) -> None:
    pending = connection.info.get(_KEY)
    if pending is not None:
        pending.savepoints.append((name, len(pending.acts)))


def _on_rollback_savepoint(connection: Connection, name: str, _context: Any) -> None:
    pending = connection.info.get(_KEY)
    if pending is None:
        return
    # A name we do not know was opened before anything was asked for, so all of it came later.
    depth = next((depth for depth, mark in enumerate(pending.savepoints) if mark[0] == name), None)
    found = 0 if depth is None else pending.savepoints[depth][1]
    del pending.acts[found:]
    del pending.savepoints[depth or 0 :]


def _on_release_savepoint(connection: Connection, name: str, _context: Any) -> None:
    pending = connection.info.get(_KEY)
    if pending is not None:
        pending.savepoints = [mark for mark in pending.savepoints if mark[0] != name]


def _on_begin(connection: Connection) -> None:
    _perform(connection.info)


def _on_checkin(_dbapi_connection: Any, record: Any) -> None:
    _perform(record.info)


def _perform(info: dict[Any, Any]) -> None:
    pending = info.get(_KEY)
    if pending is None or not pending.committed:
        return
    del info[_KEY]
    for act in pending.acts:
        try:
            act()
        except Exception:
            logger.exception("after the commit: the relay will send what could not be sent now")
