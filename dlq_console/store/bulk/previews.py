"""What would a bulk run do? Counted before it begins: how many events, of which sorts, and what stands in their way.

The newest LOOK events of the selection are read and grouped by one statement; where the selection is larger, the figures are
those of that part and say so, and the rest is only counted. What costs several looks per event is asked of fewer. Whoever
waits a little longer has all of them grouped, within a time limit.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row

from dlq_console.store.bulk import close_looks
from dlq_console.store.bulk.close_looks import CLOSE_LOOK, Asked, KindFacts
from dlq_console.store.bulk.desk_items import sight_of
from dlq_console.store.bulk.items import Refusal
from dlq_console.store.bulk.selections import Selection, Walk, rest_of, walk
from dlq_console.store.events import read_time
from dlq_console.store.fingerprints import general
from dlq_console.store.people.roles import Permission
from dlq_console.store.present import present
from dlq_console.store.queries.counts import CAP, ZERO, Count
from dlq_console.store.queries.routes import prepared
from dlq_console.store.scope_names import method_name
from dlq_console.store.states import Action, Reason
from dlq_console.store.store import Store
from dlq_console.store.time_limit import reading_within

#: Events that are grouped; those behind them are only counted.
LOOK = 3_000
#: More than there can be.
EVERYTHING = 10**15
#: Seconds after which counting to the end is given up.
PATIENCE = 5.0
#: Events that are shown.
SAMPLE = 10
#: Groups of each sort that are told.
MOST_PARTS = 20
#: Characters of an error.
LABEL_LIMIT = 200

#: What is looked at, as narrow as it can be.
_COLUMNS = f"""id, finished_at, kind, account, fingerprint, (status = 'dead') AS is_dead,
    (status = 'dead' AND (reason = '{Reason.IN_DOUBT}' OR doubts > 0)) AS in_doubt,
    (status = 'dead' AND ({{too_old}})) AS too_old, (status = 'dead' AND lane IS NOT NULL) AS in_lane"""
#: The first part names the types of all.
_FIGURES = f"""
WITH f AS MATERIALIZED ({{walk}})
SELECT 'sort' AS part, kind, account, CAST(NULL AS text) AS fingerprint, count(*) AS number, CAST(0 AS bigint) AS id,
    count(*) FILTER (WHERE is_dead) AS dead, count(*) FILTER (WHERE in_doubt) AS in_doubt,
    count(*) FILTER (WHERE too_old) AS too_old, count(*) FILTER (WHERE in_lane) AS in_lanes, CAST(NULL AS {{{{time}}}}) AS at
FROM f WHERE matches GROUP BY kind, account
UNION ALL SELECT * FROM (
    SELECT 'error', NULL, NULL, fingerprint, count(*) AS number, max(id), 0, 0, 0, 0, CAST(NULL AS {{{{time}}}}) FROM f
    WHERE matches GROUP BY fingerprint ORDER BY number DESC, fingerprint LIMIT {MOST_PARTS}
) AS errors
UNION ALL SELECT * FROM (
    SELECT 'newest', NULL, NULL, NULL, 0, id, 0, 0, 0, 0, finished_at FROM f
    WHERE matches ORDER BY finished_at DESC, id DESC LIMIT {CLOSE_LOOK}
) AS newest
UNION ALL SELECT * FROM (
    SELECT 'last', NULL, NULL, NULL, 0, id, 0, 0, 0, 0, finished_at FROM f ORDER BY finished_at, id LIMIT 1
) AS last
UNION ALL SELECT 'gave up', NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, CAST(NULL AS {{{{time}}}}) FROM f WHERE gave_up
"""
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
        close_look: how many events the figures about single events (newer ones, lanes, desks) are about; None where all.
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


def now(store: Store) -> datetime:
    """The present moment, as the database tells it."""
    with store.read() as connection:
        return present(store, connection)


def facts(store: Store, selection: Selection, asked: Asked) -> Facts:
    """What a run over the selection would meet."""
    with store.read() as connection:
        return _facts(store, connection, selection, asked, exact=False)


def exact_facts(store: Store, selection: Selection, asked: Asked) -> Facts:
    """The same, counted and grouped to the end.

    Raises:
        TookTooLong: that takes longer than PATIENCE.
    """
    with reading_within(store, PATIENCE) as connection:
        return _facts(store, connection, selection, asked, exact=True)


def number_of(store: Store, selection: Selection) -> int:
    """How many events a run over the selection would have.

    Raises:
        TookTooLong: that takes longer than PATIENCE.
    """
    with reading_within(store, PATIENCE) as connection:
        found = walk(store, connection, selection, "id, finished_at", EVERYTHING, to_the_end=True)
        if found is None:
            return 0
        counted = f"SELECT count(*) FROM ({found.sql}) AS walked WHERE matches"
        return int(
            connection.execute(prepared(store, counted, found.parameters), found.parameters).scalar_one()
        )


def _facts(store: Store, connection: Connection, selection: Selection, asked: Asked, *, exact: bool) -> Facts:
    too_old, values = _too_old(asked.kinds)
    columns = _COLUMNS.format(too_old=too_old)
    reach = EVERYTHING if exact else LOOK
    found = walk(store, connection, selection, columns, reach, to_the_end=exact)
    if found is None:
        return NOTHING
    found = replace(found, parameters=found.parameters | values)
    told = _told(store, connection, found)
    looked = sum(row.number for row in told.sorts)
    refused, warned = _by_sorts(store, connection, told.sorts, asked)
    close = close_looks.questions(asked, told.sorts)
    refused_too, warned_too = close_looks.answer(store, connection, told.newest, close)
    return Facts(
        count=Count(looked) if exact else _count(store, connection, found, told, looked),
        looked=looked,
        by_kind=_parts(told.sorts, "kind"),
        by_account=_parts(told.sorts, "account"),
        by_error=_labelled(store, connection, told.errors),
        refused=+(refused + refused_too),
        warned=+(warned + warned_too),
        close_look=CLOSE_LOOK if close and looked > CLOSE_LOOK else None,
        sample_ids=told.newest[:SAMPLE],
    )


@dataclass(frozen=True, slots=True)
class _Told:
    """What one look at the selection tells."""

    #: One row per kind and account.
    sorts: list[Row[Any]]
    #: One row for each of the most frequent causes.
    errors: list[Row[Any]]
    #: The newest events, newest first.
    newest: tuple[int, ...]
    #: The oldest one that was looked at; none where nothing was.
    last: Row[Any] | None
    gave_up: bool


def _told(store: Store, connection: Connection, found: Walk) -> _Told:
    parts: defaultdict[str, list[Row[Any]]] = defaultdict(list)
    statement = prepared(store, _FIGURES.format(walk=found.sql), found.parameters)
    for row in connection.execute(statement, found.parameters):
        parts[row.part].append(row)
    newest = sorted(parts["newest"], key=lambda row: (row.at, row.id), reverse=True)
    return _Told(
        sorts=parts["sort"],
        errors=parts["error"],
        newest=tuple(row.id for row in newest),
        last=parts["last"][0] if parts["last"] else None,
        gave_up=bool(parts["gave up"]),
    )


def _count(store: Store, connection: Connection, found: Walk, told: _Told, looked: int) -> Count:
    """How many there are: what was looked at, and where that is not all, what is counted behind it."""
    if found.route is None or looked < LOOK or told.last is None:
        return Count(looked, told.gave_up)
    rest = f"SELECT count(*) FROM ({rest_of(found, CAP - looked + 1)}) AS rest"
    parameters = found.parameters | {"after_at": read_time(told.last.at), "after_id": told.last.id}
    number = looked + int(connection.execute(prepared(store, rest, parameters), parameters).scalar_one())
    return Count(min(number, CAP), number > CAP)


def _by_sorts(
    store: Store, connection: Connection, sorts: Sequence[Row[Any]], asked: Asked
) -> tuple[Counter[str], Counter[str]]:
    """What kinds, accounts and the events themselves say: how many are refused, and how many are warned about."""
    refused: Counter[str] = Counter({Refusal.NOT_DEAD: sum(row.number - row.dead for row in sorts)})
    if asked.action == Action.REPROCESS:
        refused[Refusal.IN_DOUBT] = sum(row.in_doubt for row in sorts)
        behind = _behind_doors(store, connection, sorts, asked.kinds)
        return refused, Counter({"too_old": sum(row.too_old for row in sorts), "breaker_open": behind})
    if asked.action == Permission.ASSIGN and asked.arguments:
        sight = sight_of(store, connection, asked.arguments["to"])
        unseen = [row.dead for row in sorts if sight is not None and row.account not in sight]
        refused[Refusal.NOT_ALLOWED] = sum(unseen)
    return refused, Counter()


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
    store: Store, connection: Connection, rows: Sequence[Row[Any]], kinds: Mapping[str, KindFacts]
) -> int:
    closed = {(row.type, row.name) for row in connection.execute(store.statement(_CLOSED))}
    return sum(row.dead for row in rows if closed & _doors(row, kinds.get(row.kind)))


def _doors(row: Row[Any], known: KindFacts | None) -> set[tuple[str, str]]:
    doors = {("account", row.account), ("method", method_name(row.account, row.kind))}
    if known is not None and known.provider is not None:
        doors.add(("provider", known.provider))
    return doors


def _parts(rows: list[Row[Any]], column: str) -> tuple[Part, ...]:
    numbers: Counter[str] = Counter()
    for row in rows:
        numbers[getattr(row, column) or ""] += row.number
    return tuple(Part(name, number, name) for name, number in numbers.most_common(MOST_PARTS))


def _labelled(store: Store, connection: Connection, errors: list[Row[Any]]) -> tuple[Part, ...]:
    """The parts by cause, each with what its events have in common."""
    parameters = {"sample_ids": [row.id for row in errors]}
    sql = "SELECT id, last_error FROM {event} WHERE id IN :sample_ids"
    rows = connection.execute(prepared(store, sql, parameters), parameters)
    texts = {row.id: row.last_error for row in rows}
    return tuple(
        Part(row.fingerprint or "", row.number, general(texts.get(row.id) or "")[:LABEL_LIMIT])
        for row in errors
    )
