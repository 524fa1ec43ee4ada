"""What happened to an event, newest first? Attempts, acts of people, how it came in, and its duplicates in one line of time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from flask_babel import gettext, ngettext

from dlq_console.store.events import Attempt, AuditEntry, EventSummary
from dlq_console.store.queries import Lane
from dlq_console.store.states import Status
from dlq_console.web import display, words
from dlq_console.web.things import thing


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that happened: an attempt, an act, or a plain sentence."""

    at: datetime
    attempt: Attempt | None = None
    act: AuditEntry | None = None
    sentence: str = ""


def entries(event: EventSummary, attempts: Sequence[Attempt], acts: Sequence[AuditEntry]) -> list[Entry]:
    """Everything that is known, newest first."""
    known = [
        *(Entry(attempt.ended_at, attempt=attempt) for attempt in attempts),
        *(Entry(act.at, act=act) for act in acts),
        Entry(event.created_at, sentence=_came_in(event)),
    ]
    if event.status == Status.RUNNING and event.started_at is not None:
        number = display.current().number(event.attempts)
        known.append(Entry(event.started_at, sentence=gettext("Attempt %(number)s began.", number=number)))
    if event.duplicates and event.last_duplicate_at is not None:
        known.append(Entry(event.last_duplicate_at, sentence=_folded(event)))
    return sorted(known, key=lambda entry: entry.at, reverse=True)


def duplicates(event: EventSummary) -> str:
    """How often the same event was sent; empty where it was sent once."""
    if not event.duplicates or event.last_duplicate_at is None:
        return ""
    return ngettext(
        "received %(num)d time, last at %(time)s",
        "received %(num)d times, last at %(time)s",
        event.duplicates + 1,
        time=display.current().moment(event.last_duplicate_at),
    )


def waiting(event: EventSummary) -> str:
    """What an event waits for and until when; empty where nothing holds it up."""
    shown = display.current()
    if event.status == Status.BLOCKED:
        return ""  # `behind` says it
    until = event.waiting_until
    if event.waiting_for == "time" and until is not None:
        return gettext(
            "The next attempt is at %(time)s (%(ago)s).", time=shown.full(until), ago=shown.ago(until)
        )
    if event.waiting_for in (None, "time"):
        return ""
    cause = words.wait_word(str(event.waiting_for))
    if until is None:
        return gettext("It waits: %(cause)s.", cause=cause)
    return gettext(
        "It waits: %(cause)s until %(time)s. No attempt is spent.", cause=cause, time=shown.full(until)
    )


def behind(event: EventSummary, lane: Lane) -> str:
    """What an event of a lane waits behind, or how many wait behind it."""
    if event.id == lane.head:
        return ngettext(
            "%(num)d event of its lane waits behind it.",
            "%(num)d events of its lane wait behind it.",
            lane.waiting,
        )
    words = {"thing": thing(lane)}
    match lane.status:
        case Status.RUNNING:
            return gettext("Its turn comes after %(thing)s, which is being sent now.", **words)
        case Status.FAILED:
            return gettext("Its turn comes after %(thing)s, which failed and will be tried again.", **words)
        case Status.DEAD:
            return gettext(
                "Its lane has stopped: %(thing)s, which comes before it, failed for good.", **words
            )
    return gettext("Its turn comes after %(thing)s, which is queued.", **words)


def _came_in(event: EventSummary) -> str:
    if event.origin:
        return gettext("It came in from %(origin)s.", origin=event.origin)
    return gettext("It came in.")


def _folded(event: EventSummary) -> str:
    return ngettext(
        "A repeat came in and was folded into this event.",
        "The last of %(num)d repeats came in and was folded into this event.",
        event.duplicates,
    )
