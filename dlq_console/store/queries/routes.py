"""By which index does a filtered list walk, and what must be checked row by row?

A route splits a filter in two. Its *branches* are conditions that one index answers in the order of the list: each
branch is a walk along one stretch of that index, and several walks are merged. Its *checks* have no index; they are
applied to the rows that the walks yield, and because nobody knows how many rows fail them, the walks give up after
SCAN_LIMIT rows together and a page offers to keep looking.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Literal

from sqlalchemy import BigInteger, BindParameter, Text, TextClause, bindparam
from sqlalchemy.types import TypeEngine

from dlq_console.store.filters import EventFilter
from dlq_console.store.states import ENDED, READY, Status
from dlq_console.store.store import Store

#: Rows that are looked at where some of them may fail a check.
SCAN_LIMIT = 5_000
#: Walks that are merged into one list; where there would be more, the values become a check.
MAX_BRANCHES = 12

#: Ids grow with the time at which events come in, but not to the second: two connections draw an id each, then one
#: of them waits. By how many seconds they may be out of step.
SLACK = 60

_SINCE = "({now} - {interval[since_seconds]})"

#: Columns that checks read.
CHECKED = "id, kind, account, reason, status, last_error, fingerprint, created_at, finished_at"

#: A condition that holds for every row.
ANY = "1 = 1"

#: The accounts that a person may see; None for all.
Accounts = tuple[str, ...] | None
Order = Literal["ASC", "DESC"]


@dataclass(frozen=True, slots=True)
class Route:
    """How one list is read."""

    #: Name of the order, which its cursors carry.
    order: str
    #: Newest first by `(finished_at, id)`, else by `id`.
    by_end: bool
    #: What every branch has in common. Statuses are literal, so that partial indexes match.
    condition: str
    branches: tuple[str, ...]
    check: str
    parameters: dict[str, Any]
    #: Condition of a set that holds every row of the list and is usually small, where there is one.
    small_set: str = ""
    source: str = "{event}"
    #: Conditions that hold for all rows from some id on: from where the list may begin, and behind its end.
    begins: str = ""
    ends: str = ""

    @property
    def checked(self) -> bool:
        """Whether rows that the walks yield may fail a check."""
        return self.check != ANY

    def order_by(self, order: Order = "DESC", *, of: str = "") -> str:
        """The ORDER BY of the list; `of` is an alias with its dot, where the names need one."""
        return (
            f"ORDER BY {of}finished_at {order}, {of}id {order}" if self.by_end else f"ORDER BY {of}id {order}"
        )

    def patience(self, together: int = SCAN_LIMIT) -> int:
        """After how many rows one walk gives up, so that all `together` read no more than that."""
        return together // len(self.branches)

    def rows(self, columns: str, reach: int, *, beyond: str = ANY, order: Order = "DESC") -> str:
        """SQL that yields the first `reach` rows of the list, before any check.

        Args:
            columns: of the event table.
            reach: most rows.
            beyond: condition that skips what other pages show.
            order: DESC for newest first. There is always one, also for counts: it makes every engine choose the
                index that has it, with or without statistics.
        """
        tail = f"{self.order_by(order)} LIMIT {reach}"
        walks = self._walks(columns, f"{beyond} {tail}")
        return walks[0] if len(walks) == 1 else f"SELECT * FROM ({_union(walks)}) AS merged {tail}"

    def numbered_rows(
        self, columns: str, *, together: int = SCAN_LIMIT, beyond: str = ANY, order: Order = "DESC"
    ) -> str:
        """SQL that yields the first rows of every walk, in no order.

        `matches` says whether a row passes the checks; `place` counts the rows of its walk, and a walk whose last row
        has the place `patience(together)` gave up there.
        """
        by = self.order_by(order)
        # Checked here, so that no engine has to carry along what only the checks read.
        numbered = f"{columns}, ({self.check}) AS matches, row_number() OVER ({by}) AS place"
        return _union(self._walks(numbered, f"{beyond} {by} LIMIT {self.patience(together)}"))

    def _walks(self, columns: str, beyond: str) -> list[str]:
        start = f"SELECT {columns} FROM {self.source} WHERE {self.condition}"
        return [f"{start} AND {branch} AND {beyond}" for branch in self.branches]


def _union(selects: list[str]) -> str:
    # SQLite takes no parentheses around the parts of a UNION.
    return " UNION ALL ".join(f"SELECT * FROM ({select}) AS part_{n}" for n, select in enumerate(selects))


@dataclass
class _Draft:
    """A route in the making."""

    conditions: list[str] = field(default_factory=list)
    checks: list[str] = field(default_factory=list)
    parameters: dict[str, Any] = field(default_factory=dict)

    def any_of(self, column: str, values: tuple[str, ...]) -> None:
        """Check that a column has one of the values; no values ask for nothing."""
        if values:
            self.checks.append(f"{column} IN :{column}_list")
            self.parameters[f"{column}_list"] = list(values)

    def branches(self, accounts: tuple[str, ...], kinds: tuple[str, ...]) -> tuple[str, ...]:
        """One condition for every pair of an account and a kind."""
        self.parameters |= {f"account_{n}": account for n, account in enumerate(accounts)}
        self.parameters |= {f"kind_{n}": kind for n, kind in enumerate(kinds)}
        by_account = [f"account = :account_{n}" for n in range(len(accounts))] or [ANY]
        by_kind = [f"kind = :kind_{n}" for n in range(len(kinds))] or [ANY]
        return tuple(f"{account} AND {kind}" for account, kind in product(by_account, by_kind))


def route_for(
    store: Store, flt: EventFilter, accounts: Accounts, *, only: Status | None = None
) -> Route | None:
    """The route of a filter; None where nothing can match.

    Args:
        store: tells how this engine spells a search for text.
        flt: what the person asked for.
        accounts: what the person may see.
        only: the one status of the list, whatever the filter says beside it.
    """
    visible = _visible(flt.account, accounts)
    statuses = _statuses(flt.status, only)
    if visible == () or statuses == ():
        return None
    draft = _Draft()
    by_end = statuses in ((Status.DEAD,), (Status.DISCARDED,))
    if by_end and statuses:
        draft.conditions.append(f"status = '{statuses[0]}'")
    else:
        draft.any_of("status", statuses or ())
    branches = _branches(draft, flt, visible or (), _indexed(statuses))
    draft.any_of("reason", flt.reason)
    _text(draft, flt.q, store)
    ended = statuses is not None and set(statuses) <= set(ENDED)
    _times(draft, flt, ended=ended, indexed=by_end)
    return Route(
        order=statuses[0] if by_end and statuses else "all",
        by_end=by_end,
        condition=" AND ".join(draft.conditions) or ANY,
        branches=branches,
        check=" AND ".join(draft.checks) or ANY,
        parameters=draft.parameters,
        small_set="" if flt.entity else _small_set(statuses),
        begins="" if by_end or ended else _begins(flt),
        ends="" if by_end else _ends(flt),
    )


def _visible(asked: tuple[str, ...], accounts: Accounts) -> Accounts:
    if accounts is None:
        return asked or None
    return tuple(account for account in accounts if not asked or account in asked)


def _statuses(asked: tuple[str, ...], only: Status | None) -> tuple[Status, ...] | None:
    if only is None:
        return tuple(Status(word) for word in asked) or None
    return (only,) if not asked or only in asked else ()


def _indexed(statuses: tuple[Status, ...] | None) -> frozenset[str]:
    """Columns by which the list can be walked in its own order."""
    if statuses == (Status.DEAD,):
        return frozenset({"account", "kind"})
    return frozenset() if statuses == (Status.DISCARDED,) else frozenset({"account"})


def _branches(
    draft: _Draft, flt: EventFilter, accounts: tuple[str, ...], indexed: frozenset[str]
) -> tuple[str, ...]:
    """The walks by account and kind; what they do not answer becomes a check."""
    indexed = _group(draft, flt, indexed)
    if flt.entity:
        # An entity has few events, so its index beats every other and all the rest is checked.
        draft.conditions.append("entity_id = :entity")
        draft.parameters["entity"] = flt.entity
        indexed = frozenset()
    walked_accounts = accounts if "account" in indexed and len(accounts) <= MAX_BRANCHES else ()
    pairs = len(flt.kind) * max(1, len(walked_accounts))
    walked_kinds = flt.kind if "kind" in indexed and pairs <= MAX_BRANCHES else ()
    if not walked_accounts:
        draft.any_of("account", accounts)
    if not walked_kinds:
        draft.any_of("kind", flt.kind)
    return draft.branches(walked_accounts, walked_kinds)


def _group(draft: _Draft, flt: EventFilter, indexed: frozenset[str]) -> frozenset[str]:
    """The walk through one group of dead events, or a check; returns by what else the list can be walked."""
    if not flt.group:
        return indexed
    draft.parameters["group"] = flt.group
    if indexed != {"account", "kind"} or flt.entity:
        draft.checks.append("fingerprint = :group")
        return indexed
    draft.conditions.append("fingerprint = :group")
    # A group is of one kind, so there is no index of both.
    return frozenset({"account"})


def _text(draft: _Draft, text: str, store: Store) -> None:
    if text:
        draft.checks.append(f"last_error {'LIKE' if store.sqlite else 'ILIKE'} :text ESCAPE '!'")
        escaped = text.replace("!", "!!").replace("%", "!%").replace("_", "!_")
        draft.parameters["text"] = f"%{escaped}%"


def _times(draft: _Draft, flt: EventFilter, *, ended: bool, indexed: bool) -> None:
    column = "finished_at" if ended else "created_at"
    bounds = [
        (flt.since_seconds, "since_seconds", f"{column} >= {_SINCE}"),
        (flt.from_, "from_at", f"{column} >= :from_at"),
        (flt.to, "to_at", f"{column} < :to_at"),
    ]
    for value, name, condition in bounds:
        if value is not None:
            (draft.conditions if indexed else draft.checks).append(condition)
            draft.parameters[name] = value


def _begins(flt: EventFilter) -> str:
    """For lists by id of events that came in after some moment."""
    earliest = [_SINCE] if flt.since else []
    earliest += [":from_at"] if flt.from_ else []
    return " AND ".join(f"created_at >= {moment} - {{interval[{SLACK}]}}" for moment in earliest)


def _ends(flt: EventFilter) -> str:
    """For lists by id of events that came in, or ended and so came in, before some moment."""
    return f"created_at >= :to_at + {{interval[{SLACK}]}}" if flt.to else ""


def _small_set(statuses: tuple[Status, ...] | None) -> str:
    if statuses == (Status.RUNNING,):
        return "status = 'running'"
    if statuses and set(statuses) <= set(READY):
        return "status IN ('pending', 'failed')"
    return ""


#: What the name of a parameter that holds several values ends in, and what they are. Without a type, an empty list
#: would be one of numbers.
_LISTS: dict[str, type[TypeEngine[Any]]] = {"_list": Text, "_ids": BigInteger}


def prepared(store: Store, template: str, parameters: Iterable[str]) -> TextClause:
    """`store.statement` for templates with lists, such as `account IN :visible_list` and `id IN :wanted_ids`."""
    statement = store.statement(template)
    lists: list[BindParameter[Any]] = [
        bindparam(name, type_=type_, expanding=True)
        for name in parameters
        for ending, type_ in _LISTS.items()
        if name.endswith(ending)
    ]
    return statement.bindparams(*lists) if lists else statement
