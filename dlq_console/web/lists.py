"""What surrounds a list of events: its filter as chips and fields, and the addresses of its pages."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple
from urllib.parse import urlencode

from dlq_console.store.filters import EventFilter
from dlq_console.store.queries import EventLine, Page
from dlq_console.web import display
from dlq_console.web.chips import Chip, chips

#: Rows on one page of a list.
PAGE_SIZE = 50

#: Names that one field of the filter offers, beside those that are chosen.
MOST_OFFERED = 20

#: Values offered for one field of the filter, with what they are called.
Choices = list[tuple[str, str]]


class Facet(NamedTuple):
    """What one field of the filter offers; `others` says that there are more names, which can be typed."""

    choices: Choices
    others: bool = False


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
    #: The same list in the opposite order, and as it is at this moment, for whoever gets the link.
    turned: str
    pinned: str
    facets: dict[str, Facet] = field(default_factory=dict)

    @property
    def asked(self) -> list[tuple[str, str]]:
        """The filter as fields of a form."""
        return self.flt.query()

    @property
    def oldest_first(self) -> bool:
        """Whether it is read from its beginning."""
        return self.flt.sort == "oldest"


def list_view(
    flt: EventFilter,
    page: Page[EventLine],
    *,
    address: str,
    fragment: str,
    fields: set[str],
    facets: dict[str, Facet],
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
        return Turn(with_query(address, pairs), with_query(fragment, pairs))

    newer, older = turn(page.previous_cursor), turn(page.next_cursor)
    return ListView(
        flt=flt,
        address=address,
        fragment=fragment,
        chips=chips(flt, address),
        kept=[(name, value) for name, value in flt.query() if name not in fields],
        newer=newer,
        older=older,
        stopped_early=page.next_cursor is not None and len(page.items) < PAGE_SIZE,
        turned=with_query(address, flt.query(sort="" if flt.sort else "oldest")),
        pinned=with_query(address, replace(flt, at=flt.at or display.current().now).query()),
        facets=facets,
    )


def page_address(address: str, flt: EventFilter, cursor: str = "") -> str:
    """The address of the page that shows this part of the list."""
    return with_query(address, flt.query(cursor=cursor))


def offered(known: Collection[str], chosen: Iterable[str]) -> Facet:
    """Names to choose from; what is chosen is always among them, so that the form tells the truth."""
    first = sorted(known)[:MOST_OFFERED]
    return Facet([(name, name) for name in sorted({*first, *chosen})], others=len(known) > MOST_OFFERED)


def with_query(address: str, pairs: list[tuple[str, str]]) -> str:
    """An address with parameters, or as it is without any."""
    return f"{address}?{urlencode(pairs)}" if pairs else address
