"""Which doors are closed, by what, until when, and what may this person do about it? Parts of overview and event page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar

from flask_babel import gettext

from dlq_console.hub.shown_names import hub_name
from dlq_console.store import people, queries
from dlq_console.store.events import EventSummary
from dlq_console.store.people import Permission, Person
from dlq_console.store.queries import ClosedDoor, Overview
from dlq_console.store.states import Reason
from dlq_console.web import display, words
from dlq_console.web.auth import person
from dlq_console.web.hub import store
from dlq_console.web.space import within

Item = TypeVar("Item")

#: In which order causes are told: what needs a person comes first.
_ORDER = ("auth", "pause", "circuit", "provider")
#: Rows of each table of the overview: a row may hold a form, and an installation may have hundreds of accounts.
MOST_ROWS = 20
#: Bytes of a page for why one door is closed.
REASON = 180
#: What may be chosen for a pause, in minutes; 0 until a person resumes it.
PAUSES = (0, 15, 60, 240, 1440)


@dataclass(frozen=True, slots=True)
class DoorRow:
    """One closed door as a row: by what, until when, in whose words, and what the person may do, under which name."""

    door: ClosedDoor
    circuit: str
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
            hub_name(door.name),
            words.cause_word(door.cause),
            _until(door),
            "" if door.cause == "auth" else door.by or "",
            within(_reason(door), REASON),
            may_resume=may_resume and door.cause in ("auth", "pause"),
            may_reset=may_reset and door.cause == "circuit",
        )
        for door in ordered
    ]


@dataclass(frozen=True, slots=True)
class Part(Generic[Item]):
    """A part of a table that is too long for a page: its rows, how many stand behind them, and where they begin."""

    items: Sequence[Item]
    more: int
    next: int

    @classmethod
    def of(cls, items: Sequence[Item], start: int) -> Self:
        """The rows from `start` on; from the beginning where there are none."""
        start = start if 0 <= start < len(items) else 0
        end = start + MOST_ROWS
        return cls(items[start:end], max(len(items) - end, 0), end)


def overview_parts(
    asking: Person, closed: Sequence[ClosedDoor], view: Overview, start: Mapping[str, int]
) -> dict[str, Any]:
    """What the overview shows of doors, accounts and kinds; `start` says with which row each table begins."""
    shut = {door.account: door for door in reversed(closed) if door.type == "account"}
    # What is closed needs a look, however little is dead behind it.
    accounts = sorted(view.accounts, key=lambda figures: figures.account not in shut)
    return {
        "doors": Part.of(rows(closed, asking), start["doors"]),
        "accounts": Part.of(accounts, start["accounts"]),
        "kinds": Part.of(view.kinds, start["kinds"]),
        "closed_accounts": shut,
        "may_pause": people.may(asking, Permission.PAUSE_ACCOUNT),
        "pauses": pauses(),
    }


def pauses() -> list[tuple[int, str]]:
    """For how long an account may be paused: minutes, and the same in words."""
    return [(minutes, _pause_word(minutes)) for minutes in PAUSES]


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
