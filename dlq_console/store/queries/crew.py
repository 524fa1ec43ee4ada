"""Which workers are there, what do they run at this moment, and who runs the periodic steps?"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Row

from dlq_console.health.values import WorkerState
from dlq_console.store.events import read_time
from dlq_console.store.internal import PREFIX
from dlq_console.store.presence import every_worker
from dlq_console.store.present import present
from dlq_console.store.store import Store

#: Most running events that are read.
MOST_RUNNING = 5_000

RUNNING = f"""
SELECT id, kind, account, entity_id, lease_owner, started_at,
    CASE WHEN lease_until < {{now}} THEN 1 ELSE 0 END AS late
FROM {{event}} WHERE status = 'running' ORDER BY account, lease_until, id LIMIT {MOST_RUNNING}
"""
STEPS = "SELECT name, owner, lease_until, last_run_at, last_error FROM {step} ORDER BY name"


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """One event that runs; `late` where its lease is over, so that it will be taken from its worker.

    `internal` is a small job of the hub's own, which has no page.
    """

    id: int
    kind: str
    account: str
    entity_id: str
    worker: str
    since: datetime | None
    late: bool
    internal: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRun:
    """A periodic step: who leads it, when it ran last, and what went wrong then, if anything."""

    name: str
    owner: str | None
    last_run_at: datetime | None
    last_error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Crew:
    """Everybody at work as of `at`, the database's time, the living first; `capped` where more events run than were read."""

    at: datetime
    workers: tuple[WorkerState, ...]
    running: tuple[Running, ...]
    steps: tuple[StepRun, ...]
    capped: bool = False

    @property
    def last_step_at(self) -> datetime | None:
        """When anybody ran any step last; None: never."""
        return max((step.last_run_at for step in self.steps if step.last_run_at), default=None)

    @property
    def slots(self) -> int:
        """How many events all living workers together can run at once."""
        return sum(worker.slots for worker in self.workers if worker.alive)

    def serves(self, account: str) -> bool:
        """Whether a living worker runs events of an account."""
        return any(
            worker.alive and worker.slots and (worker.accounts is None or account in worker.accounts)
            for worker in self.workers
        )


def crew(store: Store) -> Crew:
    """Workers, running events and steps as they stand, in four short statements."""
    with store.read() as connection:

        def read(template: str) -> list[Row[Any]]:
            return list(connection.execute(store.statement(template)))

        running, steps = read(RUNNING), read(STEPS)
        at = present(store, connection)
    return Crew(
        at=at,
        workers=tuple(
            sorted(every_worker(store), key=lambda one: (not one.alive, one.host, one.pid, one.worker))
        ),
        running=tuple(_running(row) for row in running),
        steps=tuple(
            StepRun(
                name=row.name,
                owner=row.owner,
                last_run_at=read_time(row.last_run_at),
                last_error=row.last_error,
            )
            for row in steps
        ),
        capped=len(running) >= MOST_RUNNING,
    )


def _running(row: Row[Any]) -> Running:
    return Running(
        id=row.id,
        kind=row.kind,
        account=row.account,
        entity_id=row.entity_id,
        worker=row.lease_owner or "",
        since=read_time(row.started_at),
        late=bool(row.late),
        internal=row.kind.startswith(PREFIX),
    )
