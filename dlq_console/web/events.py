"""What failed, what did the ERP say, what does a person do? The page of one event, and the acts upon it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from flask import Blueprint, abort, make_response, redirect, render_template, request, url_for
from flask_babel import gettext
from werkzeug.wrappers import Response as AnyResponse

from dlq_console.errors import ActionNotAllowed, EventNotFound, PayloadRefused
from dlq_console.store import people, queries
from dlq_console.store.events import Attempt, Event, EventSummary
from dlq_console.store.states import SKIPPABLE, Action, Reason, Status
from dlq_console.web import display, errors, history
from dlq_console.web.acts_told import act_told
from dlq_console.web.advice import advice_on_page, erp_spoke
from dlq_console.web.auth import demand, person, require_person
from dlq_console.web.carried import carried
from dlq_console.web.doors import resumes
from dlq_console.web.follow import follow, outcome
from dlq_console.web.hub import hub, store
from dlq_console.web.later import NotAhead, when_sent
from dlq_console.web.offers import offers
from dlq_console.web.repeats import is_repeat
from dlq_console.web.rows import followed_row
from dlq_console.web.shortening import shortened
from dlq_console.web.succession import NOTHING_NEWER, Succession, succession
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
    return event_page(found_event(event_id))


@events.post(f"/events/<{EVENT_ID}>/reprocess")
def reprocess(event_id: int) -> AnyResponse:
    """Put a dead event back to work."""
    return act(Action.REPROCESS, event_id)


@events.post(f"/events/<{EVENT_ID}>/discard")
def discard(event_id: int) -> AnyResponse:
    """Decide that an event shall not be sent; says why."""
    if not request.form.get("note", "").strip():
        raise PayloadRefused("note: say why it shall not be sent.", cause="reason", name="note")
    return act(Action.DISCARD, event_id)


@events.post(f"/events/<{EVENT_ID}>/skip-lane")
def skip_lane(event_id: int) -> AnyResponse:
    """Let the lane of an event go on without the one that it stands behind."""
    actor = demand(people.Permission.SKIP_LANE)
    event = found_event(event_id)
    try:
        hub().skip_lane(
            str(event.lane), actor=actor.name, note=request.form.get("note"), seen_head=_number("head")
        )
    except (ActionNotAllowed, EventNotFound) as refused:
        if not _has_skipped(actor.name):
            return refuse(found_event(event_id), refused)
    if "HX-Request" not in request.headers:
        return redirect(url_for("events.show", event_id=event_id), 303)
    return event_fragment(found_event(event_id))


def _has_skipped(actor: str) -> bool:
    """Whether the same person has let the lane go on past the event that the form names."""
    head = queries.get_event(store(), _number("head") or 0, accounts=person().accounts)
    return head is not None and is_repeat(head, people.Permission.SKIP_LANE, actor)


def found_event(event_id: int) -> Event:
    """The event, if there is one that this person may see; else 404."""
    event = queries.get_event(store(), event_id, accounts=person().accounts)
    if event is None:
        abort(404)
    return event


def event_page(event: Event, *, revealed: object = None) -> str:
    """The page of an event; `revealed` is a masked value that somebody has just asked to see."""
    return render_template("event/event.html", revealed=revealed, **_parts(event), **carried(event))


def row_fragment(event: EventSummary) -> AnyResponse:
    """One row of a list, with what came of the reprocess in place of the error."""
    return _announcing(_row(event), event)


def event_fragment(event: Event) -> AnyResponse:
    """The parts of the event page that change."""
    page = render_template("event/_fragment.html", in_fragment=True, **_parts(event))
    return _announcing(page, event)


def act(action: Action, event_id: int) -> AnyResponse:
    """Do what a button says; answers with the event as it is then, or with what stands in the way."""
    actor = demand(action)
    found_event(event_id)
    acts: dict[Action, Callable[..., Event]] = {
        Action.REPROCESS: _reprocess,
        Action.DISCARD: hub().discard,
        Action.RESTORE: hub().restore,
        Action.CANCEL_SEND: hub().cancel_send,
    }
    try:
        acts[action](event_id, actor=actor.name, note=request.form.get("note"), seen_epoch=seen())
    except ActionNotAllowed as refused:
        event = found_event(event_id)
        if not is_repeat(event, action, actor.name):
            return refuse(event, refused)
    except NotAhead as wrong:
        return errors.answer(errors.put_right("at", str(wrong)))
    if "HX-Request" not in request.headers:
        return redirect(url_for("events.show", event_id=event_id), 303)
    event = found_event(event_id)
    return row_fragment(event) if request.form.get("view") == "row" else event_fragment(event)


def _reprocess(event_id: int, **who_and_why: Any) -> Event:
    knows = request.form.get("even_if_newer") == "1"
    when = when_sent()
    return hub().reprocess(event_id, after=when.after, at=when.at, even_if_newer=knows, **who_and_why)


def seen() -> int | None:
    """The epoch that the person saw, so that a click on an old page changes nothing."""
    return _number("seen")


def _number(field: str) -> int | None:
    text = request.form.get(field, "")
    if not text:
        return None
    if not re.fullmatch(r"[0-9]{1,18}", text):
        abort(400)
    return int(text)


def refuse(event: Event, refused: ActionNotAllowed | EventNotFound) -> AnyResponse:
    """Say what stands in the way: somebody who was faster, or a newer event; and show the event as it is now."""
    newer = succession(event) if getattr(refused, "newer", None) is not None else NOTHING_NEWER
    shown = errors.problem(409, sentence=why_refused(event, refused, newer))
    text = gettext("Open the newer event") if newer.newer else thing(event)
    link = errors.Link(url_for("events.show", event_id=newer.newer or event.id), text)
    refusal = replace(shown, link=link, kept=request.form.get("note", ""))
    return errors.answer(refusal, more=_truth(event, newer) if "HX-Request" in request.headers else "")


def _truth(event: Event, newer: Succession) -> str:
    """The event as it is, for its place on a page that is not the target of the answer."""
    if request.form.get("view") == "row":
        return _row(event, newer, elsewhere=True)
    return render_template("event/_fragment.html", elsewhere=True, in_fragment=True, **_parts(event))


def why_refused(event: Event, refused: ActionNotAllowed | EventNotFound, newer: Succession) -> str:
    """In the person's language: what stands in the way of what they wanted."""
    if newer.sentences:
        return " ".join(newer.sentences)
    late = getattr(refused, "action", "") == Action.RESTORE and event.status == Status.DISCARDED
    if late and event.reason == Reason.OPERATOR and seen() in (None, event.lease_epoch):
        return gettext(
            "A later event of its lane has been started since it was discarded; sent now, it would come out of order."
        )
    return _what_happened(event)


def _what_happened(event: Event) -> str:
    state = display.current().state(event).word
    last = next(iter(queries.audit(store(), event.id)), None)
    if last is None:
        return gettext("The event has changed since you saw it; it is now: %(state)s.", state=state)
    return gettext(
        "%(what)s (%(time)s) The event is now: %(state)s.",
        what=act_told(last),
        time=display.current().moment(last.at),
        state=state,
    )


def history_fragment(event: Event) -> str:
    """What happened to an event, for its place on a page where something else is answered."""
    return render_template(
        "event/_history.html",
        in_fragment=True,
        event=event,
        **_history(event, queries.attempts(store(), event.id)),
    )


def _history(event: Event, tried: Sequence[Attempt]) -> dict[str, Any]:
    """What happened to it: the newest of it, or all that is kept where the address asks for that."""
    known = history.entries(
        event,
        tried,
        told(tried, queries.circuit_changes(store(), event, tried)),
        queries.audit(store(), event.id),
    )
    if request.args.get("history") == "all":
        return {"history": known, "history_is_whole": True}
    short = shortened(known)
    return {"history": short.entries, "history_is_whole": short.whole}


def _parts(event: Event) -> dict[str, Any]:
    tried = queries.attempts(store(), event.id)
    said = last_words(event, tried)
    newer = succession(event)
    offered = offers(event, newer)
    lane = _lane_in_the_way(event)
    may_skip = lane and lane.status in SKIPPABLE and people.may(person(), people.Permission.SKIP_LANE)
    return {
        "event": event,
        "again": outcome(event),
        "advice": advice_on_page(event, answered=bool(said), asks=_is_verified(event)),
        "said": said or event.last_error,
        "erp_spoke": bool(said) or erp_spoke(event),
        "succession": newer,
        # What counts down says it better.
        "waiting": "" if offered.sending else waiting(event),
        "reason": reason_shown(event),
        "spoken_by": spoken_by(event.waiting_cause),
        "resumes": resumes(event),
        "unruled": event.reason == Reason.UNCLASSIFIED and event.status == Status.DEAD and bool(tried),
        "lane": lane,
        "behind": history.behind(event, lane) if lane else "",
        "skips": lane if may_skip else None,
        "follow": follow(event, "fragments.state"),
        **_history(event, tried),
        "offered": offered.actions,
        "sending": offered.sending,
        "precheck": offered.precheck,
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


def _row(event: EventSummary, newer: Succession = NOTHING_NEWER, *, elsewhere: bool = False) -> str:
    return render_template("shared/_row.html", row=followed_row(event, person(), newer), elsewhere=elsewhere)


def _announcing(page: str, event: EventSummary) -> AnyResponse:
    """The fragment, and a sentence for those who cannot see it change."""
    response = make_response(page)
    text = outcome(event) or headline(event)
    response.headers["HX-Trigger"] = json.dumps({"announce": {"text": text}})
    return response
