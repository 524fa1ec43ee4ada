"""How many events does the table say the broker knows of? Those that were sent and wait, and those that run."""

from __future__ import annotations

from dataclasses import dataclass

from dlq_console.store.accounts import MOST
from dlq_console.store.lane_names import SERIAL_LANE
from dlq_console.store.queries.distinct import distinct_sql
from dlq_console.store.store import Store

#: Credit is spent from the head of an account's line, so what was sent stands there.
HEAD = 600
#: Running events of one account that are counted.
MOST_RUNNING = 1_000

_WAITING = distinct_sql("account, priority, next_run_at", "status IN ('pending', 'failed')", MOST)
_RUNNING = distinct_sql("account, lease_until, id", "status = 'running'", MOST)
_HEAD = f"""(SELECT count(*) FROM (
        SELECT e.dispatched_at, e.lane FROM {{event}} e WHERE e.status IN ('pending', 'failed') AND e.account = a.name
        ORDER BY e.account, e.priority, e.next_run_at, e.id LIMIT {HEAD}
    ) AS head WHERE head.dispatched_at IS NOT NULL %s)"""
SENT = f"""
SELECT a.name, {_HEAD % ""} AS sent, {_HEAD % f"AND head.lane LIKE '%{SERIAL_LANE}'"} AS serial,
    (SELECT count(*) FROM (
        SELECT 1 FROM {{event}} r WHERE r.status = 'running' AND r.account = a.name
        ORDER BY r.account, r.lease_until, r.id LIMIT {MOST_RUNNING}
    ) AS busy) AS running
FROM (SELECT name FROM ({_WAITING}) AS w UNION SELECT name FROM ({_RUNNING}) AS r) AS a ORDER BY a.name
"""


@dataclass(frozen=True, slots=True)
class Dispatched:
    """Events of one account of which the broker was told.

    Attributes:
        sent: have a message on its way and wait to be claimed.
        serial: those of them that travel on the queue of the serial lane.
        running: are being run; their messages are not acknowledged yet.
    """

    account: str
    sent: int
    serial: int
    running: int


def dispatched(store: Store) -> list[Dispatched]:
    """What was sent and what runs, of every account with either work or a run."""
    with store.read() as connection:
        rows = connection.execute(store.statement(SENT)).all()
    return [Dispatched(row.name, int(row.sent), int(row.serial), int(row.running)) for row in rows]
