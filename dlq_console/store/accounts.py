"""Which accounts are there: those with work waiting, those that have a queue of their own, those of which anything is known?"""

from __future__ import annotations

from dataclasses import dataclass

from dlq_console.store.internal import OWN_ACCOUNT
from dlq_console.store.queries.distinct import distinct_sql
from dlq_console.store.store import Store

#: More accounts than a worker could serve.
MOST = 100_000

#: The lane as `lane_names.lane_name` spells it; sorted as its index is, so that no other one is read.
_SERIAL = """
EXISTS (
    SELECT 1 FROM {event} o WHERE o.lane = replace(replace(a.name, '%', '%25'), '|', '%7C') || '|*'
        AND o.status IN ('pending', 'failed', 'running') AND o.lane IS NOT NULL ORDER BY o.lane, o.id LIMIT 1
)
"""
WAITING = f"""
SELECT a.name, {_SERIAL} AS serial
FROM ({distinct_sql("account, priority, next_run_at", "status IN ('pending', 'failed')", MOST)}) AS a ORDER BY a.name
"""

# Sorted as an index is, so that an account without an event is not looked for in all of them.
KNOWN = """
SELECT ((SELECT e.id FROM {event} e WHERE e.account = :account ORDER BY e.account, e.id LIMIT 1) IS NOT NULL
    OR EXISTS (SELECT 1 FROM {scope} s WHERE s.type = 'account' AND s.name = :account))
    AND (CAST(:kind AS text) IS NULL OR EXISTS (SELECT 1 FROM {kind} k WHERE k.name = CAST(:kind AS text))
        OR EXISTS (SELECT 1 FROM {scope} s WHERE s.type = 'method' AND s.account = :account AND s.kind = CAST(:kind AS text)))
"""


@dataclass(frozen=True, slots=True)
class WaitingAccount:
    """An account of which events wait to be run.

    Attributes:
        name: the account.
        serial: whether something is open in its serial lane.
    """

    name: str
    serial: bool


def waiting_accounts(store: Store) -> list[WaitingAccount]:
    """The accounts of events that wait to be run, by name: a look-up or two in an index for each."""
    with store.read() as connection:
        rows = connection.execute(store.statement(WAITING)).all()
    return [WaitingAccount(row.name, bool(row.serial)) for row in rows if row.name != OWN_ACCOUNT]


def last_with_own_queue(store: Store, most: int) -> str | None:
    """The last by name of the first `most` accounts of which events are kept; None where there are no more than that."""
    walk = distinct_sql("account, id", "account IS NOT NULL", most + 1)
    with store.read() as connection:
        names = sorted(connection.execute(store.statement(walk)).scalars())
    return names[most - 1] if len(names) > most else None


def is_known(store: Store, account: str, kind: str | None = None) -> bool:
    """Whether there are events of an account, or anything is written down about it; with `kind`, of that as well."""
    with store.read() as connection:
        asked = {"account": account, "kind": kind}
        return bool(connection.execute(store.statement(KNOWN), asked).scalar())
