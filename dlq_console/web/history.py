"""What happened to an event, newest first? Attempts, acts of people, how it came in, and its duplicates in one line of time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from flask_babel import gettext, ngettext

from dlq_console.store.events import Attempt, AuditEntry, EventSummary
from dlq_console.store.queries import Lane
from dlq_console.store.states import Status
from dlq_console.web import display
from dlq_console.web.things import thing
from dlq_console.web.told import Told


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that happened: an attempt, an act, or a plain sentence."""

    at: datetime
    attempt: Attempt | None = None
    told: Told | None = None
    act: AuditEntry | None = None
    sentence: str = ""


def entries(
    event: EventSummary, attempts: Sequence[Attempt], told: Mapping[int, Told], acts: Sequence[AuditEntry]
) -> list[Entry]:
    """Everything that is known, newest first; `told` is what each attempt tells, by its id."""
    known = [
        *(Entry(attempt.ended_at, attempt=attempt, told=told[attempt.id]) for attempt in attempts),
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
    """How often the same event was sent, and what to do where that was meant; empty where it was sent once."""
    if not event.duplicates or event.last_duplicate_at is None:
        return ""
    if event.is_keyed_by_content:
        return ngettext(
            "The same content came in again, at %(time)s. If it was meant to be sent again, send it with a version.",
            "The same content came in again %(num)d times, last at %(time)s. If it was meant to be sent again, send it "
            "with a version.",
            event.duplicates,
            time=display.current().moment(event.last_duplicate_at),
        )
    return ngettext(
        "received %(num)d time, last at %(time)s",
        "received %(num)d times, last at %(time)s",
        event.duplicates + 1,
        time=display.current().moment(event.last_duplicate_at),
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
