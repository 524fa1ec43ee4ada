"""How does a whole list leave, however long it is? Page by page, with what stands beside each event, as of one moment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from urllib.parse import urlencode

from dlq_console.clock import utc_now
from dlq_console.hub.spreadsheets import number_or_text
from dlq_console.store import acts, desk, fields, queries
from dlq_console.store.desk import Marks
from dlq_console.store.events import EventSummary
from dlq_console.store.filters import EventFilter
from dlq_console.store.queries import MAX_LIMIT
from dlq_console.store.queries.routes import Accounts
from dlq_console.store.states import Status
from dlq_console.store.store import Store

#: The columns of a table of events, before those of their payloads; each is a member of what `cells` returns.
COLUMNS = (
    "id", "status", "reason", "kind", "account", "number", "class", "error", "attempts", "came_in", "ended", "assignee",
    "tags", "snoozed_until",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Exported:
    """One event of an export, and what stands beside it: fields of its payload by path, and what people put on it."""

    event: EventSummary
    fields: dict[str, str]
    marks: Marks


def events(
    store: Store, flt: EventFilter, *, dead_only: bool = False, accounts: Accounts = None
) -> Iterator[Exported]:
    """Every event that matches, in the order of its list. No connection is held between two pages.

    What comes in, or ends, after the call is left out, so that the walk has an end. The first page is read at once.

    Raises:
        FilterError: the filter cannot be walked.
        StoreUnavailable: the database cannot be reached.
    """
    flt = replace(flt, at=flt.at or utc_now())
    if dead_only:
        flt = replace(flt, status=(Status.DEAD,) if Status.DEAD in (flt.status or (Status.DEAD,)) else ())
        if not flt.status:
            return iter(())
    first = _page(store, flt, "", accounts)
    return _walk(store, flt, first, accounts)


def note(store: Store, *, actor: str, what: str, filter_: str) -> None:
    """Write down who took a list away.

    Args:
        store: the store.
        actor: who did it.
        what: the list and the format: `dead-letters.csv`.
        filter_: as a query string.
    """
    with store.write() as connection:
        acts.record(store, connection, actor=actor, action="export", subject=what, filter_=filter_ or None)


def cells(one: Exported, paths: Sequence[str], time: Callable[[datetime | None], str | None]) -> list[object]:
    """The row of an event in a table: COLUMNS, then the fields at `paths`; `time` writes a moment."""
    event, marks = one.event, one.marks
    return [
        event.id,
        event.status,
        event.reason,
        event.kind,
        event.account,
        event.entity_id,
        event.verdict,
        event.last_error,
        event.total_attempts,
        time(event.created_at),
        time(event.finished_at),
        marks.assignee,
        " ".join(marks.tags),
        time(marks.snoozed_until),
        *(number_or_text(one.fields.get(path, "")) for path in paths),
    ]


def array(texts: Iterable[str]) -> Iterator[str]:
    """JSON texts as one array, member by member."""
    before = "["
    for text in texts:
        yield before + text
        before = ",\n"
    yield "]\n" if before != "[" else "[]\n"


def query_of(flt: EventFilter) -> str:
    """A filter as the audit has it."""
    return urlencode(flt.query())


_Page = queries.Page[EventSummary]


def _page(store: Store, flt: EventFilter, cursor: str, accounts: Accounts) -> _Page:
    return queries.events_page(store, flt, cursor=cursor, limit=MAX_LIMIT, accounts=accounts)


def _walk(store: Store, flt: EventFilter, page: _Page, accounts: Accounts) -> Iterator[Exported]:
    while True:
        ids = [event.id for event in page.items]
        values, marks = fields.read(store, ids), desk.marks(store, ids)
        for event in page.items:
            yield Exported(event, values.get(event.id, {}), marks[event.id])
        if page.next_cursor is None:
            return
        page = _page(store, flt, page.next_cursor, accounts)
