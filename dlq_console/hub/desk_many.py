"""How is something put on the desk of many events at once? As upon one event, in one transaction for all of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from dlq_console.hub.actions import clean_actor
from dlq_console.hub.desk import check_due, check_sight, check_snooze, wanted_assignment
from dlq_console.store import desk, queries
from dlq_console.store.desk import Act
from dlq_console.store.events import EventSummary
from dlq_console.store.filters import EventFilter
from dlq_console.store.people.roles import Permission
from dlq_console.store.queries import MAX_LIMIT
from dlq_console.store.queries.routes import Accounts
from dlq_console.store.store import Store

#: So many events at once; whoever means more gives their cause to somebody.
MOST = 1_000


@dataclass(frozen=True, slots=True)
class Found:
    """Events that may be acted upon; `more` where there are more than MOST."""

    events: tuple[EventSummary, ...] = ()
    more: bool = False

    @property
    def ids(self) -> list[int]:
        """Their ids."""
        return [event.id for event in self.events]


@dataclass(frozen=True, slots=True)
class Done:
    """For how many events something was new, how many stayed with somebody else, and by what it can be taken back."""

    new: int
    act: Act | None
    kept: int = 0


def chosen(store: Store, event_ids: Sequence[int], *, accounts: Accounts = None) -> Found:
    """Events that were chosen one by one, as far as they exist and may be seen."""
    known: dict[int, EventSummary] = {}
    for begin in range(0, min(len(event_ids), MOST), MAX_LIMIT):
        part = event_ids[begin : min(begin + MAX_LIMIT, MOST)]
        known |= queries.summaries(store, part, accounts=accounts)
    return Found(tuple(known.values()), len(event_ids) > MOST)


def counted(store: Store, flt: EventFilter, event_ids: Sequence[int], *, accounts: Accounts = None) -> Found:
    """Those of the events that a filter has counted, at most MOST, which it still has; what came to match since is left out."""
    kept = queries.still_matching(store, flt, event_ids[:MOST], accounts=accounts)
    return chosen(store, kept, accounts=accounts)


def matching(store: Store, flt: EventFilter, *, accounts: Accounts = None) -> Found:
    """The events of a filter.

    Raises:
        FilterError: the filter cannot be walked.
    """
    events: list[EventSummary] = []
    cursor: str | None = ""
    while cursor is not None and len(events) <= MOST:
        page = queries.events_page(store, flt, cursor=cursor, limit=MAX_LIMIT, accounts=accounts)
        events.extend(page.items)
        cursor = page.next_cursor
    return Found(tuple(events[:MOST]), len(events) > MOST or cursor is not None)


def assign(
    store: Store,
    found: Found,
    to: str | None,
    *,
    due: datetime | None = None,
    reassign: bool = False,
    actor: str,
) -> Done:
    """Let somebody see to events, or nobody.

    What somebody else sees to is left with them, unless `reassign` is given, or nobody is meant.

    Raises:
        PayloadRefused: there is no such person, or the person may not see one of the accounts, or the time is none.
    """
    who, wanted = clean_actor(actor), wanted_assignment(to, due)
    name = wanted.assignee
    check_due(wanted.due_at)
    for account in sorted({event.account for event in found.events}):
        check_sight(store, name, account)
    with store.write() as connection:
        ids = found.ids
        if name is not None:
            desk.accounts_of(store, connection, name)
        if name is not None and not reassign:
            held = desk.held_by(store, connection, ids)
            ids = [event_id for event_id in ids if held.get(event_id) in (None, name)]
        make = partial(desk.assign, store, connection, ids, wanted, actor=who)
        acted = desk.acted(store, connection, make, actor=who, action=Permission.ASSIGN)
    return Done(len(acted.new), acted.act, kept=len(found.ids) - len(ids))


def tag(store: Store, found: Found, *, add: Iterable[str], remove: Iterable[str], actor: str) -> Done:
    """Stick tags to events and take others off.

    Raises:
        PayloadRefused: one is no tag, or an event would have more than it may.
    """
    who, added, removed = clean_actor(actor), desk.clean_tags(add), desk.clean_tags(remove)
    with store.write() as connection:
        make = partial(desk.change_tags, store, connection, found.ids, add=added, remove=removed, actor=who)
        acted = desk.acted(store, connection, make, actor=who, action=Permission.TAG)
    return Done(len(acted.new), acted.act)


def snooze(store: Store, found: Found, until: datetime | None, *, actor: str) -> Done:
    """Keep the dead ones among events out of sight until a moment, or bring them back.

    Raises:
        PayloadRefused: the moment lies behind, or too far ahead.
    """
    who = clean_actor(actor)
    check_snooze(until)
    with store.write() as connection:
        make = partial(desk.snooze, store, connection, found.ids, until, actor=who)
        acted = desk.acted(store, connection, make, actor=who, action=Permission.SNOOZE)
    return Done(len(acted.new), acted.act)
