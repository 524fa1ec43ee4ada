"""Which items may be let go now, and what does letting them go do to their events?

The events of a chunk are locked in the order of their ids, looked at once more, and changed by the same columns as an act
upon one of them, with an audit row for each. What is not any more as it was frozen is refused with its cause.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from dlq_console.store.acts import PUT_ASIDE, PUT_BACK
from dlq_console.store.bulk import items, runs, speed
from dlq_console.store.bulk.desk_items import put_on_desk
from dlq_console.store.bulk.items import ItemState, Refusal
from dlq_console.store.bulk.pace import CHUNK_POSTGRES, CHUNK_SQLITE, allowance, used_up_until
from dlq_console.store.bulk.runs import DESK_ACTIONS, EVENT_ACTIONS, BulkRun, RunState
from dlq_console.store.claim_sql import ACCOUNT_OPEN, BULK
from dlq_console.store.id_lists import as_ids, ids_sql
from dlq_console.store.lanes import promote
from dlq_console.store.states import Action, Reason, Status
from dlq_console.store.store import Store
from dlq_console.store.succession import has_newer

#: Items behind the head of the run among which those of open accounts are looked for.
LOOK_AHEAD = 5_000

_AHEAD = f"""
SELECT event_id, epoch FROM {{bulk_item}} WHERE bulk_id = :id AND state = '{ItemState.WAITING}'
ORDER BY position, event_id LIMIT :limit
"""
#: Those of closed accounts stay dead, where pause and cancel reach them, instead of filling the window.
_AHEAD_AND_OPEN = f"""
SELECT a.event_id, a.epoch FROM (
    SELECT event_id, epoch, position FROM {{bulk_item}} WHERE bulk_id = :id AND state = '{ItemState.WAITING}'
    ORDER BY position, event_id LIMIT {LOOK_AHEAD}
) AS a LEFT JOIN {{event}} e ON e.id = a.event_id
LEFT JOIN {{scope}} s ON s.type = 'account' AND s.name = e.account
WHERE {ACCOUNT_OPEN}
ORDER BY a.position, a.event_id LIMIT :limit
"""
_FACTS = "SELECT id, kind, account, status, reason, doubts, lane, lease_epoch FROM {event} WHERE id IN"
#: As after a reprocess by hand: whoever does it wants to see what dies again.
_WAKE = "UPDATE {desk} SET snoozed_until = NULL WHERE snoozed_until IS NOT NULL AND event_id IN"
_OF_EVENTS = "SELECT o.id FROM {event} o WHERE o.id IN"
#: Whoever lets them go is a step of the workers; they come from where the run was asked for.
_AUDIT = """
INSERT INTO {audit} (at, actor, action, event_id, note, before, after, bulk_id, account, via, address)
SELECT {now}, r.actor, r.action, e.id, r.note, 'dead', e.status, r.id, e.account, r.via, r.address
FROM {event} e CROSS JOIN {bulk_run} r WHERE r.id = CAST(:bulk_id AS bigint) AND e.id IN
"""


@dataclass(frozen=True, slots=True)
class Rule:
    """What the kind of an event says about running it again.

    Attributes:
        max_wait: how long it may wait to be started, in seconds.
        in_the_way: in which statuses a newer event of its entity keeps it from being let go.
        cause: what it is refused with then.
    """

    max_wait: float
    in_the_way: tuple[Status, ...] = ()
    cause: Refusal = Refusal.SUPERSEDED


@dataclass(frozen=True, slots=True)
class Facts:
    """What is looked at before an event is let go."""

    id: int
    kind: str
    account: str
    status: str
    reason: str | None
    doubts: int
    lane: str | None
    lease_epoch: int


@dataclass(frozen=True, slots=True)
class Released:
    """What one chunk did: how many were let go, of which accounts, and how many were refused."""

    number: int = 0
    accounts: tuple[str, ...] = ()
    refused: int = 0


NOTHING = Released()


def release(store: Store, run_id: int, rule: Callable[[str], Rule]) -> Released:
    """Let the next items of a run go; `rule` is that of a kind."""
    chunk = CHUNK_SQLITE if store.sqlite else CHUNK_POSTGRES

    def work(connection: Connection) -> Released:
        run = runs.hold(store, connection, run_id)
        if run is None or run.state != RunState.RUNNING:
            return NOTHING
        limit = allowance(run, chunk)
        return _release(store, connection, run, limit, rule) if limit > 0 else NOTHING

    return store.transact(work)


def _release(
    store: Store, connection: Connection, run: BulkRun, limit: int, rule: Callable[[str], Rule]
) -> Released:
    # What is only put aside or on a desk waits for nobody.
    runs_again = run.action == Action.REPROCESS
    look = store.statement(_AHEAD_AND_OPEN if runs_again else _AHEAD)
    ahead = connection.execute(look, {"id": run.id, "limit": limit}).all()
    facts = _looked_at(store, connection, run, [row.event_id for row in ahead])
    refusals: dict[int, Refusal | None] = {
        row.event_id: why_not(facts.get(row.event_id), row.epoch, run.action) for row in ahead
    }
    if runs_again:
        _refuse_overtaken(store, connection, facts, refusals, rule)
    if run.action in DESK_ACTIONS:
        possible = {
            event_id: facts[event_id].account for event_id, cause in refusals.items() if cause is None
        }
        refusals |= put_on_desk(store, connection, run, possible)
    going = [facts[event_id] for event_id, cause in refusals.items() if cause is None]
    _refuse(store, connection, run, refusals)
    refused = len(refusals) - len(going)
    if run.action in EVENT_ACTIONS:
        _change_events(store, connection, run, going, rule)
    state = ItemState.RELEASED if runs_again else ItemState.SUCCEEDED
    items.mark(store, connection, run.id, [each.id for each in going], was=ItemState.WAITING, state=state)
    columns: dict[str, Any] = {state: getattr(run, state) + len(going)}
    if runs_again:
        columns["stage_released"] = run.stage_released + len(going)
    columns |= {"refused": run.refused + refused, "released_at": used_up_until(run, len(going))}
    columns |= speed.noted(run, refused if runs_again else len(refusals))
    runs.write(store, connection, run.id, **columns)
    return Released(len(going), tuple(sorted({each.account for each in going})), refused)


def _change_events(
    store: Store, connection: Connection, run: BulkRun, going: list[Facts], rule: Callable[[str], Rule]
) -> None:
    if run.action == Action.DISCARD:
        _change(store, connection, run, [each.id for each in going], PUT_ASIDE, {})
    else:
        _put_back(store, connection, run, going, rule)
    _promote(store, connection, going)
    _record(store, connection, run, going)


def why_not(facts: Facts | None, frozen_epoch: int, action: str) -> Refusal | None:
    """Why an item cannot be let go; None where it can."""
    if facts is None:
        return Refusal.GONE
    if facts.status != Status.DEAD:
        return Refusal.NOT_DEAD
    if action in DESK_ACTIONS:
        # That somebody has tried it meanwhile does not matter here: it is still dead.
        return None
    if facts.lease_epoch != frozen_epoch:
        return Refusal.CHANGED
    if action == Action.REPROCESS and (facts.reason == Reason.IN_DOUBT or facts.doubts):
        return Refusal.IN_DOUBT
    return None


def _looked_at(
    store: Store, connection: Connection, run: BulkRun, event_ids: Sequence[int]
) -> dict[int, Facts]:
    """The events, locked where they will be changed. On SQLite a transaction is the only writer anyway."""
    lock = "" if store.sqlite or run.action in DESK_ACTIONS else "ORDER BY id FOR NO KEY UPDATE"
    read = store.statement(f"{_FACTS} {ids_sql(store, 'event_ids')} {lock}")
    rows = connection.execute(read, {"event_ids": as_ids(event_ids)})
    return {row.id: Facts(*row) for row in rows}


def _refuse_overtaken(
    store: Store,
    connection: Connection,
    facts: dict[int, Facts],
    refusals: dict[int, Refusal | None],
    rule: Callable[[str], Rule],
) -> None:
    by_rule: defaultdict[Rule, list[int]] = defaultdict(list)
    for event_id, cause in refusals.items():
        if cause is None and (found := rule(facts[event_id].kind)).in_the_way:
            by_rule[found].append(event_id)
    for found, event_ids in by_rule.items():
        newer = f"{_OF_EVENTS} {ids_sql(store, 'event_ids')} AND {has_newer(found.in_the_way)}"
        overtaken = connection.execute(store.statement(newer), {"event_ids": as_ids(event_ids)}).scalars()
        refusals |= dict.fromkeys(overtaken, found.cause)


def _refuse(store: Store, connection: Connection, run: BulkRun, refusals: dict[int, Refusal | None]) -> None:
    by_cause: defaultdict[Refusal, list[int]] = defaultdict(list)
    for event_id, cause in refusals.items():
        if cause is not None:
            by_cause[cause].append(event_id)
    for cause, event_ids in by_cause.items():
        items.mark(
            store, connection, run.id, event_ids, was=ItemState.WAITING, state=ItemState.REFUSED, cause=cause
        )


def _put_back(
    store: Store, connection: Connection, run: BulkRun, going: list[Facts], rule: Callable[[str], Rule]
) -> None:
    by_wait: defaultdict[float, list[int]] = defaultdict(list)
    for each in going:
        by_wait[rule(each.kind).max_wait].append(each.id)
    # A canary shows what one attempt does; more of them would hide what it is for.
    attempts = 1 if run.stage_size is not None else None
    for max_wait, event_ids in by_wait.items():
        values: dict[str, Any] = {
            "max_attempts": attempts,
            "after": 0,
            "max_wait": max_wait,
            "priority": BULK,
        }
        _change(store, connection, run, event_ids, PUT_BACK, values)
    ids = [each.id for each in going]
    wake = store.statement(f"{_WAKE} {ids_sql(store, 'event_ids')}")
    connection.execute(wake, {"event_ids": as_ids(ids)})


def _change(
    store: Store,
    connection: Connection,
    run: BulkRun,
    event_ids: list[int],
    columns: str,
    values: dict[str, Any],
) -> None:
    if not event_ids:
        return
    # The epoch once more, in the write itself: whatever happened before, nothing is changed that is not as frozen.
    as_frozen = "EXISTS (SELECT 1 FROM {bulk_item} i WHERE i.bulk_id = :bulk_id AND i.event_id = id AND i.epoch = lease_epoch)"
    update = store.statement(
        f"UPDATE {{event}} SET {columns}, bulk_id = CAST(:bulk_id AS bigint)"
        f" WHERE id IN {ids_sql(store, 'event_ids')} AND status = '{Status.DEAD}' AND {as_frozen}"
    )
    asked = values | {"bulk_id": run.id, "event_ids": as_ids(event_ids)}
    changed = connection.execute(update, asked).rowcount
    if changed != len(event_ids):
        raise RuntimeError(
            f"bulk run {run.id} changed {changed} of {len(event_ids)} events that it had locked"
        )


def _promote(store: Store, connection: Connection, going: list[Facts]) -> None:
    for lane in sorted({each.lane for each in going if each.lane is not None}):
        promote(store, connection, lane)


def _record(store: Store, connection: Connection, run: BulkRun, going: list[Facts]) -> None:
    if going:
        audit = store.statement(f"{_AUDIT} {ids_sql(store, 'event_ids')}")
        values = {"bulk_id": run.id, "event_ids": as_ids([each.id for each in going])}
        connection.execute(audit, values)
