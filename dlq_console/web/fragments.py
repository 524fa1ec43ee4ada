"""Which parts of pages can be asked for alone? Each has an address of its own, so that no page is ever a bare part."""

from __future__ import annotations

from flask import Blueprint, Response, make_response, render_template, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from dlq_console.store.filters import EventFilter, FilterError
from dlq_console.web import news, triage
from dlq_console.web.asking import DEAD_LETTERS, EVENTS, asked
from dlq_console.web.auth import require_person
from dlq_console.web.events import EVENT_ID, event_fragment, found_event, row_fragment
from dlq_console.web.follow import version_of
from dlq_console.web.lists import page_address
from dlq_console.web.surroundings import PAGES

fragments = Blueprint("fragments", __name__, url_prefix="/_f")
fragments.before_request(require_person)


@fragments.get("/dead-letters")
def dead_letters() -> AnyResponse:
    """The results of the dead-letter page."""
    context = triage.dead_letters_context()
    page = render_template("shared/_list_fragment.html", results="dead_letters/_results.html", **context)
    return _pushing(page, DEAD_LETTERS)


@fragments.get("/events")
def events() -> AnyResponse:
    """The results of the page of all events."""
    context = triage.events_context()
    page = render_template("shared/_list_fragment.html", results="events/_results.html", **context)
    return _pushing(page, EVENTS)


@fragments.get("/dead-letters/new")
def new_dead_letters() -> AnyResponse:
    """How many dead letters are newer than the newest row, unless that is as the asker has it."""
    return _news(DEAD_LETTERS)


@fragments.get("/events/new")
def new_events() -> AnyResponse:
    """The same of all events."""
    return _news(EVENTS)


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


def _news(name: str) -> AnyResponse:
    flt = asked(beside={"after", "seen"})
    after = EventFilter.parse({"from": request.args.get("after", "")}).from_
    if after is None:
        raise FilterError("after: write the time of the newest row.")
    found = news.look(name, flt, after, request.args.get("seen", ""))
    if found is None:
        return Response(status=204)
    address = page_address(url_for(PAGES[name]), flt)
    return make_response(
        render_template(
            "shared/_news.html",
            news=found,
            address=address,
            fragment=page_address(url_for(f"fragments.{PAGES[name].partition('.')[2]}"), flt),
        )
    )


def _pushing(page: str, name: str) -> AnyResponse:
    """The address bar shows the page that holds what is now on the screen."""
    response = make_response(page)
    address = page_address(url_for(PAGES[name]), asked(), request.args.get("cursor", ""))
    response.headers["HX-Push-Url"] = address
    return response
