"""What do all processes together show? Read from a shared state, for a health page or a snapshot; nothing is changed."""

from __future__ import annotations

from typing import Any

from dlq_console.resilience import queue_rules
from dlq_console.resilience.breaker import BREAKERS
from dlq_console.resilience.breaker.figures import figures as breaker_figures
from dlq_console.resilience.bulkhead import BULKHEADS
from dlq_console.resilience.bulkhead.rules import figures as bulkhead_figures
from dlq_console.resilience.queue_rules import QUEUES
from dlq_console.resilience.state import SharedState
from dlq_console.resilience.tallies import TALLIES

#: What is counted of each, in the order in which it is shown.
COUNTED = {
    "breaker": ("calls", "successes", "failures", "ignored", "short_circuits"),
    "bulkhead": ("calls", "rejected", "timeouts", "overran"),
    "queue": ("refused",),
}


def breakers(state: SharedState) -> dict[str, dict[str, Any]]:
    """Every circuit of the state by name, with the counts of all processes.

    Raises:
        StoreUnavailable: the state cannot be reached.
    """
    records, now = state.read_all(BREAKERS)
    counts = _counts(state, "breaker")
    # A circuit that has never failed has no record, only counts.
    names = sorted({*records, *counts})
    return {
        name: {**breaker_figures(records.get(name), now), **_all(counts, "breaker", name)} for name in names
    }


def bulkheads(state: SharedState) -> dict[str, dict[str, Any]]:
    """Every bulkhead of the state by name, with the counts of all processes.

    Raises:
        StoreUnavailable: the state cannot be reached.
    """
    records, now = state.read_all(BULKHEADS)
    counts = _counts(state, "bulkhead")
    return {
        name: {**bulkhead_figures(record, now), **_all(counts, "bulkhead", name)}
        for name, record in sorted(records.items())
    }


def queues(state: SharedState) -> dict[str, dict[str, Any]]:
    """Every recovery queue of the state by name.

    Raises:
        StoreUnavailable: the state cannot be reached.
    """
    records, now = state.read_all(QUEUES)
    counts = _counts(state, "queue")
    return {
        name: {**queue_rules.figures(record, now), **_all(counts, "queue", name)}
        for name, record in sorted(records.items())
    }


def _counts(state: SharedState, kind: str) -> dict[str, dict[str, int]]:
    prefix = f"{kind} "
    sums, _ = state.read_all(TALLIES)
    return {name.removeprefix(prefix): dict(each) for name, each in sums.items() if name.startswith(prefix)}


def _all(counts: dict[str, dict[str, int]], kind: str, name: str) -> dict[str, int]:
    return {counted: counts.get(name, {}).get(counted, 0) for counted in COUNTED[kind]}
