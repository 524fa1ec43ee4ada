"""How does somebody take a whole list away, as a file for a spreadsheet or for a program?"""

from __future__ import annotations

from collections.abc import Iterator

from flask import Blueprint, Response, abort
from flask_babel import lazy_gettext
from flask_babel.speaklater import LazyString

from dlq_console.hub import export as exports
from dlq_console.hub.export import Exported
from dlq_console.store.people import Permission
from dlq_console.web import display, downloads, words
from dlq_console.web.api.representation import summary_json, to_text
from dlq_console.web.asking import DEAD_LETTERS, EVENTS, asked, for_page
from dlq_console.web.auth import demand, require_person
from dlq_console.web.beside import Column, columns_of
from dlq_console.web.hub import store

export = Blueprint("export", __name__, url_prefix="/export")
export.before_request(require_person)

#: What the columns of a spreadsheet are called; a time says in which zone it is.
_HEADINGS: dict[str, LazyString] = {
    "id": lazy_gettext("Event id"),
    "status": lazy_gettext("State"),
    "reason": lazy_gettext("Reason"),
    "kind": lazy_gettext("Kind"),
    "account": lazy_gettext("Account"),
    "number": lazy_gettext("Number"),
    "class": lazy_gettext("Taken for"),
    "error": lazy_gettext("Error"),
    "attempts": lazy_gettext("Attempts"),
    "came_in": lazy_gettext("Came in"),
    "ended": lazy_gettext("Ended"),
    "assignee": lazy_gettext("Assigned to"),
    "tags": lazy_gettext("Tags"),
    "snoozed_until": lazy_gettext("Snoozed until"),
}
_TIMES = ("came_in", "ended", "snoozed_until")
_TYPES = {"csv": downloads.CSV, "json": "application/json"}


@export.get("/<page>.<form>")
def download(page: str, form: str) -> Response:
    """Everything that matches the filter of this address, as it is at this moment, in the order of the list."""
    asking = demand(Permission.VIEW)
    if page not in (DEAD_LETTERS, EVENTS) or form not in _TYPES:
        abort(404)
    flt = asked()
    events = exports.events(
        store(), for_page(page, flt), dead_only=page == DEAD_LETTERS, accounts=asking.accounts
    )
    exports.note(store(), actor=asking.name, what=f"{page}.{form}", filter_=exports.query_of(flt))
    columns = [column for kind in flt.kind for column in columns_of(kind)]
    texts = _csv(events, columns) if form == "csv" else _json(events)
    return downloads.download(texts, f"{page}.{form}", _TYPES[form])


def _csv(events: Iterator[Exported], columns: list[Column]) -> Iterator[str]:
    paths = list(dict.fromkeys(column.path for column in columns))
    labels = {column.path: column.label for column in columns}
    headings = [_heading(name) for name in exports.COLUMNS] + [labels[path] for path in paths]
    rows = (_in_words(exports.cells(one, paths, downloads.time_cell), one) for one in events)
    return downloads.csv_lines(headings, rows)


def _json(events: Iterator[Exported]) -> Iterator[str]:
    """An array of what GET /api/v1/events gives."""
    return exports.array(to_text(summary_json(one.event)) for one in events)


def _heading(name: str) -> str:
    return downloads.time_heading(_HEADINGS[name]) if name in _TIMES else str(_HEADINGS[name])


def _in_words(cells: list[object], one: Exported) -> list[object]:
    """State, reason and class as the pages call them."""
    shown, event = display.current(), one.event
    words_of = {
        "status": shown.state(event).word,
        "reason": shown.reason(event.reason) if event.reason else None,
        "class": words.class_word(event.verdict) if event.verdict else None,
    }
    for name, word in words_of.items():
        cells[exports.COLUMNS.index(name)] = word
    return cells
