"""What stands in the way of single events of a selection? Asked of the newest few only, because each costs several looks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Row

from dlq_console.store.bulk.desk_items import obstacles
from dlq_console.store.bulk.releasing import Rule
from dlq_console.store.id_lists import as_ids, ids_sql
from dlq_console.store.lanes import IS_FIRST
from dlq_console.store.queries.routes import prepared
from dlq_console.store.states import Action
from dlq_console.store.store import Store
from dlq_console.store.succession import has_newer

#: Events that are looked at closely.
CLOSE_LOOK = 500


@dataclass(frozen=True, slots=True)
class KindFacts:
    """What is known about a kind: its rule, the age from which it is too old (seconds), and its provider."""

    rule: Rule
    max_age: float | None = None
    provider: str | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """What would be done: the action, its arguments (empty as long as they are not decided), and all known kinds."""

    action: str
    arguments: Mapping[str, Any]
    kinds: Mapping[str, KindFacts]


@dataclass(frozen=True, slots=True)
class Question:
    """One thing that may stand in the way of an event, and what those are called to which it does."""

    name: str
    condition: str
    values: dict[str, Any] = field(default_factory=dict)
    #: It would be let go all the same.
    warns: bool = False
    #: How the condition calls the event.
    alias: str = "e"


def questions(asked: Asked, dead: Sequence[Row[Any]]) -> list[Question]:
    """What has to be asked of dead events that are of these sorts (kind, in_lanes)."""
    if asked.action != Action.REPROCESS:
        if not asked.arguments:
            return []
        found = obstacles(asked.action, asked.arguments)
        return [Question(cause, condition, values) for cause, (condition, values) in found.items()]
    return list(_about_running(asked, dead))


def _about_running(asked: Asked, dead: Sequence[Row[Any]]) -> Iterator[Question]:
    rules = {name: known.rule for name, known in asked.kinds.items() if known.rule.in_the_way}
    for rule in dict.fromkeys(rules[row.kind] for row in dead if row.kind in rules):
        names = [name for name, its in rules.items() if its == rule]
        condition = f"o.kind IN :names_list AND {has_newer(rule.in_the_way)}"
        yield Question(rule.cause, condition, {"names_list": names}, alias="o")
    if any(row.in_lanes for row in dead):
        yield Question("blocked", f"e.lane IS NOT NULL AND NOT {IS_FIRST}", warns=True)


def answer(
    store: Store, connection: Connection, event_ids: Sequence[int], asked: Sequence[Question]
) -> tuple[Counter[str], Counter[str]]:
    """How many of these events would be refused, and how many are warned about, by name."""
    refused: Counter[str] = Counter()
    warned: Counter[str] = Counter()
    for one in asked:
        sql = f"""
SELECT count(*) FROM {{event}} {one.alias} WHERE {one.alias}.id IN {ids_sql(store, "newest")}
    AND {one.alias}.status = 'dead' AND {one.condition}
"""
        parameters = {"newest": as_ids(event_ids)} | one.values
        number = connection.execute(prepared(store, sql, parameters), parameters).scalar_one()
        (warned if one.warns else refused)[one.name] += int(number)
    return refused, warned
