"""Which views stand above a list, one click away?"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urlencode

from flask import request

from dlq_console.store import views
from dlq_console.store.filters import EventFilter
from dlq_console.web.auth import person
from dlq_console.web.hub import store

#: Views that a list has room for; the page of views has them all.
MOST_SHOWN = 8


class Tab(NamedTuple):
    """A view: what it is called, where it is, and whether the list shows just that."""

    name: str
    address: str
    here: bool


def of_list(page: str, flt: EventFilter) -> list[Tab]:
    """The views of this person for a list, first their own, then those that are shared."""
    shown = urlencode(flt.query())
    root = request.script_root
    return [
        Tab(view.name, f"{root}/{view.page}?{view.filter}", view.filter == shown)
        for view in views.listed(store(), person())
        if view.page == page
    ][:MOST_SHOWN]
