"""Who did what, when, and from where? The audit as pages, newest first.

Person, action and event have an index each, in the order of ids; what else is asked for is checked row by row. A page
looks at SCAN_LIMIT rows at most and says where it gave up, so that no question ever reads the whole audit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row

from dlq_console.store.cursors import MAX_ID, Cursor, read_cursor
from dlq_console.store.events import AuditEntry, read_time
from dlq_console.store.filters import FilterError
from dlq_console.store.origins import HUB
from dlq_console.store.queries.pages import Page
from dlq_console.store.queries.routes import ANY, SCAN_LIMIT, Accounts, prepared
from dlq_console.store.store import Store

#: What its cursors call this list.
ORDER = "acts"
#: Rows of one page.
PAGE = 50
#: Seconds by which the order of ids and that of times may differ: an act upon many takes its ids while it is under way.
SLACK = 600

_COLUMNS = tuple(one.name for one in fields(AuditEntry))
#: Columns with an index of their own in the order of ids, the most telling first.
_LEADERS = ("event_id", "actor", "action")
FIRST_AFTER = """
SELECT id FROM {audit} WHERE at >= CAST(:moment_at AS {time}) + {interval[slack]} ORDER BY at LIMIT 1
"""
ACTIONS = """
SELECT name FROM (
    WITH RECURSIVE found(name) AS (
        SELECT (SELECT action FROM {audit} ORDER BY action, id LIMIT 1)
        UNION ALL
        SELECT (SELECT action FROM {audit} WHERE action > found.name ORDER BY action, id LIMIT 1)
        FROM found WHERE found.name IS NOT NULL
    )
    SELECT name FROM found LIMIT 100
) AS actions WHERE name IS NOT NULL
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActFilter:
    """Which acts are asked for; an empty field asks for nothing.

    Attributes:
        actor: exactly this name.
        action: exactly this one.
        event_id: with this event.
        account: of this account.
        from_: at or after this moment.
        to: before it.
        people: leaves out what the hub did by itself.
    """

    actor: str = ""
    action: str = ""
    event_id: int | None = None
    account: str = ""
    from_: datetime | None = None
    to: datetime | None = None
    people: bool = False


def acts(
    store: Store,
    flt: ActFilter,
    *,
    cursor: str = "",
    limit: int = PAGE,
    accounts: Accounts = None,
    asking: str = "",
) -> Page[AuditEntry]:
    """One page of the audit.

    Args:
        store: the store.
        flt: which acts.
        cursor: where the page begins.
        limit: most rows of it.
        accounts: those whose acts may be seen; None for all, and for what belongs to no account.
        asking: who asks; somebody who sees some accounts sees all acts of their own.

    Raises:
        FilterError: the cursor does not belong to this list.
    """
    place = read_cursor(cursor, ORDER)
    search = _Search(back=place is not None and place.direction == "previous")
    search.ask(flt)
    search.see(accounts, asking)
    with store.read() as connection:
        _bound(store, connection, search, flt)
        if place is not None:
            search.walk_by("id", ">" if search.back else "<", "cursor_id", place.id)
        statement = prepared(store, search.page(limit + 1), search.parameters)
        rows = connection.execute(statement, search.parameters).all()
        last = rows[limit - 1].id if len(rows) > limit else _gave_up_at(store, connection, search)
    return _page(place, [_entry(row) for row in rows[:limit]], last, back=search.back)


def read_event_id(text: str) -> int | None:
    """The event that a filter names; None where it names none.

    Raises:
        FilterError: that is no id.
    """
    if text and not (re.fullmatch("[0-9]{1,19}", text) and int(text) <= MAX_ID):
        raise FilterError("event: write the number of an event.", name="event", cause="event")
    return int(text) if text else None


def actions(store: Store) -> tuple[str, ...]:
    """Every action that the audit knows: one look-up in an index for each."""
    with store.read() as connection:
        return tuple(connection.execute(store.statement(ACTIONS)).scalars())


@dataclass(slots=True)
class _Search:
    """The conditions by which an index is walked, those that are checked row by row, and their values."""

    back: bool
    lead: str = ""
    walk: list[str] = field(default_factory=list)
    checks: list[str] = field(default_factory=list)
    parameters: dict[str, Any] = field(default_factory=dict)

    def ask(self, flt: ActFilter) -> None:
        """Add what the filter says of single columns; one of them leads the walk, for a second index would not help."""
        asked = {name: value for name in _LEADERS if (value := getattr(flt, name))}
        self.lead = next(iter(asked), "")
        for name, value in asked.items():
            (self.walk if name == self.lead else self.checks).append(f"{name} = :{name}")
            self.parameters[name] = value
        if flt.account:
            self.check("account", "=", "account", flt.account)
        if flt.people:
            self.checks.append(f"actor <> '{HUB}'")

    def see(self, accounts: Accounts, asking: str) -> None:
        """Leave out what may not be seen."""
        if accounts is not None:
            self.checks.append("(account IN :visible_list OR actor = :asking)")
            self.parameters |= {"visible_list": list(accounts), "asking": asking}

    def check(self, column: str, sign: str, name: str, value: object) -> None:
        """Add a condition that is checked row by row."""
        self.checks.append(f"{column} {sign} :{name}")
        self.parameters[name] = value

    def walk_by(self, column: str, sign: str, name: str, value: object) -> None:
        """Add a condition that bounds the walk."""
        self.walk.append(f"{column} {sign} :{name}")
        self.parameters[name] = value

    def walked(self, columns: str) -> str:
        """SQL for the rows of the walk, each with whether it matches."""
        order = "ASC" if self.back else "DESC"
        # Spelled in the order of the index that leads, which every engine then chooses.
        by = f"{self.lead} {order}, id {order}" if self.lead else f"id {order}"
        return f"""
SELECT {columns}, ({" AND ".join(self.checks) or ANY}) AS matches FROM {{audit}}
WHERE {" AND ".join(self.walk) or ANY} ORDER BY {by} LIMIT {SCAN_LIMIT}
"""

    def page(self, size: int) -> str:
        """SQL for the first rows that match."""
        rows = self.walked(", ".join(_COLUMNS))
        order = "ASC" if self.back else "DESC"
        return f"SELECT * FROM ({rows}) AS walked WHERE matches ORDER BY id {order} LIMIT {size}"


def _bound(store: Store, connection: Connection, search: _Search, flt: ActFilter) -> None:
    """Walk no further than the times need, and check them exactly."""
    if flt.from_ is not None:
        first = _first_after(store, connection, flt.from_, -SLACK)
        search.walk_by("id", ">=", "first_id", MAX_ID if first is None else first)
        search.check("at", ">=", "from_at", flt.from_)
    if flt.to is not None:
        end = _first_after(store, connection, flt.to, SLACK)
        search.walk_by("id", "<", "end_id", MAX_ID if end is None else end)
        search.check("at", "<", "to_at", flt.to)


def _first_after(store: Store, connection: Connection, moment: datetime, slack: int) -> int | None:
    """The first row from some time around a moment on; None where there is none so late."""
    parameters = {"moment_at": moment, "slack": slack}
    found: int | None = connection.execute(store.statement(FIRST_AFTER), parameters).scalar()
    return found


def _gave_up_at(store: Store, connection: Connection, search: _Search) -> int | None:
    """The row at which a walk ended that found too few; None where it came to the end."""
    last = "max" if search.back else "min"
    template = f"SELECT count(*) AS number, {last}(id) AS id FROM ({search.walked('id')}) AS walked"
    row = connection.execute(prepared(store, template, search.parameters), search.parameters).one()
    return row.id if row.number == SCAN_LIMIT else None


def _page(place: Cursor | None, items: list[AuditEntry], last: int | None, *, back: bool) -> Page[AuditEntry]:
    """The page of rows that were walked in one direction, with the cursors of both its neighbours."""
    ahead = None if last is None else Cursor(ORDER, "previous" if back else "next", 0, last)
    behind = None
    if place is not None:
        turned = replace(place, direction="next" if back else "previous")
        first = items[0].id if items else place.id + (1 if back else -1)
        behind = replace(turned, id=max(0, first))
    newer, older = (ahead, behind) if back else (behind, ahead)
    return Page(
        tuple(reversed(items) if back else items),
        next_cursor=str(older) if older else None,
        previous_cursor=str(newer) if newer else None,
    )


def _entry(row: Row[Any]) -> AuditEntry:
    values = {name: getattr(row, name) for name in _COLUMNS}
    return AuditEntry(**values | {"at": read_time(row.at)})
