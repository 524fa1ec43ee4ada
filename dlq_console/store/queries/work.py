"""What has one person on the desk? Events and causes that are assigned to somebody and not at their end yet."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Row

from dlq_console.store.causes import DIED_LAST
from dlq_console.store.events import read_time
from dlq_console.store.fingerprints import general
from dlq_console.store.queries.lines import LINES, EventLine
from dlq_console.store.queries.routes import ANY, Accounts, prepared
from dlq_console.store.store import Store

#: The newest assignments of a person are looked at; what was done is among them.
LOOKED_AT = 2_000
#: Events that are shown.
SHOWN = 100
#: For the number beside the link on every page, which stops counting soon.
FEW, FEW_LOOKED_AT = 99, 300

_OPEN = "e.status NOT IN ('done', 'discarded')"


def _mine(looked_at: int) -> str:
    return f"""
    SELECT event_id, due_at, snoozed_until FROM {{desk}}
    WHERE assignee = :name ORDER BY assignee DESC, event_id DESC LIMIT {looked_at}
"""


def _events(visible: str) -> str:
    columns = ", ".join(f"e.{name}" for name in LINES.columns)
    return f"""
SELECT {columns}, d.due_at, CASE WHEN d.snoozed_until > {{now}} THEN d.snoozed_until END AS snoozed_until,
    count(*) OVER () AS total
FROM ({_mine(LOOKED_AT)}) AS d JOIN {{event}} e ON e.id = d.event_id
WHERE {_OPEN} AND {visible}
ORDER BY CASE WHEN d.snoozed_until > {{now}} THEN 1 ELSE 0 END, CASE WHEN d.due_at IS NULL THEN 1 ELSE 0 END, d.due_at, e.id DESC
LIMIT {SHOWN}
"""


NUMBER = f"SELECT count(*) FROM ({_mine(LOOKED_AT + 1)}) AS mine"
#: Causes with assignments are few: people make them one by one. Each is looked up, so that the table of counts is never
#: read whole, which an engine might do for a join.
_MY_GROUPS = "SELECT fingerprint, due_at FROM {group_desk} WHERE assignee = :name"
_COUNTED = "FROM {error_group} g WHERE g.fingerprint = d.fingerprint AND g.dead > 0 AND VISIBLE"
_LAST = f"{_COUNTED} ORDER BY {DIED_LAST} LIMIT 1"
GROUPS = f"""
SELECT * FROM (
    SELECT d.fingerprint, d.due_at, (SELECT g.sample {_LAST}) AS sample, (SELECT g.kind {_LAST}) AS kind,
        (SELECT sum(g.dead) {_COUNTED}) AS dead
    FROM ({_MY_GROUPS}) AS d
) AS mine WHERE dead > 0
ORDER BY CASE WHEN due_at IS NULL THEN 1 ELSE 0 END, due_at, fingerprint
LIMIT 100
"""


@dataclass(frozen=True, slots=True)
class AssignedEvent:
    """An event on somebody's desk."""

    event: EventLine
    due_at: datetime | None
    snoozed_until: datetime | None


@dataclass(frozen=True, slots=True)
class AssignedGroup:
    """A cause on somebody's desk, as groups name it; `dead` as they were counted last, in the accounts that may be seen."""

    fingerprint: str
    kind: str
    cause: str
    dead: int
    due_at: datetime | None


@dataclass(frozen=True, slots=True)
class Work:
    """What one person has to do, by due time; `more` events are not shown.

    `cut` says that the person has more assignments than are looked at.
    """

    events: tuple[AssignedEvent, ...]
    groups: tuple[AssignedGroup, ...]
    more: int
    cut: bool


def work(store: Store, name: str, *, accounts: Accounts = None) -> Work:
    """What is on a person's desk: the soonest due first, what is snoozed last."""
    parameters, visible = _visible(name, accounts)
    with store.read() as connection:
        events = _events(visible.format(table="e"))
        rows = connection.execute(prepared(store, events, parameters), parameters).all()
        groups = GROUPS.replace(_COUNTED, _counted(visible))
        causes = connection.execute(prepared(store, groups, parameters), parameters).all()
        number = connection.execute(store.statement(NUMBER), {"name": name}).scalar_one()
    return Work(
        tuple(_event(store, row) for row in rows),
        tuple(_group(row) for row in causes),
        more=rows[0].total - len(rows) if rows else 0,
        cut=number > LOOKED_AT,
    )


def work_count(store: Store, name: str, *, accounts: Accounts = None) -> int:
    """How many events and causes a person has on the desk; stops at FEW events and one more."""
    parameters, visible = _visible(name, accounts)
    template = f"""
SELECT (
    SELECT count(*) FROM (
        SELECT 1 FROM ({_mine(FEW_LOOKED_AT)}) AS d JOIN {{event}} e ON e.id = d.event_id
        WHERE {_OPEN} AND (d.snoozed_until IS NULL OR d.snoozed_until <= {{now}}) AND {visible.format(table="e")}
        LIMIT {FEW + 1}
    ) AS few
) + (
    SELECT count(*) FROM ({_MY_GROUPS}) AS d WHERE (SELECT 1 {_counted(visible)} LIMIT 1) IS NOT NULL
)
"""
    with store.read() as connection:
        return int(connection.execute(prepared(store, template, parameters), parameters).scalar_one())


def _counted(visible: str) -> str:
    return _COUNTED.replace("VISIBLE", visible.format(table="g"))


def _visible(name: str, accounts: Accounts) -> tuple[dict[str, Any], str]:
    if accounts is None:
        return {"name": name}, ANY
    return {"name": name, "visible_list": list(accounts)}, "{table}.account IN :visible_list"


def _event(store: Store, row: Row[Any]) -> AssignedEvent:
    return AssignedEvent(LINES.made_of(store, row), read_time(row.due_at), read_time(row.snoozed_until))


def _group(row: Row[Any]) -> AssignedGroup:
    return AssignedGroup(
        row.fingerprint, row.kind, general(row.sample or ""), int(row.dead), read_time(row.due_at)
    )
