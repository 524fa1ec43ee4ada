"""What may this person do with this event now? What the table of states allows, less what would be refused anyway."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from flask import url_for

from dlq_console.store import people, queries
from dlq_console.store.events import EventSummary
from dlq_console.store.states import Action, Reason, Status, actions_for
from dlq_console.web import display
from dlq_console.web.auth import person
from dlq_console.web.follow import Follow
from dlq_console.web.hub import hub, store
from dlq_console.web.prechecking import Asked, asked
from dlq_console.web.succession import Succession

#: A time to send that is farther away is told, and not counted down.
COUNTED_DOWN = 90.0


@dataclass(frozen=True, slots=True)
class Sending:
    """A reprocess that can be cancelled: when it is sent, or None where it is due and waits for a worker.

    `seconds` until then, rounded up; None where it is not counted down.
    """

    at: datetime | None
    seconds: int | None
    follow: Follow | None


@dataclass(frozen=True, slots=True)
class Offers:
    """The actions that are offered, and what is told beside them."""

    actions: tuple[Action, ...]
    sending: Sending | None
    precheck: Asked | None


def offers(event: EventSummary, newer: Succession) -> Offers:
    """What is offered on the page of an event; `newer` is the event that took its place or could."""
    actions = tuple(
        action
        for action in actions_for(event.status)
        if people.may(person(), action) and _makes_sense(action, event, newer)
    )
    return Offers(
        actions,
        sending(event) if Action.CANCEL_SEND in actions else None,
        asked(event, may_ask=Action.PRECHECK in actions) if event.status == Status.DEAD else None,
    )


def may_cancel(event: EventSummary) -> bool:
    """Whether this person may take back the reprocess of an event."""
    return (
        Action.CANCEL_SEND in actions_for(event.status)
        and people.may(person(), Action.CANCEL_SEND)
        and queries.may_cancel_send(store(), event.id)
    )


def sending(event: EventSummary) -> Sending:
    """When an event that waits to be sent is sent, as of now."""
    left = (event.next_run_at - display.current().now).total_seconds()
    if left <= 0:
        return Sending(None, None, None)
    if left > COUNTED_DOWN:
        return Sending(event.next_run_at, None, None)
    again = Follow(url_for("acts.countdown", event_id=event.id), 1)
    return Sending(event.next_run_at, int(left) + 1, again)


def _makes_sense(action: Action, event: EventSummary, newer: Succession) -> bool:
    match action:
        case Action.REPROCESS:
            return not newer.bars
        case Action.EDIT:
            return not (newer.bars or event.doubts or event.reason == Reason.IN_DOUBT)
        case Action.PRECHECK:
            return hub().has_precheck(event.kind)
        case Action.CANCEL_SEND:
            return queries.may_cancel_send(store(), event.id)
        case Action.RESTORE:
            return event.reason == Reason.OPERATOR
    return True
