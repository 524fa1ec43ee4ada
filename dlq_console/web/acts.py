"""What else does a person do to one event? Takes an act back, and asks the ERP; the parts of the page that follow it."""

from __future__ import annotations

from flask import Blueprint, Response, make_response, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from dlq_console.errors import ActionNotAllowed
from dlq_console.store import people
from dlq_console.store.states import Action, Status
from dlq_console.web.auth import demand, person, require_person
from dlq_console.web.events import EVENT_ID, act, event_fragment, found_event, refuse
from dlq_console.web.hub import hub
from dlq_console.web.offers import may_cancel, sending
from dlq_console.web.prechecking import asked

acts = Blueprint("acts", __name__)
acts.before_request(require_person)


@acts.post(f"/events/<{EVENT_ID}>/cancel-send")
def cancel_send(event_id: int) -> AnyResponse:
    """Take back a reprocess that has not started."""
    return act(Action.CANCEL_SEND, event_id)


@acts.post(f"/events/<{EVENT_ID}>/restore")
def restore(event_id: int) -> AnyResponse:
    """Take back a discard."""
    return act(Action.RESTORE, event_id)


@acts.post(f"/events/<{EVENT_ID}>/precheck")
def precheck(event_id: int) -> AnyResponse:
    """Let a worker ask the ERP whether a dead letter would pass now."""
    actor = demand(Action.PRECHECK)
    found_event(event_id)
    try:
        hub().ask_precheck(event_id, actor=actor.name)
    except ActionNotAllowed as refused:
        return refuse(found_event(event_id), refused)
    if "HX-Request" not in request.headers:
        return redirect(url_for("events.show", event_id=event_id, _anchor="precheck"), 303)
    return event_fragment(found_event(event_id))


@acts.get(f"/_f/events/<{EVENT_ID}>/precheck")
def answer(event_id: int) -> AnyResponse:
    """The answer of the ERP, as far as there is one; nothing where the event has moved on."""
    event = found_event(event_id)
    may_ask = people.may(person(), Action.PRECHECK)
    known = asked(event, may_ask=may_ask) if event.status == Status.DEAD else None
    if known is None:
        return Response(status=204)
    return make_response(render_template("event/_answer.html", event=event, precheck=known))


@acts.get(f"/_f/events/<{EVENT_ID}>/countdown")
def countdown(event_id: int) -> AnyResponse:
    """How long until a reprocess that can still be cancelled is sent."""
    event = found_event(event_id)
    shown = sending(event) if may_cancel(event) else None
    return make_response(render_template("event/_countdown.html", sending=shown))
