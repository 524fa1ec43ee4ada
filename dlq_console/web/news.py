"""How does a list say that something has come in since? It counts; no row moves before somebody asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from flask import request, url_for
from flask_babel import ngettext

from dlq_console.store import queries
from dlq_console.store.filters import EventFilter
from dlq_console.store.queries import Count, EventLine
from dlq_console.store.states import ENDED, Status
from dlq_console.web import display
from dlq_console.web.asking import DEAD_LETTERS, for_page
from dlq_console.web.auth import person
from dlq_console.web.hub import store
from dlq_console.web.lists import with_query

#: Seconds between two looks, and up to how many new ones are counted.
EVERY, MOST = 10, 99

#: The smallest step of a time in the store.
_NEXT = timedelta(microseconds=1)
_FRAGMENTS = {True: "fragments.new_dead_letters", False: "fragments.new_events"}


@dataclass(frozen=True, slots=True)
class News:
    """What has come in since the newest row: where to look again, and what to say; nothing to say at first."""

    address: str
    seconds: int = EVERY
    sentence: str = ""


def watch(page: str, flt: EventFilter, shown: Sequence[EventLine]) -> News | None:
    """How to watch a list for what is newer than its rows; None where nothing newer can stand above them."""
    if request.args.get("cursor") or flt.sort or flt.to or flt.at:
        return None
    moments = [moment for line in shown if (moment := _moment(page, flt, line))]
    after = max(moments, default=display.current().now) + _NEXT
    return News(_address(page, flt, after, ZERO))


ZERO = Count()


def look(page: str, flt: EventFilter, after: datetime, seen: str) -> News | None:
    """What is new by now; None where that is as many as were `seen`."""
    newer = replace(flt, from_=max(after, flt.from_ or after))
    if page == DEAD_LETTERS:
        newer = replace(for_page(page, newer), status=(Status.DEAD,))
    count = queries.count(store(), newer, accounts=person().accounts, cap=MOST)
    if str(count.number) == seen:
        return None
    sentence = ngettext(
        "%(count)s new, show", "%(count)s new, show", count.number, count=display.current().count(count)
    )
    return News(_address(page, flt, after, count), sentence=sentence if count.number else "")


def _address(page: str, flt: EventFilter, after: datetime, count: Count) -> str:
    since = after.astimezone(UTC).isoformat()
    return with_query(
        url_for(_FRAGMENTS[page == DEAD_LETTERS]),
        [*flt.query(), ("after", since), ("seen", str(count.number))],
    )


def _moment(page: str, flt: EventFilter, line: EventLine) -> datetime | None:
    """The time that `from` of the filter means in this list."""
    ended = page == DEAD_LETTERS or (flt.status and all(status in ENDED for status in flt.status))
    return line.finished_at if ended else line.created_at
