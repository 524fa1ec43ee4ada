"""What was a bulk run asked to do, and how far has it come? Its row, and who may change that how."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from sqlalchemy import Connection, RowMapping

from dlq_console.redact import redact_text
from dlq_console.store import acts
from dlq_console.store.bulk.selections import Selection, chosen_sql, from_query, to_query
from dlq_console.store.cursors import MAX_ID
from dlq_console.store.events import read_time
from dlq_console.store.origins import origin_of
from dlq_console.store.people.roles import Permission
from dlq_console.store.queries.counts import ZERO, Count
from dlq_console.store.queries.routes import Accounts, prepared
from dlq_console.store.states import Action
from dlq_console.store.store import Store

#: What changes the events themselves.
EVENT_ACTIONS = (Action.REPROCESS, Action.DISCARD)
#: What is put on the desk of events, and leaves them as they are.
DESK_ACTIONS = (Permission.ASSIGN, Permission.TAG, Permission.SNOOZE)
#: What can be done to many events at once.
ACTIONS = (*EVENT_ACTIONS, *DESK_ACTIONS)
#: Runs that are listed.
MOST_LISTED = 200


class RunState(StrEnum):
    """Where a bulk run stands."""

    #: Its selection is being written down; nothing has been let go.
    FREEZING = "freezing"
    RUNNING = "running"
    #: A person has to say that it may go on.
    PAUSED = "paused"
    #: It stopped by itself, because too many of its items died again.
    STOPPED = "stopped"
    #: What was not let go stays as it is.
    CANCELLED = "cancelled"
    DONE = "done"


class Cause(StrEnum):
    """Why a run stands still."""

    #: Somebody paused it.
    PERSON = "person"
    #: The selection is not of the size that the preview said.
    DRIFT = "drift"
    #: Too many of its items died again.
    DIED_AGAIN = "died_again"


#: What a person may do to a run -> in which states.
Verb = Literal["pause", "resume", "cancel"]
ALLOWED: dict[Verb, tuple[RunState, ...]] = {
    "pause": (RunState.FREEZING, RunState.RUNNING),
    "resume": (RunState.PAUSED, RunState.STOPPED),
    "cancel": (RunState.FREEZING, RunState.RUNNING, RunState.PAUSED, RunState.STOPPED),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkRun:
    """One run.

    Attributes:
        arguments: of the action, by name; empty where it takes none.
        filter: what it selected, as a query string; None where the events were chosen one by one.
        accounts: those that whoever asked may act upon; None for all.
        expected: how many the preview counted; None without one, or where it did not count to the end.
        rate: items per second; None as fast as it goes.
        window: how many may be let go and not ended at once.
        stages: sizes of the first stages; empty without a canary.
        stage: in which it is, from 0; as many as there are stages once they are over.
        stop_share: share of ended items that died again, 0 to 1, above which it stops.
        total: how many events were written down.
        released: let go, not ended.
        refused: not let go, or taken out of the run by somebody afterwards.
        late: what would have belonged to it but ended after it was begun.
        limited_by: what it waits for right now: `stage`, `closed` (an account), `lane`, `window`, `rate`; None for nothing.
        marks: when how many of its items had ended, by which `speed.py` tells how fast it is.
        pace: items per second that come to an end; None where nothing can be said.
        pace_of: what that is taken from: `recent`, `set` or `all`.
        moved_seconds: since its selection was whole, less the time that it stood still on pause or stopped.
        eta_seconds: until its end at that pace; None where that says nothing.
    """

    id: int
    action: str
    arguments: Mapping[str, Any]
    filter: str | None
    accounts: Accounts
    actor: str
    note: str | None
    state: str
    cause: str | None
    created_at: datetime
    cut_at: datetime
    frozen_at: datetime | None
    finished_at: datetime | None
    expected: int | None
    cursor: str | None
    rate: float | None
    window: int
    stages: tuple[int, ...]
    stage: int
    stage_released: int
    stage_ended: int
    stage_died: int
    stop_share: float | None
    total: int
    released: int
    succeeded: int
    died_same: int
    died_different: int
    refused: int
    released_at: datetime | None
    acted_by: str | None
    version: int
    marks: str | None
    now: datetime
    late: Count = ZERO
    limited_by: str | None = None
    pace: float | None = None
    pace_of: str | None = None
    moved_seconds: float | None = None
    eta_seconds: float | None = None

    @property
    def done(self) -> int:
        """How many of its items have come to an end."""
        return self.succeeded + self.died_same + self.died_different + self.refused

    @property
    def remaining(self) -> int:
        """How many have not been let go."""
        return self.total - self.released - self.done

    @property
    def drift(self) -> int | None:
        """By how many the selection differs from what the preview counted; None where that is not known."""
        return None if self.expected is None or self.frozen_at is None else self.total - self.expected

    @property
    def stage_size(self) -> int | None:
        """Of the canary stage that it is in; None behind them."""
        return self.stages[self.stage] if self.stage < len(self.stages) else None

    @property
    def selection(self) -> Selection:
        """Which events it concerns. Those that were chosen one by one stand in its items."""
        flt = None if self.filter is None else from_query(self.filter)
        return Selection(flt=flt, cut_at=self.cut_at, accounts=self.accounts)

    def allows(self, verb: Verb) -> bool:
        """Whether a person may do that to it now."""
        return self.state in ALLOWED[verb]


_TIMES = ("created_at", "cut_at", "frozen_at", "finished_at", "released_at", "now")
#: Computed where a run is shown.
_SHOWN = ("late", "limited_by", "pace", "pace_of", "moved_seconds", "eta_seconds", "now")
#: `window` and `cursor` are words of SQL.
COLUMNS = ", ".join(f'"{field.name}"' for field in fields(BulkRun) if field.name not in _SHOWN)
_ALL = f"{COLUMNS}, {{now}} AS now"

INSERT = f"""
INSERT INTO {{bulk_run}} (action, arguments, filter, accounts, selection_token, actor, via, address, note, state, created_at, cut_at,
    expected, rate, "window", stages, stop_share)
VALUES (:action, :arguments, :filter, :accounts, :selection_token, :actor, :via, :address, :note, '{RunState.FREEZING}', {{now}}, :cut_at, :expected,
    :rate, :window, :stages, :stop_share)
ON CONFLICT (selection_token) DO NOTHING RETURNING id
"""
SAME_SELECTION = "SELECT id FROM {bulk_run} WHERE selection_token = :selection_token"
ONE = f"SELECT {_ALL} FROM {{bulk_run}} WHERE id = :id"
ACCOUNTS = "SELECT id, accounts FROM {bulk_run} WHERE id IN :run_ids"
LISTED = f"SELECT {_ALL} FROM {{bulk_run}} ORDER BY id DESC LIMIT {MOST_LISTED}"
LIVE = f"SELECT {_ALL} FROM {{bulk_run}} WHERE finished_at IS NULL ORDER BY id"
HOLD = f"""
UPDATE {{bulk_run}} SET version = version + 1 WHERE id = :id AND finished_at IS NULL RETURNING {_ALL}
"""
#: Chosen one by one: they are known, so nothing is left to be written down later.
FREEZE_CHOSEN = """
INSERT INTO {bulk_item} (bulk_id, event_id, position, epoch, cycle, fingerprint, state)
SELECT CAST(:bulk_id AS bigint), id, coalesce(place, id), lease_epoch, cycle, fingerprint, 'waiting' FROM {event}
"""
CHOSEN_FROZEN = f"""
UPDATE {{bulk_run}} SET state = '{RunState.RUNNING}', frozen_at = {{now}}, total = :total WHERE id = :id
"""


def _states(verb: Verb) -> str:
    return ", ".join(f"'{state}'" for state in ALLOWED[verb])


_ACTED = "acted_by = :actor, version = version + 1 WHERE id = :id AND state IN"
#: Going on after a stop counts anew: else it would stop again at once.
_ACTS: dict[Verb, str] = {
    "pause": f"state = '{RunState.PAUSED}', cause = '{Cause.PERSON}', {_ACTED} ({_states('pause')})",
    "resume": f"""state = CASE WHEN frozen_at IS NULL THEN '{RunState.FREEZING}' ELSE '{RunState.RUNNING}' END,
        cause = NULL, stage_ended = 0, stage_died = 0, marks = NULL, {_ACTED} ({_states("resume")})""",
    "cancel": f"""state = '{RunState.CANCELLED}', cause = '{Cause.PERSON}',
        finished_at = CASE WHEN released = 0 THEN {{now}} END, {_ACTED} ({_states("cancel")})""",
}


def insert(store: Store, selection: Selection, values: dict[str, Any]) -> int:
    """Begin a run; returns its id, that of the first one where the same token has begun one already.

    Args:
        store: the store.
        selection: which events it concerns.
        values: its columns action, arguments, selection_token, actor, note, expected, rate, window, stages and stop_share.
    """
    via, address = origin_of(values["actor"])
    row = values | {
        "via": via,
        "address": address,
        "filter": None if selection.flt is None else to_query(selection.flt),
        "accounts": None if selection.accounts is None else json.dumps(selection.accounts),
        "cut_at": selection.cut_at,
        "stages": json.dumps(values["stages"]) if values["stages"] else None,
        "arguments": json.dumps(values["arguments"]) if values["arguments"] else None,
    }
    with store.write() as connection:
        made = connection.execute(store.statement(INSERT), row).scalar()
        if made is None:
            return int(connection.execute(store.statement(SAME_SELECTION), row).scalar_one())
        if selection.flt is None:
            _freeze_chosen(store, connection, made, selection)
        _record(
            store,
            connection,
            made,
            row["filter"],
            "start",
            row["actor"],
            row["note"],
            row["action"],
            after=row["arguments"],
        )
    return int(made)


def _freeze_chosen(store: Store, connection: Connection, run_id: int, selection: Selection) -> None:
    condition, parameters = chosen_sql(store, selection)
    parameters |= {"bulk_id": run_id}
    chosen = prepared(store, f"{FREEZE_CHOSEN} WHERE {condition}", parameters)
    total = connection.execute(chosen, parameters).rowcount
    connection.execute(store.statement(CHOSEN_FROZEN), {"id": run_id, "total": total})


def begun_with(store: Store, token: str) -> int | None:
    """The run that this token (its fingerprint) has begun already."""
    with store.read() as connection:
        run_id: int | None = connection.execute(
            store.statement(SAME_SELECTION), {"selection_token": token}
        ).scalar()
    return run_id


def get(store: Store, run_id: int) -> BulkRun | None:
    """One run as it stands."""
    if not 0 < run_id <= MAX_ID:
        return None
    with store.read() as connection:
        row = connection.execute(store.statement(ONE), {"id": run_id}).mappings().first()
    return None if row is None else _run(row)


def accounts_of(store: Store, run_ids: Collection[int]) -> dict[int, Accounts]:
    """Those of these runs that are there, each with the accounts that whoever began it may act upon; None for all."""
    if not run_ids:
        return {}
    parameters = {"run_ids": list(run_ids)}
    with store.read() as connection:
        rows = connection.execute(prepared(store, ACCOUNTS, parameters), parameters).all()
    return {row.id: _accounts(row.accounts) for row in rows}


def listed(store: Store) -> list[BulkRun]:
    """The newest runs."""
    with store.read() as connection:
        return [_run(row) for row in connection.execute(store.statement(LISTED)).mappings()]


def live(store: Store) -> list[BulkRun]:
    """Runs of which something is still to come, oldest first."""
    with store.read() as connection:
        return [_run(row) for row in connection.execute(store.statement(LIVE)).mappings()]


def hold(store: Store, connection: Connection, run_id: int) -> BulkRun | None:
    """The run as it stands, which nobody else can change before this transaction ends; None once it is over."""
    row = connection.execute(store.statement(HOLD), {"id": run_id}).mappings().first()
    return None if row is None else _run(row)


def write(store: Store, connection: Connection, run_id: int, **columns: Any) -> None:
    """Write columns of a run that this transaction holds."""
    values = ", ".join(f"{name} = :{name}" for name in columns)
    update = store.statement(f"UPDATE {{bulk_run}} SET {values} WHERE id = :id")
    if connection.execute(update, columns | {"id": run_id}).rowcount != 1:
        raise RuntimeError(f"bulk run {run_id} is gone although this transaction holds it")


def act(store: Store, run_id: int, verb: Verb, *, actor: str, note: str | None) -> bool:
    """Pause, resume or cancel a run; whether it was in a state that allows it."""
    update = store.statement(f"UPDATE {{bulk_run}} SET {_ACTS[verb]} RETURNING filter, action")
    with store.write() as connection:
        changed = connection.execute(update, {"id": run_id, "actor": actor}).first()
        if changed is not None:
            _record(store, connection, run_id, changed.filter, verb, actor, note, changed.action)
    return changed is not None


@dataclass(frozen=True, slots=True)
class Stop:
    """Why a run stopped by itself: how many of the items that had ended in its stage died again."""

    died: int
    ended: int

    def __str__(self) -> str:
        """As the audit keeps it; `read_stop` reads it."""
        return f"{Cause.DIED_AGAIN} {self.died}/{self.ended}"


_STOP = re.compile(rf"{Cause.DIED_AGAIN} ([0-9]+)/([0-9]+)")


def read_stop(text: str | None) -> Stop | None:
    """The inverse of what the audit keeps; None for any other text."""
    match = _STOP.fullmatch(text or "")
    return Stop(int(match[1]), int(match[2])) if match else None


def record_stop(store: Store, connection: Connection, run: BulkRun, stop: Stop) -> None:
    """Write down that a run stopped by itself, in the transaction in which it does."""
    _record(store, connection, run.id, run.filter, "stop", "hub", None, run.action, after=str(stop))


def _record(
    store: Store,
    connection: Connection,
    run_id: int,
    flt: str | None,
    verb: str,
    actor: str,
    note: str | None,
    action: str,
    after: str | None = None,
) -> None:
    acts.record(
        store,
        connection,
        actor=actor,
        action=f"bulk_{verb}",
        subject=f"{action} {run_id}",
        note=note,
        after=after,
        bulk_id=run_id,
        # The run itself needs it as it is; what people searched for may be somebody's number.
        filter_=flt and redact_text(flt),
    )


def _run(row: RowMapping) -> BulkRun:
    values: dict[str, Any] = {name: read_time(row[name]) if name in _TIMES else row[name] for name in row}
    stages = values["stages"]
    values["accounts"] = _accounts(values["accounts"])
    values["stages"] = tuple(json.loads(stages)) if stages else ()
    values["arguments"] = json.loads(values["arguments"] or "{}")
    return BulkRun(**values)


def _accounts(text: str | None) -> Accounts:
    return None if text is None else tuple(json.loads(text))
