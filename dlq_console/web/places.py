"""Which pages does the console have for this person, in the order of the list at its side?"""

from __future__ import annotations

from typing import NamedTuple

from flask import current_app, request, url_for
from flask_babel import lazy_gettext

from dlq_console.errors import StoreUnavailable
from dlq_console.health.values import Word
from dlq_console.store import people
from dlq_console.store.people import Permission
from dlq_console.web import health_words, pulse
from dlq_console.web.auth import person
from dlq_console.web.words import Look

#: Where the list of dead letters is, whose number stands beside it.
DEAD_LETTERS = "triage.dead_letters"
#: Where the health of all accounts is, whose worst state stands beside it.
HEALTH = "health_pages.index"

#: The pages: where, what they are called, and the right that they take.
_PLACES = (
    ("triage.overview", lazy_gettext("Overview"), Permission.VIEW),
    (DEAD_LETTERS, lazy_gettext("Dead letters"), Permission.VIEW),
    ("groups.index", lazy_gettext("Groups"), Permission.VIEW),
    ("triage.events", lazy_gettext("All events"), Permission.VIEW),
    ("bulk.index", lazy_gettext("Bulk runs"), Permission.VIEW),
    (HEALTH, lazy_gettext("Health"), Permission.VIEW),
    ("alerts.index", lazy_gettext("Alerts"), Permission.VIEW),
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


#: The pages of health, where there is one.
_OF_HEALTH = (
    (HEALTH, lazy_gettext("Accounts"), Permission.VIEW),
    ("health.breakers", lazy_gettext("Circuits"), Permission.VIEW),
    ("health.bulkheads", lazy_gettext("Slots"), Permission.VIEW),
    ("charts.lag", lazy_gettext("Lag"), Permission.VIEW),
    ("health.workers", lazy_gettext("Workers"), Permission.VIEW),
    ("doctor.show", lazy_gettext("Doctor"), Permission.DOCTOR),
)


def health_places() -> list[Place]:
    """The pages of health beside each other."""
    return [
        Place(name, url_for(name), str(word), request.endpoint == name)
        for name, word, right in _OF_HEALTH
        if name in current_app.view_functions and people.may(person(), right)
    ]


def health_look() -> Look | None:
    """How the worst account stands that this person may see; None where there is none, or nobody knows."""
    try:
        seen = pulse.known_now()
    except StoreUnavailable:
        return None
    if seen.health.as_of is None:
        return None
    if seen.is_doubtful:
        return health_words.look(Word.UNKNOWN)
    return health_words.look(seen.worst) if seen.worst else None
