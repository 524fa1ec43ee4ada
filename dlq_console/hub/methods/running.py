"""How are events run in this very process, without a worker?"""

from __future__ import annotations

from dlq_console.hub import expiry
from dlq_console.hub.execution import run_claimed
from dlq_console.hub.heartbeat import kept_alive
from dlq_console.hub.methods.base import HubBase, check_id
from dlq_console.store import claims, lanes
from dlq_console.store.events import Event


class RunMethods(HubBase):
    """Running what is due, here and now."""

    def run(self, event_id: int) -> Event:
        """Run one due event in this process and return it as it is afterwards.

        An event that is not due, or that another worker has, is returned as it is. Time limits need a worker: here
        only async handlers are stopped.

        Raises:
            EventNotFound: there is no such event.
            TypeError: the id is no whole number.
        """
        check_id(event_id)
        self._kinds.publish_new(self.worker)
        event = claims.claim_one(
            self.store, event_id, worker=self.worker, lease_seconds=self.settings.lease_seconds
        )
        if event is not None:
            self._run(event)
        return self.get(event_id)

    def run_due(self, limit: int = 100) -> int:
        """Run up to `limit` due events in this process, one after the other; returns how many were run.

        What was not started in time is buried first, and lanes that nothing holds up any more are let go.
        """
        self._kinds.publish_new(self.worker)
        expiry.bury_overdue(self.store)
        lanes.promote_waiting(self.store)
        ran = 0
        while ran < limit:
            events = claims.claim_any(
                self.store, worker=self.worker, limit=1, lease_seconds=self.settings.lease_seconds
            )
            if not events:
                break
            for event in events:
                self._run(event)
                ran += 1
        return ran

    def _run(self, event: Event) -> None:
        with kept_alive(self.store, event, self.settings.lease_seconds):
            run_claimed(self.store, self.registry, event)
