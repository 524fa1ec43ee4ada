"""How does the installation stand now? Looked at every two seconds by one step, so that no viewer causes a look.

`look` reads doors and workers and judges every account; `count` counts events, `roll_up` makes the minutes. What they find
lies in the store as readings: one row per account and per worker, and all counts and flows in one value each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from dlq_console.health import spelling
from dlq_console.health.evaluate import Standing, evaluate
from dlq_console.health.spelling import ACCOUNTS, COUNTS, FLOWS, WORKERS
from dlq_console.health.values import REMEMBERED, Closing, Counts, Flow, Former, Health, Word, WorkerState
from dlq_console.hub.core import HubCore
from dlq_console.redact import redact_text
from dlq_console.resilience.breaker import rules
from dlq_console.resilience.breaker.record import BLANK
from dlq_console.store import doors, flows, presence, rollups, sampling, snapshots
from dlq_console.store.claims import fair_share
from dlq_console.store.doors import NEVER, Door
from dlq_console.store.internal import OWN_ACCOUNT
from dlq_console.store.limits import NO_LIMITS, KindLimits, read_limits
from dlq_console.store.store import Store

#: The name of the one value in which the counts, and the flows, of all accounts lie; and of the kinds that are next in line.
TOGETHER, AHEAD = "all", "ahead"
#: Accounts of which only figures have changed that are written at one look; the others follow at the next ones, those that
#: were written longest ago first. What is written must stay under 1 GB of write-ahead log a day, whatever moves, with the
#: images of pages after checkpoints: 0.2 GB and 18 MB for each of these, so that all of 1,000 accounts, should they move at
#: once, are there after a minute. A word, a reason or a door that has changed is always written at once.
MOST_FIGURES = 30
#: Fields of an account that are figures.
_FIGURES = frozenset({"counts", "flow", "drain", "figure"})


def look(hub: HubCore) -> int:
    """Judge every account as it stands now; returns how many accounts and workers have changed."""
    store = hub.store
    former = snapshots.look(store, ACCOUNTS)
    health = judged(store, former.values)
    values = _spared(spelling.kept_values(health), former.values, former.changed_at)
    return snapshots.keep(store, ACCOUNTS, values, former=former.values) + snapshots.keep(
        store, WORKERS, spelling.worker_values(health)
    )


def count(hub: HubCore) -> int:
    """Count the events of every account; returns of how many there are any."""
    found = sampling.count(hub.store)
    keep_counts(hub.store, found)
    return len(found) - 1


def keep_counts(store: Store, found: Mapping[str, sampling.Sampled]) -> None:
    """Write down what was counted, for the next looks."""
    ahead = {name: one.ahead for name, one in found.items() if one.ahead}
    snapshots.keep(store, COUNTS, {TOGETHER: spelling.counts_value(found), AHEAD: ahead})


def roll_up(hub: HubCore) -> int:
    """Make the minutes that are new or may have changed; returns how many rows were written."""
    written = rollups.roll_up(hub.store)
    found, _ = flows.flows(hub.store)
    snapshots.keep(hub.store, FLOWS, {TOGETHER: spelling.flows_value(found)})
    return written


def judge_again(store: Store, account: str | None = None) -> None:
    """Bring up to date how an account stands, or all do: somebody has just acted upon its door.

    The reading becomes no younger: where no step looks any more, that is still said.
    """
    former = snapshots.look(store, ACCOUNTS)
    if former.taken_at is None:
        return
    values = spelling.kept_values(judged(store, former.values, only=account))
    changed = {name: value for name, value in values.items() if value != former.values.get(name)}
    snapshots.mend(store, ACCOUNTS, changed)


def judged(store: Store, former: Mapping[str, Any], *, only: str | None = None) -> Health:
    """Every account as it stands now.

    Args:
        store: the store.
        former: how the accounts were judged last, as values by name.
        only: this account alone, whether or not anything is known of it; None for all.
    """
    counted, flowed = snapshots.look(store, COUNTS), snapshots.look(store, FLOWS)
    counts = spelling.read_counts(counted.values.get(TOGETHER))
    moved = spelling.read_flows(flowed.values.get(TOGETHER))
    workers = presence.every_worker(store)
    room = _room(workers)
    found = _doors_by_account(store, counted.values.get(AHEAD) or {})
    now = datetime.fromtimestamp(found.now, UTC)
    names = counts.keys() | moved.keys() | found.doors.keys()
    names |= {name for name in former.keys() - names if _was_ill(spelling.read_former(former[name]), now)}
    standings = {
        name: _standing(
            name, found, counts.get(name), moved.get(name), room(name), spelling.read_former(former.get(name))
        )
        for name in (names - {sampling.ALL, OWN_ACCOUNT} if only is None else {only})
    }
    return evaluate(standings, workers, now=now, counted_at=counted.taken_at)


def _was_ill(former: Former | None, now: datetime) -> bool:
    """Whether it must still be known when an account ceased to stand badly, though it has nothing to do."""
    if former is None:
        return False
    return former.word is not Word.OK or any(now - at < REMEMBERED for _, at in former.left)


@dataclass(slots=True, kw_only=True)
class _Doors:
    """What lets the work of accounts through.

    Attributes:
        now: the database's time in seconds since 1970.
        doors: of each account and of its kinds.
        providers: doors that several accounts share, by the name of the provider.
        slots: how many events may run at once, where that was set.
        kinds: what limits the events of each kind.
        ahead: the kind that is next in line in each account.
    """

    now: float
    doors: dict[str, list[Door]] = field(default_factory=dict)
    providers: dict[str, Door] = field(default_factory=dict)
    slots: Mapping[str, int]
    kinds: Mapping[str, KindLimits]
    ahead: Mapping[str, str]

    def limits(self, account: str) -> KindLimits:
        """Those of the kind that is next in line."""
        return self.kinds.get(self.ahead.get(account, ""), NO_LIMITS)


def _doors_by_account(store: Store, ahead: Mapping[str, str]) -> _Doors:
    with store.read() as connection:
        kinds = read_limits(store, connection)
    found = _Doors(now=doors.present(store), slots=doors.set_limits(store), kinds=kinds, ahead=ahead)
    for door, _ in doors.read_eventful(store):
        if door.scope.account:
            found.doors.setdefault(door.scope.account, []).append(door)
        elif door.scope.type == "provider":
            found.providers[door.scope.name] = door
    return found


def _closing_of(name: str, found: _Doors, own: Door | None) -> Closing | None:
    """What keeps an account closed: its own door, or that of the provider to which what is next in line goes."""
    closing = _closing(own, found.now) if own else None
    shared = found.providers.get(found.limits(name).provider or "")
    if closing is not None or shared is None:
        return closing
    by_provider = _closing(shared, found.now)
    # What is said of a provider may name others of its accounts.
    return by_provider and replace(by_provider, reason=None)


def _limit_of(name: str, found: _Doors) -> float | None:
    """Calls a minute that the provider allows the account for what is next in line."""
    limits = found.limits(name)
    rates = [one.per_minute for one in (limits.account, limits.method) if one.per_minute is not None]
    return min(rates, default=None)


def _standing(
    name: str,
    found: _Doors,
    counts: Counts | None,
    flow: Flow | None,
    room: int | None,
    former: Former | None,
) -> Standing:
    mine = found.doors.get(name, [])
    whole = next((door for door in mine if door.scope.type == "account"), None)
    parts = [door for door in mine if door.scope.type != "account"]
    circuit = whole.circuit if whole else BLANK
    return Standing(
        closing=_closing_of(name, found, whole),
        partly=next((closing for door in parts if (closing := _closing(door, found.now))), None),
        # An account of which nothing was counted has nothing; whether anything was counted at all is judged apart.
        counts=counts,
        flow=flow or Flow(),
        slots=found.slots.get(name, room),
        limit_per_minute=_limit_of(name, found),
        circuit=str(rules.effective_state(circuit, found.now)),
        circuit_forced=rules.standing_override(circuit, found.now) is not None,
        former=former,
    )


def _closing(door: Door, now: float) -> Closing | None:
    """The longest cause that keeps a door closed."""
    standing = doors.causes(door, now)
    if not standing:
        return None
    longest = standing[0]
    return Closing(
        cause=longest.name,
        since=_moment(_since(door, longest.name)),
        until=None if longest.until >= NEVER else _moment(longest.until),
        reason=redact_text(longest.reason) or None,
        by=_by(door, longest.name, now),
    )


def _since(door: Door, cause: str) -> float | None:
    if cause in ("pause", "auth") and door.pause is not None:
        return door.pause.since
    return door.closed_since


def _by(door: Door, cause: str, now: float) -> str | None:
    if cause in ("pause", "auth"):
        return door.pause.by if door.pause else None
    # A circuit that a person holds closed keeps no door closed.
    override = rules.standing_override(door.circuit, now) if cause == "circuit" else None
    return override.actor if override else None


def _room(workers: Iterable[WorkerState]) -> Callable[[str], int | None]:
    """Tells how many events of an account may run at once where that was not set; None where nothing runs any."""
    everywhere, own = 0, Counter[str]()
    for worker in workers:
        if worker.alive and worker.accounts is None:
            everywhere += worker.slots
        elif worker.alive and worker.accounts is not None:
            own.update(dict.fromkeys(worker.accounts, worker.slots))

    def room(account: str) -> int | None:
        total = everywhere + own[account]
        return fair_share(total) if total else None

    return room


def _moment(seconds: float | None) -> datetime | None:
    return None if seconds is None or seconds <= 0 else datetime.fromtimestamp(seconds, UTC)


def _spared(
    values: dict[str, Any], former: Mapping[str, Any], changed_at: Mapping[str, datetime]
) -> dict[str, Any]:
    """The values to write: those of which only figures have changed wait for their turn."""
    waiting = [
        name
        for name, value in values.items()
        if name in former and value != former[name] and _told(value) == _told(former[name])
    ]
    waiting.sort(key=lambda name: changed_at[name])
    return values | {name: former[name] for name in waiting[MOST_FIGURES:]}


def _told(value: Mapping[str, Any]) -> dict[str, Any]:
    return {name: one for name, one in value.items() if name not in _FIGURES}
