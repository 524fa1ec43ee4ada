"""What does a person read when something cannot be done? One clear sentence, as a page or as a fragment."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass, replace

from flask import Flask, current_app, g, make_response, render_template, request, url_for
from flask_babel import gettext, lazy_gettext
from flask_babel.speaklater import LazyString
from flask_wtf.csrf import CSRFError
from werkzeug.datastructures import MultiDict
from werkzeug.exceptions import HTTPException, InternalServerError
from werkzeug.wrappers import Response as AnyResponse

from dlq_console.errors import ActionNotAllowed, EventNotFound, PayloadRefused, StoreUnavailable
from dlq_console.store.filters import PARAMETERS, PAYLOAD, EventFilter, FilterError
from dlq_console.store.people import PeopleError
from dlq_console.web import filter_words, outages, refused_filter, refused_words
from dlq_console.web.asking import DEAD_LETTERS
from dlq_console.web.auth import load_person
from dlq_console.web.filter_words import OF_AUDIT, OF_LISTS
from dlq_console.web.lists import page_address
from dlq_console.web.returning import safe_next, split
from dlq_console.web.surroundings import PAGES

#: Fields in which people write; never a password, a token or a number that only counts on its own page.
_WRITTEN = ("payload", "note", "draft", "tags", "add", "remove", "view_name", "accounts", "origins")
#: Acts whose form stands behind a list in which something was selected.
_OF_A_SELECTION = ("bulk.preview", "bulk.start", "bulk.put_on_desk", "bulk.take_back")


@dataclass(frozen=True, slots=True)
class Link:
    """Where to go from here."""

    address: str
    text: str


@dataclass(frozen=True, slots=True)
class Again:
    """The field of a form that was not taken, to be put right where it is told: with the rest of the form as it was."""

    address: str
    name: str
    text: str
    #: How a browser asks for it: `textarea`, or a type of an input.
    field: str
    rest: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """What an error page or fragment says.

    `detail` is an English sentence of the store; `kept` is what the person had written and must not lose, `again` the same
    as a field that can be put right and sent again. `typed` is the same as fields of the form on `page`, which gets it
    back once that page is open again.
    """

    status: int
    title: str
    sentence: str
    detail: str = ""
    kept: str = ""
    link: Link | None = None
    typed: tuple[tuple[str, str], ...] = ()
    page: str = ""
    again: Again | None = None


#: What the store calls a text -> the field of the form that it was typed into, and how that asks for it.
_FIELDS = {
    "note": ("note", "textarea"),
    "text": ("note", "textarea"),
    "tag": ("tags", "text"),
    "due": ("due", "datetime-local"),
    "at": ("at", "datetime-local"),
}
_TEXTS: dict[int, tuple[LazyString, LazyString]] = {
    400: (
        lazy_gettext("This request cannot be understood"),
        lazy_gettext("The address or the form holds something that means nothing here."),
    ),
    401: (
        lazy_gettext("Your session has ended"),
        lazy_gettext("Nothing was changed; log in again and repeat the last step."),
    ),
    403: (
        lazy_gettext("You may not do this"),
        lazy_gettext("Your role does not allow it; an administrator can change that."),
    ),
    404: (
        lazy_gettext("There is nothing here"),
        lazy_gettext("The address is wrong, or what it named has been pruned."),
    ),
    405: (
        lazy_gettext("This address takes no such request"),
        lazy_gettext("Open the page and use its buttons."),
    ),
    409: (
        lazy_gettext("This is not possible any more"),
        lazy_gettext("The event has changed since you saw it; look at it again."),
    ),
    413: (
        lazy_gettext("This is too large"),
        lazy_gettext("The console takes at most 1 MiB in one request."),
    ),
    429: (
        lazy_gettext("Too many attempts"),
        lazy_gettext("Wait a few minutes, then try again."),
    ),
    500: (
        lazy_gettext("The console failed"),
        lazy_gettext("This is a fault of the console, which was written to its log."),
    ),
    503: (
        lazy_gettext("The database cannot be reached"),
        lazy_gettext("Nothing was changed; try again in a moment."),
    ),
}


def install(app: Flask) -> None:
    """Answer every error in the console's own look."""
    for status in _TEXTS:
        app.register_error_handler(status, _http_error)
    app.register_error_handler(CSRFError, _form_token_wrong)
    app.register_error_handler(FilterError, _filter_wrong)
    app.register_error_handler(PayloadRefused, lambda error: answer(not_taken(error)))
    app.register_error_handler(PeopleError, lambda error: answer(problem(400, detail=error.message)))
    app.register_error_handler(EventNotFound, lambda _error: answer(problem(404)))
    app.register_error_handler(ActionNotAllowed, lambda _error: answer(problem(409)))
    app.register_error_handler(StoreUnavailable, _database_away)


def problem(status: int, *, sentence: str = "", detail: str = "") -> Problem:
    """The usual texts of a status, or another sentence."""
    title, usual = _TEXTS[status]
    return Problem(status, str(title), sentence or str(usual), detail)


def not_taken(error: PayloadRefused, *, link: Link | None = None) -> Problem:
    """What is said of a form one of whose fields was not taken; that field is given back."""
    said = refused_words.sentence(error)
    shown = put_right(str(error.facts.get("name", "")), said) if said else problem(400, detail=error.message)
    return replace(shown, link=link or shown.link)


def put_right(name: str, sentence: str) -> Problem:
    """The same where the page knows itself what is wrong: with the text that the store calls `name`, if it is in the form."""
    shown = Problem(400, gettext("Nothing was changed"), sentence, link=_back())
    field, kind = _FIELDS.get(name, ("", ""))
    if field not in request.form:
        return replace(shown, kept=request.form.get("note", ""))
    rest = tuple(pair for pair in request.form.items(multi=True) if pair[0] not in (field, "csrf_token"))
    kept = "" if field == "note" else request.form.get("note", "")
    return replace(shown, again=Again(request.path, field, request.form[field], kind, rest), kept=kept)


def _back() -> Link | None:
    """The page of the event or the cause that this form is about."""
    about = (request.view_args or {}).keys() & {"event_id", "fingerprint"}
    return Link(_page_behind_form(), gettext("Open the page again")) if about else None


def keeping(shown: Problem, typed: str) -> Problem:
    """The same, with what the person had typed."""
    return replace(shown, kept=typed)


def answer(shown: Problem, *, more: str = "") -> AnyResponse:
    """A page; for a request of htmx a fragment that goes to the region for problems, and `more` after it."""
    if "HX-Request" in request.headers:
        response = make_response(render_template("errors/_problem.html", problem=shown) + more, shown.status)
        response.headers["HX-Retarget"] = "#problem"
        response.headers["HX-Reswap"] = "innerHTML"
    else:
        response = make_response(render_template("errors/error.html", problem=shown), shown.status)
    if shown.status in (429, 503):
        response.headers["Retry-After"] = "300" if shown.status == 429 else "5"
    return response


def _database_away(error: StoreUnavailable) -> AnyResponse:
    outages.told(error)
    return answer(problem(503))


def _http_error(error: HTTPException) -> AnyResponse:
    _load_person_if_possible()
    status = error.code or 500
    if status == 500:
        return answer(_failure(error))
    if status == 401:
        return answer(_session_ended())
    if status == 413:
        return answer(_too_large())
    return answer(problem(status))


def _too_large() -> Problem:
    """Too large even to be read and given back."""
    if request.max_content_length in (None, current_app.config["MAX_CONTENT_LENGTH"]):
        return problem(413)
    limit = (request.max_content_length or 0) // 2**20
    sentence = gettext("This form takes at most %(limit)s MiB; nothing was changed.", limit=limit)
    return replace(problem(413, sentence=sentence), link=_back())


def _form_token_wrong(_error: CSRFError) -> AnyResponse:
    """The page is older than the session, or the form is not ours. What was typed is not lost."""
    _load_person_if_possible()
    if g.person is None and request.endpoint != "auth.log_in":
        return answer(_session_ended())
    return answer(
        Problem(
            400,
            gettext("This page is too old to be sent"),
            gettext("Nothing was changed. Open it again and repeat the last step."),
            link=Link(_page_behind_form(), gettext("Open the page again")),
            typed=_typed(),
            page=_page_of_form(),
        )
    )


def _filter_wrong(error: FilterError) -> AnyResponse:
    """The address names a filter that means nothing; the list itself is one click away, and the form keeps what it has."""
    link = Link(url_for(_list_behind_filter()), gettext("Clear the filter"))
    field = refused_filter.field_of(error)
    labels = OF_AUDIT if request.blueprint == "audit" else OF_LISTS
    sentence = filter_words.sentence(error, labels, field=field)
    told = problem(400, sentence=sentence, detail="" if sentence else error.message)
    response = answer(replace(told, link=link))
    if "HX-Request" in request.headers and sentence:
        response.headers["HX-Trigger"] = json.dumps({"notTaken": field})
    return response


def _list_behind_filter() -> str:
    """The list to which the filter of this request belongs."""
    if request.blueprint in ("alerts", "audit", "groups"):
        return f"{request.blueprint}.index"
    # Of a selection, a saved view and a file it stands in the form or the address; of the rest, in the name of the page.
    named = request.form.get("list") or request.form.get("page") or (request.view_args or {}).get("page", "")
    page = (named or (request.endpoint or "").rpartition(".")[2].removeprefix("new_")).replace("-", "_")
    return f"triage.{page}" if page in ("dead_letters", "events") else "triage.overview"


def _session_ended() -> Problem:
    login = Link(url_for("auth.show_log_in", next=_page_behind_form()), gettext("Log in"))
    return replace(problem(401), link=login, typed=_typed(), page=_page_of_form())


def _failure(error: HTTPException) -> Problem:
    reference = secrets.token_hex(4)
    cause = error.original_exception if isinstance(error, InternalServerError) else None
    current_app.logger.error(
        "reference %s: %s %s failed (%s)", reference, request.method, request.path, type(cause).__name__
    )
    told = gettext("This is a fault of the console; its log has it as %(reference)s.", reference=reference)
    return problem(500, sentence=told)


def _typed() -> tuple[tuple[str, str], ...]:
    return tuple((name, request.form[name]) for name in _WRITTEN if request.form.get(name))


def _page_behind_form() -> str:
    """The page from which somebody comes to the form of this request again."""
    event_id = (request.view_args or {}).get("event_id")
    if event_id is not None:
        return url_for("edit.write" if request.blueprint == "edit" else "events.show", event_id=event_id)
    fingerprint = (request.view_args or {}).get("fingerprint")
    if fingerprint is not None:
        return url_for("groups.show", fingerprint=fingerprint)
    if request.endpoint in _OF_A_SELECTION:
        return _list_behind_selection()
    return url_for("auth.show_log_in") if request.endpoint == "auth.log_in" else _page_before()


def _page_of_form() -> str:
    """The page on which the form of this request stood: of a selection it is one without an address of its own."""
    return url_for("bulk.preview") if request.endpoint in _OF_A_SELECTION else _page_behind_form()


def _page_before() -> str:
    """The page of this console from which the request came, where the browser tells; else the overview."""
    came = split(request.referrer or "")
    ours = came is not None and came.netloc == request.host
    return safe_next(came._replace(scheme="", netloc="", fragment="").geturl() if came and ours else "")


def _list_behind_selection() -> str:
    """The list in which the form's selection was made, with its filter, which the form itself had brought."""
    address = url_for(PAGES.get(request.form.get("list", ""), PAGES[DEAD_LETTERS]))
    given = [
        pair
        for pair in request.form.items(multi=True)
        if pair[0] in PARAMETERS or pair[0].startswith(PAYLOAD)
    ]
    try:
        return page_address(address, EventFilter.parse(MultiDict(given)))
    except FilterError:
        return address


def _load_person_if_possible() -> None:
    try:
        load_person()
    except StoreUnavailable:
        g.person = None
