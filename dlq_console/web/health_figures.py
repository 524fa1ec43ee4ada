"""Which circuits and bulkheads may a person see? Those of the hub as they stand, those of services as they were read last.

Services are read by a step of the workers, so that looking never waits for the place where guards keep them. They
belong to no account: whoever may see some accounts only does not see them.
"""

from __future__ import annotations

from typing import Any

from dlq_console.hub import services
from dlq_console.hub.door_figures import NOTHING, Kinds, account_rooms, breaker_figures
from dlq_console.hub.doors import circuits, every_door
from dlq_console.store import queries, snapshots
from dlq_console.store.people import Person
from dlq_console.store.queries.crew import crew
from dlq_console.store.store import Store
from dlq_console.web.crew import crew_figures, visible


def every_breaker(store: Store, asking: Person, kinds: Kinds = NOTHING) -> dict[str, Any]:
    """Circuits of the hub and of services that have anything to tell, by the names under which they are shown."""
    hubs = {door.scope.name: (door, now) for door, now in circuits(store)}
    shown = {
        name: breaker_figures(door, now, kinds)
        for name, (door, now) in hubs.items()
        if queries.concerns(door.scope, asking.accounts)
    }
    return services.together(shown, _of_services(store, services.BREAKERS, asking))


def every_bulkhead(store: Store, asking: Person) -> dict[str, Any]:
    """Accounts that have work, and bulkheads of services, by the names under which they are shown."""
    rooms = account_rooms(queries.overview(store, accounts=asking.accounts), every_door(store))
    return services.together(rooms, _of_services(store, services.BULKHEADS, asking))


def every_worker(store: Store, asking: Person) -> dict[str, Any]:
    """Workers with what they run, and the periodic steps, as far as somebody may see them."""
    return crew_figures(visible(crew(store), asking))


def _of_services(store: Store, reading: str, asking: Person) -> dict[str, Any]:
    return services.last_seen(snapshots.look(store, reading)) if asking.accounts is None else {}
