"""What does this process know of the state of the installation? Read at most once a second, whoever asks.

One thread reads; the others take what was read last. While the database is away that stays, and only its age grows: it
is never shown as current. So no number of viewers causes more than one statement a second of each process.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from threading import Lock

from dlq_console.clock import monotonic, utc_now
from dlq_console.errors import StoreUnavailable
from dlq_console.health import spelling
from dlq_console.health.spelling import ACCOUNTS, WORKERS, badness, urgency
from dlq_console.health.values import AccountHealth, Health, Word, WorkerState
from dlq_console.store import snapshots
from dlq_console.store.snapshots import Texts
from dlq_console.store.store import Store
from dlq_console.web.keeping import OfStore

#: Seconds for which what was read is not read again.
FRESH_FOR = 1.0


@dataclass(frozen=True, slots=True)
class Seen:
    """The state as it was read last.

    Attributes:
        health: with its age by now.
        version: changes when anything of any account or worker changes; the same in every process.
        away: whether the database could not be asked just now.
        by_name: the same accounts by name.
        worst: how the worst account stands; None where there is none.
    """

    health: Health
    version: str = ""
    away: bool = False
    by_name: Mapping[str, AccountHealth] = field(default_factory=dict)
    worst: Word | None = None

    @property
    def is_doubtful(self) -> bool:
        """Whether this may not be shown as how things stand now."""
        return self.away or self.health.is_stale

    def only(self, accounts: tuple[str, ...] | None) -> Seen:
        """As somebody may see it who sees these accounts; None for all."""
        if accounts is None:
            return self
        visible = {name: self.by_name[name] for name in accounts if name in self.by_name}
        workers = tuple(
            replace(one, accounts=one.accounts and tuple(name for name in one.accounts if name in accounts))
            for one in self.health.workers
        )
        health = replace(self.health, accounts=tuple(sorted(visible.values(), key=urgency)), workers=workers)
        return replace(self, health=health, by_name=visible, worst=_worst(health))


def seen(store: Store) -> Health:
    """How the installation stands, for all accounts, with its age by now.

    Raises:
        StoreUnavailable: the database is away, and was so from the start.
    """
    return look(store).health


def look(store: Store, *, after: datetime | None = None) -> Seen:
    """The same with its version and whether the database is away.

    Args:
        store: the store.
        after: when whoever asks did something, by the clock of this host; what was read before is read again.

    Raises:
        StoreUnavailable: the database is away, and was so from the start.
    """
    return _memories.get(store).look(store, after)


class _Memory:
    """What was read last, parsed; texts that have not changed since are not parsed again."""

    def __init__(self) -> None:
        self._reading = Lock()
        #: With the moment at which it was read.
        self._known: tuple[Seen, float] | None = None
        self._error: StoreUnavailable | None = None
        self._asked_at = -math.inf
        #: The same by the clock of this host, which other processes know too.
        self._asked_on: datetime | None = None
        self._accounts: dict[str, tuple[str, AccountHealth]] = {}
        self._workers: dict[str, tuple[str, WorkerState | None]] = {}

    def look(self, store: Store, after: datetime | None = None) -> Seen:
        """What is known, read again where that is older than FRESH_FOR, or than `after`."""
        waits = self._known is None or not self._is_after(after)
        if not self._is_fresh(after) and self._reading.acquire(blocking=waits):
            try:
                if not self._is_fresh(after):
                    self._ask(store)
            finally:
                self._reading.release()
        # Before anybody has looked there is nothing that could be shown meanwhile.
        if self._known is None or (self._error and self._known[0].health.as_of is None):
            raise self._error or StoreUnavailable("The state of the installation could not be read.")
        known, read_at = self._known
        age = known.health.age + monotonic() - read_at
        return replace(known, health=replace(known.health, age=age), away=self._error is not None)

    def _is_fresh(self, after: datetime | None) -> bool:
        return monotonic() - self._asked_at < FRESH_FOR and self._is_after(after)

    def _is_after(self, moment: datetime | None) -> bool:
        return moment is None or (self._asked_on is not None and self._asked_on >= moment)

    def _ask(self, store: Store) -> None:
        self._asked_on = utc_now()
        try:
            accounts, workers = snapshots.both(store, ACCOUNTS, WORKERS)
        except StoreUnavailable as error:
            self._error = error
        else:
            self._known, self._error = (self._parsed(accounts, workers), monotonic()), None
        # Whoever comes next does not wait for a database that is away either.
        self._asked_at = monotonic()

    def _parsed(self, accounts: Texts, workers: Texts) -> Seen:
        self._accounts = {
            name: self._accounts[name]
            if name in self._accounts and self._accounts[name][0] == text
            else (text, spelling.read_account(name, text))
            for name, text in accounts.values.items()
        }
        self._workers = {
            name: self._workers[name]
            if name in self._workers and self._workers[name][0] == text
            else (text, spelling.read_worker(text))
            for name, text in workers.values.items()
        }
        by_name = {name: account for name, (_, account) in self._accounts.items()}
        health = Health(
            as_of=accounts.taken_at,
            age=accounts.age if accounts.taken_at else 0.0,
            accounts=tuple(sorted(by_name.values(), key=urgency)),
            workers=tuple(one for _, (_, one) in sorted(self._workers.items()) if one is not None),
        )
        return Seen(health, _version(accounts, workers), by_name=by_name, worst=_worst(health))


def _worst(health: Health) -> Word | None:
    return max({one.word for one in health.accounts}, key=badness, default=None)


def _version(*readings: Texts) -> str:
    """What was written last and how many rows there are: a row that goes without another one coming lessens these."""
    return ".".join(
        f"{round(one.changed_at.timestamp() * 1e6) if one.changed_at else 0:x}.{len(one.values):x}"
        for one in readings
    )


_memories = OfStore(_Memory)
