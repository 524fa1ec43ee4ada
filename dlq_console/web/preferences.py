"""How does the console show itself to one person? Language, colours, time zone, single keys."""

from __future__ import annotations

from flask import Blueprint, redirect, render_template, request, url_for
from flask_babel import gettext
from werkzeug.wrappers import Response as AnyResponse

from dlq_console.store import people
from dlq_console.store.people import Permission
from dlq_console.web.auth import person, require_person
from dlq_console.web.hub import hub, store
from dlq_console.web.i18n import LANGUAGE_NAMES, NEAR_ZONES, zone_names

preferences = Blueprint("preferences", __name__)
preferences.before_request(require_person)


@preferences.get("/settings/preferences")
def show() -> str:
    """The form."""
    others = sorted(zone_names() - set(NEAR_ZONES))
    return render_template(
        "settings/preferences.html",
        may_embed=people.may(person(), Permission.EMBEDS),
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
        locale=request.form.get("locale"),
        timezone=request.form.get("timezone"),
        theme=request.form.get("theme"),
        # A box that is not ticked is not sent at all.
        keys_off="keys" not in request.form if "keys_asked" in request.form else None,
    )
    return redirect(url_for("preferences.show"), 303)
