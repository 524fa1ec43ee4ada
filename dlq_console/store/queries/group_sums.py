"""Which causes were biggest when they were counted last? Along an index, biggest first, and never the whole table.

Where all accounts are asked for, their sums stand ready (`store.causes`). The sums of some accounts are added up here,
from their biggest causes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Row

from dlq_console.store.causes import DIED_LAST
from dlq_console.store.filters import EventFilter
from dlq_console.store.groups import CAP
from dlq_console.store.queries.routes import ANY, MAX_BRANCHES, Accounts, prepared
from dlq_console.store.store import Store

#: Causes that one answer looks at, and causes of single accounts, each of which takes longer.
REACH, REACH_OF_PAIRS = 10_000, 5_000

_BIGGEST = "number DESC, last_seen_at DESC, fingerprint DESC"
_SEEN = "fingerprint, account, kind, first_seen_at, last_seen_at, sampled_at"
_ADDED_UP = f"""
SELECT fingerprint, max(CASE WHEN rank_of_death = 1 THEN account END) AS account,
    max(CASE WHEN rank_of_death = 1 THEN kind END) AS kind,
    sum({{least}}(dead, {CAP})) AS number, max(dead) AS largest, count(*) AS accounts,
    min(first_seen_at) AS first_seen_at, max(last_seen_at) AS last_seen_at, min(sampled_at) AS sampled_at
FROM (
    SELECT walked.*, row_number() OVER (PARTITION BY fingerprint ORDER BY {DIED_LAST}) AS rank_of_death
    FROM walked WHERE CONDITION
) AS ranked GROUP BY fingerprint
"""


#: The same of one account, where each cause is one row.
_OF_ONE_ACCOUNT = f"""
SELECT fingerprint, account, kind, {{least}}(dead, {CAP}) AS number, dead AS largest, 1 AS accounts,
    first_seen_at, last_seen_at, sampled_at
FROM walked WHERE CONDITION
"""


def _text(name: str) -> str:
    """SQL for what the event says that died last of a cause; looked up for the causes of the answer alone."""
    found = "{error_group} g WHERE g.fingerprint = page.fingerprint AND g.account = page.account"
    return f"(SELECT {name} FROM {found}) AS {name}"


_TEXTS = ", ".join(_text(name) for name in ("error_type", "verdict", "sample", "sample_event_id"))


@dataclass(frozen=True, slots=True)
class _Walk:
    """How the causes are found.

    Attributes:
        rows: SQL of the rows that are looked at, each with its `place` in its walk.
        patience: the place at which a walk gives up.
        causes: SQL of the causes among the rows `walked`.
        parameters: of both.
    """

    rows: str
    patience: int
    causes: str
    parameters: dict[str, Any] = field(default_factory=dict)


def biggest(
    store: Store, flt: EventFilter, visible: Accounts, *, limit: int, skip: int, least: int
) -> Sequence[Row[Any]]:
    """The biggest causes, and beside each the figures of all that match: `total`, `groups`, `largest_of_all`, `oldest`.

    `stopped` says that there may be smaller ones that were not looked at.

    Args:
        store: the store.
        flt: may ask for kinds and a group.
        visible: the accounts that count; None for all.
        limit: most causes.
        skip: causes to leave out, the biggest.
        least: dead events of a cause in an account; 0 counts those that have none left, where one group is asked for.
    """
    walk = _walk(flt, visible, least)
    template = f"""
WITH walked AS ({walk.rows}), causes AS ({walk.causes}), page AS (
    SELECT causes.*, sum(number) OVER () AS total, count(*) OVER () AS groups, max(largest) OVER () AS largest_of_all,
        min(sampled_at) OVER () AS oldest
    FROM causes ORDER BY {_BIGGEST} LIMIT :limit OFFSET :skip
)
SELECT page.*, {_TEXTS}, EXISTS (SELECT 1 FROM walked WHERE place = {walk.patience}) AS stopped
FROM page ORDER BY {_BIGGEST}
"""
    parameters = walk.parameters | {"limit": limit, "skip": skip}
    with store.read() as connection:
        return connection.execute(prepared(store, template, parameters), parameters).all()


def first(store: Store, flt: EventFilter, visible: Accounts) -> Row[Any] | None:
    """The biggest cause as `biggest` finds it, without the figures of all others, which need each of them looked at."""
    walk = _walk(flt, visible, 1)
    template = f"""
WITH walked AS ({walk.rows}), causes AS ({walk.causes}), page AS (
    SELECT * FROM causes ORDER BY {_BIGGEST} LIMIT 1
)
SELECT page.*, {_TEXTS} FROM page
"""
    with store.read() as connection:
        statement = prepared(store, template, walk.parameters)
        return connection.execute(statement, walk.parameters).one_or_none()


def _walk(flt: EventFilter, visible: Accounts, least: int) -> _Walk:
    conditions, parameters = [ANY], dict[str, Any]()
    if flt.kind:
        conditions.append("kind IN :kind_list")
        parameters["kind_list"] = list(flt.kind)
    if visible is None and not flt.group:
        order = "dead DESC, last_seen_at DESC, fingerprint DESC"
        rows = _rows("error_cause", f"{_SEEN}, dead AS number, largest, accounts", ANY, order, REACH)
        return _Walk(rows, REACH, f"SELECT * FROM walked WHERE {' AND '.join(conditions)}", parameters)
    if visible is not None:
        conditions.append("account IN :visible_list")
        parameters["visible_list"] = list(visible)
    of_one = visible is not None and len(visible) == 1
    causes = (_OF_ONE_ACCOUNT if of_one else _ADDED_UP).replace("CONDITION", " AND ".join(conditions))
    if flt.group:
        parameters["group"] = flt.group
        rows = _pairs(f"fingerprint = :group AND dead >= {least}", "account DESC", REACH_OF_PAIRS)
        return _Walk(rows, REACH_OF_PAIRS, causes, parameters)
    if visible is None or len(visible) > MAX_BRANCHES:
        rows = _pairs("dead > 0", "dead DESC, fingerprint DESC, account DESC", REACH_OF_PAIRS)
        return _Walk(rows, REACH_OF_PAIRS, causes, parameters)
    patience = REACH_OF_PAIRS // len(visible)
    parameters |= {f"account_{number}": account for number, account in enumerate(visible)}
    walks = [
        _pairs(f"account = :account_{number} AND dead > 0", "dead DESC, fingerprint DESC", patience)
        for number in range(len(visible))
    ]
    union = " UNION ALL ".join(
        f"SELECT * FROM ({rows}) AS walk_{number}" for number, rows in enumerate(walks)
    )
    return _Walk(union, patience, causes, parameters)


def _pairs(condition: str, order: str, patience: int) -> str:
    return _rows("error_group", f"{_SEEN}, dead, sample_event_id", condition, order, patience)


def _rows(table: str, columns: str, condition: str, order: str, patience: int) -> str:
    """SQL of the first rows along an index. Its order makes every engine choose it."""
    return f"""
SELECT {columns}, row_number() OVER (ORDER BY {order}) AS place
FROM {{{table}}} WHERE {condition} ORDER BY {order} LIMIT {patience}
"""
