"""Does the record of a storm show what was promised? Every sentence that comes out of here is a broken promise."""

from __future__ import annotations

from collections import Counter

from tests.chaos import changes, effects, lane_order, losses
from tests.chaos.record import Record

#: Most sentences that are worth reading.
MOST = 100


def complaints(record: Record) -> list[str]:
    """What is wrong, one sentence each; none if every promise was kept."""
    found = [
        sentence for part in (losses, effects, lane_order, changes) for sentence in part.complaints(record)
    ]
    return found[:MOST]


def figures(record: Record) -> dict[str, object]:
    """What happened, for whoever wants to know how hard the promises were tried."""
    return {
        "events": dict(Counter(f"{event.status} {event.reason or ''}".strip() for event in record.events)),
        "attempts": dict(Counter(attempt.outcome for attempt in record.attempts)),
        "acts": dict(Counter(act.action for act in record.audit)),
        "erp": dict(Counter(entry.what for entry in record.ledger if not entry.echo)),
        "legal overtakes": len(lane_order.overtakes(record)),
    }
