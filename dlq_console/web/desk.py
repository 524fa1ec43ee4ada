"""What has the team put on an event or a cause, and what may this person put there? The parts of pages about it."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass, field
from datetime import datetime

from flask import flash, get_flashed_messages, url_for
from flask_babel import gettext

from dlq_console.store import desk, people
from dlq_console.store.desk import Assignment, Change, GroupMarks, Marks, Note
from dlq_console.store.events import EventSummary
from dlq_console.store.people import Permission
from dlq_console.store.states import Status
from dlq_console.web import display
from dlq_console.web.auth import person
from dlq_console.web.hub import store
from dlq_console.web.moments import field_value, usual

#: Characters of a way back that is carried over a redirect.
LONGEST_KEPT = 1_500


@dataclass(frozen=True, slots=True)
class Undo:
    """How to take the last act back: what was done, and the form that posts what was there before."""

    sentence: str
    address: str
    fields: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignForm:
    """Who sees to something, and the form to change that."""

    address: str
    target: str
    assignee: str | None
    due_at: datetime | None
    due_value: str
    late: bool
    #: Whom the form offers; nobody where this person may not change it.
    people: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventDesk:
    """The desk of one event."""

    id: int
    marks: Marks
    notes: tuple[Note, ...]
    assign: AssignForm
    may_tag: bool
    may_note: bool
    may_snooze: bool
    #: Different in every form, so that one sent twice writes one note.
    form: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    undo: Undo | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupDesk:
    """The desk of one cause."""

    fingerprint: str
    marks: GroupMarks
    assign: AssignForm
    may_write: bool
    undo: Undo | None = None


def event_desk(event: EventSummary, undo: Undo | None = None) -> EventDesk:
    """The desk of an event as this person sees it; without `undo` that of the last act, where it came by a redirect."""
    marks = desk.marks(store(), [event.id])[event.id]
    address = url_for("desk_acts.assign", event_id=event.id)
    return EventDesk(
        id=event.id,
        marks=marks,
        notes=desk.notes(store(), event.id) if marks.notes else (),
        assign=_assign_form(address, "#desk", marks, event.account, ended=event.status in _AT_REST),
        may_tag=_may(Permission.TAG),
        may_note=_may(Permission.NOTE),
        may_snooze=_may(Permission.SNOOZE) and event.status == Status.DEAD,
        undo=undo or _kept_undo(f"event:{event.id}"),
    )


def group_desk(fingerprint: str, undo: Undo | None = None) -> GroupDesk:
    """The desk of a cause as this person sees it."""
    marks = desk.group_marks(store(), [fingerprint])[fingerprint]
    address = url_for("desk_acts.assign_group", fingerprint=fingerprint)
    return GroupDesk(
        fingerprint=fingerprint,
        marks=marks,
        assign=_assign_form(address, "#group-desk", marks, None, ended=False),
        may_write=_may(Permission.NOTE),
        undo=undo or _kept_undo(f"group:{fingerprint}"),
    )


def snooze_choices() -> list[tuple[str, str]]:
    """Until when something may be put off."""
    return usual()


# Taking back


def assigned(address: str, change: Change[Assignment]) -> Undo | None:
    """How to take an assignment back."""
    if not change.happened:
        return None
    before, after = change.before, change.after
    # As with a snooze, a time that has passed is not set anew.
    ahead = before.due_at if before.due_at and before.due_at > display.current().now else None
    fields = {
        "to": before.assignee or "",
        "due": ahead.isoformat() if ahead else "",
        "seen": after.assignee or "",
    }
    return Undo(assigned_sentence(after.assignee), address, fields)


def tagged(address: str, change: Change[tuple[str, ...]]) -> Undo | None:
    """How to take a change of tags back."""
    fields = {"tags": ", ".join(change.before), "seen": ", ".join(change.after)}
    return Undo(gettext("The tags were changed."), address, fields) if change.happened else None


def snoozed(address: str, change: Change[datetime | None]) -> Undo | None:
    """How to take a snooze back; what was over by then stays over."""
    if not change.happened:
        return None
    before = change.before
    lasts = before is not None and before > display.current().now
    fields = {"until": before.isoformat() if before is not None and lasts else ""}
    sentence = gettext("It is visible again.")
    if change.after is not None:
        sentence = gettext("Snoozed until %(time)s.", time=display.current().moment(change.after))
    return Undo(sentence, address, fields)


def assigned_sentence(name: str | None) -> str:
    """Who sees to something from now on."""
    return gettext("Assigned to %(name)s.", name=name) if name else gettext("Assigned to nobody any more.")


def keep_undo(key: str, undo: Undo | None) -> None:
    """Carry it over a redirect, in the signed cookie of the session."""
    kept = json.dumps([undo.sentence, undo.address, undo.fields]) if undo else ""
    # A browser takes no cookie of more than 4 kB; such a long way back is left out.
    if 0 < len(kept) <= LONGEST_KEPT:
        flash(kept, f"undo {key}")


def _kept_undo(key: str) -> Undo | None:
    kept = get_flashed_messages(category_filter=[f"undo {key}"])
    return Undo(*json.loads(str(kept[-1]))) if kept else None


# Parts

#: Nothing is late of what has been done.
_AT_REST = (Status.DONE, Status.DISCARDED)


def _assign_form(
    address: str, target: str, marks: Marks | GroupMarks, account: str | None, *, ended: bool
) -> AssignForm:
    offered = desk.assignable(store(), account) if _may(Permission.ASSIGN) else ()
    return AssignForm(
        address=address,
        target=target,
        assignee=marks.assignee,
        due_at=marks.due_at,
        due_value=field_value(marks.due_at),
        late=marks.due_at is not None and not ended and marks.due_at < display.current().now,
        people=_me_first(offered),
    )


def _me_first(names: tuple[str, ...]) -> tuple[str, ...]:
    me = person().name
    return (me, *(name for name in names if name != me)) if me in names else names


def _may(permission: Permission) -> bool:
    return people.may(person(), permission)
