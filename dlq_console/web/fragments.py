"""Which parts of pages can be asked for alone? Each has an address of its own, so that no page is ever a bare part."""

from __future__ import annotations

from flask import Blueprint, Response, make_response, render_template, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from dlq_console.store.filters import EventFilter
from dlq_console.web import triage
from dlq_console.web.auth import require_person
from dlq_console.web.events import EVENT_ID, event_fragment, found_event, row_fragment
from dlq_console.web.follow import version_of
from dlq_console.web.lists import page_address

fragments = Blueprint("fragments", __name__, url_prefix="/_f")
fragments.before_request(require_person)


@fragments.get("/dead-letters")
def dead_letters() -> AnyResponse:
    """The results of the dead-letter page."""
    context = triage.dead_letters_context()
    page = render_template("shared/_list_fragment.html", results="dead_letters/_results.html", **context)
    return _pushing(page, url_for("triage.dead_letters"))


@fragments.get("/events")
def events() -> AnyResponse:
    """The results of the page of all events."""
    context = triage.events_context()
    page = render_template("shared/_list_fragment.html", results="events/_results.html", **context)
    return _pushing(page, url_for("triage.events"))


@fragments.get(f"/events/<{EVENT_ID}>/row")
def row(event_id: int) -> AnyResponse:
    """The row of an event that was reprocessed, unless it is as the asker has it."""
    event = found_event(event_id)
    if version_of(event) == request.args.get("seen"):
        return Response(status=204)
    return row_fragment(event)


@fragments.get(f"/events/<{EVENT_ID}>/state")
def state(event_id: int) -> AnyResponse:
    """State, history and actions of an event, unless they are as the asker has them."""
    event = found_event(event_id)
    if version_of(event) == request.args.get("seen"):
        return Response(status=204)
    return event_fragment(event)


def _pushing(page: str, address: str) -> AnyResponse:
    """The address bar shows the page that holds what is now on the screen."""
    response = make_response(page)
    flt = EventFilter.parse(request.args)
    response.headers["HX-Push-Url"] = page_address(address, flt, request.args.get("cursor", ""))
    return response
