"""What do both lists of events have in common? Rows, what can be kept of the list, the bar of a selection, news."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from flask import url_for
from flask_babel import lazy_gettext

from dlq_console.hub.bulk import MOST_CHOSEN
from dlq_console.store import people
from dlq_console.store.filters import PAYLOAD, EventFilter
from dlq_console.store.people import Permission
from dlq_console.store.queries import EventLine, Page
from dlq_console.web import chips, further, news, picked, tabs
from dlq_console.web.asking import DEAD_LETTERS, EVENTS
from dlq_console.web.auth import person
from dlq_console.web.beside import beside, columns_of
from dlq_console.web.lists import Facet, list_view, page_address
from dlq_console.web.rows import Form, Row, list_rows

#: Where each list is, and its parts.
PAGES = {DEAD_LETTERS: "triage.dead_letters", EVENTS: "triage.events"}
FRAGMENTS = {DEAD_LETTERS: "fragments.dead_letters", EVENTS: "fragments.events"}

#: How often the filter stands on its page, as an address or as fields of a form.
ADDRESSES = 12

#: What can be done with a selection; each takes the right of that name.
_BULK_ACTIONS = (
    (Permission.REPROCESS, lazy_gettext("Reprocess…")),
    (Permission.DISCARD, lazy_gettext("Discard…")),
    (Permission.ASSIGN, lazy_gettext("Assign to…")),
    (Permission.TAG, lazy_gettext("Tags…")),
    (Permission.SNOOZE, lazy_gettext("Snooze…")),
)


def surroundings(
    name: str, flt: EventFilter, page: Page[EventLine], *, fields: set[str], facets: dict[str, Facet]
) -> dict[str, Any]:
    """What the template of a list needs beside what is its own.

    Args:
        name: of the list, DEAD_LETTERS or EVENTS.
        flt: the filter as it was asked for.
        page: the rows found.
        fields: parameters that the form of this list has a field for, outside of the sheet "+ filter".
        facets: what these fields offer.
    """
    one_kind = flt.kind[0] if len(flt.kind) == 1 else ""
    columns = columns_of(one_kind) if one_kind else ()
    form = Form(
        picks=people.may(person(), Permission.BULK),
        kind=one_kind if columns else "",
        came_in=name == EVENTS,
    )
    known = beside(page.items, [form.kind] if form.kind else [])
    rows = list_rows(
        page.items,
        person(),
        form=form,
        known=known,
        taken=ADDRESSES * len(urlencode(flt.query())),
    )
    return {
        "page": name,
        "row_form": form,
        "columns": [(column.label, _is_numeric(rows, place)) for place, column in enumerate(columns)],
        "rows": rows,
        "more": further.fields(name, flt, columns),
        "list": list_view(
            flt,
            page,
            address=url_for(PAGES[name]),
            fragment=url_for(FRAGMENTS[name]),
            fields=fields
            | further.NAMES
            | {f"{PAYLOAD}{column.path}" for column in columns}
            | ({"tag"} if len(flt.tag) < 2 else set()),
            facets=facets,
        ),
        **_around(name, flt, page),
    }


def _is_numeric(rows: list[Row], place: int) -> bool:
    """Whether a column holds numbers and nothing else."""
    cells = [row.cells[place] for row in rows if row.cells[place].text]
    return bool(cells) and all(cell.numeric for cell in cells)


def _around(name: str, flt: EventFilter, page: Page[EventLine]) -> dict[str, Any]:
    """What stands above and below the rows."""
    exports = {
        form: page_address(url_for("export.download", page=name, form=form), flt) for form in ("csv", "json")
    }
    return {
        "news": news.watch(name, flt, page.items),
        "filter_in_words": chips.in_words(flt),
        "selection_key": picked.key_of(name, flt),
        "most_chosen": MOST_CHOSEN,
        "may_share": people.may(person(), Permission.SHARE_VIEW),
        "exports": exports,
        "snoozed_address": page_address(url_for(PAGES[name]), replace(flt, snoozed="only")),
        "bulk_actions": [
            (str(action), str(word)) for action, word in _BULK_ACTIONS if people.may(person(), action)
        ],
        "tabs": tabs.of_list(name, flt),
    }
