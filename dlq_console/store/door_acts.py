"""What can happen to a door: each function makes an act that `doors.change` does, and does nothing itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dlq_console.resilience import pacing
from dlq_console.resilience.breaker import BreakerRecord, CircuitBreakerConfig, CircuitState, rules
from dlq_console.resilience.breaker.record import Position
from dlq_console.resilience.breaker.window import Evidence
from dlq_console.resilience.pacing import Limits
from dlq_console.resilience.state import Change
from dlq_console.resilience.state.records import Keep
from dlq_console.store.doors import Act, Door, Pause, PauseCause
from dlq_console.store.events import Event

#: The circuit of an account, where its kind brings none of its own; times in seconds.
ACCOUNT_CIRCUIT = CircuitBreakerConfig(
    failure_threshold=5, success_threshold=1, recovery_timeout=120.0, max_recovery_timeout=3600.0
)
#: Evidence of a run that proved nothing: it gives its probe's permit back.
NOTHING = Evidence()


def asks_to_wait(seconds: float, reason: str) -> Act:
    """Its provider asks to be left alone; a longer time that stands already is kept with its reason."""

    def act(door: Door, now: float) -> Door:
        until = now + seconds
        if door.provider_until is not None and door.provider_until >= until:
            return door
        return replace(door, provider_until=until, provider_reason=reason)

    return act


def probe_token(event_id: int, epoch: int) -> str:
    """Holder of a probe's permit: one claim of one event."""
    return f"{event_id}:{epoch}"


def is_probe(door: Door, event: Event) -> bool:
    """Whether this run of the event holds a permit of the door's circuit."""
    token = probe_token(event.id, event.lease_epoch)
    return any(probe.token == token for probe in door.circuit.probes)


def reported(event: Event, evidence: Evidence, config: CircuitBreakerConfig, by: str) -> Act:
    """A run has ended and proved something about the service, or nothing.

    A run that began before the circuit's last transition decides nothing.
    """
    started = event.started_at.timestamp() if event.started_at else 0.0
    token = probe_token(event.id, event.lease_epoch)

    def act(door: Door, now: float) -> Door:
        record = door.circuit
        generation = record.generation if started >= record.since else rules.NO_EVIDENCE
        moved = rules.report(
            record, now, config=config, generation=generation, token=token, evidence=evidence, by=by
        )
        return replace(door, circuit=_changed(record, moved))

    return act


def answered_badly(limits: Limits) -> Act:
    """One more failing answer, where the provider counts them; the last one it puts up with closes the door."""

    def act(door: Door, now: float) -> Door:
        pace = pacing.failed(door.pace, limits, now)
        counted = replace(door, pace=pace, limited=True)
        until = pacing.exhausted_until(pace, limits, now)
        if until is None or limits.budget is None:
            return counted
        allowed = f"{limits.budget.failures} failing answers in {limits.budget.seconds:g} seconds"
        return asks_to_wait(until - now, f"The provider blocks after more than {allowed}.")(counted, now)

    return act


def limited(door: Door, now: float) -> Door:
    """Its provider's limits are kept from now on."""
    return replace(door, limited=True)


def paused(*, by: str, note: str | None, seconds: float | None, cause: PauseCause = "person") -> Act:
    """Nothing starts until it is resumed, or for some seconds.

    After a refused log-in only a person lets it start again, whatever pause had stood before or comes after.
    """

    def act(door: Door, now: float) -> Door:
        standing = door.pause if door.pause and (door.pause.until is None or door.pause.until > now) else None
        if cause == "auth" and standing is not None and standing.until is None:
            return door
        if standing is not None and standing.cause == "auth":
            return replace(door, pause=replace(standing, by=by, note=note))
        until = None if seconds is None else now + seconds
        return replace(door, pause=Pause(since=now, until=until, by=by, note=note, cause=cause))

    return act


def resumed(door: Door, now: float) -> Door:
    """A person lets its work start again: no pause, no closing of its provider."""
    return replace(door, pause=None, provider_until=None, provider_reason=None)


def forced(position: Position, *, actor: str, note: str, seconds: float | None) -> Act:
    """A person puts its circuit where they want it, for some seconds or until it is reset."""

    def act(door: Door, now: float) -> Door:
        change = rules.force(door.circuit, now, position=position, actor=actor, note=note, seconds=seconds)
        return replace(door, circuit=_changed(door.circuit, change))

    return act


def circuit_reset(*, actor: str, note: str) -> Act:
    """A person closes its circuit and ends what they or others had decided."""

    def act(door: Door, now: float) -> Door:
        return replace(
            door, circuit=_changed(door.circuit, rules.reset(door.circuit, now, actor=actor, note=note))
        )

    return act


def admitted(door: Door, now: float, *, token: str, lease: float, by: str) -> Door | None:
    """The door after one more run was let through; None where its circuit refuses."""
    if door.circuit.state is CircuitState.CLOSED and door.circuit.override is None:
        return door
    change = rules.admit(door.circuit, now, config=ACCOUNT_CIRCUIT, token=token, lease=lease, by=by)
    if isinstance(change.answer, rules.Refused):
        return None
    return replace(door, circuit=_changed(door.circuit, change))


def _changed(record: BreakerRecord, change: Change[BreakerRecord, Any]) -> BreakerRecord:
    return record if change.record is None or change.record is Keep.AS_IT_IS else change.record
