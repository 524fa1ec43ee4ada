"""What does it take to join somebody else's transaction? Statements run on its connection, and word of its commit.

There is a `Way` for each kind of session or connection. Frameworks bring theirs in `dlq_console.contrib` and register
it; the hub itself knows no framework.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from sqlalchemy import Connection

from dlq_console.hub.after_commit import Act


@dataclass(frozen=True, slots=True)
class Joined:
    """A transaction that an enqueue takes part in.

    Attributes:
        connection: what the statements of the store are executed on.
        after_commit: has something done once the transaction has committed; None where nobody tells of the commit, so
            that the relay has to look.
        own_transaction: whether it is one for the block alone, because the connection commits each statement by itself.
    """

    connection: Connection
    after_commit: Callable[[Act], None] | None
    own_transaction: bool = False


class Way(Protocol):
    """How the transaction of one kind of session is joined."""

    def takes(self, session: object) -> bool:
        """Whether `session` is of this kind."""

    def dialect(self, session: Any) -> str:
        """The make of its database: "sqlite", "postgresql" or another."""

    def join(self, session: Any) -> AbstractContextManager[Joined]:
        """Inside the block the transaction is joined.

        A connection that commits each statement by itself is given a transaction for the block, so that an enqueue of
        several statements is whole or absent.
        """
