"""How a run ends: one guarded UPDATE each, with its attempt row, in one transaction. What people do is in `acts.py`.

Every write of a worker names the epoch of its claim. The epoch only grows, so a worker that lost its lease changes
nothing, whatever it finds out. No row changed means that somebody else was first: walk away.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any, Literal

from sqlalchemy import Connection

from dlq_console.resilience.breaker import CircuitBreakerConfig
from dlq_console.resilience.breaker.window import GOOD, Evidence
from dlq_console.store import acts, doors
from dlq_console.store.claim_sql import RETRY
from dlq_console.store.direct import execute
from dlq_console.store.door_acts import ACCOUNT_CIRCUIT, NOTHING, is_probe, reported
from dlq_console.store.doors import DoorChange
from dlq_console.store.events import EVENT_COLUMNS, Event, event_from_row
from dlq_console.store.lanes import promote
from dlq_console.store.scope_names import Scope, account_scope
from dlq_console.store.states import Again, Outcome, Reason, Status
from dlq_console.store.store import Store

_HELD = "id = :id AND status = 'running' AND lease_epoch = :epoch"
_LET_GO = "lease_owner = NULL, lease_until = NULL, updated_at = {now}"
#: The effect key changes only once it is known that the last call was not applied.
_ERROR = """effect_key = coalesce(CAST(:effect_key AS text), effect_key), doubts = CAST(:doubts AS integer),
    error_type = CAST(:error_type AS text), last_error = CAST(:error AS text),
    verdict = CAST(:verdict AS text), fingerprint = CAST(:fingerprint AS text)"""

_COMPLETED = f"""status = 'done', reason = NULL, finished_at = {{now}}, result = CAST(:result AS text),
    error_type = NULL, last_error = NULL, verdict = NULL, fingerprint = NULL, died_again = NULL, doubts = 0, {_LET_GO}"""

COMPLETE = f"UPDATE {{event}} SET {_COMPLETED} WHERE {_HELD}"
RETRY_LATER = f"""
UPDATE {{event}} SET status = 'failed', reason = NULL, priority = {RETRY}, {_ERROR},
    due_at = {{now}} + {{interval[delay]}}, next_run_at = {{now}} + {{interval[delay]}},
    give_up_at = {{least}}(coalesce(expires_at, {{now}} + {{interval[max_wait]}} + {{interval[delay]}}),
        {{now}} + {{interval[max_wait]}} + {{interval[delay]}}), {_LET_GO}
WHERE {_HELD}
"""
BURY = f"""
UPDATE {{event}} SET status = 'dead', reason = CAST(:reason AS text), finished_at = {{now}}, {_ERROR},
    died_again = CASE WHEN cycle = 0 THEN NULL
        WHEN died_with = CAST(:fingerprint AS text) THEN '{Again.SAME}' ELSE '{Again.DIFFERENT}' END,
    died_with = CAST(:fingerprint AS text), {_LET_GO}
WHERE {_HELD}
"""
RELEASE = f"""
UPDATE {{event}} SET status = 'pending', attempts = attempts - 1, total_attempts = total_attempts - 1,
    next_run_at = {{now}} + {{interval[delay]}}, {_LET_GO}
WHERE {_HELD}
"""
#: Unspent as above: nothing was called.
SUPERSEDE = f"""
UPDATE {{event}} SET status = 'discarded', reason = '{Reason.SUPERSEDED}', superseded_by = CAST(:newer AS bigint),
    finished_at = {{now}}, attempts = attempts - 1, total_attempts = total_attempts - 1, {_LET_GO}
WHERE {_HELD}
"""
#: The verifier was asked; that was no attempt, but it used a claim, so the total goes on counting.
ASK_AGAIN = f"""
UPDATE {{event}} SET status = 'failed', reason = NULL, priority = {RETRY}, {_ERROR}, attempts = attempts - 1,
    due_at = {{now}} + {{interval[delay]}}, next_run_at = {{now}} + {{interval[delay]}}, {_LET_GO}
WHERE {_HELD}
"""
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
    UPDATE {{event}} AS e SET {_COMPLETED} WHERE {_HELD} AND {_UNWATCHED} RETURNING *, CAST(:worker AS text) AS worker
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
    UPDATE {{event}} AS e SET {_COMPLETED.replace(":result", "held.result")} FROM held WHERE e.id = held.id
    RETURNING e.*, held.lease_owner AS worker
) {_DONE_ATTEMPT} RETURNING event_id, lease_epoch
"""

GIVE_UP = """
UPDATE {event} SET status = 'dead', reason = CAST(:reason AS text), finished_at = {now}, updated_at = {now},
    error_type = CAST(:error_type AS text), last_error = CAST(:error AS text),
    fingerprint = CAST(:fingerprint AS text), verdict = NULL,
    died_again = CASE WHEN cycle = 0 THEN NULL
        WHEN died_with = CAST(:fingerprint AS text) THEN 'same' ELSE 'different' END,
    died_with = CAST(:fingerprint AS text)
WHERE id = :id AND status IN ('pending', 'failed') AND give_up_at < {now}
RETURNING lane
"""


HEARTBEAT = """
UPDATE {event} AS e SET lease_until = {least}(
    {now} + {interval[lease_seconds]},
    e.started_at + CAST({second} * (coalesce((SELECT k.timeout FROM {kind} k WHERE k.name = e.kind), 60) + 5)
        AS {duration})
)
WHERE e.id = :id AND e.status = 'running' AND e.lease_epoch = :epoch
"""
LAPSED = f"""
SELECT {", ".join(EVENT_COLUMNS)} FROM {{event}} WHERE status = 'running' AND lease_until < {{now}}
ORDER BY id LIMIT :limit
"""
OVERDUE = f"""
SELECT {", ".join(EVENT_COLUMNS)} FROM {{event}}
WHERE status IN ('pending', 'failed') AND give_up_at IS NOT NULL AND give_up_at < {{now}} ORDER BY give_up_at LIMIT :limit
"""
RUNNING_AS = f"""
SELECT {", ".join(EVENT_COLUMNS)} FROM {{event}} WHERE id = :id AND status = 'running' AND lease_owner = :owner
"""
#: Sorted as the index of ready events is, so that no other one is read.
OTHERS_FAIL = f"""
SELECT 1 FROM {{event}} e WHERE e.status IN ('pending', 'failed') AND e.status = 'failed' AND e.account = :account
    AND e.priority = {RETRY} AND e.id <> :id ORDER BY e.account, e.priority, e.next_run_at, e.id LIMIT 1
"""
HOLDS = "SELECT 1 FROM {event} WHERE id = :id AND status = 'running' AND lease_epoch = :epoch"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """How the verdict came about.

    Attributes:
        effect: what became of the call in the outside system.
        reach: which scope the verdict concerns.
        wait_source: where its wait was found.
        rule: which rule decided.
        rules_version: of which set.
        answer: what the outside system said, as JSON.
    """

    effect: str | None = None
    reach: str | None = None
    wait_source: str | None = None
    rule: str | None = None
    rules_version: str | None = None
    answer: str | None = None


NO_JUDGEMENT = Judgement()


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """What is kept about an error: redacted and cut to size."""

    type: str
    message: str
    traceback: str | None
    verdict: str | None
    fingerprint: str
    judgement: Judgement = NO_JUDGEMENT


@dataclass(frozen=True, slots=True)
class Circuit:
    """The circuit that hears how a run ended."""

    scope: Scope
    config: CircuitBreakerConfig

    @property
    def counts_successes(self) -> bool:
        """Whether a success matters also while all is well."""
        return self.config.window is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a run ends: the guarded UPDATE with its values, and what its attempt row says. Made by the functions below.

    Attributes:
        template: the UPDATE.
        values: its parameters.
        outcome: of the attempt.
        failure: what went wrong.
        wait: seconds until the next run.
        doubts: 0 where it is known whether the outside system has it, else how often its verifier was asked in vain,
            plus one; None where the run has told nothing about that.
        effect_key: the new one, once it is known that the old one's call was not applied.
        evidence: what the run proved to the circuit.
        circuit: which one hears it; None for the account's.
        doors: what else it does to doors.
        audited: what the audit says that the hub did, and to what it refers.
        as_probe: how it ends instead, if it was the probe of a circuit behind which others fail too.
    """

    template: str
    values: dict[str, Any]
    outcome: Outcome
    failure: Failure | None = None
    wait: float | None = None
    doubts: int | None = None
    effect_key: str | None = None
    evidence: Evidence = NOTHING
    circuit: Circuit | None = None
    doors: tuple[DoorChange, ...] = ()
    audited: tuple[Literal["supersede"], str] | None = None
    as_probe: Ending | None = None

    @property
    def is_last(self) -> bool:
        """Whether the event will not run again by itself."""
        return self.template in (COMPLETE, BURY, SUPERSEDE)


def completed(result: str | None, *, warning: Failure | None = None) -> Ending:
    """running -> done. `warning` stays on the attempt: it worked, but something about it should be seen."""
    return Ending(
        template=COMPLETE, values={"result": result}, outcome=Outcome.DONE, failure=warning, evidence=GOOD
    )


def retried(failure: Failure, *, delay: float, max_wait: float, outcome: Outcome = Outcome.FAILED) -> Ending:
    """running -> failed: it will be tried again in `delay` seconds, and given up `max_wait` seconds after that."""
    values = {"delay": delay, "max_wait": max_wait}
    return Ending(template=RETRY_LATER, values=values, outcome=outcome, failure=failure, wait=delay)


def buried(failure: Failure, reason: Reason, *, outcome: Outcome = Outcome.DEAD) -> Ending:
    """running -> dead: it needs a person."""
    return Ending(template=BURY, values={"reason": reason}, outcome=outcome, failure=failure)


def asked(failure: Failure, *, delay: float, doubts: int, effect_key: str | None = None) -> Ending:
    """running -> failed: its verifier was asked; it is asked again, or run where `doubts` is 0, in `delay` seconds."""
    return Ending(
        template=ASK_AGAIN,
        values={"delay": delay},
        outcome=Outcome.ASKED,
        failure=failure,
        wait=delay,
        doubts=doubts,
        effect_key=effect_key,
    )


def released(failure: Failure | None = None, *, delay: float = 0) -> Ending:
    """running -> pending, unspent: it may be claimed again in `delay` seconds; the attempt does not count.

    Without a failure there is nothing to tell and no attempt row is written.
    """
    return Ending(
        template=RELEASE, values={"delay": delay}, outcome=Outcome.RELEASED, failure=failure, wait=delay
    )


def superseded(newer: int) -> Ending:
    """running -> discarded, unspent: `newer`, a later event of its entity, has made it needless."""
    return Ending(
        template=SUPERSEDE,
        values={"newer": newer},
        outcome=Outcome.RELEASED,
        audited=("supersede", str(newer)),
    )


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
    circuit = ending.circuit or Circuit(account_scope(event.account), ACCOUNT_CIRCUIT)
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
    circuit = ending.circuit or Circuit(account_scope(event.account), ACCOUNT_CIRCUIT)
    door = doors.look(store, connection, circuit.scope)
    if door is None or not is_probe(door, event):
        return ending
    of_event = {"id": event.id, "account": event.account}
    alone = connection.execute(store.statement(OTHERS_FAIL), of_event).first() is None
    return ending if alone else ending.as_probe


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
    ended: set[tuple[int, int]] = set()
    heard: list[DoorChange] = []
    with store.write() as connection:
        # In the order of ids, as every writer of several rows, so that none can deadlock.
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
    return [_proof(event) in ended for event, _ in runs]


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
        "fingerprint": failure and failure.fingerprint,
        "doubts": event.doubts if ending.doubts is None else ending.doubts,
        "effect_key": ending.effect_key,
        **asdict(failure.judgement if failure else NO_JUDGEMENT),
    }


def extend(store: Store, held: list[tuple[int, int]], *, lease_seconds: float) -> list[int]:
    """Keep the leases of (event id, epoch) pairs alive; returns the ids that are no longer held."""
    lost = []
    with store.write() as connection:
        # In the order of ids, as every writer of several rows, so that none can deadlock.
        for id_, epoch in sorted(held):
            parameters = {"id": id_, "epoch": epoch, "lease_seconds": lease_seconds}
            if connection.execute(store.statement(HEARTBEAT), parameters).rowcount == 0:
                lost.append(id_)
    return lost


def holds(store: Store, event_id: int, epoch: int) -> bool:
    """Whether the claim with this epoch still owns the event."""
    with store.read() as connection:
        return (
            connection.execute(store.statement(HOLDS), {"id": event_id, "epoch": epoch}).first() is not None
        )


def lapsed(store: Store, limit: int = 500) -> list[Event]:
    """Running events whose lease has lapsed: their worker died or froze."""
    with store.read() as connection:
        rows = connection.execute(store.statement(LAPSED), {"limit": limit}).mappings().all()
    return [event_from_row(row, store.queue(row["account"], row["lane"])) for row in rows]


def running_as(store: Store, event_id: int, owner: str) -> Event | None:
    """The event as `owner` claimed it; None when it is not, or not any more, run by that one."""
    with store.read() as connection:
        row = (
            connection.execute(store.statement(RUNNING_AS), {"id": event_id, "owner": owner})
            .mappings()
            .first()
        )
    return None if row is None else event_from_row(row, store.queue(row["account"], row["lane"]))


def overdue(store: Store, limit: int = 500) -> list[Event]:
    """Events that were not started in time."""
    with store.read() as connection:
        rows = connection.execute(store.statement(OVERDUE), {"limit": limit}).mappings().all()
    return [event_from_row(row, store.queue(row["account"], row["lane"])) for row in rows]


def give_up(store: Store, event_id: int, failure: Failure) -> bool:
    """pending or failed -> dead `expired`, if it is too late to start."""
    parameters = {
        "id": event_id,
        "reason": Reason.EXPIRED,
        "error_type": failure.type,
        "error": failure.message,
        "fingerprint": failure.fingerprint,
    }
    with store.write() as connection:
        row = connection.execute(store.statement(GIVE_UP), parameters).first()
        if row is not None and row.lane is not None:
            promote(store, connection, row.lane)
        return row is not None
