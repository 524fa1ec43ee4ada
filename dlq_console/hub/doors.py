"""What people do with accounts and circuits: pause, resume, hold open, hold closed, reset. Each with its audit row."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from dlq_console.errors import ActionNotAllowed, EventNotFound, PayloadRefused
from dlq_console.hub.actions import clean_actor, clean_note
from dlq_console.hub.policy import is_number
from dlq_console.hub.shown_names import OF_HUB
from dlq_console.resilience.breaker.record import BLANK, Position
from dlq_console.store import acts, door_acts, doors
from dlq_console.store.doors import Act, Door
from dlq_console.store.internal import check_account_name
from dlq_console.store.keys import MAX_ACCOUNT, check_text
from dlq_console.store.scope_names import Scope, account_scope, named_scope, provider_scope
from dlq_console.store.store import Store

#: The longest that an account may be paused or a circuit held, in seconds; without an end it is until a person acts.
LONGEST = 366 * 86_400.0


def pause_account(
    store: Store, name: str, *, actor: str, note: str | None = None, until: datetime | None = None
) -> None:
    """Let no further event of an account start, until it is resumed or until a moment; what runs runs to its end.

    Raises:
        PayloadRefused: a name, note or moment is no such thing.
    """
    seconds = None if until is None else _seconds_until(store, until)
    who, why = clean_actor(actor), clean_note(note)
    _do(store, _account(name), door_acts.paused(by=who, note=why, seconds=seconds), "pause_account", who, why)


def resume_account(store: Store, name: str, *, actor: str, note: str | None = None) -> None:
    """Let events of an account start again that is paused, or that its provider had closed, in whole or for some kinds.

    Raises:
        ActionNotAllowed: it is neither.
        PayloadRefused: a name or note is no such thing.
    """
    scope, who, why = _account(name), clean_actor(actor), clean_note(note)
    closed = [
        door
        for door, now in doors.read_of_account(store, scope.name)
        if is_paused(door, now) or _is_closed_by_provider(door, now)
    ]
    if not closed:
        raise ActionNotAllowed(
            f"The account {name} is neither paused nor closed by its provider.",
            status="open",
            action="resume_account",
        )
    for door in closed:
        _do(store, door.scope, door_acts.resumed, "resume_account", who, why)


def open_provider(store: Store, name: str, *, actor: str, note: str | None = None) -> None:
    """Let events go to a provider again that had closed itself for all accounts.

    Raises:
        ActionNotAllowed: it is not closed.
        PayloadRefused: a name or note is no such thing.
    """
    scope = provider_scope(check_text(name, "provider", max_length=MAX_ACCOUNT))
    door, now = doors.read(store, scope)
    if not _is_closed_by_provider(door, now):
        raise ActionNotAllowed(f"The provider {name} is not closed.", status="open", action="open_provider")
    _do(store, scope, door_acts.resumed, "open_provider", clean_actor(actor), clean_note(note))


def force_circuit(
    store: Store,
    name: str,
    position: Position,
    *,
    actor: str,
    note: str | None = None,
    seconds: float | None = None,
) -> None:
    """Hold the circuit of an account, or of a kind in it, open or closed, whatever its calls say.

    Raises:
        PayloadRefused: a name, note or time is no such thing.
    """
    check_span(seconds)
    who, why = clean_actor(actor), clean_note(note)
    act = door_acts.forced(position, actor=who, note=why or "", seconds=seconds)
    _do(store, circuit_scope(store, name), act, position, who, why)


def check_span(seconds: float | None) -> None:
    """Refuse a time for which nothing can be held; None is until somebody acts.

    Raises:
        PayloadRefused: that is none.
    """
    if seconds is not None and not (is_number(seconds) and 0 < seconds <= LONGEST):
        raise PayloadRefused(f"seconds: write a number greater than 0 and at most {LONGEST:g}.")


def reset_circuit(store: Store, name: str, *, actor: str, note: str | None = None) -> None:
    """Close a circuit, and end what a person had decided about it, or its provider had asked for.

    Raises:
        EventNotFound: there is no such circuit.
        PayloadRefused: a name or note is no such thing.
    """
    who, why = clean_actor(actor), clean_note(note)

    def reset(door: Door, now: float) -> Door:
        if door.circuit == BLANK and not _is_closed_by_provider(door, now):
            raise EventNotFound(f"There is no breaker {name}; `breakers list` shows those there are.")
        lifted = replace(door, provider_until=None, provider_reason=None)
        return door_acts.circuit_reset(actor=who, note=why or "")(lifted, now)

    _do(store, circuit_scope(store, name), reset, "reset_breaker", who, why)


def circuits(store: Store) -> list[tuple[Door, float]]:
    """The doors of which a circuit has anything to tell, with the database's time."""
    return [(door, now) for door, now in doors.read_eventful(store) if door.circuit != BLANK]


def circuit(store: Store, name: str) -> tuple[Door, float]:
    """The door whose circuit has this name, with the database's time.

    Raises:
        PayloadRefused: that is no name.
    """
    return doors.read(store, circuit_scope(store, name))


def every_door(store: Store) -> list[tuple[Door, float]]:
    """Every door of which something is written down, with the database's time."""
    return doors.read_all(store)


def _is_closed_by_provider(door: Door, now: float) -> bool:
    return door.provider_until is not None and door.provider_until > now


def is_paused(door: Door, now: float) -> bool:
    """Whether a pause of the door stands."""
    return door.pause is not None and (door.pause.until is None or door.pause.until > now)


def account_name(name: str) -> str:
    """The name of an account as it is written down.

    Raises:
        PayloadRefused: that is no name.
    """
    return check_account_name(name)


def circuit_scope(store: Store, name: str) -> Scope:
    """The scope of a circuit by its name: an account, or `<account>/<kind>` with "/" and "%" of the account escaped.

    An account whose own name has a "/" is found by that, as lists show it, where nothing else is called so; one whose name
    begins like that of a service as `account:<name>`.

    Raises:
        PayloadRefused: that is no name.
    """
    text = check_text(name, "breaker", max_length=3 * MAX_ACCOUNT).removeprefix(OF_HUB)
    if "/" not in text:
        return account_scope(text)
    method = named_scope("method", text)
    if doors.read(store, method)[0].is_new and not doors.read(store, account_scope(text))[0].is_new:
        return account_scope(text)
    return method


def settle(store: Store) -> int:
    """Write doors anew of which time has changed what they say; returns how many.

    Those that a clock which was set back would keep closed, and those that have come back from a closing.
    """
    settled = 0
    for door, now in doors.read_eventful(store):
        longest = max((cause.until for cause in doors.causes(door, now)), default=None)
        too_long = door.closed_until is not None and door.closed_until > now and longest != door.closed_until
        if too_long or doors.settled(door, now) != door:
            with store.write() as connection:
                doors.change(store, connection, door.scope, doors.settled)
            settled += 1
    return settled


def _do(store: Store, scope: Scope, act: Act, action: str, actor: str, note: str | None) -> None:
    """Do something to a door, and write down who did it."""
    with store.write() as connection:
        before = doors.look(store, connection, scope)
        door = doors.change(store, connection, scope, act)
        acts.record(
            store,
            connection,
            actor=actor,
            action=action,
            subject=scope.name,
            account=scope.account,
            note=note,
            before=_state(before),
            after=_state(door),
        )


def _state(door: Door | None) -> str:
    return "closed" if door is not None and door.closed_until is not None else "open"


def _account(name: str) -> Scope:
    return account_scope(account_name(name))


def _seconds_until(store: Store, until: datetime) -> float:
    if not isinstance(until, datetime):
        raise PayloadRefused(f"until: write an aware datetime, not {type(until).__name__}.")
    if until.tzinfo is None:
        raise PayloadRefused("until: it has no time zone; use an aware datetime.")
    seconds = until.timestamp() - doors.present(store)
    if not 0 < seconds <= LONGEST:
        raise PayloadRefused("until: it must lie ahead, by a year at most.")
    return seconds
