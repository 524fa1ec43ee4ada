"""What may a person put on an event or a cause from a page? Forms that answer in place too, and offer the way back."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import partial

from flask import Blueprint, abort, make_response, redirect, render_template, request, url_for
from flask_babel import gettext
from werkzeug.wrappers import Response as AnyResponse

from dlq_console.errors import ActionNotAllowed, PayloadRefused
from dlq_console.store import desk as marked
from dlq_console.store import queries
from dlq_console.store.people import Permission
from dlq_console.web import desk, errors
from dlq_console.web.auth import demand, person, require_person
from dlq_console.web.desk import Undo
from dlq_console.web.errors import Link
from dlq_console.web.events import EVENT_ID, found_event, history_fragment
from dlq_console.web.hub import hub, store
from dlq_console.web.moments import read_moment
from dlq_console.web.things import thing

#: Characters of a fingerprint.
MAX_FINGERPRINT = 80

desk_acts = Blueprint("desk_acts", __name__)
desk_acts.before_request(require_person)


@desk_acts.post(f"/events/<{EVENT_ID}>/assign")
def assign(event_id: int) -> AnyResponse:
    """Let somebody see to an event."""
    actor = demand(Permission.ASSIGN)
    found_event(event_id)

    def act() -> Undo | None:
        change = hub().assign(
            event_id, _to(), _moment("due"), actor=actor.name, seen=request.form.get("seen")
        )
        return desk.assigned(url_for("desk_acts.assign", event_id=event_id), change)

    return _on_event(event_id, act)


@desk_acts.post(f"/events/<{EVENT_ID}>/tag")
def tag(event_id: int) -> AnyResponse:
    """Give an event other tags."""
    actor = demand(Permission.TAG)
    found_event(event_id)

    def act() -> Undo | None:
        change = hub().tag(event_id, _tags("tags"), actor=actor.name, seen=_tags("seen"))
        return desk.tagged(url_for("desk_acts.tag", event_id=event_id), change)

    return _on_event(event_id, act)


@desk_acts.post(f"/events/<{EVENT_ID}>/notes")
def add_note(event_id: int) -> AnyResponse:
    """Write a note about an event."""
    actor = demand(Permission.NOTE)
    found_event(event_id)

    def act() -> Undo | None:
        hub().add_note(
            event_id, request.form.get("note", ""), actor=actor.name, form=request.form.get("form")
        )
        return None

    return _on_event(event_id, act, gettext("The note is written."))


@desk_acts.post(f"/events/<{EVENT_ID}>/snooze")
def snooze(event_id: int) -> AnyResponse:
    """Put a dead event off, or bring it back."""
    actor = demand(Permission.SNOOZE)
    found_event(event_id)

    def act() -> Undo | None:
        change = hub().snooze(event_id, _moment("until"), actor=actor.name)
        return desk.snoozed(url_for("desk_acts.snooze", event_id=event_id), change)

    return _on_event(event_id, act)


@desk_acts.post("/groups/<fingerprint>/assign")
def assign_group(fingerprint: str) -> AnyResponse:
    """Let somebody see to a cause."""
    actor = demand(Permission.ASSIGN)
    _check_group(fingerprint)

    def act() -> Undo | None:
        change = hub().assign_group(
            fingerprint, _to(), _moment("due"), actor=actor.name, seen=request.form.get("seen")
        )
        return desk.assigned(url_for("desk_acts.assign_group", fingerprint=fingerprint), change)

    return _on_group(fingerprint, act)


@desk_acts.post("/groups/<fingerprint>/note")
def set_playbook(fingerprint: str) -> AnyResponse:
    """Write down how a cause is fixed."""
    actor = demand(Permission.NOTE)
    _check_group(fingerprint)

    def act() -> Undo | None:
        hub().set_playbook(
            fingerprint, request.form.get("note"), actor=actor.name, seen=request.form.get("seen")
        )
        return None

    return _on_group(fingerprint, act, gettext("The way to fix it is written down."))


def _on_event(event_id: int, act: Callable[[], Undo | None], news: str = "") -> AnyResponse:
    """Act, and answer with the desk of the event as it is then."""
    return _act(
        act,
        partial(_event_fragment, event_id),
        key=f"event:{event_id}",
        address=_event_address(event_id),
        name=lambda: thing(found_event(event_id)),
        news=news,
    )


def _on_group(fingerprint: str, act: Callable[[], Undo | None], news: str = "") -> AnyResponse:
    """Act, and answer with the desk of the cause as it is then."""
    return _act(
        act,
        partial(_group_fragment, fingerprint),
        key=f"group:{fingerprint}",
        address=_group_address(fingerprint),
        name=lambda: gettext("Look at the cause"),
        news=news,
    )


def _act(
    act: Callable[[], Undo | None],
    fragment: Callable[..., str],
    *,
    key: str,
    address: str,
    name: Callable[[], str],
    news: str,
) -> AnyResponse:
    """Act, and answer in place, or by the page at `address`, for which the way back is kept under `key`."""
    try:
        undo = act()
    except (ActionNotAllowed, PayloadRefused) as refused:
        return _refused(refused, fragment(elsewhere=True), Link(address, name()))
    if "HX-Request" in request.headers:
        return _announcing(fragment(undo=undo), undo, news)
    desk.keep_undo(key, undo)
    return redirect(address, 303)


def _event_address(event_id: int) -> str:
    return url_for("events.show", event_id=event_id, _anchor="desk")


def _group_address(fingerprint: str) -> str:
    return url_for("groups.show", fingerprint=fingerprint, _anchor="group-desk")


def _event_fragment(event_id: int, *, undo: Undo | None = None, elsewhere: bool = False) -> str:
    event = found_event(event_id)
    part = render_template("desk/_event.html", desk=desk.event_desk(event, undo), elsewhere=elsewhere)
    return part + history_fragment(event)


def _group_fragment(fingerprint: str, *, undo: Undo | None = None, elsewhere: bool = False) -> str:
    shown = desk.group_desk(fingerprint, undo)
    return render_template("desk/_group.html", desk=shown, elsewhere=elsewhere)


def _refused(refused: ActionNotAllowed | PayloadRefused, truth: str, link: Link) -> AnyResponse:
    """Say what stands in the way, keep what was typed, and show what is there now, or where to see it."""
    if isinstance(refused, PayloadRefused):
        return errors.answer(errors.not_taken(refused, link=link))
    problem = errors.problem(409, sentence=_conflict(refused))
    shown = replace(problem, kept=request.form.get("note", ""), link=link)
    return errors.answer(shown, more=truth if "HX-Request" in request.headers else "")


def _conflict(refused: ActionNotAllowed) -> str:
    match refused.action:
        case Permission.ASSIGN:
            return gettext("Somebody else has assigned it since you saw it; look at it again.")
        case Permission.SNOOZE:
            return gettext("Only a dead letter can be snoozed, and this event is none any more.")
    return gettext("Somebody else has written this since you saw it; look at it again.")


def _announcing(page: str, undo: Undo | None, news: str) -> AnyResponse:
    """The fragment, and a sentence for those who cannot see it change."""
    response = make_response(page)
    text = undo.sentence if undo else news
    if text:
        response.headers["HX-Trigger"] = json.dumps({"announce": {"text": text}})
    return response


def _check_group(fingerprint: str) -> None:
    """404 where there is no such cause that this person may see."""
    known = (
        fingerprint.isascii()
        and fingerprint.replace("-", "").isalnum()
        and len(fingerprint) <= MAX_FINGERPRINT
    )
    if not known or queries.group(store(), fingerprint, accounts=person().accounts) is None:
        abort(404)


def _to() -> str | None:
    return request.form.get("to", "").strip() or None


def _moment(name: str) -> datetime | None:
    try:
        return read_moment(request.form.get(name, ""))
    except (ValueError, OverflowError):
        abort(400)


def _tags(name: str) -> tuple[str, ...]:
    texts = request.form.get(name, "").split(",")
    return marked.clean_tags(text for text in texts if text.strip())
