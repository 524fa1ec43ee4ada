"""What surrounds a list of events: its filter as chips and fields, and the addresses of its pages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import urlencode

from flask_babel import lazy_gettext
from flask_babel.speaklater import LazyString

from dlq_console.store.filters import EventFilter
from dlq_console.store.queries import EventLine, Page
from dlq_console.web import display

#: Rows on one page of a list.
PAGE_SIZE = 50

#: Characters of a fingerprint that a chip shows.
_GROUP_SHOWN = 11

#: Values offered for one field of the filter, with what they are called.
Choices = list[tuple[str, str]]

#: What the parameters of the filter are called.
_NAMES: dict[str, LazyString] = {
    "kind": lazy_gettext("Kind"),
    "account": lazy_gettext("Account"),
    "group": lazy_gettext("Group"),
    "reason": lazy_gettext("Reason"),
    "status": lazy_gettext("State"),
    "entity": lazy_gettext("Number"),
    "q": lazy_gettext("Error"),
    "since": lazy_gettext("Since"),
    "from": lazy_gettext("From"),
    "to": lazy_gettext("Until"),
}


@dataclass(frozen=True, slots=True)
class Chip:
    """One value of the filter, and where the list without it is."""

    name: str
    value: str
    address: str


@dataclass(frozen=True, slots=True)
class Turn:
    """A neighbouring page: its address, and that of the fragment with its results."""

    address: str
    fragment: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ListView:
    """A list as its template needs it. `kept` are filters that have no field in the form."""

    flt: EventFilter
    address: str
    fragment: str
    chips: list[Chip]
    kept: list[tuple[str, str]]
    newer: Turn | None
    older: Turn | None
    #: The page is short because the search stopped, not because there is nothing more.
    stopped_early: bool
    facets: dict[str, Choices] = field(default_factory=dict)


def list_view(
    flt: EventFilter,
    page: Page[EventLine],
    *,
    address: str,
    fragment: str,
    fields: set[str],
    facets: dict[str, Choices],
) -> ListView:
    """Everything around the rows.

    Args:
        flt: the filter at work.
        page: the rows found.
        address: of the page without any filter.
        fragment: of the fragment without any filter.
        fields: names of the parameters that the form of this list can change.
        facets: what the form offers to choose from.
    """

    def turn(cursor: str | None) -> Turn | None:
        if cursor is None:
            return None
        pairs = flt.query(cursor=cursor)
        return Turn(_with(address, pairs), _with(fragment, pairs))

    asked = flt.query()
    return ListView(
        flt=flt,
        address=address,
        fragment=fragment,
        chips=[_chip(flt, address, name, value) for name, value in asked],
        kept=[(name, value) for name, value in asked if name not in fields],
        newer=turn(page.previous_cursor),
        older=turn(page.next_cursor),
        stopped_early=page.next_cursor is not None and len(page.items) < PAGE_SIZE,
        facets=facets,
    )


def page_address(address: str, flt: EventFilter, cursor: str) -> str:
    """The address of the page that shows this part of the list."""
    return _with(address, flt.query(cursor=cursor))


def offered(known: Iterable[str], chosen: Iterable[str]) -> Choices:
    """Names to choose from; what is chosen is always among them, so that the form tells the truth."""
    return [(name, name) for name in sorted({*known, *chosen})]


def _chip(flt: EventFilter, address: str, name: str, value: str) -> Chip:
    return Chip(
        str(_NAMES.get(name, name)),
        _value(flt, name, value),
        _with(address, flt.without(name, value).query()),
    )


def _value(flt: EventFilter, name: str, value: str) -> str:
    shown = display.current()
    if name == "reason":
        return shown.reason(value)
    if name == "status":
        return shown.status(value).word
    if name == "group":
        return value if len(value) <= _GROUP_SHOWN else value[:_GROUP_SHOWN] + "…"
    moment = {"from": flt.from_, "to": flt.to}.get(name)
    return shown.full(moment) if moment else value


def _with(address: str, pairs: list[tuple[str, str]]) -> str:
    return f"{address}?{urlencode(pairs)}" if pairs else address
