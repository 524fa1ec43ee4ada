"""What do breakers and bulkheads of the hub and of the resilience library look like together, and who is meant by a name?

The hub's circuits are those of accounts and kinds, in its own database; those of services are wherever guards keep
them. A service is shown by its own name, or as `service:<name>` where the hub has a circuit of that name; an account whose
own name begins so is shown as `account:<name>`. Either of the names that the list shows is understood.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from dlq_console.errors import EventNotFound, StoreUnavailable
from dlq_console.hub.actions import clean_actor, clean_note
from dlq_console.hub.door_figures import circuit_figures, moment
from dlq_console.hub.doors import check_span, circuits
from dlq_console.hub.shown_names import OF_HUB, PREFIX, hub_name, shown_name
from dlq_console.resilience import CircuitBreaker, CircuitBreakerConfig, SharedState
from dlq_console.resilience.breaker import BreakerRecord
from dlq_console.resilience.breaker.record import BLANK, HISTORY, Position
from dlq_console.resilience.bulkhead import BulkheadRecord
from dlq_console.resilience.figures import Shown, read_breaker, read_figures
from dlq_console.resilience.leases import settled
from dlq_console.store import acts, snapshots
from dlq_console.store.snapshots import Snapshot
from dlq_console.store.store import Store

#: How circuits are set, by service.
BreakerSettings = Mapping[str, CircuitBreakerConfig]
#: Changes of a service's circuit that are kept.
KEPT_CHANGES = HISTORY
NO_SETTINGS: BreakerSettings = MappingProxyType({})
#: The readings in which a step keeps them.
BREAKERS, BULKHEADS = "service breakers", "service bulkheads"


@dataclass(frozen=True, slots=True)
class ServiceFigures:
    """Circuits and bulkheads of services by their own names, as plain values."""

    breakers: Mapping[str, Any]
    bulkheads: Mapping[str, Any]


def read_services(state: SharedState, settings: BreakerSettings = NO_SETTINGS) -> ServiceFigures:
    """What stands in the shared state now.

    Args:
        state: where guards keep it.
        settings: how circuits are set, by service, where that stands outside the code (DLQ_SERVICES).

    Raises:
        StoreUnavailable: it cannot be reached.
    """
    found = read_figures(state)
    return ServiceFigures(
        {name: _circuit(shown, found.now, settings.get(name)) for name, shown in found.breakers.items()},
        {name: _room(shown, found.now) for name, shown in found.bulkheads.items()},
    )


def _circuit(shown: Shown[BreakerRecord], now: float, config: CircuitBreakerConfig | None) -> dict[str, Any]:
    return {
        "scope": "service",
        **circuit_figures(shown.record, now, None if config is None else config.plain()),
        "counts": dict(shown.counts),
        "degraded": False,
    }


def _room(shown: Shown[BulkheadRecord], now: float) -> dict[str, Any]:
    slots = settled(shown.record.slots, now)
    oldest = min(slots, key=lambda slot: slot.since, default=None)
    return {
        "scope": "service",
        "max": shown.record.max,
        "in_use": len(slots),
        "available": max(0, shown.record.max - len(slots)),
        "waiting": len(settled(shown.record.waiting, now)),
        "oldest": oldest and {"owner": oldest.owner, "since": moment(oldest.since)},
        "counts": dict(shown.counts),
        "degraded": False,
    }


def service_breaker(
    state: SharedState, service: str, settings: BreakerSettings = NO_SETTINGS
) -> dict[str, Any]:
    """The circuit of one service as it stands now.

    Raises:
        StoreUnavailable: the state cannot be reached.
    """
    return _circuit(read_breaker(state, service) or Shown(BLANK, {}), state.now(), settings.get(service))


# Together with the hub's


def together(hubs: Mapping[str, Any], services: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the hub and those of services, each by its own name, by the names under which they are shown."""
    return {hub_name(name): value for name, value in hubs.items()} | {
        shown_name(name, hubs): value for name, value in services.items()
    }


def service_of(store: Store, state: SharedState, name: str) -> str | None:
    """The service whose circuit is shown by this name; None where it is one of the hub, or of nobody yet.

    Raises:
        StoreUnavailable: it is a service, and the state that guards share cannot be reached.
    """
    if name.startswith(PREFIX):
        return name.removeprefix(PREFIX)
    if name.startswith(OF_HUB):
        return None
    if any(door.scope.name == name for door, _ in circuits(store)):
        return None
    try:
        return name if read_breaker(state, name) is not None else None
    except StoreUnavailable:
        # A person must be able to close an account also then.
        if name in snapshots.look(store, BREAKERS).values:
            raise
        return None


def force(
    store: Store,
    state: SharedState,
    service: str,
    position: Position,
    *,
    actor: str,
    note: str | None = None,
    seconds: float | None = None,
    settings: BreakerSettings = NO_SETTINGS,
) -> None:
    """Hold the circuit of a service open or closed, whatever its calls say.

    Raises:
        PayloadRefused: a note or time is no such thing.
        ConfigurationError: the name is no name of a service.
        StoreUnavailable: the shared state is away.
    """
    check_span(seconds)
    who, why = clean_actor(actor), clean_note(note)
    breaker = CircuitBreaker(service, state=state)
    before = breaker.state
    hold = breaker.force_open if position is Position.FORCED_OPEN else breaker.force_closed
    hold(actor=who, note=why or "", seconds=seconds)
    _record(store, who, position, service, why, before=before, after=breaker.state)
    take_snapshot(store, state, settings)


def reset(
    store: Store,
    state: SharedState,
    service: str,
    *,
    actor: str,
    note: str | None = None,
    settings: BreakerSettings = NO_SETTINGS,
) -> None:
    """Close the circuit of a service, and end what a person had decided about it.

    Raises:
        EventNotFound: nobody has used it.
        PayloadRefused: a note is no such thing.
        StoreUnavailable: the shared state is away.
    """
    who, why = clean_actor(actor), clean_note(note)
    if read_breaker(state, service) is None:
        raise EventNotFound(f"There is no breaker {PREFIX}{service}; `breakers list` shows those there are.")
    breaker = CircuitBreaker(service, state=state)
    before = breaker.state
    breaker.reset(actor=who, note=why or "")
    _record(store, who, "reset_breaker", service, why, before=before, after=breaker.state)
    take_snapshot(store, state, settings)


def _record(
    store: Store, actor: str, action: str, service: str, note: str | None, *, before: str, after: str
) -> None:
    """Into the audit, after the act: the state may be another store, and a decision that was not kept is none."""
    with store.write() as connection:
        acts.record(
            store,
            connection,
            actor=actor,
            action=action,
            subject=f"{PREFIX}{service}",
            note=note,
            before=before,
            after=after,
        )


# As they were read last


def take_snapshot(store: Store, state: SharedState, settings: BreakerSettings = NO_SETTINGS) -> int:
    """Write down circuits and bulkheads of services for the pages; returns how many have changed."""
    try:
        found = read_services(state, settings)
    except StoreUnavailable as error:
        for reading in (BREAKERS, BULKHEADS):
            snapshots.keep_away(store, reading, error.message)
        return 0
    return snapshots.keep(store, BREAKERS, found.breakers) + snapshots.keep(store, BULKHEADS, found.bulkheads)


def last_seen(snapshot: Snapshot, *, away: bool = False) -> dict[str, Any]:
    """The values of a snapshot, each with whether they may have changed since.

    Args:
        snapshot: of circuits or of bulkheads.
        away: whether the caller knows that the state cannot be reached now.
    """
    degraded = away or snapshot.is_stale
    return {name: {**value, "degraded": degraded} for name, value in snapshot.values.items()}
