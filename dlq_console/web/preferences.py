"""How does the console show itself to one person? Language, colours, time zone."""

from __future__ import annotations

from flask import Blueprint, abort, redirect, render_template, request, url_for
from flask_babel import gettext
from werkzeug.wrappers import Response as AnyResponse

from dlq_console.settings import LOCALES
from dlq_console.store import people
from dlq_console.web.auth import person, require_person
from dlq_console.web.hub import hub, store
from dlq_console.web.i18n import LANGUAGE_NAMES, NEAR_ZONES, zone_names

THEMES = ("light", "dark")

preferences = Blueprint("preferences", __name__)
preferences.before_request(require_person)


@preferences.get("/settings/preferences")
def show() -> str:
    """The form."""
    others = sorted(zone_names() - set(NEAR_ZONES))
    return render_template(
        "settings/preferences.html",
        languages=LANGUAGE_NAMES.items(),
        default_zone=hub().settings.timezone,
        zone_groups=((gettext("Brazil"), NEAR_ZONES), (gettext("Everywhere"), others)),
    )


@preferences.post("/settings/preferences")
def save() -> AnyResponse:
    """Keep what was chosen; an empty choice follows the browser, the system or the configuration."""
    people.set_preferences(
        store(),
        person().id,
        locale=_choice("locale", frozenset(LOCALES)),
        timezone=_choice("timezone", zone_names()),
        theme=_choice("theme", frozenset(THEMES)),
    )
    return redirect(url_for("preferences.show"), 303)


def _choice(name: str, allowed: frozenset[str]) -> str | None:
    value = request.form.get(name, "")
    if value and value not in allowed:
        abort(400)
    return value or None
