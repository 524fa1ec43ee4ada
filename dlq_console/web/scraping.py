"""What does Prometheus see? The figures of the snapshots, under names that never change; nothing is counted for a scrape.

What is stale is left out rather than told as if it were true; the age of the snapshot is always there, so that its alert
is the one that fires.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate
from typing import Any

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from dlq_console.errors import StoreUnavailable
from dlq_console.health.histograms import BOUNDS_MS
from dlq_console.health.values import AccountHealth, Health
from dlq_console.hub import services
from dlq_console.hub.shown_names import hub_name, shown_name
from dlq_console.store import snapshots, totals
from dlq_console.store.snapshots import Snapshot
from dlq_console.store.store import Store
from dlq_console.store.totals import Totals
from dlq_console.web import health_seen
from dlq_console.web.keeping import Keeper, OfStore

#: Accounts that have series of their own, the first by name; all others are told together under OTHERS.
MOST_ACCOUNTS, OTHERS = 500, "(others)"
#: Services that have series of their own.
MOST_SERVICES = 500
#: Seconds for which sums, and figures of services, are not read again.
KEPT_FOR = 5.0
#: Sums that have not been made for so many seconds are left out.
SUMS_STALE_AFTER = 120.0
#: What the state of a circuit is as a number.
STATES = {"closed": 0, "half_open": 1, "open": 2}
#: Outcomes of `dlq_console_events_total`, and the columns of the sums.
OUTCOMES = {
    "arrived": "arrived",
    "done": "done",
    "retried": "failed",
    "dead": "died",
    "superseded": "superseded",
    "reopened": "reopened",
    "resolved": "resolved",
    "duplicate": "duplicates",
}
DEPTHS = ("due", "scheduled", "paused", "blocked", "running")


@dataclass(frozen=True, slots=True)
class Readings:
    """Everything that is told, as it was read last.

    Attributes:
        health: how accounts stand; None where that is not known, or too old to be told.
        age: seconds since the states were read; infinite where they never were.
        sums: by account; empty where they are too old.
        breakers, bulkheads: of services.
    """

    health: Health | None
    age: float
    sums: dict[str, Totals]
    breakers: Snapshot
    bulkheads: Snapshot


_NO_READINGS = (dict[str, Totals](), snapshots.NOTHING, snapshots.NOTHING)
_keepers: OfStore[Keeper[str, Any]] = OfStore(lambda: Keeper(KEPT_FOR, most=1))


def read(store: Store, accounts: tuple[str, ...] | None = None) -> Readings:
    """What is known now, for somebody who sees these accounts only (None: all). Never fails: what is away is left out."""
    try:
        seen = health_seen.look(store).only(accounts)
        age = seen.health.age if seen.health.as_of else math.inf
        health = None if seen.health.is_stale else seen.health
    except StoreUnavailable:
        health, age = None, math.inf
    try:
        sums, breakers, bulkheads = _keepers.get(store).get("", lambda: _further(store)).value
    except StoreUnavailable:
        sums, breakers, bulkheads = _NO_READINGS
    if accounts is not None:
        # Services belong to no account; who sees some accounts only does not see them.
        sums = {name: one for name, one in sums.items() if name in accounts}
        breakers = bulkheads = snapshots.NOTHING
    if health is None:
        sums, breakers, bulkheads = _NO_READINGS
    return Readings(health, age, sums, breakers, bulkheads)


def _further(store: Store) -> tuple[dict[str, Totals], Snapshot, Snapshot]:
    sums, age = totals.totals(store)
    breakers, bulkheads = (snapshots.look(store, name) for name in (services.BREAKERS, services.BULKHEADS))
    return sums if age < SUMS_STALE_AFTER else {}, breakers, bulkheads


class Figures(Collector):
    """All metrics of one scrape.

    Args:
        readings: what they are made of.
    """

    def __init__(self, readings: Readings) -> None:
        self._readings = readings

    def collect(self) -> Iterator[Metric]:
        """Every family, also where it has no sample now."""
        accounts = _folded(self._readings.health)
        sums = _folded_sums(self._readings.sums)
        yield from _queues(accounts)
        yield _lag(sums)
        yield _events(sums)
        yield _breakers(accounts, self._readings.breakers)
        yield from _bulkheads(accounts, self._readings.bulkheads)
        age = GaugeMetricFamily(
            "dlq_console_snapshot_age_seconds", "Seconds since the states were read; +Inf: never."
        )
        age.add_metric([], self._readings.age)
        yield age


@dataclass
class _Account:
    """One account, or all that are told together."""

    depth: dict[str, int]
    dead: int
    oldest: float
    circuit: int
    slots: int | None

    def with_(self, other: _Account) -> _Account:
        """Both together: numbers are added, the worst of the rest is kept."""
        slots = [one for one in (self.slots, other.slots) if one is not None]
        return _Account(
            {name: self.depth[name] + other.depth[name] for name in DEPTHS},
            self.dead + other.dead,
            max(self.oldest, other.oldest),
            max(self.circuit, other.circuit),
            sum(slots) if slots else None,
        )


def _folded(health: Health | None) -> dict[str, _Account]:
    if health is None or health.as_of is None:
        return {}
    as_of = health.as_of
    return _first({one.account: _account(one, as_of) for one in health.accounts}, _Account.with_)


def _account(one: AccountHealth, as_of: datetime) -> _Account:
    counts = one.counts
    # Behind a closed door nothing is late: a pause must wake nobody.
    since = counts.oldest_due_at if counts.due else None
    return _Account(
        {name: getattr(counts, name) for name in DEPTHS},
        counts.dead,
        0.0 if since is None else max(0.0, (as_of - since).total_seconds()),
        STATES.get(one.circuit, STATES["open"]),
        one.slots,
    )


def _folded_sums(sums: dict[str, Totals]) -> dict[str, Totals]:
    def together(one: Totals, other: Totals) -> Totals:
        return Totals({name: one.sums[name] + other.sums[name] for name in totals.COLUMNS})

    return _first(sums, together)


def _first(values: dict[str, Any], together: Callable[[Any, Any], Any]) -> dict[str, Any]:
    """The first MOST_ACCOUNTS by name, and all others together: a name keeps its series as long as it can."""
    names = sorted(name for name in values if name != OTHERS)
    kept = {name: values[name] for name in names[:MOST_ACCOUNTS]}
    rest = [values[name] for name in names[MOST_ACCOUNTS:]]
    rest += [values[OTHERS]] if OTHERS in values else []
    if rest:
        *others, last = rest
        for one in others:
            last = together(last, one)
        kept[OTHERS] = last
    return kept


def _queues(accounts: dict[str, _Account]) -> Iterable[Metric]:
    depth = GaugeMetricFamily(
        "dlq_console_queue_depth",
        "Events that wait or run, by what they wait for.",
        labels=["account", "state"],
    )
    oldest = GaugeMetricFamily(
        "dlq_console_oldest_due_seconds",
        "How long the first event that could start now has waited; 0 where none could.",
        labels=["account"],
    )
    dead = GaugeMetricFamily("dlq_console_dead_letters", "Events that need a person.", labels=["account"])
    for name, one in accounts.items():
        for state, number in one.depth.items():
            depth.add_metric([name, state], number)
        oldest.add_metric([name], one.oldest)
        dead.add_metric([name], one.dead)
    return depth, oldest, dead


def _lag(sums: dict[str, Totals]) -> Metric:
    lag = HistogramMetricFamily(
        "dlq_console_lag_seconds",
        "Between the moment when an event was due for the first time and its first start.",
        labels=["account"],
    )
    bounds = [repr(bound / 1000) for bound in BOUNDS_MS] + ["+Inf"]
    for name, one in sums.items():
        buckets = list(zip(bounds, map(float, accumulate(one.lag_bins)), strict=True))
        lag.add_metric([name], buckets, one.sums["lag_ms"] / 1000)
    return lag


def _events(sums: dict[str, Totals]) -> Metric:
    events = CounterMetricFamily(
        "dlq_console_events", "What became of events since counting began.", labels=["account", "outcome"]
    )
    for name, one in sums.items():
        for outcome, column in OUTCOMES.items():
            events.add_metric([name, outcome], one.sums[column])
    return events


def _breakers(accounts: dict[str, _Account], of_services: Snapshot) -> Metric:
    state = GaugeMetricFamily(
        "dlq_console_breaker_state", "Circuits: 0 closed, 1 half-open, 2 open.", labels=["name"]
    )
    for name, one in accounts.items():
        state.add_metric([hub_name(name)], one.circuit)
    for service, value in _current(of_services):
        name = shown_name(service, accounts)
        state.add_metric([name], STATES.get(str(value.get("state")), STATES["open"]))
    return state


def _bulkheads(accounts: dict[str, _Account], of_services: Snapshot) -> Iterable[Metric]:
    in_use = GaugeMetricFamily("dlq_console_bulkhead_in_use", "Slots in use.", labels=["name"])
    most = GaugeMetricFamily("dlq_console_bulkhead_max", "Slots there are.", labels=["name"])
    for name, one in accounts.items():
        in_use.add_metric([hub_name(name)], one.depth["running"])
        if one.slots is not None:
            most.add_metric([hub_name(name)], one.slots)
    for service, value in _current(of_services):
        name = shown_name(service, accounts)
        in_use.add_metric([name], value["in_use"])
        most.add_metric([name], value["max"])
    return in_use, most


def _current(of_services: Snapshot) -> Iterable[tuple[str, dict[str, Any]]]:
    """The figures of services, unless they are too old to be told."""
    return [] if of_services.is_stale else list(of_services.values.items())[:MOST_SERVICES]
