"""What does one row of a list show? Ready texts, because a list has fifty of them and a template is slow at deciding."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from flask import request

from dlq_console.store import people
from dlq_console.store.events import EventSummary
from dlq_console.store.people import Person
from dlq_console.store.states import Action, Status, actions_for
from dlq_console.web import display
from dlq_console.web.advice import in_short
from dlq_console.web.display import Stamp
from dlq_console.web.follow import Follow, follow, outcome
from dlq_console.web.history import waiting
from dlq_console.web.things import thing
from dlq_console.web.words import Look


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One event as a row.

    `said` is what happened, `raw` the error as it was kept; `seen` is the epoch, for the guard of an act. A row with
    `follow` looks at the truth until its event has ended.
    """

    id: int
    address: str
    seen: int
    look: Look
    thing: str
    kind: str
    account: str
    said: str
    raw: str
    stamp: Stamp
    attempts: str
    may_reprocess: bool
    follow: Follow | None


def list_rows(events: Iterable[EventSummary], person: Person) -> list[Row]:
    """The rows of a list. They stay as they are: only what somebody acts upon is followed."""
    shown, root = display.current(), request.script_root
    may = people.may(person, Action.REPROCESS)
    return [_row(event, shown, root, may=may) for event in events]


def followed_row(event: EventSummary, person: Person) -> Row:
    """The row of an event that was acted upon, with what came of it in place of the error."""
    may = people.may(person, Action.REPROCESS)
    return _row(
        event,
        display.current(),
        request.script_root,
        may=may,
        said=outcome(event) or waiting(event),
        since=event.updated_at,
        where=follow(event, "fragments.row"),
    )


def _row(
    event: EventSummary,
    shown: display.Display,
    root: str,
    *,
    may: bool,
    said: str = "",
    since: datetime | None = None,
    where: Follow | None = None,
) -> Row:
    died_at = event.finished_at if event.status == Status.DEAD else None
    return Row(
        id=event.id,
        # Routes are not looked up fifty times.
        address=f"{root}/events/{event.id}",
        seen=event.lease_epoch,
        look=shown.state(event),
        thing=thing(event),
        kind=event.kind,
        account=event.account,
        said=said or in_short(event),
        raw=event.last_error or "",
        stamp=shown.stamp(died_at or since or event.created_at),
        attempts=shown.number(event.total_attempts),
        may_reprocess=may and Action.REPROCESS in actions_for(event.status),
        follow=where,
    )
