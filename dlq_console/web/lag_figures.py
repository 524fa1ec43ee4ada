"""How far is each account behind, for programs? From the snapshot that everybody reads; asking causes no look."""

from __future__ import annotations

from typing import Any

from dlq_console.health.values import AccountHealth, Health
from dlq_console.store.people import Person


def every_lag(health: Health, asking: Person) -> dict[str, dict[str, Any]]:
    """The figures of every account that may be seen, by name; durations in seconds, rates in events per minute."""
    return {one.account: _figures(one, health) for one in health.accounts if asking.sees(one.account)}


def _figures(one: AccountHealth, health: Health) -> dict[str, Any]:
    counts, flow = one.counts, one.flow
    oldest = None
    if counts.oldest_due_at is not None and health.as_of is not None:
        oldest = max(0.0, (health.as_of - counts.oldest_due_at).total_seconds())
    return {
        "lag_p50": flow.lag_p50,
        "lag_p95": flow.lag_p95,
        "oldest_due": oldest,
        "due": counts.due,
        "scheduled": counts.scheduled,
        "paused": counts.paused,
        "blocked": counts.blocked,
        "running": counts.running,
        "capped": list(counts.capped),
        "arrivals_per_minute": flow.arrivals,
        "completions_per_minute": flow.completions,
        "minutes": flow.minutes,
        "drain_seconds": one.drain.seconds,
        "drain_bound": one.drain.bound,
        "as_of": health.as_of,
        "stale": health.is_stale,
    }
