"""What can programs put on events and causes? The same as people: who sees to it, tags, notes, a snooze, how it is fixed."""

from __future__ import annotations

from typing import Any

from flask import Response

from dlq_console.errors import EventNotFound
from dlq_console.store import desk as marked
from dlq_console.store import queries
from dlq_console.store.people import Permission
from dlq_console.web.api import desk_schemas, schemas
from dlq_console.web.api.access import caller, demand
from dlq_console.web.api.blueprints import PROBLEM, api_blueprint, json_answer
from dlq_console.web.api.events import everything, see
from dlq_console.web.api.representation import Document
from dlq_console.web.hub import hub

desk = api_blueprint("api_desk", __name__, "Team: assign, tag, note, snooze, how to fix.")


@desk.route("/events/<int:event_id>/assign", methods=["POST"])
@desk.arguments(desk_schemas.AssignSchema)
@desk.response(200, schemas.EventSchema)
def assign_event(body: dict[str, Any], event_id: int) -> Response:
    """Let a person see to an event, or nobody."""
    asking = demand(Permission.ASSIGN)
    see(event_id)
    hub().assign(event_id, body["to"], body.get("due"), actor=asking.name)
    return json_answer(everything(event_id))


@desk.route("/events/<int:event_id>/tag", methods=["POST"])
@desk.arguments(desk_schemas.TagsSchema)
@desk.response(200, schemas.EventSchema)
def tag_event(body: dict[str, Any], event_id: int) -> Response:
    """Give an event these tags and no others."""
    asking = demand(Permission.TAG)
    see(event_id)
    hub().tag(event_id, body["tags"], actor=asking.name)
    return json_answer(everything(event_id))


@desk.route("/events/<int:event_id>/notes", methods=["POST"])
@desk.arguments(desk_schemas.NoteKeySchema, location="headers")
@desk.arguments(desk_schemas.WriteNoteSchema)
@desk.response(200, schemas.EventSchema)
def note_event(headers: dict[str, str], body: dict[str, Any], event_id: int) -> Response:
    """Write a note about an event; with an `Idempotency-Key`, a repeat writes no second one."""
    asking = demand(Permission.NOTE)
    see(event_id)
    hub().add_note(event_id, body["text"], actor=asking.name, form=headers.get("idempotency_key"))
    return json_answer(everything(event_id))


@desk.route("/events/<int:event_id>/snooze", methods=["POST"])
@desk.arguments(desk_schemas.SnoozeSchema)
@desk.response(200, schemas.EventSchema)
@desk.alt_response(409, **PROBLEM)
def snooze_event(body: dict[str, Any], event_id: int) -> Response:
    """Keep a dead event out of sight until a moment, or bring it back."""
    asking = demand(Permission.SNOOZE)
    see(event_id)
    hub().snooze(event_id, body["until"], actor=asking.name)
    return json_answer(everything(event_id))


@desk.route("/groups/<fingerprint>/assign", methods=["POST"])
@desk.arguments(desk_schemas.AssignSchema)
@desk.response(200, desk_schemas.GroupMarksSchema)
def assign_group(body: dict[str, Any], fingerprint: str) -> Response:
    """Let a person see to a cause, or nobody."""
    asking = demand(Permission.ASSIGN)
    _see_group(fingerprint)
    hub().assign_group(fingerprint, body["to"], body.get("due"), actor=asking.name)
    return json_answer(_group_json(fingerprint))


@desk.route("/groups/<fingerprint>/note", methods=["POST"])
@desk.arguments(desk_schemas.PlaybookSchema)
@desk.response(200, desk_schemas.GroupMarksSchema)
def note_group(body: dict[str, Any], fingerprint: str) -> Response:
    """Write down how a cause is fixed."""
    asking = demand(Permission.NOTE)
    _see_group(fingerprint)
    hub().set_playbook(fingerprint, body["text"], actor=asking.name)
    return json_answer(_group_json(fingerprint))


def _see_group(fingerprint: str) -> None:
    """Refuse to act on a cause of accounts that the program may not see."""
    if queries.group(hub().store, fingerprint, accounts=caller().accounts) is None:
        raise EventNotFound(f"There is no group {fingerprint:.80}.")


def _group_json(fingerprint: str) -> Document:
    marks = marked.group_marks(hub().store, [fingerprint])[fingerprint]
    return {
        "fingerprint": fingerprint,
        "playbook": marks.playbook,
        "playbook_by": marks.playbook_by,
        "playbook_at": marks.playbook_at,
        "assignee": marks.assignee,
        "assignment_due": marks.due_at,
    }
