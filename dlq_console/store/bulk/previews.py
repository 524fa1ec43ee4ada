"""What would a bulk run do? Counted before it begins: how many events, of which sorts, and what stands in their way.

The newest LOOK events of the selection are looked at by one statement that groups them; where the selection is larger, the
figures are those of that part and say so. What costs several looks per event is asked of the newest CLOSE_LOOK only.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row

from dlq_console.store.bulk.items import Refusal
from dlq_console.store.bulk.releasing import Rule
from dlq_console.store.bulk.selections import Selection, Walk, walk
from dlq_console.store.events import read_time
from dlq_console.store.lanes import IS_FIRST
from dlq_console.store.queries.counts import ZERO, Count
from dlq_console.store.queries.routes import prepared
from dlq_console.store.scope_names import method_name
from dlq_console.store.states import Reason, Status
from dlq_console.store.store import Store
from dlq_console.store.succession import has_newer

#: Events that are counted and grouped.
LOOK = 10_000
#: Events of which a newer one, or an earlier one of their lane, is looked for.
CLOSE_LOOK = 500
#: Events that are shown.
SAMPLE = 10
#: Groups of each sort that are told.
MOST_PARTS = 20
#: Characters of an error.
LABEL_LIMIT = 200

_IN_DOUBT = f"(reason = '{Reason.IN_DOUBT}' OR doubts > 0)"
_CLOSED = """
SELECT type, name FROM {scope} WHERE closed_until > {now} AND type IN ('account', 'method', 'provider')
"""


@dataclass(frozen=True, slots=True)
class Part:
    """One sort of events in the selection: `name` is a kind, an account or a fingerprint, `label` what people read."""

    name: str
    number: int
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a preview has found out.

    Attributes:
        count: how many events; exact unless capped.
        looked: how many of them the other figures are about.
        refused: cause -> how many would not be let go.
        warned: `too_old`, `blocked`, `breaker_open` -> how many would be let go, and would be late or wait.
        close_look: how many events the figures about newer events and lanes are about; None where about all.
        sample_ids: the newest of them.
    """

    count: Count = ZERO
    looked: int = 0
    by_kind: tuple[Part, ...] = ()
    by_account: tuple[Part, ...] = ()
    by_error: tuple[Part, ...] = ()
    refused: Mapping[str, int]
    warned: Mapping[str, int]
    close_look: int | None = None
    sample_ids: tuple[int, ...] = ()


NOTHING = Facts(refused={}, warned={})


@dataclass(frozen=True, slots=True)
class KindFacts:
    """What is known about a kind: its rule, the age from which it is too old (seconds), and its provider."""

    rule: Rule
    max_age: float | None = None
    provider: str | None = None


def now(store: Store) -> datetime:
    """The present moment, as the database tells it."""
    with store.read() as connection:
        moment = read_time(connection.execute(store.statement("SELECT {now} AS now")).scalar_one())
    assert moment is not None, "it is never empty"  # noqa: S101 - tells the type checker what the statement says
    return moment


def facts(store: Store, selection: Selection, kinds: Mapping[str, KindFacts], *, careful: bool) -> Facts:
    """What a run over the selection would meet.

    Args:
        store: the store.
        selection: which events.
        kinds: what is known about every kind that has anything to say.
        careful: they would run again, so that doubts, newer events, age, lanes and doors matter.
    """
    with store.read() as connection:
        found = walk(store, connection, selection, LOOK)
        if found is None:
            return NOTHING
        told = _told(store, connection, found, kinds)
        looked = sum(row.number for row in told.sorts)
        dead = [row for row in told.sorts if row.status == Status.DEAD]
        refused = Counter({str(Refusal.NOT_DEAD): looked - sum(row.number for row in dead)})
        warned: Counter[str] = Counter()
        close_look = None
        if careful:
            refused[Refusal.IN_DOUBT] = sum(row.in_doubt for row in dead)
            warned["too_old"] = sum(row.too_old for row in dead)
            warned["breaker_open"] = _behind_doors(store, connection, dead, kinds)
            close_look = _look_closely(store, connection, found, kinds, dead, refused, warned)
        return Facts(
            count=Count(min(looked, LOOK), told.gave_up or looked > LOOK),
            looked=looked,
            by_kind=_parts(told.sorts, "kind"),
            by_account=_parts(told.sorts, "account"),
            by_error=_labelled(store, connection, told.errors),
            refused={cause: number for cause, number in refused.items() if number},
            warned={cause: number for cause, number in warned.items() if number},
            close_look=close_look,
            sample_ids=told.sample,
        )


@dataclass(frozen=True, slots=True)
class _Told:
    """What one look at the selection tells."""

    #: One row per kind, account and status.
    sorts: list[Row[Any]]
    #: One row for each of the most frequent causes.
    errors: list[Row[Any]]
    sample: tuple[int, ...]
    gave_up: bool


def _told(store: Store, connection: Connection, found: Walk, kinds: Mapping[str, KindFacts]) -> _Told:
    too_old, parameters = _too_old(kinds)
    # The first part names the types of all.
    sql = f"""
WITH f AS MATERIALIZED ({found.sql}), matched AS (SELECT * FROM f WHERE gave_up = 0)
SELECT 'sort' AS part, kind, account, status, CAST(NULL AS text) AS fingerprint, count(*) AS number,
    CAST(0 AS bigint) AS id, count(*) FILTER (WHERE {_IN_DOUBT}) AS in_doubt, count(*) FILTER (WHERE {too_old}) AS too_old,
    count(*) FILTER (WHERE lane IS NOT NULL) AS in_lanes
FROM matched GROUP BY kind, account, status
UNION ALL SELECT * FROM (
    SELECT 'error', NULL, NULL, NULL, fingerprint, count(*) AS number, max(id), 0, 0, 0 FROM matched
    GROUP BY fingerprint ORDER BY number DESC, fingerprint LIMIT {MOST_PARTS}
) AS errors
UNION ALL SELECT * FROM (
    SELECT 'sample', NULL, NULL, NULL, NULL, 0, id, 0, 0, 0 FROM matched ORDER BY finished_at DESC, id DESC LIMIT {SAMPLE}
) AS sample
UNION ALL SELECT 'gave up', NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0 FROM f WHERE gave_up = 1
"""
    parameters |= found.parameters
    parts: defaultdict[str, list[Row[Any]]] = defaultdict(list)
    for row in connection.execute(prepared(store, sql, parameters), parameters):
        parts[row.part].append(row)
    sample = tuple(row.id for row in parts["sample"])
    return _Told(parts["sort"], parts["error"], sample, bool(parts["gave up"]))


def _too_old(kinds: Mapping[str, KindFacts]) -> tuple[str, dict[str, Any]]:
    """SQL: whether an event is older than its kind allows, and the parameters of that."""
    aged = {name: known.max_age for name, known in kinds.items() if known.max_age is not None}
    parameters: dict[str, Any] = {}
    conditions = []
    for n, (name, age) in enumerate(sorted(aged.items())):
        conditions.append(f"(kind = :aged_{n} AND created_at < {{now}} - {{interval[age_{n}]}})")
        parameters |= {f"aged_{n}": name, f"age_{n}": age}
    return " OR ".join(conditions) or "1 = 0", parameters


def _behind_doors(
    store: Store, connection: Connection, rows: list[Row[Any]], kinds: Mapping[str, KindFacts]
) -> int:
    closed = {(row.type, row.name) for row in connection.execute(store.statement(_CLOSED))}
    return sum(row.number for row in rows if closed & _doors(row, kinds.get(row.kind)))


def _doors(row: Row[Any], known: KindFacts | None) -> set[tuple[str, str]]:
    doors = {("account", row.account), ("method", method_name(row.account, row.kind))}
    if known is not None and known.provider is not None:
        doors.add(("provider", known.provider))
    return doors


def _look_closely(
    store: Store,
    connection: Connection,
    found: Walk,
    kinds: Mapping[str, KindFacts],
    rows: list[Row[Any]],
    refused: Counter[str],
    warned: Counter[str],
) -> int | None:
    """Count what is overtaken or has to wait in its lane; returns among how many, None for among all."""
    asking = {name: known.rule for name, known in kinds.items() if known.rule.in_the_way}
    concerned = sum(row.number for row in rows if row.kind in asking)
    for rule in dict.fromkeys(asking[row.kind] for row in rows if row.kind in asking):
        names = [name for name, its in asking.items() if its == rule]
        condition = f"o.kind IN :names_list AND {has_newer(rule.in_the_way)}"
        refused[rule.cause] += _among(store, connection, found, condition, "o", {"names_list": names})
    in_lanes = sum(row.in_lanes for row in rows)
    if in_lanes:
        condition = f"e.lane IS NOT NULL AND NOT {IS_FIRST}"
        warned["blocked"] = _among(store, connection, found, condition, "e", {})
    looked = sum(row.number for row in rows)
    return CLOSE_LOOK if (concerned or in_lanes) and looked > CLOSE_LOOK else None


def _among(
    store: Store, connection: Connection, found: Walk, condition: str, alias: str, values: dict[str, Any]
) -> int:
    few = f"SELECT id FROM ({found.sql}) AS f WHERE id IS NOT NULL LIMIT {CLOSE_LOOK}"
    sql = f"""
SELECT count(*) FROM ({few}) AS few JOIN {{event}} {alias} ON {alias}.id = few.id
WHERE {alias}.status = 'dead' AND {condition}
"""
    parameters = found.parameters | values
    return int(connection.execute(prepared(store, sql, parameters), parameters).scalar_one())


def _parts(rows: list[Row[Any]], column: str) -> tuple[Part, ...]:
    numbers: Counter[str] = Counter()
    for row in rows:
        numbers[getattr(row, column) or ""] += row.number
    return tuple(Part(name, number, name) for name, number in numbers.most_common(MOST_PARTS))


def _labelled(store: Store, connection: Connection, errors: list[Row[Any]]) -> tuple[Part, ...]:
    """The parts by cause, each with the error of one of its events."""
    parameters = {"sample_ids": [row.id for row in errors]}
    sql = "SELECT id, last_error FROM {event} WHERE id IN :sample_ids"
    rows = connection.execute(prepared(store, sql, parameters), parameters)
    texts = {row.id: row.last_error for row in rows}
    return tuple(
        Part(row.fingerprint or "", row.number, (texts.get(row.id) or "")[:LABEL_LIMIT]) for row in errors
    )
