"""How does a page follow an event after somebody acted on it? It asks again until the event has ended."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from flask import url_for
from flask_babel import gettext

from dlq_console.store.events import EventSummary
from dlq_console.store.states import OPEN, Again, Status
from dlq_console.web import display

#: Seconds between two looks at an event that moves, and at one that waits for minutes.
BRISK = 2
SLOW = 10
#: What is due within that is waited for at the brisk pace.
SOON = timedelta(seconds=15)


@dataclass(frozen=True, slots=True)
class Follow:
    """Where to look for the truth, and how often."""

    address: str
    seconds: int


def follow(event: EventSummary, endpoint: str) -> Follow | None:
    """How to follow `event` through the fragment `endpoint`; None once it has ended."""
    if event.status not in OPEN:
        return None
    waits = (
        event.status in (Status.FAILED, Status.BLOCKED)
        or event.waiting_cause is not None
        or (event.waiting_until is not None and event.waiting_until - display.current().now > SOON)
    )
    address = url_for(endpoint, event_id=event.id, seen=version_of(event))
    return Follow(address, SLOW if waits else BRISK)


def version_of(event: EventSummary) -> str:
    """Changes whenever something worth showing changes."""
    return f"{event.status}.{event.lease_epoch}.{event.total_attempts}.{event.waiting_for or ''}.{event.waiting_cause or ''}"


def outcome(event: EventSummary) -> str:
    """What came of a reprocess; empty where there was none or nothing came of it yet."""
    if event.cycle == 0:
        return ""
    if event.status == Status.DONE:
        return gettext("Reprocess succeeded.")
    if event.status != Status.DEAD:
        return ""
    match event.died_again:
        case Again.SAME:
            return gettext("It died again: same error.")
        case Again.DIFFERENT:
            return gettext("It died again: a different error.")
    return ""
