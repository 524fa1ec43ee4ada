"""Which notices are open, which were, and whom were they told? For pages, API and command line.

Whatever is asked for is bounded: by the notices that may be open, by a page, or by the last messages of each notice,
of which one that has stood for months has hundreds.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dlq_console.store import alert_messages
from dlq_console.store.alerts import COLUMNS, MOST_OPEN, PENDING, Notice, Snooze, notice, snoozes
from dlq_console.store.clock import to_microseconds
from dlq_console.store.cursors import Cursor, read_cursor
from dlq_console.store.events import read_time
from dlq_console.store.queries.pages import Page
from dlq_console.store.queries.routes import Accounts
from dlq_console.store.store import Store

__all__ = [
    "MOST_OPEN", "Delivery", "Notice", "Snooze", "closed_notices", "count_open", "deliveries", "open_by_account",
    "open_notices", "open_page", "snoozes", "trials",
]  # fmt: skip

#: Notices of one page, and most that are looked at for one of the history where not all of them may be seen.
PAGE, REACH = 50, 2_000
#: How many of its last messages are looked at for each notice: enough for several to each of many channels.
LAST_MESSAGES = 40
#: How both lists are sorted, in their cursors.
_OPEN_ORDER, _ORDER = "alertsopen", "alerts"

_OPEN = f"""
SELECT {COLUMNS} FROM {{alert}} WHERE closed_at IS NULL AND told > {PENDING} ORDER BY opened_at DESC, id DESC LIMIT {MOST_OPEN}
"""
_COUNT = f"SELECT count(*) FROM (SELECT 1 FROM {{alert}} WHERE closed_at IS NULL AND told > {PENDING} LIMIT {MOST_OPEN}) AS few"
_CLOSED = f"""
SELECT {COLUMNS} FROM {{alert}} WHERE closed_at IS NOT NULL
ORDER BY opened_at DESC, id DESC LIMIT :most
"""
_OLDER = f"""
SELECT {COLUMNS} FROM {{alert}} WHERE closed_at IS NOT NULL AND (opened_at < :last_at OR (opened_at = :last_at AND id < :last))
ORDER BY opened_at DESC, id DESC LIMIT :most
"""
#: Along the index of entities, from the last ones of each.
_MESSAGES = f"""
SELECT e.id, e.entity_id, e.idempotency_key, e.status, e.result, e.last_error, e.finished_at, e.created_at
FROM (
    SELECT named.value AS entity_id, coalesce((
        SELECT before.id FROM {{event}} before WHERE before.entity_id = named.value
        ORDER BY before.id DESC LIMIT 1 OFFSET {LAST_MESSAGES}
    ), 0) AS before_id FROM NAMED AS named
) AS wanted
JOIN {{event}} e ON e.entity_id = wanted.entity_id AND e.id > wanted.before_id
ORDER BY e.entity_id, e.id
"""
#: The rows of a parameter that holds a list of texts, on SQLite and on PostgreSQL.
_NAMED = {
    True: "json_each(:entities)",
    False: "(SELECT j AS value FROM jsonb_array_elements_text(CAST(:entities AS jsonb)) AS j)",
}


@dataclass(frozen=True, slots=True)
class Delivery:
    """The last message of a notice to one channel.

    Attributes:
        channel: its name.
        told_at: when it was brought; None while it is on its way, or where it was given up.
        is_over: whether it was brought or given up.
        error: why not yet, or why not; in plain words, without secrets.
        at: when it was put in.
        noted: what somebody should know although it was brought, such as that some did not get it.
    """

    channel: str
    told_at: datetime | None
    is_over: bool
    error: str | None
    at: datetime
    noted: str | None = None


def open_notices(store: Store, *, accounts: Accounts = None) -> list[Notice]:
    """The notices that stand, the newest first; MOST_OPEN at most."""
    with store.read() as connection:
        rows = connection.execute(store.statement(_OPEN)).all()
    return [one for one in map(notice, rows) if is_visible(one, accounts)]


def open_page(
    store: Store, *, cursor: str = "", accounts: Accounts = None, limit: int = PAGE
) -> Page[Notice]:
    """One page of the same.

    Raises:
        FilterError: the cursor is damaged.
    """
    place = read_cursor(cursor, _OPEN_ORDER)
    found = open_notices(store, accounts=accounts)
    if place is not None:
        last = (place.microseconds, place.id)
        found = [one for one in found if (to_microseconds(one.opened_at), one.id) < last]
    return _page(found, limit, _OPEN_ORDER)


def count_open(store: Store, *, accounts: Accounts = None) -> int:
    """How many notices stand that may be seen."""
    if accounts is not None:
        return len(open_notices(store, accounts=accounts))
    with store.read() as connection:
        return int(connection.execute(store.statement(_COUNT)).scalar() or 0)


def open_by_account(store: Store) -> Mapping[str | None, int]:
    """How many notices stand by whose they are; None for those that are nobody's."""
    return Counter(one.account for one in open_notices(store))


def closed_notices(
    store: Store, *, cursor: str = "", accounts: Accounts = None, limit: int = PAGE
) -> Page[Notice]:
    """One page of the notices that are over, by when they began, the newest first; the way back is the first page.

    Raises:
        FilterError: the cursor is damaged.
    """
    place = read_cursor(cursor, _ORDER)
    found: list[Notice] = []
    looked = 0
    while len(found) <= limit and looked < REACH:
        rows = _closed(store, place, REACH if accounts is not None else limit + 1)
        looked += len(rows)
        found += [one for one in rows if is_visible(one, accounts)]
        if accounts is None or len(rows) < REACH:
            break
        place = _place(rows[-1], _ORDER)
    return _page(found, limit, _ORDER)


def _page(found: Sequence[Notice], limit: int, order: str) -> Page[Notice]:
    items = tuple(found[:limit])
    return Page(items=items, next_cursor=str(_place(items[-1], order)) if len(found) > limit else None)


def is_visible(one: Notice, accounts: Accounts) -> bool:
    """Whether a notice may be shown to somebody who sees these accounts."""
    return accounts is None or one.account in accounts


def _closed(store: Store, place: Cursor | None, most: int) -> list[Notice]:
    parameters: dict[str, Any] = {"most": most}
    template = _CLOSED
    if place is not None:
        from_ = read_time(place.microseconds)
        parameters |= {"last_at": from_, "last": place.id}
        template = _OLDER
    with store.read() as connection:
        return [notice(row) for row in connection.execute(store.statement(template), parameters)]


def _place(one: Notice, order: str) -> Cursor:
    return Cursor(order, "next", to_microseconds(one.opened_at), one.id)


def deliveries(store: Store, notices: Iterable[Notice]) -> dict[int, tuple[Delivery, ...]]:
    """The last message of each notice to each channel, by the id of the notice."""
    wanted = {alert_messages.entity(one.id): one.id for one in notices}
    found = _messages(store, list(wanted))
    return {wanted[name]: tuple(last.values()) for name, last in found.items()}


def trials(store: Store, channels: Sequence[str]) -> dict[str, Delivery]:
    """The last trial message to each channel."""
    wanted = {alert_messages.test_entity(channel): channel for channel in channels}
    found = _messages(store, list(wanted))
    return {wanted[name]: last[wanted[name]] for name, last in found.items() if wanted[name] in last}


def _messages(store: Store, entities: list[str]) -> dict[str, dict[str, Delivery]]:
    found: dict[str, dict[str, Delivery]] = {}
    if not entities:
        return found
    statement = store.statement(_MESSAGES.replace("NAMED", _NAMED[store.sqlite]))
    with store.read() as connection:
        rows = connection.execute(statement, {"entities": json.dumps(entities)}).all()
    for row in rows:
        channel = alert_messages.channel_of(row.entity_id, row.idempotency_key)
        found.setdefault(row.entity_id, {})[channel] = _delivery(channel, row)
    return found


def _delivery(channel: str, row: Any) -> Delivery:
    result = json.loads(row.result) if row.result else {}
    is_over = row.status in ("done", "discarded", "dead")
    at = read_time(row.created_at)
    assert at is not None, "the column is never empty"  # noqa: S101 - tells the type checker what the schema says
    told_at = read_time(row.finished_at) if result.get("told") else None
    error = result.get("error") or row.last_error
    return Delivery(channel, told_at, is_over, error, at, result.get("noted"))
