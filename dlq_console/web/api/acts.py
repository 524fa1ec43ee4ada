"""What else can programs do with one event? Correct it and send it, take an act back, ask whether it would pass now."""

from __future__ import annotations

from typing import Any

from flask import Response, url_for
from marshmallow import Schema, fields

from dlq_console.store.people import Permission
from dlq_console.web.api import schemas
from dlq_console.web.api.access import demand
from dlq_console.web.api.blueprints import PROBLEM, api_blueprint, json_answer
from dlq_console.web.api.described import NoteSchema
from dlq_console.web.api.events import everything, see
from dlq_console.web.hub import hub

acts = api_blueprint("api_acts", __name__, "Events: correct, restore, cancel, ask.")


class EditSchema(NoteSchema):
    """What is to be sent instead."""

    payload = fields.Raw(
        required=True,
        allow_none=True,
        metadata={
            "description": "The whole payload; a mask where the event's own is masked stands for that value."
        },
    )
    even_if_newer = fields.Boolean(
        load_default=False,
        metadata={"description": "Although a newer event of its entity exists, where its kind asks."},
    )


class JobSchema(Schema):
    """A question to the outside system, which a worker asks."""

    job = fields.Integer(
        metadata={
            "description": "An event: once it is done, its result has `answer`: likely, unchanged, gone or unknown."
        }
    )


@acts.route("/events/<int:event_id>/edit", methods=["POST"])
@acts.arguments(EditSchema)
@acts.response(202, schemas.EventSchema)
@acts.alt_response(409, **PROBLEM)
@acts.alt_response(422, **PROBLEM)
def edit_event(edited: dict[str, Any], event_id: int) -> Response:
    """Correct the payload of a dead event and send it: answers the new event, which takes the place of this one."""
    asking = demand(Permission.EDIT)
    see(event_id)
    new = hub().edit(
        event_id,
        edited["payload"],
        actor=asking.name,
        note=edited.get("note"),
        even_if_newer=edited["even_if_newer"],
    )
    answer = json_answer(everything(new.id), 202)
    answer.headers["Location"] = url_for("api.get_event", event_id=new.id)
    return answer


@acts.route("/events/<int:event_id>/restore", methods=["POST"])
@acts.arguments(NoteSchema, required=False)
@acts.response(202, schemas.EventSchema)
@acts.alt_response(409, **PROBLEM)
def restore_event(why: dict[str, Any], event_id: int) -> Response:
    """Take back a discard."""
    asking = demand(Permission.RESTORE)
    see(event_id)
    hub().restore(event_id, actor=asking.name, note=why.get("note"))
    return json_answer(everything(event_id), 202)


@acts.route("/events/<int:event_id>/cancel-send", methods=["POST"])
@acts.arguments(NoteSchema, required=False)
@acts.response(202, schemas.EventSchema)
@acts.alt_response(409, **PROBLEM)
def cancel_send(why: dict[str, Any], event_id: int) -> Response:
    """Take back a reprocess that has not started."""
    asking = demand(Permission.CANCEL_SEND)
    see(event_id)
    hub().cancel_send(event_id, actor=asking.name, note=why.get("note"))
    return json_answer(everything(event_id), 202)


@acts.route("/events/<int:event_id>/precheck", methods=["POST"])
@acts.response(202, JobSchema)
@acts.alt_response(409, **PROBLEM)
def precheck_event(event_id: int) -> Response:
    """Let a worker ask the outside system whether a dead event would pass now."""
    asking = demand(Permission.PRECHECK)
    see(event_id)
    job = hub().ask_precheck(event_id, actor=asking.name)
    answer = json_answer({"job": job}, 202)
    answer.headers["Location"] = url_for("api.get_event", event_id=job)
    return answer
