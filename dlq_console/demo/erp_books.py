"""What does the simulated ERP hold: customers, and which effect took place how often?

The proof of a run is here: every effect is counted by the caller's effect key, and every record that is created
(an order, an invoice, a stock move) remembers the first key that created it, so that a caller who changes its key
between two tries is found out as well. One lock guards everything.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from dlq_console.clock import utc_now
from dlq_console.demo.erp_journal import Journal

#: Missing customers remembered per account; the one asked for longest ago makes room.
MISSING_KEPT = 200
#: Refused records remembered per account, likewise.
REFUSALS_KEPT = 2_000


class Outcome(StrEnum):
    """What a valid call did to the books."""

    APPLIED = "applied"
    REPLAYED = "replayed"


@dataclass(frozen=True, slots=True)
class Entry:
    """The answer of the books to one call: what it did, and the ERP's own number for it."""

    outcome: Outcome
    document: str


@dataclass(frozen=True, slots=True)
class MissingCustomer:
    """A customer that a refused call asked for."""

    code: str
    name: str
    #: What was refused last: "orders" or "invoices", and the caller's own code of it.
    resource: str
    wanted_by: str
    times: int
    last_asked: datetime


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a record was refused; `customer` (code, name) where one has to be registered first."""

    text: str
    customer: tuple[str, str] | None = None


class BooksClosed(Exception):
    """The ERP is stopping and takes nothing more."""


@dataclass(slots=True)
class _Account:
    customers: dict[str, str] = field(default_factory=dict)
    #: Effects so far; also the number of the latest document.
    applied: int = 0
    documents: dict[str, str] = field(default_factory=dict)
    effects: Counter[str] = field(default_factory=Counter)
    first_key: dict[str, str] = field(default_factory=dict)
    twice: set[str] = field(default_factory=set)
    doubled: set[str] = field(default_factory=set)
    missing: dict[str, MissingCustomer] = field(default_factory=dict)
    #: Why a record such as "orders 8841" was refused last.
    refusals: dict[str, Refusal] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)


class Books:
    """Everything the simulated ERP knows, per account."""

    def __init__(self, journal: Journal | None = None) -> None:
        self._lock = threading.Lock()
        self._accounts: dict[str, _Account] = {}
        self._closed = False
        for entry in journal.entries() if journal else ():
            self._restore(entry)
        self._journal = journal

    def open_account(self, account: str, customers: Iterable[tuple[str, str]]) -> None:
        """Make sure the account exists and holds these customers (code, name)."""
        with self._lock:
            held = self._account(account)
            held.customers = dict(customers) | held.customers

    def register(self, account: str, code: str, name: str) -> None:
        """Register a customer, or change the name of a registered one.

        Raises:
            BooksClosed: the ERP is stopping.
        """
        with self._lock:
            self._keep(what="register", account=account, code=code, name=name)
            self._register(account, code, name)

    def is_registered(self, account: str, code: str) -> bool:
        """Whether orders of this customer are taken."""
        with self._lock:
            return code in self._account(account).customers

    def apply(
        self,
        account: str,
        key: str,
        *,
        record: str | None = None,
        customer: tuple[str, str] | None = None,
        deduplicates: bool,
    ) -> Entry:
        """Let one effect take place, or recognise it as a repeat.

        Args:
            account: whose books.
            key: the caller's effect key.
            record: what is created, once for all, such as "orders 8841".
            customer: who is registered or changed, as often as one likes: (code, name).
            deduplicates: whether a repeat of the key is recognised; if not, it is a second effect.

        Raises:
            BooksClosed: the ERP is stopping.
        """
        with self._lock:
            held = self._account(account)
            if deduplicates and key in held.effects:
                held.counts[Outcome.REPLAYED] += 1
                return Entry(Outcome.REPLAYED, held.documents[key])
            self._keep(what="apply", account=account, key=key, record=record, customer=customer)
            self._apply(account, key, record, customer)
            return Entry(Outcome.APPLIED, held.documents[key])

    def document_of(self, account: str, record: str) -> str | None:
        """The ERP's number of a record such as "orders 8841"; None where there is no such record."""
        with self._lock:
            held = self._account(account)
            key = held.first_key.get(record)
            return None if key is None else held.documents[key]

    def ask_for(self, account: str, customer: tuple[str, str], resource: str, wanted_by: str) -> None:
        """Remember that a refused call needed a customer (code, name) who is not registered."""
        code, name = customer
        with self._lock:
            missing = self._account(account).missing
            known = missing.pop(code, None)
            times = known.times + 1 if known else 1
            missing[code] = MissingCustomer(code, name, resource, wanted_by, times, utc_now())
            if len(missing) > MISSING_KEPT:
                del missing[next(iter(missing))]

    def refuse(self, account: str, record: str, refusal: Refusal) -> None:
        """Count a refusal, and remember why the record was refused until it is taken."""
        with self._lock:
            held = self._account(account)
            held.counts["refused"] += 1
            held.refusals.pop(record, None)
            held.refusals[record] = refusal
            if len(held.refusals) > REFUSALS_KEPT:
                del held.refusals[next(iter(held.refusals))]

    def refusal_of(self, account: str, record: str) -> Refusal | None:
        """Why a record was refused last; None where it was not, or was taken since."""
        with self._lock:
            return self._account(account).refusals.get(record)

    def count(self, account: str, what: str) -> None:
        """Add one to a counter of the account."""
        with self._lock:
            self._account(account).counts[what] += 1

    def missing(self, account: str) -> list[MissingCustomer]:
        """Customers that refused calls asked for, the latest first."""
        with self._lock:
            return list(self._account(account).missing.values())[::-1]

    def customers(self, account: str) -> dict[str, str]:
        """The registered customers of an account: code to name."""
        with self._lock:
            return dict(self._account(account).customers)

    def effects(self) -> dict[str, dict[str, int]]:
        """How often each effect took place: account to effect key to count."""
        with self._lock:
            return {name: dict(held.effects) for name, held in self._accounts.items()}

    def stats(self) -> dict[str, Any]:
        """The figures of the run so far.

        `applied`, `replayed`, `refused`, `calls`: totals since the process began (`applied` with what the journal
        held). `twice`: "account key" of effects that took place more than once. `doubled`: "account record" of
        records created under two different effect keys. `by_account`: every counter of each account.
        """
        with self._lock:
            by_account = {name: _figures(held) for name, held in self._accounts.items()}
            twice = [f"{name} {key}" for name, held in self._accounts.items() for key in sorted(held.twice)]
            doubled = [
                f"{name} {record}" for name, held in self._accounts.items() for record in sorted(held.doubled)
            ]
        totals = {name: sum(figures[name] for figures in by_account.values()) for name in _TOTALS}
        return totals | {"twice": twice, "doubled": doubled, "by_account": by_account}

    def close(self) -> None:
        """Take no more effects, and close the journal."""
        with self._lock:
            self._closed = True
            if self._journal:
                self._journal.close()

    def _account(self, account: str) -> _Account:
        return self._accounts.setdefault(account, _Account())

    def _register(self, account: str, code: str, name: str) -> None:
        held = self._account(account)
        held.customers[code] = name
        held.missing.pop(code, None)

    def _apply(self, account: str, key: str, record: str | None, customer: Sequence[str] | None) -> None:
        held = self._account(account)
        held.applied += 1
        held.documents[key] = f"{account}/{held.applied}"
        held.effects[key] += 1
        if held.effects[key] > 1:
            held.twice.add(key)
        if record and held.first_key.setdefault(record, key) != key:
            held.doubled.add(record)
        if record:
            held.refusals.pop(record, None)
        if customer:
            self._register(account, *customer)

    def _keep(self, **entry: Any) -> None:
        # Written down first: what the caller is told to have happened must be there after a restart.
        if self._closed:
            raise BooksClosed
        if self._journal:
            self._journal.append(**entry)

    def _restore(self, entry: dict[str, Any]) -> None:
        account = entry["account"]
        if entry["what"] == "register":
            self._register(account, entry["code"], entry["name"])
        else:
            self._apply(account, entry["key"], entry["record"], entry["customer"])


#: Counters summed over all accounts in `stats()`.
_TOTALS = ("calls", "applied", "replayed", "refused")


def _figures(held: _Account) -> dict[str, int]:
    return dict.fromkeys(_TOTALS, 0) | dict(held.counts) | {"applied": held.applied}
