"""Which doors are closed, by what, until when, and what may this person do about it? Parts of overview and event page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flask_babel import gettext

from dlq_console.store import people, queries
from dlq_console.store.events import EventSummary
from dlq_console.store.people import Permission, Person
from dlq_console.store.queries import ClosedDoor
from dlq_console.store.states import Reason
from dlq_console.web import display, words
from dlq_console.web.auth import person
from dlq_console.web.hub import store

#: In which order causes are told: what needs a person comes first.
_ORDER = ("auth", "pause", "circuit", "provider")
#: What may be chosen for a pause, in minutes; 0 until a person resumes it.
PAUSES = (0, 15, 60, 240, 1440)


@dataclass(frozen=True, slots=True)
class DoorRow:
    """One closed door as a row: by what, until when, in whose words, and what the person may do."""

    door: ClosedDoor
    cause: str
    until: str
    by: str
    reason: str
    may_resume: bool
    may_reset: bool


def rows(closed: Sequence[ClosedDoor], asking: Person) -> list[DoorRow]:
    """Closed doors by cause, those that need a person first."""
    may_resume = people.may(asking, Permission.RESUME_ACCOUNT)
    may_reset = people.may(asking, Permission.FORCE_BREAKER)
    ordered = sorted(closed, key=lambda door: (_ORDER.index(door.cause), door.type, door.name))
    return [
        DoorRow(
            door,
            words.cause_word(door.cause),
            _until(door),
            "" if door.cause == "auth" else door.by or "",
            _reason(door),
            may_resume=may_resume and door.cause in ("auth", "pause"),
            may_reset=may_reset and door.cause == "circuit",
        )
        for door in ordered
    ]


def overview_parts(asking: Person, closed: Sequence[ClosedDoor]) -> dict[str, Any]:
    """What the overview shows of doors."""
    return {
        "door_rows": rows(closed, asking),
        "closed_accounts": {door.account: door for door in reversed(closed) if door.type == "account"},
        "may_pause": people.may(asking, Permission.PAUSE_ACCOUNT),
        "pauses": [(minutes, _pause_word(minutes)) for minutes in PAUSES],
    }


def resumes(event: EventSummary) -> bool:
    """Whether the page of an event offers to resume its account: it is paused, and the person may."""
    if not people.may(person(), Permission.RESUME_ACCOUNT):
        return False
    if event.waiting_cause in ("auth", "pause"):
        return True
    return event.reason == Reason.AUTH and queries.paused_account(store(), event.account) is not None


def _reason(door: ClosedDoor) -> str:
    if door.cause != "circuit" or door.by is not None:
        return door.reason or ""
    # A circuit's own words are the program's, in English.
    return (
        gettext("failures in a row; the last one: %(error)s", error=door.last_failure)
        if door.last_failure
        else ""
    )


def _until(door: ClosedDoor) -> str:
    if door.until is None:
        if door.cause in ("auth", "pause"):
            return gettext("until a person resumes it")
        return gettext("until a person resets it")
    time = display.current().moment(door.until)
    if door.cause == "circuit" and door.by is None:
        return gettext("until %(time)s, probe next", time=time)
    return gettext("until %(time)s", time=time)


def _pause_word(minutes: int) -> str:
    if not minutes:
        return gettext("until a person resumes it")
    return gettext("for %(span)s", span=display.current().span(minutes * 60))
