"""Who did what, when, from where, and how was it before? The audit, to look through and to take away."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from flask import Blueprint, Response, make_response, render_template, request, url_for
from flask_babel import gettext, lazy_gettext
from flask_babel.speaklater import LazyString
from werkzeug.wrappers import Response as AnyResponse

from dlq_console.hub import export
from dlq_console.store.events import AuditEntry
from dlq_console.store.filters import FilterError, read_text, refuse_unknown
from dlq_console.store.people import Permission, Person
from dlq_console.store.queries import Page
from dlq_console.store.queries.acts import PAGE, ActFilter, actions, acts, read_event_id
from dlq_console.web import downloads, refused_filter
from dlq_console.web.acts_told import KNOWN_ACTS, Told, act_word, for_file, origin_in_words, told
from dlq_console.web.auth import demand, require_person
from dlq_console.web.bulk_sight import addresses
from dlq_console.web.filter_words import OF_AUDIT
from dlq_console.web.hub import store
from dlq_console.web.lists import with_query
from dlq_console.web.moments import field_value, read_moment

#: Rows that are read at once for the file.
CHUNK = 500
_HEADINGS: tuple[LazyString, ...] = (
    lazy_gettext("When"),
    lazy_gettext("Who"),
    lazy_gettext("Act"),
    lazy_gettext("Event id"),
    lazy_gettext("About"),
    lazy_gettext("Account"),
    lazy_gettext("Before"),
    lazy_gettext("After"),
    lazy_gettext("Note"),
    lazy_gettext("From where"),
    lazy_gettext("Bulk run"),
    lazy_gettext("Selected by"),
)

audit = Blueprint("audit", __name__)
audit.before_request(require_person)

#: By what the audit is asked.
_PARAMETERS = frozenset({"account", "action", "actor", "event", "from", "people", "to"})
#: Characters of all notes and values on one page.
TEXTS = 12_000


@dataclass(frozen=True, slots=True)
class AuditView:
    """The audit as its template needs it; addresses are empty where there is nothing to go to."""

    flt: ActFilter
    entries: list[Told]
    #: Characters that are shown of one text; all of it is in the file.
    room: int
    newer: str
    older: str
    #: The page is short because the search stopped, not because there is nothing more.
    stopped_early: bool
    download: str
    choices: list[tuple[str, str]]
    from_value: str
    to_value: str


@audit.get("/audit")
def index() -> AnyResponse:
    """One page of the audit."""
    who = demand(Permission.AUDIT)
    try:
        flt = read_filter(request.args)
        page = acts(
            store(), flt, cursor=request.args.get("cursor", ""), accounts=who.accounts, asking=who.name
        )
    except FilterError as error:
        rest = refused_filter.rest_of(error, read_filter, OF_AUDIT)
        return make_response(_page(who, rest, Page(), answer=refused_filter.answer()), 400)
    return make_response(_page(who, flt, page))


def _page(who: Person, flt: ActFilter, page: Page[AuditEntry], *, answer: str = "") -> str:
    """Some acts, below the form of their filter and the sentence that answers it."""
    asked = _asked(flt)
    address = url_for("audit.index")
    runs = addresses(entry.bulk_id for entry in page.items)
    entries = [told(entry, runs) for entry in page.items]
    view = AuditView(
        flt=flt,
        entries=entries,
        room=_room(entries),
        newer=with_query(address, [*asked, ("cursor", page.previous_cursor)]) if page.previous_cursor else "",
        older=with_query(address, [*asked, ("cursor", page.next_cursor)]) if page.next_cursor else "",
        stopped_early=page.next_cursor is not None and len(page.items) < PAGE,
        download=with_query(url_for("audit.download"), asked),
        choices=sorted(((action, act_word(action)) for action in _offered(who)), key=lambda one: one[1]),
        from_value=field_value(flt.from_),
        to_value=field_value(flt.to),
    )
    return render_template("audit/audit.html", audit=view, answer=answer or _answer(view))


def _offered(who: Person) -> Iterable[str]:
    """The acts to choose from: those that there are; which are in other accounts is not told to who sees some only."""
    return actions(store()) if who.accounts is None else KNOWN_ACTS


def _room(entries: list[Told]) -> int:
    """How much of each text a page has room for: all of it, unless there is too much on the page together."""
    texts = [
        text
        for told_ in entries
        for text in (told_.before, told_.after, told_.entry.note, told_.filter)
        if text
    ]
    lengths = [len(text) for text in texts]
    return max(lengths, default=0) if sum(lengths) <= TEXTS else TEXTS // len(lengths)


@audit.get("/audit.csv")
def download() -> Response:
    """Every act that matches, newest first, as a file for a spreadsheet."""
    who = demand(Permission.AUDIT)
    flt = read_filter(request.args)
    first = acts(store(), flt, limit=CHUNK, accounts=who.accounts, asking=who.name)
    export.note(store(), actor=who.name, what="audit.csv", filter_=with_query("", _asked(flt)))
    headings = [downloads.time_heading(_HEADINGS[0]), *map(str, _HEADINGS[1:])]
    rows = (_cells(one) for one in _all(flt, who, first))
    return downloads.download(downloads.csv_lines(headings, rows), "audit.csv")


def read_filter(values: Mapping[str, str]) -> ActFilter:
    """The acts that an address or a form asks for.

    Raises:
        FilterError: a value means nothing, or a parameter does.
    """
    refuse_unknown(values, _PARAMETERS, beside={"cursor"}, fields=False)
    return ActFilter(
        actor=_text(values, "actor"),
        action=_text(values, "action"),
        event_id=read_event_id(values.get("event", "").strip()),
        account=_text(values, "account"),
        from_=_moment(values, "from"),
        to=_moment(values, "to"),
        people=values.get("people") == "1",
    )


def _text(values: Mapping[str, str], name: str) -> str:
    return read_text({name: values.get(name, "")}, name)


def _moment(values: Mapping[str, str], name: str) -> datetime | None:
    try:
        return read_moment(values.get(name, ""))
    except (ValueError, OverflowError) as error:
        message = f"{name}: it is no time; write one such as 2026-03-01T08:00."
        raise FilterError(message, name=name, cause="time") from error


def _asked(flt: ActFilter) -> list[tuple[str, str]]:
    """The filter as parameters."""
    values = {
        "actor": flt.actor,
        "action": flt.action,
        "event": str(flt.event_id or ""),
        "account": flt.account,
        "from": flt.from_.isoformat() if flt.from_ else "",
        "to": flt.to.isoformat() if flt.to else "",
        "people": "1" if flt.people else "",
    }
    return [(name, value) for name, value in values.items() if value]


def _answer(view: AuditView) -> str:
    if not view.entries:
        return gettext("No act matches.") if _asked(view.flt) else gettext("Nobody has done anything yet.")
    newest = view.entries[0]
    return gettext("Who did what, newest first; the last act on this list was %(ago)s.", ago=newest.stamp.ago)


def _all(flt: ActFilter, who: Person, page: Page[AuditEntry]) -> Iterator[AuditEntry]:
    """Every act of the list, page by page; no connection is held between two of them."""
    yield from page.items
    while page.next_cursor:
        page = acts(
            store(), flt, cursor=page.next_cursor, limit=CHUNK, accounts=who.accounts, asking=who.name
        )
        yield from page.items


def _cells(entry: AuditEntry) -> list[object]:
    """One act as cells; states in words, all else as it is kept, so that a program can read it too."""
    return [
        downloads.time_cell(entry.at),
        entry.actor,
        act_word(entry.action),
        entry.event_id,
        entry.subject,
        entry.account,
        for_file(entry.action, entry.before),
        for_file(entry.action, entry.after),
        entry.note,
        origin_in_words(entry),
        entry.bulk_id,
        entry.filter,
    ]
