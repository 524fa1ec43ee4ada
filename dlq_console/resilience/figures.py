"""What do all processes together have in a shared state? For a health page or a snapshot; nothing is changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic

from dlq_console.resilience.breaker import BREAKERS, BreakerRecord
from dlq_console.resilience.breaker.record import BLANK
from dlq_console.resilience.bulkhead import BULKHEADS, BulkheadRecord
from dlq_console.resilience.state import Record, SharedState
from dlq_console.resilience.tallies import TALLIES

#: What is counted of each, in the order in which it is shown.
COUNTED = {
    "breaker": ("calls", "successes", "failures", "ignored", "short_circuits"),
    "bulkhead": ("calls", "rejected", "timeouts", "overran"),
}


@dataclass(frozen=True, slots=True)
class Shown(Generic[Record]):
    """One thing of the state: its record, and what all processes have counted of it."""

    record: Record
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Figures:
    """Everything by name, and the time of the state."""

    breakers: Mapping[str, Shown[BreakerRecord]]
    bulkheads: Mapping[str, Shown[BulkheadRecord]]
    now: float


def read_figures(state: SharedState) -> Figures:
    """Every circuit and bulkhead of the state.

    Raises:
        StoreUnavailable: the state cannot be reached.
    """
    circuits, now = state.read_all(BREAKERS)
    rooms, _ = state.read_all(BULKHEADS)
    sums, _ = state.read_all(TALLIES)
    counted = _by_name(sums, "breaker")
    # A circuit that has never failed has no record, only counts.
    breakers = {name: circuits.get(name, BLANK) for name in sorted({*circuits, *counted})}
    return Figures(
        {name: Shown(record, _all(sums, "breaker", name)) for name, record in breakers.items()},
        {name: Shown(record, _all(sums, "bulkhead", name)) for name, record in sorted(rooms.items())},
        now,
    )


def read_breaker(state: SharedState, name: str) -> Shown[BreakerRecord] | None:
    """One circuit; None where nobody has used it.

    Raises:
        StoreUnavailable: the state cannot be reached.
    """
    record = state.read(BREAKERS, name).record
    sums, _ = state.read_all(TALLIES, [f"breaker {name}"])
    return Shown(record or BLANK, _all(sums, "breaker", name)) if record is not None or sums else None


def _by_name(sums: Mapping[str, Mapping[str, int]], kind: str) -> set[str]:
    prefix = f"{kind} "
    return {name.removeprefix(prefix) for name in sums if name.startswith(prefix)}


def _all(sums: Mapping[str, Mapping[str, int]], kind: str, name: str) -> dict[str, int]:
    counts = sums.get(f"{kind} {name}", {})
    return {counted: counts.get(counted, 0) for counted in COUNTED[kind]}
