"""How does a person correct a payload? They write, see what becomes different, then save it: two steps, without script.

Whatever stands in the way, what was typed is shown again. Hidden values stay masked from the first step to the last.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from flask import Blueprint, make_response, redirect, render_template, request, url_for
from flask_babel import gettext
from werkzeug.wrappers import Response as AnyResponse

from dlq_console.errors import ActionNotAllowed, PayloadRefused
from dlq_console.hub.editing import Edited, check_allowed
from dlq_console.redact import MASK
from dlq_console.store.canonical import decode_payload
from dlq_console.store.events import Event
from dlq_console.store.states import Action, Reason
from dlq_console.web import display, errors, repeats
from dlq_console.web.auth import demand, require_person
from dlq_console.web.beside import field_labels
from dlq_console.web.differences import differences
from dlq_console.web.edit_words import why_not_saved
from dlq_console.web.events import EVENT_ID, found_event, seen, why_refused
from dlq_console.web.hub import hub
from dlq_console.web.payload import raw_json
from dlq_console.web.succession import Succession, succession
from dlq_console.web.visible import escaped

#: Characters of a payload that is offered as a text. What somebody has typed is given back however long it is.
MOST_OFFERED = 120_000
#: Bytes that the form takes, more than other forms: a text that is too large for the store is to be told so and given back.
MOST_SENT = 4 * 1024 * 1024
#: Lines of the field: those of the text and some to write in, within bounds.
SPARE_LINES, FEWEST_LINES, MOST_LINES = 3, 8, 28

edit = Blueprint("edit", __name__)
edit.before_request(require_person)


@edit.url_value_preprocessor
def _take_large_texts(_endpoint: str | None, _values: dict[str, Any] | None) -> None:
    """Before anything looks into the form, as the check of its token does."""
    request.max_content_length = request.max_form_memory_size = MOST_SENT


@edit.get(f"/events/<{EVENT_ID}>/edit")
def write(event_id: int) -> AnyResponse:
    """The payload as a text, hidden values masked."""
    demand(Action.EDIT)
    event = found_event(event_id)
    try:
        check_allowed(event)
    except ActionNotAllowed as refused:
        problem = errors.problem(409, sentence=_why_not(event, refused))
        if event.reason == Reason.EDITED and event.superseded_by is not None:
            address = url_for("events.show", event_id=event.superseded_by)
            problem = replace(problem, link=errors.Link(address, _in_its_place()))
        return errors.answer(problem)
    text = escaped(raw_json(event.exact_payload))
    return _page(event, text, too_large=len(text) > MOST_OFFERED)


@edit.post(f"/events/<{EVENT_ID}>/edit")
def check_or_save(event_id: int) -> AnyResponse:
    """Show what becomes different; or save it, where that was shown."""
    actor = demand(Action.EDIT)
    event = found_event(event_id)
    text = escaped(request.form.get("payload", ""))
    step = request.form.get("step", "check")
    payload: Any = None
    if step == "change":
        return _page(event, text)
    try:
        payload = decode_payload(text, exact=True)
        edited = hub().check_edit(event, payload, seen_epoch=seen())
        if step != "save":
            return _page(event, text, edited=edited)
        new = hub().edit(
            event_id,
            payload,
            actor=actor.name,
            note=request.form.get("note"),
            seen_epoch=seen(),
            even_if_newer=_knows_of_newer(),
        )
    except PayloadRefused as refused:
        said = why_not_saved(refused)
        return _page(event, text, status=400, problem=said, detail="" if said else refused.message)
    except ActionNotAllowed as refused:
        now = found_event(event_id)
        made = repeats.edited(now, payload, actor.name) if step == "save" else None
        if made is None:
            return _overtaken(now, text, refused)
        return redirect(url_for("events.show", event_id=made), 303)
    return redirect(url_for("events.show", event_id=new.id), 303)


def _overtaken(now: Event, text: str, refused: ActionNotAllowed) -> AnyResponse:
    """The form with the text, which event is in its way, and who put it there."""
    other, words = refused.newer, gettext("Open that event")
    if other is None and now.reason == Reason.EDITED:
        other, words = now.superseded_by, _in_its_place()
    return _page(now, text, status=409, problem=_why_not(now, refused), other=other, other_words=words)


def _in_its_place() -> str:
    return gettext("Open the event that took its place")


def _page(
    event: Event,
    text: str,
    *,
    status: int = 200,
    edited: Edited | None = None,
    problem: str = "",
    detail: str = "",
    other: int | None = None,
    other_words: str = "",
    too_large: bool = False,
) -> AnyResponse:
    """The form with the text; with `edited` what it changes, and the button that saves it.

    `problem` is a sentence in the person's language, `detail` one of the store, `other` the event that is in the way,
    `other_words` the link to it; with `too_large` the page names the command line in place of the form.
    """
    shown: dict[str, Any] = {"problem": problem, "detail": detail, "other": other, "other_words": other_words}
    shown["hides"] = MASK in raw_json(event.exact_payload)
    if edited is not None:
        spell = display.current().decimal
        shown["changes"] = differences(
            event.exact_payload, edited.payload, spell, labels=field_labels(event.kind)
        )
    page = render_template(
        "event/edit.html",
        event=event,
        text=text,
        checked=edited is not None,
        rows=min(max(text.count("\n") + SPARE_LINES, FEWEST_LINES), MOST_LINES),
        too_large=too_large,
        note=request.form.get("note", ""),
        epoch=request.form.get("seen") or event.lease_epoch,
        succession=succession(event),
        **shown,
    )
    return make_response(page, status)


def _why_not(event: Event, refused: ActionNotAllowed) -> str:
    if refused.newer is not None:
        newer = succession(event)
        if newer.bars or (newer.asks and not _knows_of_newer()):
            return " ".join(newer.sentences)
        return gettext(
            "Another event of the same number holds exactly this payload already; go on with that one."
        )
    if refused.status == event.status == "dead" and seen() in (None, event.lease_epoch):
        return gettext(
            "It is in doubt whether the ERP has it already. Find that out there first: reprocess it if not, discard it if so."
        )
    return why_refused(event, refused, Succession())


def _knows_of_newer() -> bool:
    return request.form.get("even_if_newer") == "1"
