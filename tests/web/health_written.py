"""How does a test of the health pages let accounts stand? By writing down what a step would have found."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import update

from dlq_console.clock import utc_now
from dlq_console.health import spelling
from dlq_console.health.values import AccountHealth, Closing, Counts, Drain, Flow, Health, Why, Word
from dlq_console.store import snapshots
from dlq_console.store.store import Store


def account(name: str, word: Word = Word.OK, why: Why = Why.FINE, **more: Any) -> AccountHealth:
    """An account that has stood like that for an hour."""
    since = more.pop("since", utc_now() - timedelta(hours=1))
    return AccountHealth(account=name, word=word, since=since, why=why, **more)


def blocked(name: str, *, until: datetime | None = None, **more: Any) -> AccountHealth:
    """An account that its provider has blocked, with 212 events behind the door."""
    now = utc_now()
    closing = Closing(
        cause="provider", since=now, until=until or now + timedelta(minutes=20), reason="Consumo indevido"
    )
    counts = Counts(paused=212, running=4, dead=3, oldest_due_at=now - timedelta(minutes=18))
    values = {"closing": closing, "counts": counts, "drain": Drain(seconds=1_620.0, bound="door"), "slots": 4}
    return account(name, Word.BLOCKED, Why.PROVIDER, **(values | more))


def stand(store: Store, *accounts: AccountHealth) -> None:
    """Write down that they stand like that now."""
    health = Health(as_of=utc_now(), accounts=accounts)
    snapshots.keep(store, spelling.ACCOUNTS, spelling.account_values(health))
    snapshots.keep(store, spelling.WORKERS, {})


def nobody_looked_for(store: Store, seconds: float) -> None:
    """Let the last look have been so long ago."""
    table = store.tables.snapshot
    with store.write() as connection:
        connection.execute(
            update(table).where(table.c.name == "").values(changed_at=utc_now() - timedelta(seconds=seconds))
        )


def of_every_kind() -> list[AccountHealth]:
    """Accounts that stand in every way there is."""
    now = utc_now()
    late = Counts(due=1_200, capped=("due",), oldest_due_at=now - timedelta(hours=2))
    dying = Counts(due=20, dead=8, running=2, oldest_due_at=now - timedelta(seconds=50))
    return [
        blocked("filial-rj", flow=Flow(minutes=5, lag_p95=1_080.0)),
        account("filial-sp", slots=4, counts=Counts(running=1), flow=Flow(minutes=5, lag_p95=2.1)),
        account("filial-pe", Word.DOWN, Why.NO_WORKER, counts=late, drain=Drain(bound="pace")),
        account(
            "filial-mg", Word.DEGRADED, Why.DYING, figure=42.0, counts=dying, flow=Flow(minutes=5, died=8)
        ),
        account("filial-ba", Word.UNKNOWN, Why.NOT_SEEN),
    ]
