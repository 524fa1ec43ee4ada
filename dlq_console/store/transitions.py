"""How a run ends: one guarded UPDATE each, with its attempt row, in one transaction. What people do is in `acts.py`.

Every write of a worker names the epoch of its claim. The epoch only grows, so a worker that lost its lease changes
nothing, whatever it finds out. No row changed means that somebody else was first: walk away.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

from sqlalchemy import Connection

from dlq_console.store import acts, doors
from dlq_console.store.claim_sql import RETRY
from dlq_console.store.direct import execute
from dlq_console.store.door_acts import ACCOUNT_CIRCUIT, is_probe, reported
from dlq_console.store.doors import DoorChange
from dlq_console.store.ending import (
    BURY,
    COMPLETE,
    COMPLETED,
    HELD,
    NO_JUDGEMENT,
    Circuit,
    Ending,
    Failure,
    Judgement,
    asked,
    buried,
    completed,
    released,
    retried,
    superseded,
)
from dlq_console.store.events import Event
from dlq_console.store.field_rows import keep_configured
from dlq_console.store.fingerprints import fingerprint
from dlq_console.store.lanes import promote
from dlq_console.store.scope_names import Scope, account_scope
from dlq_console.store.states import Outcome, Status
from dlq_console.store.store import Store

__all__ = [
    "Circuit",
    "Ending",
    "Failure",
    "Judgement",
    "asked",
    "buried",
    "completed",
    "end",
    "end_in",
    "end_many",
    "released",
    "retried",
    "superseded",
]

#: Added to the guard where only a lapsed lease may be ended by somebody else.
_LAPSED = " AND lease_until < {now}"

ATTEMPT = """
INSERT INTO {attempt} (event_id, cycle, number, lease_epoch, kind, account, due_at, started_at, ended_at, outcome,
    error_type, error, traceback, verdict, fingerprint, wait_seconds, worker, effect, reach, wait_source, rule,
    rules_version, answer)
SELECT CAST(:id AS bigint), CAST(:cycle AS integer), CAST(:number AS integer), CAST(:epoch AS bigint),
    CAST(:kind AS text), CAST(:account AS text), CAST(:due_at AS {time}), CAST(:started_at AS {time}), {now},
    CAST(:outcome AS text), CAST(:error_type AS text), CAST(:error AS text), CAST(:traceback AS text),
    CAST(:verdict AS text), CAST(:fingerprint AS text), CAST(:wait AS double precision), CAST(:worker AS text),
    CAST(:effect AS text), CAST(:reach AS text), CAST(:wait_source AS text), CAST(:rule AS text),
    CAST(:rules_version AS text), CAST(:answer AS text)
"""
#: The attempt of a plain completion says nothing that its row does not say.
_DONE_ATTEMPT = f"""
INSERT INTO {{attempt}} (event_id, cycle, number, lease_epoch, kind, account, due_at, started_at, ended_at, outcome, worker)
SELECT id, cycle, attempts, lease_epoch, kind, account, due_at, started_at, {{now}}, '{Outcome.DONE}', worker FROM changed
"""
#: Where the account's circuit has something to learn from a success, the short forms do nothing.
_UNWATCHED = (
    "NOT EXISTS (SELECT 1 FROM {scope} w WHERE w.type = 'account' AND w.name = e.account AND w.watched > 0)"
)
IS_WATCHED = "SELECT 1 FROM {scope} w WHERE w.type = :type AND w.name = :name AND w.watched > 0"
#: By far the most frequent ending of all, so it has a short form.
COMPLETE_ONE = f"""
WITH changed AS (
    UPDATE {{event}} AS e SET {COMPLETED} WHERE {HELD} AND {_UNWATCHED} RETURNING *, CAST(:worker AS text) AS worker
) {_DONE_ATTEMPT}
"""
#: Many of them by one statement, their rows locked in the order of ids.
COMPLETE_MANY = f"""
WITH held AS MATERIALIZED (
    SELECT e.id, e.lease_owner, r.result
    FROM jsonb_to_recordset(CAST(:runs AS jsonb)) AS r(id bigint, epoch bigint, result text)
    JOIN {{event}} e ON e.id = r.id AND e.status = 'running' AND e.lease_epoch = r.epoch AND {_UNWATCHED}
    ORDER BY e.id FOR NO KEY UPDATE OF e
), changed AS (
    UPDATE {{event}} AS e SET {COMPLETED.replace(":result", "held.result")} FROM held WHERE e.id = held.id
    RETURNING e.*, held.lease_owner AS worker
) {_DONE_ATTEMPT} RETURNING event_id, lease_epoch
"""

#: Sorted as the index of ready events is, so that no other one is read.
OTHERS_FAIL = f"""
SELECT 1 FROM {{event}} e WHERE e.status IN ('pending', 'failed') AND e.status = 'failed' AND e.account = :account
    AND e.priority = {RETRY} AND e.id <> :id ORDER BY e.account, e.priority, e.next_run_at, e.id LIMIT 1
"""


def end(store: Store, event: Event, ending: Ending, *, lapsed_only: bool = False) -> bool:
    """End the run of `event`, as claimed, in a transaction of its own.

    Args:
        store: the store.
        event: the event as the claim returned it; its epoch is the proof of ownership.
        ending: how it ends.
        lapsed_only: for those who do not hold the lease: only if it has lapsed.

    Returns:
        False when this run no longer owns the event; then nothing was changed.
    """
    if not store.sqlite and event.lane is None and _is_plain(ending) and not lapsed_only:
        mine = {"id": event.id, "epoch": event.lease_epoch, "worker": event.lease_owner}
        with store.single_statement() as connection:
            if execute(store, connection, COMPLETE_ONE, ending.values | mine).rowcount == 1:
                return True
    with store.write() as connection:
        return end_in(store, connection, event, ending, lapsed_only=lapsed_only)


def end_in(
    store: Store, connection: Connection, event: Event, ending: Ending, *, lapsed_only: bool = False
) -> bool:
    """`end` in the transaction of `connection`: the event, its attempt, its lane, and the doors that hear of it."""
    ending = _as_it_is(store, connection, event, ending)
    ended = _end_in(store, connection, event, ending, lapsed_only=lapsed_only)
    if ended:
        doors.change_all(store, connection, _heard_by_doors(store, connection, event, ending))
    return ended


def _heard_by_doors(store: Store, connection: Connection, event: Event, ending: Ending) -> list[DoorChange]:
    """What the end of a run does to doors: to the circuit that hears it, and what the ending names itself."""
    circuit = _circuit_of(event, ending)
    changes = list(ending.doors)
    if ending.evidence.failed or circuit.counts_successes or _is_watched(store, connection, circuit.scope):
        by = event.lease_owner or ""
        changes.append(DoorChange(circuit.scope, reported(event, ending.evidence, circuit.config, by)))
    return changes


def _as_it_is(store: Store, connection: Connection, event: Event, ending: Ending) -> Ending:
    """The ending, or the one for the probe of a circuit behind which others fail too: that is no failure of its own.

    The door need not be locked for that: nobody but this run gives its permit back, and it gets none later.
    """
    if ending.as_probe is None:
        return ending
    door = doors.look(store, connection, _circuit_of(event, ending).scope)
    if door is None or not is_probe(door, event):
        return ending
    of_event = {"id": event.id, "account": event.account}
    alone = connection.execute(store.statement(OTHERS_FAIL), of_event).first() is None
    return ending if alone else ending.as_probe


def _circuit_of(event: Event, ending: Ending) -> Circuit:
    """The circuit that hears how the run ended."""
    return ending.circuit or Circuit(account_scope(event.account), ACCOUNT_CIRCUIT)


def _is_watched(store: Store, connection: Connection, scope: Scope) -> bool:
    named = {"type": scope.type, "name": scope.name}
    return connection.execute(store.statement(IS_WATCHED), named).first() is not None


def _end_in(
    store: Store, connection: Connection, event: Event, ending: Ending, *, lapsed_only: bool = False
) -> bool:
    """The event and its attempt; the next event of its lane is let go in the same transaction."""
    ended = _write_end(store, connection, event, ending, lapsed_only=lapsed_only)
    if ended and ending.audited is not None:
        action, subject = ending.audited
        acts.record(
            store,
            connection,
            actor="hub",
            action=action,
            event_id=event.id,
            subject=subject,
            before=Status.RUNNING,
            after=Status.DISCARDED,
        )
    if ended and ending.template == BURY:
        keep_configured(store, connection, event.id, event.kind)
    if ended and event.lane is not None and ending.is_last:
        promote(store, connection, event.lane)
    return ended


def _write_end(
    store: Store, connection: Connection, event: Event, ending: Ending, *, lapsed_only: bool
) -> bool:
    update = ending.template + (_LAPSED if lapsed_only else "")
    parameters = ending.values | _attempt(event, ending)
    if ending.outcome is Outcome.RELEASED and ending.failure is None:
        return connection.execute(store.statement(update), parameters).rowcount == 1
    if store.sqlite:
        if connection.execute(store.statement(update), parameters).rowcount == 0:
            return False
        connection.execute(store.statement(ATTEMPT), parameters)
        return True
    # One round trip: the attempt row is written if, and only if, the event was still ours.
    both = store.statement(f"WITH changed AS ({update} RETURNING id) {ATTEMPT} FROM changed")
    return connection.execute(both, parameters).rowcount == 1


def end_many(store: Store, runs: Sequence[tuple[Event, Ending]]) -> list[bool]:
    """End several runs in one transaction, which is far cheaper than one each.

    Each is guarded by its own epoch: one that no longer owns its event changes nothing and disturbs no other.

    Returns:
        What `end` would have returned for each, in the order given.
    """
    ended = store.transact(lambda connection: _end_many(store, connection, runs))
    return [_proof(event) in ended for event, _ in runs]


def _end_many(
    store: Store, connection: Connection, runs: Sequence[tuple[Event, Ending]]
) -> set[tuple[int, int]]:
    ended: set[tuple[int, int]] = set()
    heard: list[DoorChange] = []
    # In the order of ids, as every writer of several rows; those behind a watched circuit come out of it, which is why
    # the whole is done again where two stand in each other's way.
    in_order = sorted(runs, key=lambda run: run[0].id)
    for plain, some in groupby(
        in_order, key=lambda run: not store.sqlite and _is_plain(run[1]) and run[0].lane is None
    ):
        left = list(some)
        if plain:
            ended |= _complete_many(store, connection, left)
            left = [(event, ending) for event, ending in left if _proof(event) not in ended]
        for event, proposed in left:
            ending = _as_it_is(store, connection, event, proposed)
            if _end_in(store, connection, event, ending):
                ended.add(_proof(event))
                heard += _heard_by_doors(store, connection, event, ending)
    # After all events: every transaction locks events first and doors then, each in one order.
    doors.change_all(store, connection, heard)
    return ended


def _is_plain(ending: Ending) -> bool:
    """Whether the short form says all of it."""
    return (
        ending.template == COMPLETE and ending.failure is None and ending.circuit is None and not ending.doors
    )


def _proof(event: Event) -> tuple[int, int]:
    return event.id, event.lease_epoch


def _complete_many(
    store: Store, connection: Connection, runs: Sequence[tuple[Event, Ending]]
) -> set[tuple[int, int]]:
    rows = [{"id": event.id, "epoch": event.lease_epoch, **ending.values} for event, ending in runs]
    done = connection.execute(store.statement(COMPLETE_MANY), {"runs": json.dumps(rows)})
    return {(row.event_id, row.lease_epoch) for row in done}


def _attempt(event: Event, ending: Ending) -> dict[str, Any]:
    failure = ending.failure
    cause = failure and (
        failure.fingerprint
        or fingerprint(failure.type, failure.message, kind=event.kind, verdict=failure.verdict or "")
    )
    return {
        "id": event.id,
        "epoch": event.lease_epoch,
        "cycle": event.cycle,
        "number": event.attempts,
        "kind": event.kind,
        "account": event.account,
        "due_at": event.due_at,
        "started_at": event.started_at,
        "outcome": ending.outcome,
        "worker": event.lease_owner,
        "wait": ending.wait,
        "error_type": failure and failure.type,
        "error": failure and failure.message,
        "traceback": failure and failure.traceback,
        "verdict": failure and failure.verdict,
        "fingerprint": cause,
        "doubts": event.doubts if ending.doubts is None else ending.doubts,
        "effect_key": ending.effect_key,
        **asdict(failure.judgement if failure else NO_JUDGEMENT),
    }
