"""What may every template and macro use? Words, formats and addresses, as globals, so that imported macros see them too."""

from __future__ import annotations

from datetime import datetime

from flask import Flask, g, request
from werkzeug.local import LocalProxy

from dlq_console.errors import StoreUnavailable
from dlq_console.store import queries
from dlq_console.store.events import EventSummary
from dlq_console.store.filters import EventFilter
from dlq_console.store.queries import Count
from dlq_console.store.states import Status, actions_for
from dlq_console.web import display, words
from dlq_console.web.hub import store
from dlq_console.web.i18n import language_tag
from dlq_console.web.things import headline, thing


def install(app: Flask) -> None:
    """Name the globals of all templates."""
    app.jinja_env.globals.update(
        display=LocalProxy(display.current),
        language_tag=language_tag,
        act_sentence=words.act_sentence,
        role_word=words.role_word,
        actions_for=actions_for,
        thing=thing,
        headline=headline,
        event_address=event_address,
        shown_time=shown_time,
        dead_count=dead_count,
    )


def event_address(event_id: int) -> str:
    """The page of an event. Lists need it for every row, so it is not looked up in the routes each time."""
    return f"{request.script_root}/events/{event_id}"


def shown_time(event: EventSummary) -> datetime:
    """The time that a row shows: when it ended if it needs a person, else when it came in."""
    return event.finished_at if event.status == Status.DEAD and event.finished_at else event.created_at


def dead_count() -> Count | None:
    """How many dead letters this person may see, for the list of pages; None where the database is away."""
    try:
        return queries.count(store(), EventFilter(status=(Status.DEAD,)), accounts=g.person.accounts)
    except StoreUnavailable:
        return None
