"""Which filters has somebody kept under a name, and how many events does each of them hold now?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from flask import Blueprint, abort, g, make_response, redirect, render_template, request, url_for
from flask_babel import gettext, ngettext
from werkzeug.wrappers import Response as AnyResponse

from dlq_console.store import people
from dlq_console.store import views as saved
from dlq_console.store.filters import EventFilter
from dlq_console.store.people import Permission
from dlq_console.store.queries import Count
from dlq_console.store.views import View, ViewNameTaken, ViewNotFound, ViewRefused
from dlq_console.web import chips, display, triage
from dlq_console.web.asking import DEAD_LETTERS
from dlq_console.web.auth import person, require_person
from dlq_console.web.hub import store
from dlq_console.web.lists import page_address, with_query
from dlq_console.web.surroundings import PAGES

views = Blueprint("views", __name__)
views.before_request(require_person)

#: Ids beyond what a database can hold are no ids.
VIEW_ID = "int(max=9223372036854775807):view_id"
#: What the form of a view writes beside its filter.
_BESIDE = frozenset({"csrf_token", "page", "shared", "view_name"})
#: How many views are counted for one page; nobody looks at the figures of a hundred.
MOST_COUNTED = 20
#: Characters of a name that was not taken and is given back.
MOST_TYPED = 1_000


@dataclass(frozen=True, slots=True)
class Shown:
    """One view as the page lists it; `count` is None where it was not counted."""

    view: View
    address: str
    in_words: str
    count: Count | None
    mine: bool
    may_change: bool


@dataclass(frozen=True, slots=True)
class Refused:
    """A form of a view that was not taken: what was written, and why not; `view_id` is 0 for a new view."""

    name: str
    shared: bool
    sentence: str
    view_id: int


@views.get("/views")
def index() -> str:
    """Every view that this person may use, with how many events it holds."""
    return _page()


def _page() -> str:
    known = saved.listed(store(), person())
    counts = {view.id: saved.counted(store(), view, person()) for view in known[:MOST_COUNTED]}
    shown = [_shown(view, counts.get(view.id)) for view in known]
    return render_template(
        "views/views.html",
        mine=[one for one in shown if one.mine],
        shared=[one for one in shown if not one.mine],
        answer=_answer(len(known)),
        may_share=people.may(person(), Permission.SHARE_VIEW),
    )


@views.post("/views")
def save() -> AnyResponse:
    """Keep the filter of a list under a name, and go back to that list."""
    page = request.form.get("page", "")
    if page not in PAGES:
        abort(400)
    flt = EventFilter.parse_all(request.form.to_dict(flat=False), beside=_BESIDE)
    try:
        saved.save(store(), person(), filter_=urlencode(flt.query()), page=page, **_named())
    except ViewRefused as refused:
        g.refused_view = _refused(refused)
        if page == DEAD_LETTERS:
            return triage.dead_letters_page(triage.dead_letters_context(flt), _status(refused))
        return triage.events_page(triage.events_context(flt), _status(refused))
    return redirect(page_address(url_for(PAGES[page]), flt), 303)


@views.post(f"/views/<{VIEW_ID}>")
def change(view_id: int) -> AnyResponse:
    """Give a view another name, share it, or keep it for oneself."""
    try:
        view = saved.get(store(), view_id, person())
        saved.change(store(), view_id, person(), filter_=view.filter, page=view.page, **_named())
    except ViewNotFound:
        abort(404)
    except ViewRefused as refused:
        g.refused_view = _refused(refused, view_id)
        return make_response(_page(), _status(refused))
    return redirect(url_for("views.index"), 303)


@views.post(f"/views/<{VIEW_ID}>/delete")
def delete(view_id: int) -> AnyResponse:
    """Forget a view."""
    try:
        saved.delete(store(), view_id, person())
    except ViewNotFound:
        abort(404)
    return redirect(url_for("views.index"), 303)


def _named() -> dict[str, Any]:
    return {"name": request.form.get("view_name", ""), "shared": request.form.get("shared") == "1"}


def _refused(refused: ViewRefused, view_id: int = 0) -> Refused:
    named = _named()
    return Refused(named["name"][:MOST_TYPED], named["shared"], _why(refused), view_id)


def _status(refused: ViewRefused) -> int:
    return 409 if isinstance(refused, ViewNameTaken) else 400


def _why(refused: ViewRefused) -> str:
    match refused.cause:
        case "taken":
            return gettext("You have a view of this name already; choose another name.")
        case "name":
            return gettext(
                "The name of a view has 1 to %(limit)s characters, all of them shown.", limit=saved.MAX_NAME
            )
        case "too_many":
            return gettext("You have %(limit)s views already; delete one first.", limit=saved.MAX_VIEWS)
    return gettext("Your role keeps views for itself only.")


def _shown(view: View, count: Count | None) -> Shown:
    mine = view.owner == person().name
    address = with_query(url_for(PAGES[view.page]), view.flt.query())
    may_change = mine or (view.shared and saved.may_change_shared(person()))
    return Shown(view, address, chips.in_words(view.flt), count, mine, may_change)


def _answer(number: int) -> str:
    if not number:
        return gettext("No view yet. Filter a list, then keep the filter with “Save view”.")
    return ngettext(
        "%(count)s view; the numbers are those of this moment.",
        "%(count)s views; the numbers are those of this moment.",
        number,
        count=display.current().number(number),
    )
