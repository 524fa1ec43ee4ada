"""How often has a circuit opened, and what has it gone through? From the transitions that are written down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from dlq_console.store.events import read_time
from dlq_console.store.scope_names import Scope, account_scope
from dlq_console.store.store import Store

#: How far back the log of a circuit goes.
LOG = timedelta(days=30)
#: Most transitions of one circuit that are read, and most openings of all of them that are counted; the newest ones.
MOST_MOVES, MOST_OPENINGS = 2_000, 20_000

# The state "open" is entered once per opening; a person's decision leaves it as it is.
OPENINGS = f"""
SELECT type, name, count(*) AS number FROM (
    SELECT type, name, before, after FROM {{scope_change}} WHERE at > {{now}} - {{interval[86400]}}
    ORDER BY at DESC LIMIT {MOST_OPENINGS}
) AS newest WHERE after = 'open' AND before <> 'open' GROUP BY type, name
"""
MOVES = f"""
SELECT at, before, after, why, actor FROM {{scope_change}}
WHERE type = :type AND name = :name AND at > {{now}} - {{interval[{int(LOG.total_seconds())}]}}
ORDER BY generation DESC LIMIT {MOST_MOVES}
"""


@dataclass(frozen=True, slots=True)
class Move:
    """A circuit changed, or a person's decision about it did: `before` and `after` are then the same."""

    at: datetime
    before: str
    after: str
    why: str
    by: str


def openings(store: Store) -> Mapping[tuple[str, str], int]:
    """How often each circuit of the hub has opened in the last 24 hours, by type and name of its scope."""
    with store.read() as connection:
        rows = connection.execute(store.statement(OPENINGS)).all()
    return {(row.type, row.name): row.number for row in rows}


def circuit_moves(store: Store, scope: Scope) -> tuple[Move, ...]:
    """What one circuit of the hub went through in the last 30 days, newest first."""
    with store.read() as connection:
        rows = connection.execute(store.statement(MOVES), {"type": scope.type, "name": scope.name}).all()
    return tuple(
        Move(at, row.before, row.after, row.why, row.actor)
        for row in rows
        if (at := read_time(row.at)) is not None
    )


def account_moves(store: Store, account: str) -> tuple[Move, ...]:
    """The same of the circuit of an account."""
    return circuit_moves(store, account_scope(account))
