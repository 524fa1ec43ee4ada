"""How does somebody assign, tag or snooze everything that is selected in a list? One form, done at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from flask import flash, get_flashed_messages, make_response, redirect, render_template, request
from flask_babel import gettext, ngettext
from werkzeug.wrappers import Response as AnyResponse

from dlq_console.errors import PayloadRefused
from dlq_console.hub import desk_many
from dlq_console.hub.desk_many import MOST, Found
from dlq_console.store import desk
from dlq_console.store.people import Permission
from dlq_console.store.states import Status
from dlq_console.web import bulk_preview, display
from dlq_console.web.asking import DEAD_LETTERS
from dlq_console.web.auth import demand, person
from dlq_console.web.bulk_form import Selected
from dlq_console.web.hub import store
from dlq_console.web.moments import read_moment, usual

#: What can be done at once, without a run.
ACTIONS: tuple[str, ...] = (Permission.ASSIGN, Permission.TAG, Permission.SNOOZE)
#: Under which name what was done is carried to the list.
_DONE = "bulk desk"


def show(
    selected: Selected, action: str, *, status: int = 200, wrong: str = "", detail: str = ""
) -> AnyResponse:
    """The form; `wrong` is a sentence in the person's language, `detail` one of the store."""
    found = _found(selected)
    refused = _why_not(found, selected)
    if refused is not None:
        return refused
    number = len(found.events)
    page = render_template(
        "bulk/desk.html",
        action=action,
        selected=selected,
        number=number,
        heading=_heading(action, number),
        people=_people() if action == Permission.ASSIGN else (),
        choices=usual(),
        written=request.form,
        wrong=wrong,
        detail=detail,
    )
    return make_response(page, status)


def act(selected: Selected, action: str) -> AnyResponse:
    """Do it, and go back to the list, which says so."""
    found = _found(selected)
    refused = _why_not(found, selected)
    if refused is not None:
        return refused
    try:
        number = _do(action, found)
    except PayloadRefused as error:
        return show(selected, action, status=422, detail=error.message)
    except (ValueError, OverflowError):
        return show(selected, action, status=422, wrong=gettext("This is no time."))
    flash(
        ngettext(
            "Done: %(count)s event is changed.",
            "Done: %(count)s events are changed.",
            number,
            count=display.current().number(number),
        ),
        _DONE,
    )
    return redirect(selected.back, 303)


def done() -> str:
    """What was done right before this page, in a sentence; empty for nothing."""
    told = get_flashed_messages(category_filter=[_DONE])
    return str(told[-1]) if told else ""


def _found(selected: Selected) -> Found:
    accounts = person().accounts
    flt = selected.flt
    if flt is None:
        return desk_many.chosen(store(), selected.event_ids, accounts=accounts)
    if selected.page == DEAD_LETTERS:
        if flt.status and Status.DEAD not in flt.status:
            return Found()
        flt = replace(flt, status=(Status.DEAD,))
    return desk_many.matching(store(), flt, accounts=accounts)


def _why_not(found: Found, selected: Selected) -> AnyResponse | None:
    title = gettext("This cannot be done to this selection")
    if found.more:
        sentence = gettext(
            "It is done to at most %(most)s events at once. Narrow the filter, or assign their cause on the page of its group.",
            most=display.current().number(MOST),
        )
        return bulk_preview.refused(title, sentence, selected.back)
    if not found.events:
        return bulk_preview.refused(title, gettext("None of these events is there any more."), selected.back)
    return None


def _do(action: str, found: Found) -> int:
    actor, sent = demand(action).name, request.form
    match action:
        case Permission.ASSIGN:
            due = read_moment(sent.get("until", ""))
            return desk_many.assign(store(), found, sent.get("person", "") or None, due=due, actor=actor)
        case Permission.TAG:
            add, remove = _tags(sent.get("add", "")), _tags(sent.get("remove", ""))
            return desk_many.tag(store(), found, add=add, remove=remove, actor=actor)
    return desk_many.snooze(store(), found, read_moment(sent.get("until", "")), actor=actor)


def _tags(text: str) -> list[str]:
    return [tag for tag in text.split(",") if tag.strip()]


def _people() -> Iterable[str]:
    names, me = desk.assignable(store()), person().name
    return (me, *(name for name in names if name != me)) if me in names else names


def _heading(action: str, number: int) -> str:
    count = display.current().number(number)
    match action:
        case Permission.ASSIGN:
            return ngettext("Assign %(count)s event", "Assign %(count)s events", number, count=count)
        case Permission.TAG:
            return ngettext("Tag %(count)s event", "Tag %(count)s events", number, count=count)
    return ngettext("Snooze %(count)s event", "Snooze %(count)s events", number, count=count)
