"""What may every template and macro use? Words, formats and addresses, as globals, so that imported macros see them too."""

from __future__ import annotations

from flask import Flask, g
from werkzeug.local import LocalProxy

from dlq_console.errors import StoreUnavailable
from dlq_console.store import queries
from dlq_console.store.filters import EventFilter
from dlq_console.store.queries import TOTAL_CAP, Count
from dlq_console.store.states import Status
from dlq_console.web import display, words
from dlq_console.web.acts_told import act_told, correction_address
from dlq_console.web.alerts_seen import open_alerts
from dlq_console.web.bulk_undo import told as bulk_told
from dlq_console.web.desk import snooze_choices
from dlq_console.web.health_rows import account_address
from dlq_console.web.hub import store
from dlq_console.web.i18n import language_tag
from dlq_console.web.picked import over as picked_over
from dlq_console.web.places import health_look, health_places, places
from dlq_console.web.refused_filter import wrong_field, wrong_fields
from dlq_console.web.things import headline, thing
from dlq_console.web.work import my_count


def install(app: Flask) -> None:
    """Name the globals of all templates."""
    app.jinja_env.globals.update(
        display=LocalProxy(display.current),
        language_tag=language_tag,
        wrong_field=wrong_field,
        wrong_fields=wrong_fields,
        act_told=act_told,
        correction_address=correction_address,
        bulk_told=bulk_told,
        my_count=my_count,
        open_alerts=open_alerts,
        picked_over=picked_over,
        snooze_choices=snooze_choices,
        role_word=words.role_word,
        class_word=words.class_word,
        cause_word=words.cause_word,
        thing=thing,
        headline=headline,
        dead_count=dead_count,
        places=places,
        health_places=health_places,
        account_address=account_address,
        health_look=health_look,
    )


def dead_count(known: Count | None = None) -> Count | None:
    """How many dead letters this person may see, for the list of pages; None where the database is away.

    Args:
        known: what the page has counted itself. Every page tells the number alike, so no further than TOTAL_CAP.
    """
    if known is not None:
        return Count(min(known.number, TOTAL_CAP), known.capped or known.number > TOTAL_CAP)
    try:
        return queries.count(
            store(), EventFilter(status=(Status.DEAD,)), accounts=g.person.accounts, cap=TOTAL_CAP
        )
    except StoreUnavailable:
        return None
