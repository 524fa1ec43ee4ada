"""What does the dead-letter page show? Rows, how many there are, which cause is biggest, what can be chosen."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from dlq_console.store.events import read_time
from dlq_console.store.filters import EventFilter
from dlq_console.store.fingerprints import general
from dlq_console.store.queries.counts import ZERO, Count, count_checked_sql, count_sql, is_thin, read_count
from dlq_console.store.queries.distinct import distinct_sql
from dlq_console.store.queries.lines import LINES, EventLine
from dlq_console.store.queries.narrowing import by_text, narrowed
from dlq_console.store.queries.pages import Page, read_page
from dlq_console.store.queries.routes import ANY, Accounts, Route, prepared, route_for
from dlq_console.store.states import DEAD_REASONS, Status
from dlq_console.store.store import Store

#: Largest exact count of all dead letters; less than that of a filtered list, because it is on every page.
TOTAL_CAP = 1_000
#: About how many of the newest dead letters the biggest cause is looked for among.
CAUSE_SAMPLE = 200
#: Most values offered for one field of the filter.
MAX_CHOICES = 200

NO_PAGE: Page[EventLine] = Page()


@dataclass(frozen=True, slots=True)
class Cause:
    """The most frequent error among the newest rows of the list, about CAUSE_SAMPLE of them.

    `fingerprint` is that of its group, `error` what its messages have in common; `kind` and `account` are None where it has several of them. `since` is when the
    oldest of the `number` died. Where not the `complete` list was looked at, there may be more of them.
    """

    fingerprint: str
    error: str
    kind: str | None
    account: str | None
    number: int
    since: datetime
    complete: bool


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """The dead-letter page: `count` match the filter, of `total` that the person may see.

    `kinds` and `accounts` have dead letters, whatever the filter says; `reasons` are all there can be.
    """

    page: Page[EventLine] = NO_PAGE
    count: Count = ZERO
    total: Count = ZERO
    biggest: Cause | None = None
    kinds: tuple[str, ...] = ()
    accounts: tuple[str, ...] = ()
    reasons: tuple[str, ...] = DEAD_REASONS


#: Conditions that keep the choices to accounts that may be seen.
_VISIBLE_ACCOUNT = "account IN :visible_list"
_VISIBLE_KIND = """
EXISTS (SELECT 1 FROM {event} e WHERE e.status = 'dead' AND e.account IN :visible_list AND e.kind = kinds.name)
"""


def dead_letters(
    store: Store, flt: EventFilter, *, cursor: str = "", limit: int = 50, accounts: Accounts = None
) -> DeadLetters:
    """Everything for the dead-letter page, in three statements; one more tells whether what is asked for is few.

    Raises:
        FilterError: the cursor does not belong to this list.
    """
    everything = route_for(store, EventFilter(), accounts, only=Status.DEAD)
    if everything is None:
        return DeadLetters()
    route = route_for(store, flt, accounts, only=Status.DEAD)
    with store.read() as connection:
        total, kinds, names = _read_surroundings(store, connection, everything, accounts)
        if route is None:
            return DeadLetters(total=total, kinds=kinds, accounts=names)
        route = narrowed(store, connection, route)
        number, biggest = _read_figures(store, connection, route)
        if is_thin(route, number):
            route = by_text(store, connection, route)
            number, biggest = _read_figures(store, connection, route)
        page = read_page(store, connection, route, LINES, cursor=cursor, limit=limit)
    return DeadLetters(page, number, number if flt.is_empty else total, biggest, kinds, names)


def _surroundings_sql(everything: Route, *, restricted: bool) -> str:
    """SQL for what does not depend on the filter: how many dead letters there are, and which kinds and accounts."""
    account_is_visible = _VISIBLE_ACCOUNT if restricted else ANY
    kinds = distinct_sql("kind, finished_at, id", "status = 'dead'", MAX_CHOICES)
    names = distinct_sql("account, finished_at, id", f"status = 'dead' AND {account_is_visible}", MAX_CHOICES)
    return f"""
SELECT 'total' AS field, '' AS name, matched, stopped FROM ({count_sql(everything, TOTAL_CAP)}) AS total
UNION ALL SELECT 'kind', name, 0, 0 FROM ({kinds}) AS kinds WHERE {_VISIBLE_KIND if restricted else ANY}
UNION ALL SELECT 'account', name, 0, 0 FROM ({names}) AS names
"""


def _read_surroundings(
    store: Store, connection: Connection, everything: Route, accounts: Accounts
) -> tuple[Count, tuple[str, ...], tuple[str, ...]]:
    template = _surroundings_sql(everything, restricted=accounts is not None)
    parameters = everything.parameters | ({} if accounts is None else {"visible_list": list(accounts)})
    rows = connection.execute(prepared(store, template, parameters), parameters).all()
    names = {field: tuple(row.name for row in rows if row.field == field) for field in ("kind", "account")}
    total = next(row for row in rows if row.field == "total")
    return read_count(total, TOTAL_CAP), names["kind"], names["account"]


def _walks_sql(route: Route) -> tuple[str, str, str, str]:
    """SQL for the parts of `_figures_sql` that depend on how the list is walked.

    They are: the tables up to its `newest` rows, when one of these counts, whether there may be more, and the count.
    """
    columns = "id, finished_at, kind, account, fingerprint"
    counted = count_sql(route)
    if not route.checked:
        # Without places, because numbering the rows takes longer than reading them.
        newest = f"newest AS ({route.rows(columns, CAUSE_SAMPLE)})"
        return newest, ANY, f"(SELECT count(*) FROM newest) = {CAUSE_SAMPLE}", counted
    patience = route.patience(CAUSE_SAMPLE)
    if route.source == "{event}":
        newest = f"newest AS ({route.numbered_rows(columns, together=CAUSE_SAMPLE)})"
    else:
        # Few events, each looked up anyway before they can be put in order: once is enough.
        newest = f"walked AS ({route.numbered_rows(columns)}), newest AS (SELECT * FROM walked WHERE place <= {patience})"
        counted = count_checked_sql(route, "walked")
    return newest, "matches", f"EXISTS (SELECT 1 FROM newest WHERE place = {patience})", counted


def _figures_sql(route: Route) -> str:
    """SQL for one row: the count of the list, and its biggest cause."""
    newest, matches, sampled, counted = _walks_sql(route)
    return f"""
WITH {newest}, biggest AS (
    SELECT fingerprint, count(*) AS number, max(finished_at) AS died_last
    FROM newest WHERE fingerprint IS NOT NULL AND {matches}
    GROUP BY fingerprint ORDER BY number DESC, died_last DESC LIMIT 1
), cause AS (
    SELECT biggest.fingerprint, number, min(finished_at) AS since,
        min(kind) AS kind, max(kind) AS other_kind, min(account) AS account, max(account) AS other_account
    FROM biggest JOIN newest ON newest.fingerprint = biggest.fingerprint AND {matches}
    GROUP BY biggest.fingerprint, number
)
SELECT counted.matched, counted.stopped, cause.*, e.last_error, {sampled} AS sampled
FROM ({counted}) AS counted LEFT JOIN cause ON {ANY} LEFT JOIN {{event}} e ON e.id = (
    SELECT id FROM newest WHERE fingerprint = cause.fingerprint AND {matches} ORDER BY finished_at DESC, id DESC LIMIT 1
)
"""


def _read_figures(store: Store, connection: Connection, route: Route) -> tuple[Count, Cause | None]:
    statement = prepared(store, _figures_sql(route), route.parameters)
    row = connection.execute(statement, route.parameters).one()
    number = read_count(row)
    since = read_time(row.since)
    if since is None:
        return number, None
    return number, Cause(
        fingerprint=row.fingerprint,
        error=general(row.last_error or ""),
        kind=row.kind if row.kind == row.other_kind else None,
        account=row.account if row.account == row.other_account else None,
        number=row.number,
        since=since,
        complete=not row.sampled,
    )
