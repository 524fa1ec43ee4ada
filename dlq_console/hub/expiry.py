"""What becomes of an event that was not started in time?"""

from __future__ import annotations

from dataclasses import replace

from dlq_console.hub.failures import failure
from dlq_console.store import overdue
from dlq_console.store.fingerprints import fingerprint
from dlq_console.store.store import Store


def bury_overdue(store: Store) -> int:
    """Bury what was not started before its expiry or the longest wait of its kind. Returns how many."""
    buried = 0
    for event in overdue.overdue(store):
        late = "its expiry" if event.expires_at else "the longest wait its kind allows"
        message = f"It was not started before {late}; its account was closed, or no worker had room for it."
        cause = failure("Expired", message)
        # What ends without a run is told apart by its kind here; the ending of a run does that by itself.
        cause = replace(cause, fingerprint=fingerprint(cause.type, cause.message, kind=event.kind))
        buried += overdue.give_up(store, event.id, cause)
    return buried
