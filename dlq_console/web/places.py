"""Which pages does the console have for this person, in the order of the list at its side?"""

from __future__ import annotations

from typing import NamedTuple

from flask import request, url_for
from flask_babel import lazy_gettext

from dlq_console.store import people
from dlq_console.store.people import Permission
from dlq_console.web.auth import person

#: Where the list of dead letters is, whose number stands beside it.
DEAD_LETTERS = "triage.dead_letters"

#: The pages: where, what they are called, and the right that they take.
_PLACES = (
    ("triage.overview", lazy_gettext("Overview"), Permission.VIEW),
    (DEAD_LETTERS, lazy_gettext("Dead letters"), Permission.VIEW),
    ("groups.index", lazy_gettext("Groups"), Permission.VIEW),
    ("triage.events", lazy_gettext("All events"), Permission.VIEW),
    ("bulk.index", lazy_gettext("Bulk runs"), Permission.VIEW),
    ("work.index", lazy_gettext("My work"), Permission.VIEW),
    ("views.index", lazy_gettext("Views"), Permission.VIEW),
    ("audit.index", lazy_gettext("Audit"), Permission.AUDIT),
    ("rules.index", lazy_gettext("Rules"), Permission.VIEW),
    ("preferences.show", lazy_gettext("Settings"), Permission.VIEW),
)


class Place(NamedTuple):
    """One page of the list."""

    name: str
    address: str
    word: str
    here: bool


def places() -> list[Place]:
    """Every page that this person may open."""
    return [
        Place(name, url_for(name), str(word), request.endpoint == name)
        for name, word, right in _PLACES
        if people.may(person(), right)
    ]
