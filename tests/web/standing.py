"""How does a test say how accounts stand? As the step that looks would have written it down just now."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from dlq_console.clock import utc_now
from dlq_console.health.spelling import ACCOUNTS, account_values
from dlq_console.health.values import AccountHealth, Closing, Counts, Drain, Flow, Health, Why, Word
from dlq_console.store import snapshots
from tests.web.desk import Desk

#: Whatever an account has that is nobody's business: it stands in every field that a frame does not tell.
CANARY = "c4n4ry"
VOLUME = 73_313


def account(name: str, word: Word = Word.OK, **more: Any) -> AccountHealth:
    values: dict[str, Any] = {"since": utc_now() - timedelta(hours=1), "why": Why.FINE} | more
    return AccountHealth(account=name, word=word, **values)


def blocked(name: str = "filial-rj") -> AccountHealth:
    """One that has everything in it that is not to be told."""
    counts = dict.fromkeys(
        ("due", "scheduled", "paused", "blocked", "running", "dead", "stopped_lanes"), VOLUME
    )
    return account(
        name,
        Word.BLOCKED,
        why=Why.PROVIDER,
        figure=float(VOLUME),
        closing=Closing(cause="provider", until=utc_now(), reason=f"reason {CANARY}", by=f"by {CANARY}"),
        counts=Counts(**counts, oldest_due_at=utc_now() - timedelta(minutes=18), capped=("due",)),
        flow=Flow(minutes=15, arrivals=VOLUME, completions=VOLUME, done=VOLUME, died=VOLUME, lag_p95=400),
        drain=Drain(seconds=1_000, bound="pace"),
        slots=VOLUME,
        circuit="open",
        circuit_forced=True,
    )


def look(desk: Desk, *accounts: AccountHealth) -> None:
    """What the step that looks has written down just now."""
    snapshots.keep(desk.hub.store, ACCOUNTS, account_values(Health(accounts=accounts)))
