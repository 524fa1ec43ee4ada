"""Which events of a bulk run went how? A list of those of one state, and a file with all of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from flask import request, url_for
from flask_babel import gettext, lazy_gettext, ngettext
from flask_babel.speaklater import LazyString

from dlq_console.hub.bulk import MAX_ITEMS, BulkItem, BulkRun, ItemPage, ItemState, RunState
from dlq_console.store.filters import FilterError
from dlq_console.store.people import Person
from dlq_console.store.states import Action
from dlq_console.web import bulk_words, display, downloads
from dlq_console.web.beside import cut
from dlq_console.web.display import Stamp
from dlq_console.web.hub import hub
from dlq_console.web.things import thing
from dlq_console.web.words import Look

#: Rows on one page, and characters of an error there.
PAGE, SAID = 50, 160

#: In this order they are offered; what went differently than hoped comes first.
_STATES = (
    ItemState.DIED_DIFFERENT,
    ItemState.DIED_SAME,
    ItemState.REFUSED,
    ItemState.RELEASED,
    ItemState.WAITING,
    ItemState.SUCCEEDED,
)
#: Only what was sent again can die again.
_AGAIN = (ItemState.DIED_DIFFERENT, ItemState.DIED_SAME)
_HOPED = (ItemState.RELEASED, ItemState.WAITING, ItemState.SUCCEEDED)
#: A walk in this order meets an item that moves meanwhile once more rather than never.
_WALKED = (ItemState.WAITING, ItemState.RELEASED, *(s for s in ItemState if s not in ("waiting", "released")))

_HEADINGS: tuple[LazyString, ...] = (
    lazy_gettext("Event id"),
    lazy_gettext("Outcome"),
    lazy_gettext("Why"),
    lazy_gettext("Kind"),
    lazy_gettext("Account"),
    lazy_gettext("Number"),
    lazy_gettext("State now"),
    lazy_gettext("Error now"),
    lazy_gettext("Let go"),
    lazy_gettext("Came to its end"),
)
_TIMES_FROM = 8


@dataclass(frozen=True, slots=True)
class ItemRow:
    """One item as a row; `thing` and `account` are empty where its event has been pruned."""

    event_id: int
    thing: str
    kind: str
    account: str
    said: str
    stamp: Stamp | None


@dataclass(frozen=True, slots=True)
class Tab:
    """One state to look at: how many there are, and where they are."""

    state: str
    look: Look
    number: int
    address: str
    here: bool


def context(run: BulkRun, asking: Person) -> dict[str, Any]:
    """The list of one state, chosen by the address, or the first in which something went differently than hoped."""
    numbers = numbers_of(run)
    differently = [state for state in _differently(numbers) if numbers[state]]
    state = request.args.get("items") or (differently[0] if differently else "")
    if state and state not in _STATES:
        raise FilterError("items: there is no such list.")
    found = ItemPage((), None)
    if state:
        cursor = request.args.get("cursor", "")
        found = hub().bulk.items(run.id, state, cursor=cursor, limit=PAGE, accounts=asking.accounts)
    return {
        "tabs": [
            Tab(str(one), bulk_words.item_look(one), number, _address(run.id, one), one == state)
            for one, number in numbers.items()
            # Of a run that goes on all stand there, so that none moves under the pointer when the first is counted.
            if number or one == state or run.finished_at is None
        ],
        "told": told(run),
        "rows": [_row(item) for item in found.items],
        "list_look": bulk_words.item_look(state) if state else None,
        "first": _address(run.id, state) if request.args.get("cursor") else "",
        "next": _address(run.id, state, found.next_cursor) if found.next_cursor else "",
    }


def numbers_of(run: BulkRun) -> dict[ItemState, int]:
    """How many items are in each state, in the order in which the states are offered."""
    states = _STATES if run.action == Action.REPROCESS else [one for one in _STATES if one not in _AGAIN]
    return {state: _number(run, state) for state in states}


def told(run: BulkRun) -> str:
    """Whether anything has gone differently than hoped, in one sentence."""
    numbers = numbers_of(run)
    number = sum(numbers[state] for state in _differently(numbers))
    if number:
        count = display.current().number(number)
        return ngettext(
            "%(count)s went differently than hoped.",
            "%(count)s went differently than hoped.",
            number,
            count=count,
        )
    if not run.total and run.state != RunState.FREEZING:
        if run.expected:
            return gettext("All of them had been dealt with meanwhile; nothing was left to do.")
        return gettext("There was no such dead letter any more; nothing was left to do.")
    if run.finished_at is None:
        return gettext("So far nothing has gone differently than hoped.")
    return gettext("Nothing went differently than hoped.")


def lines(run: BulkRun, asking: Person) -> Iterator[str]:
    """Every item of a run as lines of a file that a spreadsheet opens; no connection is held between two pages."""
    headings = [*map(str, _HEADINGS[:_TIMES_FROM]), *map(downloads.time_heading, _HEADINGS[_TIMES_FROM:])]
    return downloads.csv_lines(headings, (_cells(item) for item in _all(run, asking)))


def _all(run: BulkRun, asking: Person) -> Iterator[BulkItem]:
    moving: set[int] = set()
    for state in _WALKED:
        cursor: str | None = ""
        while cursor is not None:
            page = hub().bulk.items(run.id, state, cursor=cursor, limit=MAX_ITEMS, accounts=asking.accounts)
            yield from (item for item in page.items if item.event_id not in moving)
            if state in (ItemState.WAITING, ItemState.RELEASED):
                moving.update(item.event_id for item in page.items)
            cursor = page.next_cursor


def _differently(numbers: dict[ItemState, int]) -> list[ItemState]:
    return [state for state in numbers if state not in _HOPED]


def _number(run: BulkRun, state: ItemState) -> int:
    """How many of its items are in that state; those that wait have no column of their own."""
    number: int = run.remaining if state == ItemState.WAITING else getattr(run, state)
    return number


def _address(run_id: int, state: str, cursor: str | None = None) -> str:
    return url_for("bulk.show", run_id=run_id, items=state, cursor=cursor, _anchor="items")


def _row(item: BulkItem) -> ItemRow:
    at = item.ended_at or item.released_at
    known = item.kind is not None
    return ItemRow(
        event_id=item.event_id,
        thing=thing(item) if known else gettext("Event %(id)s, pruned", id=item.event_id),
        kind=item.kind or "",
        account=item.account or "",
        said=bulk_words.refusal(item.cause) if item.cause else cut(item.last_error or "", SAID),
        stamp=display.current().stamp(at) if at else None,
    )


def _cells(item: BulkItem) -> list[object]:
    shown = display.current()
    return [
        item.event_id,
        bulk_words.item_look(item.state).word,
        bulk_words.refusal(item.cause) or None,
        item.kind,
        item.account,
        item.entity_id,
        shown.status(item.status).word if item.status else None,
        item.last_error,
        downloads.time_cell(item.released_at),
        downloads.time_cell(item.ended_at),
    ]
