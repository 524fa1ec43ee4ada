"""How does somebody assign, tag or snooze everything that is selected in a list? One form; many dead letters take a run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from flask import (
    make_response,
    redirect,
    render_template,
    request,
    url_for,
)
from flask_babel import gettext, ngettext
from werkzeug.wrappers import Response as AnyResponse

from dlq_console.errors import PayloadRefused
from dlq_console.hub import desk_many
from dlq_console.hub.desk_many import MOST, Done, Found
from dlq_console.store import desk
from dlq_console.store.people import Permission
from dlq_console.store.states import Status
from dlq_console.web import bulk_preview, bulk_undo, display, picked, refused_words
from dlq_console.web.asking import DEAD_LETTERS
from dlq_console.web.auth import demand, person
from dlq_console.web.bulk_form import Selected
from dlq_console.web.hub import hub, store
from dlq_console.web.moments import read_moment, usual

#: What can be done at once, without a run.
ACTIONS: tuple[str, ...] = (Permission.ASSIGN, Permission.TAG, Permission.SNOOZE)


def show(
    selected: Selected, action: str, *, status: int = 200, wrong: str = "", detail: str = ""
) -> AnyResponse:
    """The form; `wrong` is a sentence in the person's language, `detail` one of the store."""
    found = _found(selected)
    refused = _why_not(found, selected)
    if refused is not None:
        return refused
    number, shown, token = len(found.events), display.current().number(len(found.events)), None
    in_a_run = _takes_a_run(found, selected)
    if in_a_run:
        asking = person()
        preview = hub().bulk.preview(action, selected.flt, actor=asking.name, accounts=asking.accounts)
        number, shown = preview.count.number, display.current().count(preview.count)
        token = preview.selection_token
    page = render_template(
        "bulk/desk.html",
        action=action,
        selected=selected,
        counted=() if in_a_run or selected.flt is None else found.ids,
        in_a_run=in_a_run,
        most=MOST,
        token=token,
        heading=_heading(action, number, shown),
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
        if _takes_a_run(found, selected):
            run_id = _begin(action, selected)
            picked.is_over(selected.page, selected.shown)
            bulk_undo.forget()
            return redirect(url_for("bulk.show", run_id=run_id), 303)
        done = _do(action, found)
    except PayloadRefused as error:
        said = refused_words.sentence(error)
        return show(selected, action, status=422, wrong=said, detail="" if said else error.message)
    except (ValueError, OverflowError):
        return show(selected, action, status=422, wrong=gettext("This is no time."))
    asked = selected.counted or selected.event_ids or found.ids
    told = _told(done.new, done.kept, len(asked) - len(found.events))
    bulk_undo.tell(told, picked.key_of(selected.page, selected.shown), action, done.act)
    picked.is_over(selected.page, selected.shown)
    return redirect(selected.back, 303)


def _told(number: int, kept: int, gone: int) -> str:
    """What was done, what was left with somebody else, and what is not there or not in the list any more."""
    shown = display.current()
    changed = ngettext(
        "Done: %(count)s event is changed.",
        "Done: %(count)s events are changed.",
        number,
        count=shown.number(number),
    )
    return " ".join(filter(None, (changed, _kept_told(kept), _gone_told(gone))))


def _kept_told(kept: int) -> str:
    if not kept:
        return ""
    shown = display.current()
    return ngettext(
        "%(count)s stayed with somebody else; to assign it too, tick “%(box)s”.",
        "%(count)s stayed with somebody else; to assign them too, tick “%(box)s”.",
        kept,
        count=shown.number(kept),
        box=gettext("Also those that somebody else sees to"),
    )


def _gone_told(gone: int) -> str:
    if not gone:
        return ""
    return ngettext(
        "%(count)s was left as it is, because it is gone or not in the list any more.",
        "%(count)s were left as they are, because they are gone or not in the list any more.",
        gone,
        count=display.current().number(gone),
    )


def _takes_a_run(found: Found, selected: Selected) -> bool:
    """Whether a run does it: where there are so many, and where the form has said so when there were."""
    return found.more or (selected.everything and bool(request.form.get("selection_token")))


def _found(selected: Selected) -> Found:
    accounts = person().accounts
    flt = selected.flt
    if flt is None:
        return desk_many.chosen(store(), selected.event_ids, accounts=accounts)
    if selected.page == DEAD_LETTERS:
        if flt.status and Status.DEAD not in flt.status:
            return Found()
        flt = replace(flt, status=(Status.DEAD,))
    if selected.counted:
        return desk_many.counted(store(), flt, selected.counted, accounts=accounts)
    return desk_many.matching(store(), flt, accounts=accounts)


def _why_not(found: Found, selected: Selected) -> AnyResponse | None:
    if found.more and selected.event_ids:
        return bulk_preview.why_not(selected)
    title = gettext("This cannot be done to this selection")
    if _takes_a_run(found, selected) and not _is_of_dead_letters(selected):
        sentence = gettext(
            "It is done to at most %(most)s events at once, and to more only where all are dead letters. Narrow the filter.",
            most=display.current().number(MOST),
        )
        return bulk_preview.refused(title, sentence, selected.back)
    if not found.events:
        return bulk_preview.refused(title, gettext("None of these events is there any more."), selected.back)
    return None


def _is_of_dead_letters(selected: Selected) -> bool:
    """Whether a run can do it, which acts upon all dead letters of a filter."""
    flt = selected.flt
    return flt is not None and (selected.page == DEAD_LETTERS or flt.status == (Status.DEAD,))


def _do(action: str, found: Found) -> Done:
    actor, arguments = demand(action).name, _arguments(action)
    match action:
        case Permission.ASSIGN:
            return desk_many.assign(store(), found, **arguments, actor=actor)
        case Permission.TAG:
            remove = _tags(request.form.get("remove", ""))
            return desk_many.tag(store(), found, add=arguments["tags"], remove=remove, actor=actor)
    return desk_many.snooze(store(), found, **arguments, actor=actor)


def _begin(action: str, selected: Selected) -> int:
    """Begin a run over all of them; returns its id."""
    asking = demand(action)
    return hub().bulk.start(
        action,
        selected.flt,
        arguments=_arguments(action),
        selection_token=request.form.get("selection_token") or None,
        actor=asking.name,
        accounts=asking.accounts,
    )


def _arguments(action: str) -> dict[str, Any]:
    """What the form says, by the names that the acts have for it; in the form they are those of filters."""
    sent = request.form
    if action == Permission.TAG:
        return {"tags": _tags(sent.get("add", ""))}
    until = read_moment(sent.get("until", ""))
    if action == Permission.SNOOZE:
        return {"until": until}
    return {"to": sent.get("person", "") or None, "due": until, "reassign": sent.get("reassign") == "1"}


def _tags(text: str) -> list[str]:
    return [tag for tag in text.split(",") if tag.strip()]


def _people() -> Iterable[str]:
    names, me = desk.assignable(store()), person().name
    return (me, *(name for name in names if name != me)) if me in names else names


def _heading(action: str, number: int, count: str) -> str:
    match action:
        case Permission.ASSIGN:
            return ngettext("Assign %(count)s event", "Assign %(count)s events", number, count=count)
        case Permission.TAG:
            return ngettext("Tag %(count)s event", "Tag %(count)s events", number, count=count)
    return ngettext("Snooze %(count)s event", "Snooze %(count)s events", number, count=count)
