"""Was this form sent before? A double click, or Back and once more, leads to what the first one did and does nothing again.

The store lets an act through once. Who comes second with the same form gets the answer of the first; who wanted something
else, or was overtaken by somebody else, is told so.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from flask import request

from dlq_console.errors import PayloadRefused
from dlq_console.hub.actions import clean_note
from dlq_console.hub.bulk import BulkRun, Cause, RunState
from dlq_console.store import queries
from dlq_console.store.events import AuditEntry, Event
from dlq_console.store.people import Permission
from dlq_console.store.states import Action, Reason, Status
from dlq_console.web.hub import hub, store
from dlq_console.web.moments import read_moment

#: What changes an event itself. What people put beside it changes nothing of what these did.
_CHANGES = frozenset(
    {
        Action.REPROCESS, Action.DISCARD, Action.RESTORE, Action.CANCEL_SEND, Action.EDIT, Permission.SKIP_LANE,
        "supersede", "refresh",
    }
)  # fmt: skip
#: A time is named to the minute.
_SAME_TIME = timedelta(minutes=1)


def is_repeat(event: Event, action: str, actor: str) -> bool:
    """Whether the last thing that was done to an event is what this form asks for, by the same person.

    Args:
        event: as it is now.
        action: that was refused.
        actor: who sent the form.
    """
    last = next((entry for entry in queries.audit(store(), event.id) if entry.action in _CHANGES), None)
    if last is None or last.bulk_id is not None or (last.actor, last.action) != (actor, action):
        return False
    return _still_holds(event, action) and _same_note(last) and _same_time(event, last)


def edited(event: Event, payload: object, actor: str) -> int | None:
    """The event that the same person has already made of this event, with the same payload and note; None for none."""
    if event.reason != Reason.EDITED or event.superseded_by is None:
        return None
    made = next(
        (
            entry
            for entry in queries.audit(store(), event.superseded_by)
            if (entry.action, entry.subject) == (Action.EDIT, str(event.id))
        ),
        None,
    )
    if made is None or made.actor != actor or not _same_note(made):
        return None
    try:
        digest = hub().edited(event, payload).text.digest
    except PayloadRefused:
        return None
    return event.superseded_by if digest == made.after else None


def is_repeat_of_run(run: BulkRun, verb: str, actor: str) -> bool:
    """Whether a bulk run stands as it does because the same person has asked for that already."""
    if run.acted_by != actor:
        return False
    match verb:
        case "pause":
            return (run.state, run.cause) == (RunState.PAUSED, Cause.PERSON)
        case "resume":
            return run.state in (RunState.FREEZING, RunState.RUNNING)
    return run.state == RunState.CANCELLED


def _still_holds(event: Event, action: str) -> bool:
    """Whether what the act was to bring about is still so."""
    match action:
        case Action.REPROCESS:
            # One that died again waits for a person who knows that.
            return event.status not in (Status.DEAD, Status.DISCARDED)
        case Action.RESTORE:
            return event.status != Status.DISCARDED
        case Action.DISCARD:
            return event.status == Status.DISCARDED
        case Action.CANCEL_SEND:
            return event.status == Status.DEAD
    return True


def _same_note(entry: AuditEntry) -> bool:
    try:
        return clean_note(request.form.get("note")) == entry.note
    except PayloadRefused:
        return False


def _same_time(event: Event, entry: AuditEntry) -> bool:
    """Whether it is to be sent when this form says; once it has been tried, that is over."""
    if entry.action != Action.REPROCESS or event.status != Status.PENDING or event.attempts:
        return True
    try:
        wanted: datetime | None = read_moment(request.form.get("at", ""))
    except (ValueError, OverflowError):
        return False
    usual = entry.at + timedelta(seconds=hub().settings.send_delay_seconds)
    return abs(event.due_at - (wanted or usual)) < _SAME_TIME
