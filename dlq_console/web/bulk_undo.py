"""What is told in a list after something was put on many desks, and how is it taken back from there?"""

from __future__ import annotations

from dataclasses import dataclass

from flask import abort, flash, get_flashed_messages, redirect, request, session
from flask_babel import ngettext
from werkzeug.wrappers import Response as AnyResponse

from dlq_console.clock import utc_now
from dlq_console.hub import desk_undo
from dlq_console.hub.desk_undo import TakenBack
from dlq_console.store.desk import Act
from dlq_console.web import bulk_form, display
from dlq_console.web.auth import demand
from dlq_console.web.hub import store

#: Under which name what was done is carried to the list.
_DONE = "bulk desk"
#: The same in the session for what can be taken back: it stays for so many seconds, also when the page is loaded anew.
_UNDO, UNDO_SECONDS = "bulk undo", 120


@dataclass(frozen=True, slots=True)
class Told:
    """What was done, in a sentence, and the fields of the form that takes it back; without any there is no way back."""

    sentence: str
    fields: dict[str, str]


def tell(sentence: str, selection: str = "", action: str = "", act: Act | None = None) -> None:
    """Carry it to the list that is shown next; where there is a way back, to the list of that `selection` for a while."""
    forget()
    if act is None:
        flash(sentence, _DONE)
        return
    fields = {"action": action, "first": str(act.first), "last": str(act.last)}
    session[_UNDO] = [utc_now().timestamp(), selection, sentence, fields]


def forget() -> None:
    """Another act upon a selection has followed, so nothing is offered to be taken back."""
    session.pop(_UNDO, None)


def told(selection: str) -> Told | None:
    """What was done right before this page, or to this list a short while ago."""
    sentences = get_flashed_messages(category_filter=[_DONE])
    if sentences:
        return Told(str(sentences[-1]), {})
    if _UNDO not in session:
        return None
    done_at, of, sentence, fields = session[_UNDO]
    if utc_now().timestamp() - done_at >= UNDO_SECONDS:
        forget()
        return None
    return Told(sentence, fields) if of == selection else None


def take_back(action: str) -> AnyResponse:
    """Take it back, and return to the list, which says for how many that went through."""
    asking = demand(action)
    back = bulk_form.list_as_it_was()
    act = Act(_row("first"), _row("last"))
    done = desk_undo.take_back(store(), act, action=action, actor=asking.name, accounts=asking.accounts)
    tell(_sentence(done))
    return redirect(back, 303)


def _row(name: str) -> int:
    number = request.form.get(name, type=int)
    if number is None:
        abort(400)
    return number


def _sentence(done: TakenBack) -> str:
    shown = display.current()
    parts = []
    if done.done or not done.stayed:
        parts.append(
            ngettext(
                "Taken back: %(count)s event is as it was before.",
                "Taken back: %(count)s events are as they were before.",
                done.done,
                count=shown.number(done.done),
            )
        )
    if done.stayed:
        parts.append(
            ngettext(
                "%(count)s was not taken back, because it is not as you left it any more.",
                "%(count)s were not taken back, because they are not as you left them any more.",
                done.stayed,
                count=shown.number(done.stayed),
            )
        )
    return " ".join(parts)
