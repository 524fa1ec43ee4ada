"""Which event does a number belong to? From the search box straight to the event, or to the few that it may be."""

from __future__ import annotations

from typing import NamedTuple

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
#: Numbers that are looked for at once.
MOST_NUMBERS = 10


class Found(NamedTuple):
    """An event that was found, by what, and by which of the numbers."""

    hit: Hit
    event: EventSummary
    number: str


@search.get("/search")
def find() -> str | AnyResponse:
    """The event that a text names, or a list of them, with where it was found."""
    text = request.args.get("q", "").strip()
    hits = _hits(text)
    ids = {hit.event_id for one in hits.values() for hit in one}
    if len(ids) == 1 and all(hits.values()):
        return redirect(url_for("events.show", event_id=ids.pop()), 303)
    found = _found(hits)
    return render_template(
        "search/search.html",
        text=cut(text, LONGEST),
        answer=_answer(hits, len(found)),
        left_out=_left_out(text) if len(hits) > 1 else "",
        rows=_rows(found),
        same=_same(found),
        by_error=_by_error(text),
    )


def _hits(text: str) -> dict[str, list[Hit]]:
    """What a text names: all of it, or else each of the numbers in it, as in `order 8841`; a number that names nothing too."""
    hits = _named(text)
    numbers = [] if hits else _numbers(text)[:MOST_NUMBERS]
    by_number = {number: _named(number) for number in numbers}
    # What has one number and finds nothing may as well be one name.
    return by_number if len(numbers) > 1 or any(by_number.values()) else {text: hits}


def _numbers(text: str) -> list[str]:
    """The words of a text that may be numbers: those with a digit; where none has one, the last word."""
    words = [word.strip(",;") for word in text.split()]
    if len(words) < 2:
        return []
    return list(dict.fromkeys(word for word in words if any(map(str.isdigit, word)))) or words[-1:]


def _named(text: str) -> list[Hit]:
    return finding.find(store(), text, accounts=person().accounts)


def _found(hits: dict[str, list[Hit]]) -> list[Found]:
    """The events of all hits, each once, the newest first."""
    by_event = {
        hit.event_id: (hit, number) for number, of_number in reversed(hits.items()) for hit in of_number
    }
    ids = sorted(by_event, reverse=True)[:MAX_HITS]
    events = queries.summaries(store(), ids, accounts=person().accounts)
    return [Found(by_event[id_][0], events[id_], by_event[id_][1]) for id_ in ids if id_ in events]


def _rows(found: list[Found]) -> list[Row]:
    events = [one.event for one in found]
    rows, known = list_rows(events, person()), beside(events)
    return [
        row._replace(beside=" · ".join(filter(None, (known.on_desk(one.event), _where(one.hit, one.event)))))
        for row, one in zip(rows, found, strict=True)
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


def _same(found: list[Found]) -> list[tuple[str, str]]:
    """The lists of all events with a number in the same field, where they can be acted upon: what it is, and where."""
    filters: dict[tuple[str, str], tuple[str, str, EventFilter]] = {}
    kept = fields.read(store(), [one.event.id for one in found])
    for hit, event, number in found:
        asked = number_of(number)
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
        filters.setdefault((hit.path, asked), (_field(hit, event), asked, flt))
    return [
        (
            gettext("All with %(where)s %(text)s, as a list", where=where, text=cut(asked, _QUOTED)),
            page_address(url_for("triage.events"), flt),
        )
        for where, asked, flt in filters.values()
    ]


def _by_error(text: str) -> str:
    """Where the same text is looked for in the errors of dead letters; empty where it is too long for that."""
    if not text or len(text) > MAX_LENGTH or not text.isprintable():
        return ""
    return page_address(url_for("triage.dead_letters"), EventFilter(q=text))


def _answer(hits: dict[str, list[Hit]], number: int) -> str:
    """How many events there are, and of which numbers there is none."""
    if "" in hits:
        return gettext("Type an order, a customer code or another number; the whole of it.")
    named = [text for text, of_text in hits.items() if of_text]
    nothing = [text for text, of_text in hits.items() if not of_text]
    sentences = [_number(_listed(named), number)] if named else []
    return " ".join(sentences + ([_none(_listed(nothing))] if nothing else []))


def _listed(texts: list[str]) -> str:
    """Several texts between the quotes of a sentence, which are the same in each language."""
    return "”, “".join(cut(text, _QUOTED) for text in texts)


def _none(shown: str) -> str:
    return gettext("No event has “%(text)s” as its number or in a field that is searched.", text=shown)


def _left_out(text: str) -> str:
    """That more numbers were typed than are looked for."""
    if len(_numbers(text)) <= MOST_NUMBERS:
        return ""
    return gettext(
        "Only the first %(count)s numbers were looked for.", count=display.current().number(MOST_NUMBERS)
    )


def _number(shown: str, number: int) -> str:
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
