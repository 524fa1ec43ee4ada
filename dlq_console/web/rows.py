"""What does one row of a list show? Ready texts, because a list has fifty of them and a template is slow at deciding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple
from urllib.parse import urlencode

from flask import request
from flask_babel import gettext

from dlq_console.store import people
from dlq_console.store.events import EventSummary
from dlq_console.store.people import Person
from dlq_console.store.queries import Listed
from dlq_console.store.states import Action, Status, allows
from dlq_console.web import display
from dlq_console.web.advice import in_short
from dlq_console.web.beside import Beside, Cell, beside
from dlq_console.web.display import Stamp
from dlq_console.web.follow import Follow, follow, outcome
from dlq_console.web.offers import may_cancel, sending
from dlq_console.web.space import fairly, within
from dlq_console.web.succession import NOTHING_NEWER, Succession
from dlq_console.web.things import thing
from dlq_console.web.waiting import waiting
from dlq_console.web.words import Look

#: Bytes of a page for the texts of all rows, and for those where fields of the payload have columns, whose cells take
#: room themselves; what is always left of them.
TEXTS, TEXTS_WITH_COLUMNS, LEAST_TEXTS = 9_000, 5_500, 2_600
#: Bytes of a row for its texts; of its error: what it shows, and what it says to whoever points at it.
MOST, SAID, RAW = 600, 180, 320


@dataclass(frozen=True, slots=True)
class Form:
    """What all rows of a list look like, so that a row which is swapped fits in among the others.

    `picks`: each has a box to select it by. `kind`: the one kind of the list, whose fields have columns. `came_in`: the
    time is that of coming in for all of them; else that of its death for a dead one.
    """

    picks: bool = False
    kind: str = ""
    came_in: bool = False

    @classmethod
    def of_request(cls) -> Form:
        """As the row that is asked for says."""
        sent = request.values
        return cls(sent.get("picks") == "1", sent.get("of", ""), sent.get("came_in") == "1")

    @property
    def fields(self) -> list[tuple[str, str]]:
        """The same as fields of a form or parameters of an address."""
        return (
            [("picks", "1")] * self.picks
            + [("of", self.kind)] * bool(self.kind)
            + [("came_in", "1")] * self.came_in
        )


class Row(NamedTuple):
    """One event as a row. A tuple, because fifty of them are made for a page, and a tuple is made twice as fast.

    `said` is what happened, `raw` the error as it was kept where that says more; `cells` are fields of the payload
    that have columns, `beside` is what else is known, whoever has it first, because it is cut at its end; `seen` is the epoch, for the guard of an act; `verb` is the act
    that is offered; where it is `barred`, it was refused and would be again, and the page of the event tells why. A row with `follow` looks at the truth until its event has ended.
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
    cells: tuple[Cell, ...]
    beside: str
    stamp: Stamp
    attempts: str
    verb: str
    barred: bool
    picks: bool
    follow: Follow | None


def list_rows(
    events: Sequence[Listed],
    person: Person,
    *,
    form: Form | None = None,
    known: Beside | None = None,
    taken: int = 0,
) -> list[Row]:
    """The rows of a list. They stay as they are: only what somebody acts upon is followed.

    Args:
        events: what the rows show.
        person: who looks.
        form: what they have in common.
        known: what stands beside the events; nothing if left out.
        taken: bytes of their room on the page that something else takes.
    """
    shown, root = display.current(), request.script_root
    may = people.may(person, Action.REPROCESS)
    form, known = form or Form(), known or Beside()
    # Fifty long errors would fill the page, so they share what there is.
    texts = max((TEXTS_WITH_COLUMNS if form.kind else TEXTS) - taken, LEAST_TEXTS)
    room = min(texts // max(len(events), 1), MOST)
    return [
        _row(
            event,
            shown,
            root,
            may=may,
            form=form,
            known=known,
            since=event.created_at if form.came_in else None,
            room=room,
        )
        for event in events
    ]


def followed_row(event: EventSummary, person: Person, newer: Succession = NOTHING_NEWER) -> Row:
    """The row of an event that was acted upon, with what came of it in place of the error; or that `newer` stands in its way.

    Its time is what the list shows in that column; while it is no dead letter, that of its last change.
    """
    form = Form.of_request()
    where = follow(event, "fragments.row")
    if where and form.fields:
        where = replace(where, address=f"{where.address}&{urlencode(form.fields)}")
    cancels = may_cancel(event)
    since = None if event.status == Status.DEAD else event.updated_at
    if form.came_in:
        since = event.created_at
    return _row(
        event,
        display.current(),
        request.script_root,
        may=people.may(person, Action.REPROCESS),
        form=form,
        known=beside([event], [form.kind] if form.kind else []),
        said=(
            " ".join(newer.sentences[:1])
            or (_sent_later(event) if cancels else "")
            or outcome(event)
            or waiting(event)
        ),
        barred=newer.newer is not None and event.status == Status.DEAD,
        verb="cancel-send" if cancels else "",
        since=since,
        where=where,
    )


def _sent_later(event: EventSummary) -> str:
    """When a reprocess that can still be cancelled is sent; empty where it is due."""
    at = sending(event).at
    return (
        gettext("Will be sent at %(time)s.", time=display.current().stamp(at, exact=True).short) if at else ""
    )


def _row(
    event: Listed,
    shown: display.Display,
    root: str,
    *,
    may: bool,
    form: Form,
    known: Beside,
    said: str = "",
    verb: str = "",
    barred: bool = False,
    since: datetime | None = None,
    where: Follow | None = None,
    room: int = MOST,
) -> Row:
    died_at = event.finished_at if event.status == Status.DEAD else None
    whole, raw = said or in_short(event), event.last_error or ""
    cells = known.cells(event)
    beside_ = " · ".join(filter(None, (known.on_desk(event), known.in_words(event))))
    said, beside_, name, kind, account, *fields = fairly(
        [
            within(whole, SAID),
            beside_,
            thing(event),
            "" if form.kind else event.kind,
            event.account,
            *(cell.text for cell in cells),
        ],
        room,
    )
    return Row(
        id=str(event.id),
        # Routes are not looked up fifty times.
        address=f"{root}/events/{event.id}",
        seen=str(event.lease_epoch),
        look=shown.state(event),
        thing=name,
        kind=kind,
        account=account,
        said=said,
        raw=within(raw, RAW) if raw != said and room >= SAID + RAW else "",
        cells=tuple(cell._replace(text=text) for cell, text in zip(cells, fields, strict=True)),
        beside=beside_,
        stamp=shown.stamp(since or died_at or event.created_at),
        attempts=shown.number(event.total_attempts),
        verb=verb
        or (Action.REPROCESS if may and not barred and allows(Action.REPROCESS, event.status) else ""),
        barred=barred,
        picks=form.picks,
        follow=where,
    )
