"""How does a test of bulk runs get many dead letters? By a handler that refuses until its customer is registered."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import RowMapping, select

from dlq_console import Event, Hub, NewEvent, PermanentError, Policy
from dlq_console.hub import bulk_progress
from dlq_console.hub.bulk import BulkRun
from dlq_console.store.filters import EventFilter

KIND = "order.create"
EVERYTHING = EventFilter()
#: More than enough turns for any of these runs; each test's run ends long before.
MANY = 200


class Line:
    """A hub whose handler refuses every event until `registered`, or as `errors` says for its number."""

    def __init__(self, hub: Hub) -> None:
        self.hub = hub
        self.registered = False
        #: Entity -> what the handler says although the customer is registered.
        self.errors: dict[str, str] = {}
        self.ran: list[str] = []
        self.handle(KIND)

    def handle(self, kind: str, **policy: Any) -> None:
        """Give a kind the same handler."""
        self.hub.handler(kind, policy=Policy(**policy))(self._run)

    def dead(self, entities: Iterable[object], *, kind: str = KIND, **values: Any) -> list[int]:
        """Dead events, one per entity, in that order."""
        was, self.registered = self.registered, False
        fields = {"kind": kind, "account": "filial-sp", "payload": {}} | values
        made = self.hub.enqueue_many(NewEvent(entity_id=str(entity), **fields) for entity in entities)
        self.hub.run_due(limit=10_000)
        self.registered = was
        self.ran.clear()
        return [each.id for each in made]

    def start(self, flt: EventFilter = EVERYTHING, *, action: str = "reprocess", **values: Any) -> int:
        """Begin a run; returns its id."""
        return self.hub.bulk.start(action, flt, **({"actor": "maria", "note": "fixed"} | values))

    def turn(self) -> int:
        """One turn of every run."""
        return bulk_progress.advance(self.hub)

    def freeze(self, run_id: int) -> BulkRun:
        """Turn until the selection of a run is written down; nothing has been let go then."""
        for _ in range(MANY):
            if self.hub.bulk.get(run_id).frozen_at is not None:
                break
            self.turn()
        run = self.hub.bulk.get(run_id)
        assert run.frozen_at is not None, run
        return run

    def finish(self, run_id: int) -> BulkRun:
        """Run events and turn, in turns, until a run is over or stands still."""
        for _ in range(MANY):
            if _stands(run := self.hub.bulk.get(run_id)):
                return run
            self.turn()
            self.hub.run_due(limit=10_000)
        raise AssertionError(f"run {run_id} came to no end")

    def statuses(self, ids: Iterable[int]) -> list[str]:
        return [self.hub.get(event_id).status for event_id in ids]

    def acts(self, run_id: int) -> list[RowMapping]:
        """The audit rows of a run, in order."""
        audit = self.hub.store.tables.audit
        with self.hub.store.read() as connection:
            rows = connection.execute(select(audit).where(audit.c.bulk_id == run_id).order_by(audit.c.id))
            return list(rows.mappings())

    def _run(self, event: Event) -> None:
        self.ran.append(event.entity_id)
        if not self.registered:
            raise PermanentError("Customer 5521 is not registered.")
        if event.entity_id in self.errors:
            raise PermanentError(self.errors[event.entity_id])


def _stands(run: BulkRun) -> bool:
    return run.finished_at is not None or (run.state in ("paused", "stopped") and not run.released)
