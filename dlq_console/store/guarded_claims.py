"""Claims from an account of which something is guarded: a circuit that is not closed, or limits of its provider.

One account at a time: its doors are locked, what is due is looked at, `choosing.choose` decides what may start, and
each chosen row is taken by a guarded UPDATE. That costs some statements more than the plain claim, which never comes
here; such an account may not go fast anyway.
"""

from __future__ import annotations

import json

from sqlalchemy import Connection

from dlq_console.store import claim_sql, doors
from dlq_console.store.choosing import Candidate, Chosen, Situation, choose, refused_kinds
from dlq_console.store.doors import Door
from dlq_console.store.events import EVENT_COLUMNS, Event, event_from_row
from dlq_console.store.limits import read_limits
from dlq_console.store.scope_names import Scope, account_scope
from dlq_console.store.store import Store

#: Due events of the account that are looked at.
MOST_LOOKED_AT = 100

#: In the order of the primary key, as everybody who locks several.
DOORS = f"""
SELECT {doors.COLUMNS} FROM {{scope}} s
WHERE (s.type = 'account' AND s.name = :account) OR (s.type = 'method' AND s.account = :account)
    OR (s.type = 'provider' AND s.name IN (SELECT k.provider FROM {{kind}} k WHERE k.limits IS NOT NULL))
ORDER BY s.type, s.name
"""
#: Probes are counted by their permits, not by room.
_ROOM = claim_sql.room_sql("CAST(:slots AS integer)", without_workers=1_000_000, probing=False)
ROOM = f"""
SELECT {_ROOM} AS room FROM (SELECT CAST(:account AS text) AS account) a
LEFT JOIN {{scope}} s ON s.type = 'account' AND s.name = a.account WHERE {claim_sql.ACCOUNT_OPEN}
"""
RUNNING = """
SELECT e.kind, count(*) AS running FROM {event} e
WHERE e.status = 'running' AND e.account = :account AND e.lease_until IS NOT NULL GROUP BY e.kind
"""
_DUE = f"""
SELECT e.id, e.kind, e.priority, e.attempts, e.total_attempts, e.lease_epoch FROM {{event}} e
WHERE {claim_sql.READY} AND {claim_sql.NOW_DUE} AND {claim_sql.METHOD_AND_PROVIDER_OPEN} AND {claim_sql.IS_FIRST}
"""
_REFUSED = {
    True: "(SELECT value FROM json_each(:refused))",
    False: "(SELECT jsonb_array_elements_text(CAST(:refused AS jsonb)))",
}
CANDIDATES = f"""{_DUE} AND e.account = :account AND e.priority = :priority AND e.kind NOT IN {{refused_kinds}}
ORDER BY e.account, e.priority, e.next_run_at, e.id LIMIT {MOST_LOOKED_AT}
"""
ONE_CANDIDATE = (
    f"{_DUE} AND e.id = :id AND (CAST(:epoch AS bigint) IS NULL OR e.lease_epoch = CAST(:epoch AS bigint))"
)
TAKE = f"""
UPDATE {{event}} AS e SET {claim_sql.TAKE} WHERE e.id = :id AND {claim_sql.READY}
RETURNING {", ".join(EVENT_COLUMNS)}
"""
#: Its message was for nothing: the relay sends another one when there is room again.
FORGET_MESSAGE = """
UPDATE {event} SET dispatched_at = NULL, dispatch_count = 0 WHERE id = :id AND status IN ('pending', 'failed')
"""


def claim_guarded(
    store: Store, account: str, *, worker: str, limit: int, slots: int, lease_seconds: float
) -> list[Event]:
    """Take up to `limit` due events of a guarded account, as its doors allow."""
    with store.write() as connection:
        situation = _situation(store, connection, account, slots, limit)
        due = _due(store, connection, account, situation)
        return _take(store, connection, choose(due, situation, by=worker), worker, lease_seconds)


def claim_one_guarded(
    store: Store,
    account: str,
    event_id: int,
    *,
    epoch: int | None,
    worker: str,
    slots: int,
    lease_seconds: float,
) -> Event | None:
    """Take one event of a guarded account by its id, as its doors allow."""
    with store.write() as connection:
        situation = _situation(store, connection, account, slots, 1)
        asked = {"id": event_id, "epoch": epoch}
        due = [Candidate(*row) for row in connection.execute(store.statement(ONE_CANDIDATE), asked)]
        taken = _take(store, connection, choose(due, situation, by=worker), worker, lease_seconds)
        if not taken:
            connection.execute(store.statement(FORGET_MESSAGE), {"id": event_id})
        return taken[0] if taken else None


def _situation(store: Store, connection: Connection, account: str, slots: int, limit: int) -> Situation:
    found, now = _locked_doors(store, connection, account)
    if account_scope(account) not in found:
        # Its row is what keeps two workers from choosing at the same moment.
        doors.create(store, connection, account_scope(account))
        found, now = _locked_doors(store, connection, account)
    room = connection.execute(store.statement(ROOM), {"account": account, "slots": slots}).scalar() or 0
    running = connection.execute(store.statement(RUNNING), {"account": account}).all()
    return Situation(
        account=account_scope(account),
        room=min(limit, room),
        doors=found,
        limits=read_limits(store, connection),
        running={row.kind: row.running for row in running},
        now=now,
    )


def _locked_doors(store: Store, connection: Connection, account: str) -> tuple[dict[Scope, Door], float]:
    locked = DOORS if store.sqlite else DOORS + " FOR NO KEY UPDATE"
    read = [
        doors.from_row(row)
        for row in connection.execute(store.statement(locked), {"account": account}).mappings()
    ]
    return {door.scope: door for door, _ in read}, max((now for _, now in read), default=0.0)


def _due(store: Store, connection: Connection, account: str, situation: Situation) -> list[Candidate]:
    """The head of the account's line, in the order in which it is served."""
    due: list[Candidate] = []
    if situation.room < 1:
        return due
    template = CANDIDATES.replace("{refused_kinds}", _REFUSED[store.sqlite])
    refused = json.dumps(refused_kinds(situation))
    for priority in (claim_sql.LIVE, claim_sql.RETRY, claim_sql.BULK):
        asked = {"account": account, "priority": priority, "refused": refused}
        due += [Candidate(*row) for row in connection.execute(store.statement(template), asked)]
    return due


def _take(
    store: Store, connection: Connection, chosen: Chosen, worker: str, lease_seconds: float
) -> list[Event]:
    # The doors first: a probe is known by having started after its door was written.
    for before, after in chosen.changed:
        if before.is_new:
            doors.create(store, connection, before.scope)
        doors.save(store, connection, before, after, chosen.now)
    events = []
    for id_ in chosen.ids:
        asked = {"id": id_, "worker": worker, "lease_seconds": lease_seconds}
        row = connection.execute(store.statement(TAKE), asked).mappings().first()
        if row is not None:
            events.append(event_from_row(row, store.queue(row["account"], row["lane"])))
    return events
