"""What is shown of a circuit? Computed from its record and the time alone; looking changes nothing."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from dlq_console.resilience.breaker import rules
from dlq_console.resilience.breaker.record import BLANK, BreakerRecord, CircuitState
from dlq_console.resilience.leases import settled


def figures(record: BreakerRecord | None, now: float) -> dict[str, Any]:
    """A circuit as JSON would say it; times in seconds since 1970, spans in seconds."""
    record = record or BLANK
    override = rules.standing_override(record, now)
    state = rules.effective_state(record, now)
    return {
        "state": state.value,
        "computed_state": rules.computed_state(record, now).value,
        "since": record.since or None,
        "generation": record.generation,
        "consecutive_failures": record.failures,
        "last_failure": record.last_failure or None,
        "probe_successes": record.successes,
        "probes": len(settled(record.probes, now)),
        "retry_after": _left(record, state, now),
        "reopened": record.reopened,
        "override": None if override is None else {**asdict(override), "position": override.position.value},
        "history": [
            {**asdict(each), "before": each.before.value, "after": each.after.value}
            for each in record.history
        ],
    }


def _left(record: BreakerRecord, state: CircuitState, now: float) -> float | None:
    """Seconds until the next probe of an open circuit."""
    override = rules.standing_override(record, now)
    if override is not None:
        is_open = state is CircuitState.OPEN
        return override.until - now if is_open and override.until is not None else None
    return record.open_until - now if state is CircuitState.OPEN else None
