"""What failed, what did the ERP say, what does a person do? The page of one event, and the acts upon it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from flask import Blueprint, abort, make_response, redirect, render_template, request, url_for
from flask_babel import gettext
from werkzeug.wrappers import Response as AnyResponse

from dlq_console.errors import ActionNotAllowed, EventNotFound
from dlq_console.store import people, queries
from dlq_console.store.events import Event, EventSummary
from dlq_console.store.states import SKIPPABLE, Action, Reason, Status, actions_for
from dlq_console.web import display, errors, history, words
from dlq_console.web.advice import advice_on_page, erp_spoke
from dlq_console.web.auth import demand, person, require_person
from dlq_console.web.doors import resumes
from dlq_console.web.follow import follow, outcome
from dlq_console.web.hub import hub, store
from dlq_console.web.payload import raw_json, readable
from dlq_console.web.rows import followed_row
from dlq_console.web.succession import Succession, succession
from dlq_console.web.things import headline, thing
from dlq_console.web.told import last_words, told
from dlq_console.web.waiting import reason_shown, spoken_by, waiting

#: Ids beyond what a database can hold are no ids.
EVENT_ID = "int(max=9223372036854775807):event_id"


events = Blueprint("events", __name__)
events.before_request(require_person)


@events.get(f"/events/<{EVENT_ID}>")
def show(event_id: int) -> str:
    """The page of one event."""
    event = found_event(event_id)
    payload = event.exact_payload
    return render_template(
        "event/event.html",
        **_parts(event),
        payload=readable(payload, display.current().decimal),
        raw_payload=raw_json(payload),
        result=readable(event.result, display.current().decimal),
        duplicates=history.duplicates(event),
    )


@events.post(f"/events/<{EVENT_ID}>/reprocess")
def reprocess(event_id: int) -> AnyResponse:
    """Put a dead event back to work."""
    return _act(Action.REPROCESS, event_id)


@events.post(f"/events/<{EVENT_ID}>/discard")
def discard(event_id: int) -> AnyResponse:
    """Decide that an event shall not be sent; says why."""
    if not request.form.get("note", "").strip():
        abort(400)
    return _act(Action.DISCARD, event_id)


@events.post(f"/events/<{EVENT_ID}>/skip-lane")
def skip_lane(event_id: int) -> AnyResponse:
    """Let the lane of an event go on without the one that it stands behind."""
    actor = demand(people.Permission.SKIP_LANE)
    event = found_event(event_id)
    try:
        hub().skip_lane(
            str(event.lane), actor=actor.name, note=request.form.get("note"), seen_head=_number("head")
        )
    except (ActionNotAllowed, EventNotFound):
        return _refused(found_event(event_id))
    if "HX-Request" not in request.headers:
        return redirect(url_for("events.show", event_id=event_id), 303)
    return event_fragment(found_event(event_id))


def found_event(event_id: int) -> Event:
    """The event, if there is one that this person may see; else 404."""
    event = queries.get_event(store(), event_id, accounts=person().accounts)
    if event is None:
        abort(404)
    return event


def row_fragment(event: EventSummary) -> AnyResponse:
    """One row of a list, with what came of the reprocess in place of the error."""
    return _announcing(_row(event), event)


def event_fragment(event: Event) -> AnyResponse:
    """The parts of the event page that change."""
    page = render_template("event/_fragment.html", in_fragment=True, **_parts(event))
    return _announcing(page, event)


def _act(action: Action, event_id: int) -> AnyResponse:
    actor = demand(action)
    found_event(event_id)
    reprocess = partial(hub().reprocess, even_if_newer=request.form.get("even_if_newer") == "1")
    acts: dict[Action, Callable[..., Event]] = {Action.REPROCESS: reprocess, Action.DISCARD: hub().discard}
    try:
        acts[action](event_id, actor=actor.name, note=request.form.get("note"), seen_epoch=_seen())
    except ActionNotAllowed as refused:
        return _refused(found_event(event_id), for_newer=refused.newer is not None)
    if "HX-Request" not in request.headers:
        return redirect(url_for("events.show", event_id=event_id), 303)
    event = found_event(event_id)
    return row_fragment(event) if request.form.get("view") == "row" else event_fragment(event)


def _seen() -> int | None:
    """The epoch that the person saw, so that a click on an old page changes nothing."""
    return _number("seen")


def _number(field: str) -> int | None:
    text = request.form.get(field, "")
    if not text:
        return None
    if not re.fullmatch(r"[0-9]{1,18}", text):
        abort(400)
    return int(text)


def _refused(event: Event, *, for_newer: bool = False) -> AnyResponse:
    """Say what stands in the way: somebody who was faster, or a newer event; and show the event as it is now."""
    newer = succession(event) if for_newer else Succession()
    shown = errors.problem(409, sentence=" ".join(newer.sentences) or _what_happened(event))
    text = gettext("Open the newer event") if newer.newer else thing(event)
    link = errors.Link(url_for("events.show", event_id=newer.newer or event.id), text)
    refusal = replace(shown, link=link, kept=request.form.get("note", ""))
    return errors.answer(refusal, more=_truth(event) if "HX-Request" in request.headers else "")


def _truth(event: Event) -> str:
    """The event as it is, for its place on a page that is not the target of the answer."""
    if request.form.get("view") == "row":
        return _row(event, elsewhere=True)
    return render_template("event/_fragment.html", elsewhere=True, in_fragment=True, **_parts(event))


def _what_happened(event: Event) -> str:
    state = display.current().state(event).word
    last = next(iter(queries.audit(store(), event.id)), None)
    if last is None:
        return gettext("The event has changed since you saw it; it is now: %(state)s.", state=state)
    return gettext(
        "%(what)s (%(time)s) The event is now: %(state)s.",
        what=words.act_sentence(last.action, last.actor),
        time=display.current().moment(last.at),
        state=state,
    )


def _parts(event: Event) -> dict[str, Any]:
    allowed = actions_for(event.status)
    tried = queries.attempts(store(), event.id)
    said = last_words(event, tried)
    newer = succession(event)
    lane = _lane_in_the_way(event)
    may_skip = lane and lane.status in SKIPPABLE and people.may(person(), people.Permission.SKIP_LANE)
    return {
        "event": event,
        "again": outcome(event),
        "advice": advice_on_page(event, answered=bool(said), asks=_is_verified(event)),
        "said": said or event.last_error,
        "erp_spoke": bool(said) or erp_spoke(event),
        "succession": newer,
        "waiting": waiting(event),
        "reason": reason_shown(event),
        "spoken_by": spoken_by(event.waiting_cause),
        "resumes": resumes(event),
        "unruled": event.reason == Reason.UNCLASSIFIED and event.status == Status.DEAD and bool(tried),
        "lane": lane,
        "behind": history.behind(event, lane) if lane else "",
        "skips": lane if may_skip else None,
        "follow": follow(event, "fragments.state"),
        "history": history.entries(
            event,
            tried,
            told(tried, queries.circuit_changes(store(), event, tried)),
            queries.audit(store(), event.id),
        ),
        "offered": [
            action
            for action in allowed
            if people.may(person(), action) and not (newer.bars and action is Action.REPROCESS)
        ],
    }


def _is_verified(event: EventSummary) -> bool:
    """Whether a verifier is asked before anything is sent again of which nobody knows whether the ERP has it."""
    policy = hub().policy(event.kind)
    return policy.on_unknown == "verify" and not policy.may_repeat


def _lane_in_the_way(event: EventSummary) -> queries.Lane | None:
    """The lane of an event that waits in it, or for which others wait."""
    if event.lane is None or event.status in (Status.DONE, Status.DISCARDED):
        return None
    lane = queries.lane(store(), event.lane)
    if lane.head == event.id:
        return lane if lane.waiting else None
    waits = event.status in (Status.BLOCKED, Status.PENDING, Status.FAILED)
    return lane if waits and lane.head is not None else None


def _row(event: EventSummary, *, elsewhere: bool = False) -> str:
    return render_template("shared/_row.html", row=followed_row(event, person()), elsewhere=elsewhere)


def _announcing(page: str, event: EventSummary) -> AnyResponse:
    """The fragment, and a sentence for those who cannot see it change."""
    response = make_response(page)
    text = outcome(event) or headline(event)
    response.headers["HX-Trigger"] = json.dumps({"announce": {"text": text}})
    return response
