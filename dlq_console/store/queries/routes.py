"""By which index does a filtered list walk, and what must be checked row by row?

A route splits a filter in two. Its *branches* are conditions that one index answers in the order of the list: each
branch is a walk along one stretch of that index, and several walks are merged. Its *checks* have no index; they are
applied to the rows that the walks yield, and because nobody knows how many rows fail them, the walks give up after
`reach` rows together and a page offers to keep looking. What names few events (`few.py`) is walked instead, or checked,
or left out of the list; `narrowing.py` decides, because it depends on how many they are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Literal

from sqlalchemy import BigInteger, BindParameter, Text, TextClause, bindparam
from sqlalchemy.types import TypeEngine

from dlq_console.store.amounts import spellings_of_amount
from dlq_console.store.columns import configured_paths
from dlq_console.store.filters import EventFilter
from dlq_console.store.internal import NOT_INTERNAL
from dlq_console.store.queries import few
from dlq_console.store.queries.few import Few
from dlq_console.store.queries.payload_checks import payload_check
from dlq_console.store.queries.texts import has_text_index
from dlq_console.store.small_letters import SMALL_LETTERS, small_letters
from dlq_console.store.states import ENDED, Status
from dlq_console.store.store import Store

#: Rows that are looked at where some of them may fail a check.
SCAN_LIMIT = 5_000
#: The same where their payloads are read, each of which may be large.
PAYLOAD_SCAN_LIMIT = 1_000
#: The same for a text that has an index: enough to tell frequent texts, of which so many are counted, from rare ones.
TEXT_SCAN_LIMIT = 3_000
#: Walks that are merged into one list; where there would be more, the values become a check.
MAX_BRANCHES = 12

#: Ids grow with the time at which events come in, but not to the second: two connections draw an id each, then one
#: of them waits. By how many seconds they may be out of step.
SLACK = 60

#: Of the moment from which `since` counts back.
_PINNED = "CAST(:pinned_at AS {time})"

#: Columns that checks read.
CHECKED = "id, kind, account, entity_id, reason, status, attempts, verdict, last_error, fingerprint, created_at, finished_at"

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
    #: By `(finished_at, id)`, else by `id`; newest first.
    by_end: bool
    #: What every branch has in common. Statuses are literal, so that partial indexes match.
    condition: str
    branches: tuple[str, ...]
    #: What is asked of each row.
    own_check: str
    parameters: dict[str, Any]
    #: What is checked as well, unless `narrowed` finds that it can be walked, or left out.
    few: tuple[Few, ...] = ()
    #: The same for a text that has an index; that is asked only where the walks do not find it often enough.
    text: Few | None = None
    source: str = "{event}"
    #: Rows that all walks together look at where some may fail a check.
    reach: int = SCAN_LIMIT
    #: Oldest first.
    oldest: bool = False
    #: Conditions that hold for all rows from some id on: from where the list may begin, and behind its end.
    begins: str = ""
    ends: str = ""

    @property
    def check(self) -> str:
        """What a row of the walks must hold, as SQL."""
        few = self.few if self.text is None else (*self.few, self.text)
        return all_of([self.own_check, *(one.check for one in few)])

    @property
    def checked(self) -> bool:
        """Whether rows that the walks yield may fail a check, or hold no more than the columns for checks."""
        return self.check != ANY or self.source != "{event}"

    def order_by(self, order: Order = "DESC", *, of: str = "") -> str:
        """The ORDER BY of the list; `of` is an alias with its dot, where the names need one."""
        return (
            f"ORDER BY {of}finished_at {order}, {of}id {order}" if self.by_end else f"ORDER BY {of}id {order}"
        )

    def patience(self, together: int | None = None) -> int:
        """After how many rows one walk gives up, so that all `together` read no more than that; `reach` if left out."""
        return (together or self.reach) // len(self.branches)

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

    def any_rows(self, columns: str, reach: int) -> str:
        """SQL that yields `reach` rows of the list, or all of it where they are fewer, in no order and before any check."""
        walks = self._walks(columns, f"{ANY} {self.order_by()} LIMIT {reach}")
        return walks[0] if len(walks) == 1 else f"SELECT * FROM ({_union(walks)}) AS merged LIMIT {reach}"

    def numbered_rows(
        self, columns: str, *, together: int | None = None, beyond: str = ANY, order: Order = "DESC"
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


def all_of(conditions: Iterable[str]) -> str:
    """One condition that holds where all of them do."""
    return " AND ".join(one for one in conditions if one != ANY) or ANY


def _union(selects: list[str]) -> str:
    # SQLite takes no parentheses around the parts of a UNION.
    return " UNION ALL ".join(f"SELECT * FROM ({select}) AS part_{n}" for n, select in enumerate(selects))


@dataclass
class _Draft:
    """A route in the making."""

    conditions: list[str] = field(default_factory=list)
    checks: list[str] = field(default_factory=list)
    parameters: dict[str, Any] = field(default_factory=dict)
    reach: int = SCAN_LIMIT

    def any_of(self, column: str, values: tuple[str, ...]) -> None:
        """Check that a column has one of the values; no values ask for nothing."""
        if values:
            self.checks.append(f"{column} IN :{column}_list")
            self.parameters[f"{column}_list"] = list(values)

    def branches(self, **walked: tuple[str, ...]) -> tuple[str, ...]:
        """One condition for every combination of the values of columns; a column without values is not asked for."""
        conditions = []
        for column, values in walked.items():
            self.parameters |= {f"{column}_{n}": value for n, value in enumerate(values)}
            if values:
                conditions.append([f"{column} = :{column}_{n}" for n in range(len(values))])
        return tuple(" AND ".join(one) for one in product(*conditions)) if conditions else (ANY,)


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
    visible = visible_accounts(flt.account, accounts)
    statuses = _statuses(flt.status, only)
    if visible == () or statuses == ():
        return None
    draft = _Draft()
    by_end = statuses in ((Status.DEAD,), (Status.DISCARDED,))
    if by_end and statuses:
        draft.conditions.append(f"status = '{statuses[0]}'")
    else:
        draft.any_of("status", statuses or ())
    if statuses != (Status.DEAD,):
        # Among dead letters there are none: what the hub asks by itself never becomes one.
        draft.conditions.append(NOT_INTERNAL)
    branches = _branches(draft, flt, visible or (), dead=statuses == (Status.DEAD,))
    few_ = _few(draft, flt, store, statuses)
    text = _text(draft, flt, store, statuses)
    ended = statuses is not None and set(statuses) <= set(ENDED)
    _times(draft, flt, ended=ended, indexed=by_end)
    name = statuses[0] if by_end and statuses else "all"
    return Route(
        order=f"{name}{flt.sort}",
        by_end=by_end,
        condition=all_of(draft.conditions),
        branches=branches,
        own_check=all_of(draft.checks),
        parameters=draft.parameters,
        few=few_,
        text=text,
        reach=draft.reach,
        oldest=flt.sort == "oldest",
        begins="" if by_end or ended else _begins(flt),
        ends="" if by_end else _ends(flt),
    )


def visible_accounts(asked: tuple[str, ...], accounts: Accounts) -> Accounts:
    """Those of the accounts that may be seen which are asked for; asking for none means all."""
    if accounts is None:
        return asked or None
    return tuple(account for account in accounts if not asked or account in asked)


def _statuses(asked: tuple[str, ...], only: Status | None) -> tuple[Status, ...] | None:
    if only is None:
        return tuple(Status(word) for word in asked) or None
    return (only,) if not asked or only in asked else ()


def _branches(draft: _Draft, flt: EventFilter, accounts: tuple[str, ...], *, dead: bool) -> tuple[str, ...]:
    """The walks through one index; what it does not answer becomes a check."""
    walked = _walked(flt, accounts, dead=dead)
    if flt.entity:
        # An entity has few events, so its index beats every other and all the rest is checked.
        draft.conditions.append("entity_id = :entity")
        draft.parameters["entity"] = flt.entity
    if "fingerprint" in walked:
        # One value is a part of the condition, so that the index is seen to have the order of the list.
        draft.conditions.append("fingerprint = :group")
        draft.parameters["group"] = flt.group
    elif flt.group:
        draft.checks.append("fingerprint = :group")
        draft.parameters["group"] = flt.group
    for column, values in (
        ("account", accounts), ("kind", flt.kind), ("reason", flt.reason), ("verdict", flt.class_)
    ):  # fmt: skip
        if column not in walked:
            draft.any_of(column, values)
    return draft.branches(**{column: values for column, values in walked.items() if column != "fingerprint"})


def _walked(flt: EventFilter, accounts: tuple[str, ...], *, dead: bool) -> dict[str, tuple[str, ...]]:
    """The columns whose values are walked one by one, as far as an index has them in the order of the list."""
    if flt.entity or (not dead and flt.status == (Status.DISCARDED,)):
        return {}
    few_accounts = accounts if len(accounts) <= MAX_BRANCHES else ()
    by_account = {"account": few_accounts} if few_accounts else {}
    if not dead:
        return by_account
    if flt.group:
        # A group is of one kind, so there is no index of both.
        return by_account | {"fingerprint": (flt.group,)}
    if flt.kind and len(flt.kind) * max(1, len(few_accounts)) <= MAX_BRANCHES:
        return by_account | {"kind": flt.kind}
    if by_account:
        return by_account
    if flt.reason:
        return {"reason": flt.reason} if len(flt.reason) <= MAX_BRANCHES else {}
    return {"verdict": flt.class_} if flt.class_ else {}


def _few(
    draft: _Draft, flt: EventFilter, store: Store, statuses: tuple[Status, ...] | None
) -> tuple[Few, ...]:
    """What may be few; the rest of what has no index becomes a check."""
    found, parameters = few.asked_for(flt, statuses)
    draft.parameters |= parameters
    found = [*_payload(draft, flt, store), *found]
    _attempts(draft, flt.attempts)
    if flt.entity:
        # Few already.
        draft.checks += [one.check for one in found]
        return ()
    return tuple(found)


def _payload(draft: _Draft, flt: EventFilter, store: Store) -> list[Few]:
    """Fields of the payload: configured ones stand in a table of their own, all others are read."""
    found = []
    known = configured_paths(store, flt.kind) if flt.payload else frozenset()
    for number, (path, value) in enumerate(flt.payload):
        if path in known:
            spelled = {
                f"field_value_{number}_{place}": one for place, one in enumerate(spellings_of_amount(value))
            }
            found.append(few.field(number, len(spelled)))
            draft.parameters |= {f"field_path_{number}": path} | spelled
            continue
        condition, parameters = payload_check(number, path, value, sqlite=store.sqlite)
        draft.checks.append(condition)
        draft.parameters |= parameters
        draft.reach = PAYLOAD_SCAN_LIMIT
    return found


def _attempts(draft: _Draft, asked: str) -> None:
    if asked:
        draft.checks.append(f"attempts {'>=' if asked.endswith('+') else '='} :attempts")
        draft.parameters["attempts"] = int(asked.removesuffix("+"))


def _text(draft: _Draft, flt: EventFilter, store: Store, statuses: tuple[Status, ...] | None) -> Few | None:
    """What can be found by the index of texts; a text that cannot becomes a check."""
    if not flt.q:
        return None
    if store.sqlite:
        draft.parameters["text"] = small_letters(flt.q)
        draft.checks.append(f"instr({SMALL_LETTERS}(last_error), :text) > 0")
        return None
    escaped = flt.q.replace("!", "!!").replace("%", "!%").replace("_", "!_")
    draft.parameters["text"] = f"%{escaped}%"
    condition = "last_error ILIKE :text ESCAPE '!'"
    indexed = statuses == (Status.DEAD,) and few.is_found_by_index(flt.q) and not flt.entity
    if indexed and has_text_index(store):
        draft.reach = min(draft.reach, TEXT_SCAN_LIMIT)
        return few.dead_with_text(condition)
    draft.checks.append(condition)
    return None


def _since(flt: EventFilter) -> str:
    """SQL for the moment that `since` names."""
    return f"({_PINNED if flt.at else '{now}'} - {{interval[since_seconds]}})"


def _times(draft: _Draft, flt: EventFilter, *, ended: bool, indexed: bool) -> None:
    column = "finished_at" if ended else "created_at"
    bounds = [
        (flt.since_seconds, "since_seconds", f"{column} >= {_since(flt)}"),
        (flt.from_, "from_at", f"{column} >= :from_at"),
        (flt.to, "to_at", f"{column} < :to_at"),
        (flt.at, "pinned_at", f"{column} <= {_PINNED}"),
    ]
    for value, name, condition in bounds:
        if value is not None:
            (draft.conditions if indexed else draft.checks).append(condition)
            draft.parameters[name] = value


def _begins(flt: EventFilter) -> str:
    """For lists by id of events that came in after some moment."""
    earliest = [_since(flt)] if flt.since else []
    earliest += [":from_at"] if flt.from_ else []
    return " AND ".join(f"created_at >= {moment} - {{interval[{SLACK}]}}" for moment in earliest)


def _ends(flt: EventFilter) -> str:
    """For lists by id of events that came in, or ended and so came in, before some moment."""
    latest = [":to_at"] if flt.to else []
    latest += [_PINNED] if flt.at else []
    return " OR ".join(f"created_at >= {moment} + {{interval[{SLACK}]}}" for moment in latest)


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
