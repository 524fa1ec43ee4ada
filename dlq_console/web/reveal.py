"""How does somebody see what is masked, or get the payload as a file? By asking, with a reason that the audit keeps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flask import Blueprint, Response, redirect, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from dlq_console.hub.pointers import WHOLE
from dlq_console.store import people
from dlq_console.store.events import Event
from dlq_console.web.auth import demand, require_person
from dlq_console.web.events import EVENT_ID, event_page, found_event
from dlq_console.web.hub import hub
from dlq_console.web.payload import indented, raw_json

#: Characters of a revealed value that a page shows; more of it is in the file.
MOST_SHOWN = 4_000

reveals = Blueprint("reveals", __name__)
reveals.before_request(require_person)


@dataclass(frozen=True, slots=True)
class Revealed:
    """What somebody asked to see: where it stands, and what it is; not `whole` where it is too long for a page."""

    place: str
    text: str
    whole: bool


@reveals.get(f"/events/<{EVENT_ID}>/payload.json")
def download(event_id: int) -> Response:
    """The payload as a file, secrets masked."""
    event = found_event(event_id)
    return _file(event, raw_json(event.exact_payload))


@reveals.post(f"/events/<{EVENT_ID}>/payload.json")
def download_unmasked(event_id: int) -> Response:
    """The payload as it is, as a file."""
    event, payload = _asked(event_id, WHOLE)
    return _file(event, indented(payload))


@reveals.post(f"/events/<{EVENT_ID}>/reveal")
def reveal(event_id: int) -> str:
    """The page of the event with one masked value in the open. Whoever opens the page again sees it masked."""
    place = request.form.get("place", "")
    event, value = _asked(event_id, place)
    text = value if isinstance(value, str) else indented(value)
    return event_page(event, revealed=Revealed(place, text[:MOST_SHOWN], len(text) <= MOST_SHOWN))


@reveals.get(f"/events/<{EVENT_ID}>/reveal")
def masked_again(event_id: int) -> AnyResponse:
    """Where a browser ends that goes back to the address of a revealed value."""
    return redirect(url_for("events.show", event_id=event_id), 303)


def _asked(event_id: int, place: str) -> tuple[Event, Any]:
    """What stands there, after it was written down who wanted to see it and why."""
    actor = demand(people.Permission.REVEAL)
    found_event(event_id)
    value = hub().reveal(event_id, place, actor=actor.name, note=request.form.get("note", ""))
    # Read again, so that its history tells of it.
    return found_event(event_id), value


def _file(event: Event, text: str) -> Response:
    answer = Response(text + "\n", mimetype="application/json")
    answer.headers["Content-Disposition"] = f'attachment; filename="event-{event.id}.json"'
    return answer
