"""When does the doctor look by itself, and what is kept for the page? Every five minutes, and whenever somebody asks."""

from __future__ import annotations

from dlq_console.health.findings import ASKED, DOCTOR, FOUND, to_values
from dlq_console.hub.core import HubCore
from dlq_console.store import snapshots
from dlq_console.watch.doctor.examining import examine

#: Seconds between two looks of which nobody has asked for the second.
EVERY = 300.0


def keep_examined(hub: HubCore) -> int:
    """Look if it is time, and write down what was found; returns how many findings that were."""
    looked, asked = snapshots.age(hub.store, DOCTOR), snapshots.age(hub.store, ASKED)
    was_asked = asked is not None and (looked is None or asked < looked)
    if looked is not None and looked < EVERY and not was_asked:
        return 0
    found = examine(hub)
    snapshots.keep(hub.store, DOCTOR, {FOUND: to_values(found)})
    return len(found)
