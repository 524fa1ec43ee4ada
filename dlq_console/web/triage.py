"""What needs a hand? The overview, the dead letters, and all events."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from flask import Blueprint, make_response, render_template, request
from flask_babel import gettext
from werkzeug.wrappers import Response as AnyResponse

from dlq_console.store import queries
from dlq_console.store.filters import EventFilter, FilterError
from dlq_console.store.queries import DeadLetters, EventLine, Group, Overview, Page
from dlq_console.store.states import Reason, Status
from dlq_console.web import answers, display, doors, overview_seen, refused_filter
from dlq_console.web.asking import DEAD_LETTERS, EVENTS, asked, for_page
from dlq_console.web.auth import person, require_person
from dlq_console.web.counting import fresh
from dlq_console.web.hub import store
from dlq_console.web.lists import PAGE_SIZE, Facet, offered
from dlq_console.web.surroundings import surroundings

triage = Blueprint("triage", __name__)
triage.before_request(require_person)


@triage.get("/")
def overview() -> str:
    """How things stand, in one sentence and the figures behind it."""
    return render_template("overview/overview.html", **overview_context())


@triage.get("/dead-letters")
def dead_letters() -> AnyResponse:
    """The events that need a person."""
    try:
        return dead_letters_page(dead_letters_context())
    except FilterError as error:
        return dead_letters_page(_dead_letters_refused(refused_filter.rest_of(error, asked)), 400)


@triage.get("/events")
def events() -> AnyResponse:
    """Every event, in any state."""
    try:
        return events_page(events_context())
    except FilterError as error:
        return events_page(_events_refused(refused_filter.rest_of(error, asked)), 400)


def dead_letters_page(context: dict[str, Any], status: int = 200) -> AnyResponse:
    """The page of the dead letters."""
    return make_response(render_template("dead_letters/dead_letters.html", **context), status)


def events_page(context: dict[str, Any], status: int = 200) -> AnyResponse:
    """The page of all events."""
    return make_response(render_template("events/events.html", **context), status)


def overview_context() -> dict[str, Any]:
    """What the overview shows."""
    accounts = person().accounts
    view = overview_seen.figures()
    biggest = fresh(queries.biggest_group(store(), EventFilter(), accounts=accounts))
    closed = queries.closed_doors(store(), accounts=accounts)
    return {
        "view": view,
        "dead_total": view.dead,
        "answer": answers.overview(view, biggest, closed),
        "workers": answers.workers(view),
        "pulse": overview_seen.age(),
        "will_retry": overview_seen.later_word(view),
        "later": overview_seen.later_heading(),
        "nothing_yet": _nothing_to_show(view) and not closed and nothing_ever(),
        **doors.overview_parts(person(), closed, view, _started()),
    }


def _started() -> dict[str, int]:
    """With which row the tables of the overview begin, as its address says."""
    return {name: request.args.get(name, 0, type=int) for name in ("doors", "accounts", "kinds")}


def dead_letters_context(flt: EventFilter | None = None) -> dict[str, Any]:
    """What the dead-letter page and its fragment show for the filter of this request, or for another one."""
    flt = asked() if flt is None else flt
    return _dead_letters_shown(flt, _dead_letters(flt, cursor=request.args.get("cursor", "")))


def _dead_letters_refused(rest: EventFilter) -> dict[str, Any]:
    """What the page shows where a part of the filter was not taken: the form, and no rows, which would be too many."""
    found = replace(_dead_letters(rest), page=Page())
    return _dead_letters_shown(rest, found) | {"answer": refused_filter.answer()}


def _dead_letters(flt: EventFilter, *, cursor: str = "") -> DeadLetters:
    return queries.dead_letters(
        store(), for_page(DEAD_LETTERS, flt), cursor=cursor, limit=PAGE_SIZE, accounts=person().accounts
    )


def _dead_letters_shown(flt: EventFilter, found: DeadLetters) -> dict[str, Any]:
    return {
        "found": found,
        "dead_total": found.total,
        "answer": _dead_letters_answer(flt, found),
        "nothing_ever": not found.total.number and nothing_ever(),
        "matching": found.count,
        "put_aside": _put_aside(flt, found),
        **surroundings(
            DEAD_LETTERS,
            flt,
            found.page,
            fields={"kind", "account", "reason", "q", "entity"},
            facets=_dead_letter_facets(flt, found),
        ),
    }


def events_context(flt: EventFilter | None = None) -> dict[str, Any]:
    """What the page of all events and its fragment show for the filter of this request, or for another one."""
    flt = asked() if flt is None else flt
    page = queries.event_lines(
        store(), flt, cursor=request.args.get("cursor", ""), limit=PAGE_SIZE, accounts=person().accounts
    )
    return _events_shown(flt, page)


def _events_refused(rest: EventFilter) -> dict[str, Any]:
    return _events_shown(rest, Page()) | {"answer": refused_filter.answer()}


def _events_shown(flt: EventFilter, page: Page[EventLine]) -> dict[str, Any]:
    shown = display.current()
    return {
        "answer": gettext("Every event that came in, whatever became of it."),
        "matching": None,
        "put_aside": 0,
        **surroundings(
            EVENTS,
            flt,
            page,
            # A text field holds one value; several from an address are kept beside it.
            fields={"status", "reason", "q", "entity"}
            | {name for name in ("kind", "account") if len(getattr(flt, name)) < 2},
            facets={
                "status": Facet([(str(status), shown.status(status).word) for status in Status]),
                "reason": Facet([(str(reason), shown.reason(reason)) for reason in Reason]),
            },
        ),
    }


def nothing_ever() -> bool:
    """Whether no event has come in yet, as far as this person may see."""
    return not queries.event_lines(store(), EventFilter(), limit=1, accounts=person().accounts).items


def _dead_letters_answer(flt: EventFilter, found: DeadLetters) -> str:
    # Whoever asks for nothing is told what they see; what is left out has a line of its own.
    told = replace(found, total=found.count) if flt.is_empty and found.count.number else found
    return answers.dead_letters(told, _biggest_counted(flt, found))


def _put_aside(flt: EventFilter, found: DeadLetters) -> int:
    """How many the whole list leaves out, because somebody has put them aside; 0 also where that is not known."""
    known = flt.is_empty and not found.total.capped
    return found.total.number - found.count.number if known else 0


def _biggest_counted(flt: EventFilter, found: DeadLetters) -> Group | None:
    """The biggest cause of a list of which only the newest rows were looked at, where it was counted lately."""
    if found.biggest is None or found.biggest.complete or not queries.is_counted(flt):
        return None
    return fresh(queries.biggest_group(store(), flt, accounts=person().accounts))


def _nothing_to_show(view: Overview) -> bool:
    return not view.accounts and not view.done_last_hour.number


def _dead_letter_facets(flt: EventFilter, found: DeadLetters) -> dict[str, Facet]:
    shown = display.current()
    return {
        "kind": offered(found.kinds, flt.kind),
        "account": offered(found.accounts, flt.account),
        "reason": Facet([(str(reason), shown.reason(reason)) for reason in found.reasons]),
    }
