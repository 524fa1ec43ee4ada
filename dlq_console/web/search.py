"""Which event does a number belong to? From the search box straight to the event, or to the few that it may be."""

from __future__ import annotations

from flask import Blueprint, redirect, render_template, request, url_for
from flask_babel import gettext, ngettext
from werkzeug.wrappers import Response as AnyResponse

from dlq_console.store import fields, finding, queries
from dlq_console.store.events import EventSummary
from dlq_console.store.filters import MAX_LENGTH, EventFilter
from dlq_console.store.finding import MAX_HITS, Hit, number_of
from dlq_console.web import display
from dlq_console.web.auth import person, require_person
from dlq_console.web.beside import beside, columns_of, cut
from dlq_console.web.hub import store
from dlq_console.web.lists import page_address
from dlq_console.web.rows import Row, list_rows

search = Blueprint("search", __name__)
search.before_request(require_person)

#: Characters that the search box takes, and of those that the sentence repeats.
LONGEST, _QUOTED = 300, 80


@search.get("/search")
def find() -> str | AnyResponse:
    """The event that a text names, or a list of them, with where it was found."""
    text = request.args.get("q", "").strip()
    hits, found_by = _hits(text)
    if len(hits) == 1:
        return redirect(url_for("events.show", event_id=hits[0].event_id), 303)
    events = queries.summaries(store(), [hit.event_id for hit in hits], accounts=person().accounts)
    found = [(hit, events[hit.event_id]) for hit in hits if hit.event_id in events]
    return render_template(
        "search/search.html",
        text=cut(text, LONGEST),
        answer=_answer(found_by, len(found)),
        rows=_rows(found),
        same=_same(found, found_by),
        by_error=_by_error(text),
    )


def _hits(text: str) -> tuple[list[Hit], str]:
    """What a text names, and the part of it that does: all of it, or else its last word, as in `order 8841`."""
    hits = finding.find(store(), text, accounts=person().accounts)
    words = text.split()
    if hits or len(words) < 2:
        return hits, text
    by_last = finding.find(store(), words[-1], accounts=person().accounts)
    return (by_last, words[-1]) if by_last else ([], text)


def _rows(found: list[tuple[Hit, EventSummary]]) -> list[Row]:
    events = [event for _, event in found]
    rows, known = list_rows(events, person()), beside(events)
    return [
        row._replace(beside=" · ".join(filter(None, (known.on_desk(event), _where(hit, event)))))
        for row, (hit, event) in zip(rows, found, strict=True)
    ]


def _where(hit: Hit, event: EventSummary) -> str:
    """Where the text stands in an event."""
    return gettext("found in: %(where)s", where=_field(hit, event))


def _field(hit: Hit, event: EventSummary) -> str:
    """What the field is called in which a text was found."""
    labels = {column.path: column.label for column in columns_of(event.kind)}
    known = {
        "id": gettext("event id"),
        "entity_id": gettext("number"),
        "idempotency_key": gettext("idempotency key"),
    }
    return known.get(hit.path) or labels.get(hit.path, hit.path)


def _same(found: list[tuple[Hit, EventSummary]], text: str) -> list[tuple[str, str]]:
    """The lists of all events with that text in the same field, where they can be acted upon: what it is, and where."""
    asked = number_of(text)
    filters: dict[str, tuple[str, EventFilter]] = {}
    kept = fields.read(store(), [hit.event_id for hit, _ in found])
    for hit, event in found:
        if hit.path == "entity_id":
            # As it is kept, which may be in another case.
            flt = EventFilter(entity=event.entity_id)
        elif hit.path in ("id", "idempotency_key"):
            continue
        else:
            # Found in another spelling as well; of what is masked only the typed one is known.
            value = kept.get(hit.event_id, {}).get(hit.path, "")
            same = value if value.casefold() == asked.casefold() else asked
            flt = EventFilter(payload=((hit.path, same),))
        filters.setdefault(hit.path, (_field(hit, event), flt))
    return [
        (
            gettext("All with %(where)s %(text)s, as a list", where=where, text=cut(asked, _QUOTED)),
            page_address(url_for("triage.events"), flt),
        )
        for where, flt in filters.values()
    ]


def _by_error(text: str) -> str:
    """Where the same text is looked for in the errors of dead letters; empty where it is too long for that."""
    if not text or len(text) > MAX_LENGTH or not text.isprintable():
        return ""
    return page_address(url_for("triage.dead_letters"), EventFilter(q=text))


def _answer(text: str, number: int) -> str:
    if not text:
        return gettext("Type an order, a customer code or another number; the whole of it.")
    shown = cut(text, _QUOTED)
    if not number:
        return gettext("No event has “%(text)s” as its number or in a field that is searched.", text=shown)
    if number == MAX_HITS:
        return gettext(
            "The newest %(count)s events with “%(text)s”.", count=display.current().number(number), text=shown
        )
    return ngettext(
        "%(count)s event with “%(text)s”.",
        "%(count)s events with “%(text)s”.",
        number,
        count=display.current().number(number),
        text=shown,
    )
