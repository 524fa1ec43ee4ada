"""What keeps the work of one scope from starting: what its provider asked for, its circuit, a pause, its pace.

A door is a row of the scope table as a frozen value. Everything that happens to it is a pure function from door to
door; `change` locks the row, computes, and writes what came of it, with the circuit's transitions and the closings. Claims
look at `closed_until`, the longest of all causes, and at two marks: `guarded` accounts are claimed from with care,
`watched` ones are told each success.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Literal

from sqlalchemy import Connection

from dlq_console.resilience import pacing
from dlq_console.resilience.breaker import BREAKERS, BreakerRecord, CircuitState, rules
from dlq_console.resilience.breaker.record import BLANK, Position
from dlq_console.resilience.pacing import Pace
from dlq_console.store import closings
from dlq_console.store import present as moment
from dlq_console.store.clock import from_seconds
from dlq_console.store.closings import Held
from dlq_console.store.events import read_time
from dlq_console.store.scope_names import Scope
from dlq_console.store.store import Store

PauseCause = Literal["person", "auth"]

#: Stands for "not by itself"; both databases hold it.
NEVER = datetime(9999, 1, 1, tzinfo=UTC).timestamp()
#: How long a scope takes to come back to full speed after its provider had closed it, in seconds.
RAMP = 10.0
#: Marks of an account, a method or a provider: how carefully its events are claimed.
FREE, LIMITED, PROBING = 0, 1, 2

COLUMNS = """s.type, s.name, s.account, s.kind, s.max_running, s.guarded, s.closed_until, s.closed_since,
    s.provider_until, s.provider_reason, s.circuit, s.paused_at, s.paused_until, s.paused_by, s.pause_note,
    s.pause_cause, s.pace, s.paced_until, {now} AS now"""
_LOCKED = " FOR NO KEY UPDATE"
ONE = f"SELECT {COLUMNS} FROM {{scope}} s WHERE s.type = :type AND s.name = :name"
_SEVERAL = f"SELECT {COLUMNS} FROM {{scope}} s WHERE"
_ORDER = "ORDER BY s.type, s.name"
ALL = f"{_SEVERAL} 1 = 1 {_ORDER}"
#: The rest says no more than how much may run at once.
EVENTFUL = f"""
{_SEVERAL} s.closed_until > {{now}} OR s.provider_until IS NOT NULL OR s.circuit IS NOT NULL {_ORDER}
"""
#: Along its index: those with limits of a provider are among them.
GUARDED = f"{_SEVERAL} s.guarded > 0"
LIMITS = "SELECT s.name, s.max_running FROM {scope} s WHERE s.type = 'account' AND s.max_running IS NOT NULL"
OF_ACCOUNT = f"{_SEVERAL} s.account = :account {_ORDER}"
CREATE = """
INSERT INTO {scope} (type, name, account, kind, created_at, updated_at)
VALUES (:type, :name, :account, :kind, {now}, {now}) ON CONFLICT (type, name) DO NOTHING
"""
SAVE = """
UPDATE {scope} SET account = :account, kind = :kind, guarded = :guarded, watched = :watched,
    closed_until = :closed_until, closed_since = :since_at, closed_reason = :closed_reason,
    provider_until = :provider_until, provider_reason = :provider_reason, circuit = :circuit,
    paused_at = :paused_at, paused_until = :paused_until, paused_by = :paused_by, pause_note = :pause_note,
    pause_cause = :pause_cause, pace = :pace, paced_until = :paced_until, updated_at = {now}
WHERE type = :type AND name = :name
"""
TRANSITION = """
INSERT INTO {scope_change} (type, name, generation, at, before, after, why, actor)
VALUES (:type, :name, :generation, :moved_at, :before, :after, :why, :actor)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """Nothing of the scope starts until a person resumes it, or until a moment; times in seconds since 1970."""

    since: float
    until: float | None
    by: str
    note: str | None
    cause: PauseCause


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """All that decides whether work of one scope may start; times in seconds since 1970.

    Attributes:
        scope: which one.
        max_running: how many of its events may run at once, where that was set.
        limited: whether its provider's limits are kept here.
        provider_until: until when its provider wants to be left alone.
        provider_reason: in the provider's words.
        circuit: record of its circuit breaker.
        pause: a person's, or the hub's after a refused log-in.
        pace: of its starts and failing answers.
        paced_until: before that the pace lets nothing start.
        closed_until: the longest of all causes; None where it is open.
        closed_since: since when it is closed.
    """

    scope: Scope
    max_running: int | None = None
    limited: bool = False
    provider_until: float | None = None
    provider_reason: str | None = None
    circuit: BreakerRecord = BLANK
    pause: Pause | None = None
    pace: Pace = field(default=pacing.BLANK)
    paced_until: float | None = None
    closed_until: float | None = None
    closed_since: float | None = None
    #: Whether it has no row yet.
    is_new: bool = True


#: Computes what becomes of a door; the second argument is the database's time in seconds since 1970.
Act = Callable[[Door, float], Door]


@dataclass(frozen=True, slots=True)
class DoorChange:
    """An act upon the door of one scope, to be done in the transaction that ends a run."""

    scope: Scope
    act: Act


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a door is closed: `provider`, `circuit`, `pause` or `auth`; until when, and in whose words."""

    name: str
    until: float
    reason: str


def causes(door: Door, now: float) -> list[Cause]:
    """Everything that keeps a door closed at this moment, the longest first."""
    found = [
        cause for cause in (_provider(door), _circuit(door, now), _pause(door)) if cause and cause.until > now
    ]
    return sorted(found, key=lambda cause: -cause.until)


def _provider(door: Door) -> Cause | None:
    if door.provider_until is None:
        return None
    return Cause("provider", door.provider_until, door.provider_reason or "")


def _circuit(door: Door, now: float) -> Cause | None:
    record = door.circuit
    override = rules.standing_override(record, now)
    if override is not None:
        if override.position is Position.FORCED_CLOSED:
            return None
        return Cause("circuit", NEVER if override.until is None else override.until, override.note)
    if record.state is not CircuitState.OPEN or rules.due(record, now):
        return None
    return Cause("circuit", record.open_until, record.history[-1].why if record.history else "")


def _pause(door: Door) -> Cause | None:
    if door.pause is None:
        return None
    name = "auth" if door.pause.cause == "auth" else "pause"
    return Cause(name, NEVER if door.pause.until is None else door.pause.until, door.pause.note or "")


def mark(door: Door, now: float) -> int:
    """How carefully its events must be claimed."""
    if door.circuit.state is not CircuitState.CLOSED:
        override = rules.standing_override(door.circuit, now)
        held_closed = override is not None and override.position is Position.FORCED_CLOSED
        return LIMITED if held_closed else PROBING
    # A scope that its provider had closed comes back slowly, see `choosing.py`; `settled` ends that.
    return LIMITED if door.limited or door.provider_until is not None else FREE


def settled(door: Door, now: float) -> Door:
    """The door without what lies behind it.

    A closing of its provider after which it has come back to full speed, and a person's decision that has lapsed.
    """
    if door.circuit.override is not None and rules.standing_override(door.circuit, now) is None:
        door = replace(door, circuit=replace(door.circuit, override=None))
    if door.provider_until is None or door.provider_until + RAMP > now:
        return door
    return replace(door, provider_until=None, provider_reason=None)


def is_watched(door: Door) -> bool:
    """Whether a success would change its circuit."""
    return door.circuit.state is not CircuitState.CLOSED or door.circuit.failures > 0


# Reading and writing


def change(store: Store, connection: Connection, scope: Scope, act: Act) -> Door:
    """Do something to a door, in the transaction of `connection`; its row is locked until that ends."""
    template = ONE if store.sqlite else ONE + _LOCKED
    found = _load(store, connection, scope, template)
    if found is None:
        create(store, connection, scope)
        found = _load(store, connection, scope, template)
    if found is None:
        raise LookupError(f"The scope {scope.type} {scope.name} vanished.")
    before, now = found
    return save(store, connection, before, act(before, now), now)


def create(store: Store, connection: Connection, scope: Scope) -> None:
    """Make the row of a door, if there is none."""
    connection.execute(store.statement(CREATE), _key(scope))


def change_all(store: Store, connection: Connection, changes: Iterable[DoorChange]) -> None:
    """Do several things, in the order in which every transaction locks doors."""
    for one in sorted(changes, key=lambda one: (one.scope.type, one.scope.name)):
        change(store, connection, one.scope, one.act)


def read(store: Store, scope: Scope) -> tuple[Door, float]:
    """A door as it stands, and the database's time; an open one where no row says anything."""
    with store.read() as connection:
        found = _load(store, connection, scope, ONE)
    return found or (Door(scope=scope), present(store))


def look(store: Store, connection: Connection, scope: Scope) -> Door | None:
    """A door as it stands, without a lock; None where no row says anything."""
    found = _load(store, connection, scope, ONE)
    return found[0] if found else None


def present(store: Store) -> float:
    """The database's time in seconds since 1970."""
    with store.read() as connection:
        return moment.present(store, connection).timestamp()


def read_all(store: Store) -> list[tuple[Door, float]]:
    """Every scope of which something is written down, with the database's time."""
    return _read(store, ALL)


def read_eventful(store: Store) -> list[tuple[Door, float]]:
    """Those that may be closed, come back from a closing, or have a circuit that tells anything."""
    return _read(store, EVENTFUL)


def read_guarded(store: Store) -> list[tuple[Door, float]]:
    """Those whose events are claimed with care: they have limits, or a circuit that is not closed; in no order."""
    return _read(store, GUARDED)


def set_limits(store: Store) -> dict[str, int]:
    """How many events may run at once, of the accounts for which that was set."""
    with store.read() as connection:
        return {row.name: row.max_running for row in connection.execute(store.statement(LIMITS))}


def read_of_account(store: Store, account: str) -> list[tuple[Door, float]]:
    """That of an account, and those of its kinds."""
    return _read(store, OF_ACCOUNT, {"account": account})


def _read(store: Store, template: str, parameters: dict[str, Any] | None = None) -> list[tuple[Door, float]]:
    with store.read() as connection:
        found = connection.execute(store.statement(template), parameters or {}).mappings()
        return [from_row(row) for row in found]


def _load(store: Store, connection: Connection, scope: Scope, template: str) -> tuple[Door, float] | None:
    asked = {"type": scope.type, "name": scope.name}
    row = connection.execute(store.statement(template), asked).mappings().first()
    return None if row is None else from_row(row)


def from_row(row: Any) -> tuple[Door, float]:
    """A door and the database's time from a row that holds the columns of a door."""
    now = _seconds(row["now"]) or 0.0
    pause = None
    if row["paused_at"] is not None:
        until = _seconds(row["paused_until"])
        pause = Pause(
            since=_seconds(row["paused_at"]) or now,
            until=until,
            by=row["paused_by"] or "",
            note=row["pause_note"],
            cause="auth" if row["pause_cause"] == "auth" else "person",
        )
    circuit = (BREAKERS.decode(row["circuit"]) if row["circuit"] else None) or BLANK
    door = Door(
        scope=Scope(row["type"], row["name"], row["account"], row["kind"]),
        max_running=row["max_running"],
        limited=row["pace"] is not None,
        provider_until=_seconds(row["provider_until"]),
        provider_reason=row["provider_reason"],
        circuit=circuit,
        pause=pause,
        pace=pacing.decode(row["pace"]),
        paced_until=_seconds(row["paced_until"]),
        closed_until=_seconds(row["closed_until"]),
        closed_since=_seconds(row["closed_since"]),
        is_new=False,
    )
    return door, now


def save(store: Store, connection: Connection, before: Door, after: Door, now: float) -> Door:
    """Write a door whose row is locked; returns it as written."""
    standing = causes(after, now)
    longest = standing[0] if standing else None
    was_closed = before.closed_until is not None and before.closed_until > now
    after = replace(
        after,
        closed_until=longest.until if longest else None,
        closed_since=None if longest is None else before.closed_since if was_closed else now,
    )
    if after == before:
        return after
    values = _values(after, now) | {"closed_reason": longest.reason if longest else None}
    connection.execute(store.statement(SAVE), values)
    for moved in after.circuit.history:
        if moved.generation > before.circuit.generation:
            connection.execute(store.statement(TRANSITION), _transition(after.scope, moved))
    for held in (_held_by_provider, _held_by_pause, _held_by_hand):
        closings.note(store, connection, after.scope, held(before, now), held(after, now), now)
    return after


def _held_by_provider(door: Door, now: float) -> Held | None:
    if door.provider_until is None or door.provider_until <= now:
        return None
    return Held("provider", now, door.provider_until, door.provider_reason)


def _held_by_pause(door: Door, now: float) -> Held | None:
    pause = door.pause
    if pause is None or (pause.until is not None and pause.until <= now):
        return None
    return Held("auth" if pause.cause == "auth" else "pause", pause.since, pause.until, pause.note)


def _held_by_hand(door: Door, now: float) -> Held | None:
    """By a person who holds its circuit open; what that does by itself is in its transitions."""
    override = rules.standing_override(door.circuit, now)
    if override is None or override.position is not Position.FORCED_OPEN:
        return None
    return Held("circuit", override.at, override.until, override.note)


def _transition(scope: Scope, moved: Any) -> dict[str, Any]:
    return {
        "type": scope.type,
        "name": scope.name,
        "generation": moved.generation,
        "moved_at": from_seconds(moved.at),
        "before": moved.before,
        "after": moved.after,
        "why": moved.why,
        "actor": moved.by,
    }


def _key(scope: Scope) -> dict[str, Any]:
    return {"type": scope.type, "name": scope.name, "account": scope.account, "kind": scope.kind}


def _values(door: Door, now: float) -> dict[str, Any]:
    pause = door.pause
    return _key(door.scope) | {
        "guarded": mark(door, now),
        "watched": int(is_watched(door)),
        "closed_until": from_seconds(door.closed_until),
        "since_at": from_seconds(door.closed_since),
        "provider_until": from_seconds(door.provider_until),
        "provider_reason": door.provider_reason,
        "circuit": None if door.circuit == BLANK else BREAKERS.encode(door.circuit),
        "paused_at": pause and from_seconds(pause.since),
        "paused_until": pause and from_seconds(pause.until),
        "paused_by": pause and pause.by,
        "pause_note": pause and pause.note,
        "pause_cause": pause and pause.cause,
        "pace": pacing.encode(door.pace) if door.limited else None,
        "paced_until": from_seconds(door.paced_until),
    }


def _seconds(value: Any) -> float | None:
    moment = read_time(value)
    return None if moment is None else moment.timestamp()
