"""What does one row of a list show? Ready texts, because a list has fifty of them and a template is slow at deciding."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from flask import request

from dlq_console.store import people
from dlq_console.store.events import EventSummary
from dlq_console.store.people import Person
from dlq_console.store.queries import Listed
from dlq_console.store.states import Action, Status, allows
from dlq_console.web import display
from dlq_console.web.advice import in_short
from dlq_console.web.display import Stamp
from dlq_console.web.follow import Follow, follow, outcome
from dlq_console.web.things import thing
from dlq_console.web.waiting import waiting
from dlq_console.web.words import Look


class Row(NamedTuple):
    """One event as a row. A tuple, because fifty of them are made for a page, and a tuple is made twice as fast.

    `said` is what happened, `raw` the error as it was kept; `seen` is the epoch, for the guard of an act. A row with
    `follow` looks at the truth until its event has ended.
    """

    id: str
    address: str
    seen: str
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


def list_rows(events: Iterable[Listed], person: Person, *, came_in: bool = False) -> list[Row]:
    """The rows of a list. They stay as they are: only what somebody acts upon is followed.

    Args:
        events: what the rows show.
        person: who looks.
        came_in: whether the time is that of coming in for all of them; else that of its death for a dead one.
    """
    shown, root = display.current(), request.script_root
    may = people.may(person, Action.REPROCESS)
    return [
        _row(event, shown, root, may=may, since=event.created_at if came_in else None) for event in events
    ]


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
    event: Listed,
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
        id=str(event.id),
        # Routes are not looked up fifty times.
        address=f"{root}/events/{event.id}",
        seen=str(event.lease_epoch),
        look=shown.state(event),
        thing=thing(event),
        kind=event.kind,
        account=event.account,
        said=said or in_short(event),
        raw=event.last_error or "",
        stamp=shown.stamp(since or died_at or event.created_at),
        attempts=shown.number(event.total_attempts),
        may_reprocess=may and allows(Action.REPROCESS, event.status),
        follow=where,
    )
