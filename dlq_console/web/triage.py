"""What needs a hand? The overview, the dead letters, and all events."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, render_template, request, url_for
from flask_babel import gettext

from dlq_console.store import queries
from dlq_console.store.filters import EventFilter
from dlq_console.store.queries import DeadLetters, Group, Overview
from dlq_console.store.states import Reason, Status
from dlq_console.web import answers, display, doors
from dlq_console.web.auth import person, require_person
from dlq_console.web.counting import is_stale
from dlq_console.web.hub import store
from dlq_console.web.lists import PAGE_SIZE, list_view, offered
from dlq_console.web.rows import list_rows

triage = Blueprint("triage", __name__)
triage.before_request(require_person)


@triage.get("/")
def overview() -> str:
    """How things stand, in one sentence and the figures behind it."""
    return render_template("overview/overview.html", **overview_context())


@triage.get("/dead-letters")
def dead_letters() -> str:
    """The events that need a person."""
    return render_template("dead_letters/dead_letters.html", **dead_letters_context())


@triage.get("/events")
def events() -> str:
    """Every event, in any state."""
    return render_template("events/events.html", **events_context())


def overview_context() -> dict[str, Any]:
    """What the overview shows."""
    accounts = person().accounts
    view = queries.overview(store(), accounts=accounts)
    counted = queries.groups(store(), EventFilter(), accounts=accounts, limit=1)
    biggest = None if is_stale(counted) else counted.items[0]
    closed = queries.closed_doors(store(), accounts=accounts)
    return {
        "view": view,
        "dead_total": view.dead,
        "answer": answers.overview(view, biggest, closed),
        "workers": answers.workers(view),
        "nothing_yet": _nothing_to_show(view) and not closed and nothing_ever(),
        **doors.overview_parts(person(), closed),
    }


def dead_letters_context() -> dict[str, Any]:
    """What the dead-letter page and its fragment show for the filter of this request."""
    flt = EventFilter.parse(request.args)
    found = queries.dead_letters(
        store(), flt, cursor=request.args.get("cursor", ""), limit=PAGE_SIZE, accounts=person().accounts
    )
    return {
        "found": found,
        "dead_total": found.total,
        "answer": answers.dead_letters(found, _biggest_counted(flt, found)),
        "rows": list_rows(found.page.items, person()),
        "nothing_ever": not found.total.number and nothing_ever(),
        "list": list_view(
            flt,
            found.page,
            address=url_for("triage.dead_letters"),
            fragment=url_for("fragments.dead_letters"),
            fields={"kind", "account", "reason", "q", "entity"},
            facets=_dead_letter_facets(flt, found),
        ),
    }


def events_context() -> dict[str, Any]:
    """What the page of all events and its fragment show for the filter of this request."""
    flt = EventFilter.parse(request.args)
    page = queries.event_lines(
        store(), flt, cursor=request.args.get("cursor", ""), limit=PAGE_SIZE, accounts=person().accounts
    )
    shown = display.current()
    return {
        "rows": list_rows(page.items, person(), came_in=True),
        "answer": gettext("Every event that came in, whatever became of it."),
        "list": list_view(
            flt,
            page,
            address=url_for("triage.events"),
            fragment=url_for("fragments.events"),
            # A text field holds one value; several from an address are kept beside it.
            fields={"status", "reason", "q", "entity"}
            | {name for name in ("kind", "account") if len(getattr(flt, name)) < 2},
            facets={
                "status": [(str(status), shown.status(status).word) for status in Status],
                "reason": [(str(reason), shown.reason(reason)) for reason in Reason],
            },
        ),
    }


def nothing_ever() -> bool:
    """Whether no event has come in yet, as far as this person may see."""
    return not queries.event_lines(store(), EventFilter(), limit=1, accounts=person().accounts).items


def _biggest_counted(flt: EventFilter, found: DeadLetters) -> Group | None:
    """The biggest cause of a list of which only the newest rows were looked at, where it was counted lately."""
    if found.biggest is None or found.biggest.complete or not queries.is_counted(flt):
        return None
    counted = queries.groups(store(), flt, accounts=person().accounts, limit=1)
    return None if is_stale(counted) else counted.items[0]


def _nothing_to_show(view: Overview) -> bool:
    return not view.accounts and not view.done_last_hour.number


def _dead_letter_facets(flt: EventFilter, found: DeadLetters) -> dict[str, list[tuple[str, str]]]:
    shown = display.current()
    return {
        "kind": offered(found.kinds, flt.kind),
        "account": offered(found.accounts, flt.account),
        "reason": [(str(reason), shown.reason(reason)) for reason in found.reasons],
    }
