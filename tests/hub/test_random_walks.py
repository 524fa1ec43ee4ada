"""Whatever happens to an event in whatever order, some things are always true of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import RowMapping, text

from dlq_console import ActionNotAllowed, Hub, Policy
from dlq_console.hub import endings
from dlq_console.hub.failures import failure
from dlq_console.settings import read_settings
from dlq_console.store import claims, holding, overdue, transitions
from dlq_console.store.events import Event, read_time
from dlq_console.store.states import ENDED, Reason, Status
from dlq_console.store.transitions import Ending
from tests.store import closing
from tests.store.making import row

POLICY = Policy(max_attempts=3, jitter=0)
CAUSES = [failure("ErpError", message) for message in ("no stock", "no such customer")]

cause = st.sampled_from(CAUSES)

#: The first run's ending that leads to each status; a walk from `running` has none yet.
START = {
    Status.DONE: transitions.completed('"result"'),
    Status.FAILED: transitions.retried(CAUSES[0], delay=5, max_wait=600),
    Status.DEAD: transitions.buried(CAUSES[0], Reason.PERMANENT),
}


class Walk(RuleBasedStateMachine):
    """One event, some workers that may be late, and a person."""

    hub: ClassVar[Hub]
    start: ClassVar[Status]
    numbers: ClassVar[Counter[str]] = Counter()

    @initialize()
    def enqueue(self) -> None:
        self.numbers["events"] += 1
        number = self.numbers["events"]
        self.account = f"account-{number}"
        made = self.hub.enqueue("k", account=self.account, entity_id=str(number), payload=number)
        self.id = made.id
        self.runs: list[Event] = []
        self.before = self._row()
        self.claims = 0
        self.acts = 0
        self.given_back = 0
        self._go_to_the_start()

    def _go_to_the_start(self) -> None:
        """Luck alone would leave some statuses out of some runs."""
        if self.start is Status.DISCARDED:
            self.hub.discard(self.id, actor="maria")
            self.acts += 1
        elif self.start is not Status.PENDING:
            event = claims.claim_one(self.hub.store, self.id, worker="w")
            assert event is not None
            self.claims += 1
            self.runs.append(event)
            ending = START.get(self.start)
            assert ending is None or transitions.end(self.hub.store, event, ending)
        self.before = self._row()
        assert self.before["status"] == self.start

    def _row(self) -> RowMapping:
        return row(self.hub.store, self.id)

    def _ended(self, event: Event, ending: Ending, **how: Any) -> bool:
        """End a run, present or late; only the one that holds the lease may."""
        holds = holding.holds(self.hub.store, event.id, event.lease_epoch)
        lapsed = self.before["lease_until"] is not None and self.before["lease_until"] < self._now()
        ended = transitions.end(self.hub.store, event, ending, **how)
        assert ended == (holds and (lapsed or not how))
        if not ended:
            assert self._row() == self.before
        return ended

    def _now(self) -> Any:
        with self.hub.store.read() as connection:
            at = connection.execute(self.hub.store.statement("SELECT {now}")).scalar_one()
        return read_time(at)

    # Workers

    @rule(by_id=st.booleans())
    def claim(self, by_id: bool) -> None:
        store = self.hub.store
        if by_id:
            found = claims.claim_one(store, self.id, worker="w")
        else:
            found = next(iter(claims.claim_any(store, worker="w", limit=1, only=[self.account])), None)
        if found is None:
            assert self._row() == self.before
            return
        assert found.id == self.id
        assert found.lease_epoch > self.before["lease_epoch"]
        assert self.before["status"] in ("pending", "failed")
        self.claims += 1
        self.runs.append(found)

    @precondition(lambda self: self.runs)
    @rule(data=st.data())
    def complete(self, data: st.DataObject) -> None:
        self._ended(data.draw(st.sampled_from(self.runs)), transitions.completed('"result"'))

    @precondition(lambda self: self.runs)
    @rule(data=st.data(), why=cause)
    def fail(self, data: st.DataObject, why: Any) -> None:
        event = data.draw(st.sampled_from(self.runs))
        self._ended(event, endings.retried_or_exhausted(why, event, POLICY))

    @precondition(lambda self: self.runs)
    @rule(data=st.data(), why=cause)
    def bury(self, data: st.DataObject, why: Any) -> None:
        self._ended(data.draw(st.sampled_from(self.runs)), transitions.buried(why, Reason.PERMANENT))

    @precondition(lambda self: self.runs)
    @rule(data=st.data(), why=st.none() | cause)
    def release(self, data: st.DataObject, why: Any) -> None:
        self.given_back += self._ended(
            data.draw(st.sampled_from(self.runs)), transitions.released(why, delay=5)
        )

    @precondition(lambda self: self.runs)
    @rule(data=st.data())
    def beat(self, data: st.DataObject) -> None:
        event = data.draw(st.sampled_from(self.runs))
        held = holding.holds(self.hub.store, event.id, event.lease_epoch)
        lost = holding.extend(self.hub.store, [(event.id, event.lease_epoch)], lease_seconds=30)
        assert lost == ([] if held else [event.id])

    @precondition(lambda self: self.runs)
    @rule(data=st.data())
    def rescue(self, data: st.DataObject) -> None:
        event = data.draw(st.sampled_from(self.runs))
        self._ended(event, endings.died(event, POLICY), lapsed_only=True)

    # Time, doors and people

    @rule(seconds=st.sampled_from([1, 10, 40, 100, 8 * 86_400]))
    def wait(self, seconds: float) -> None:
        self.hub.clock.advance(seconds)

    @rule(seconds=st.sampled_from([1, 60]))
    def close(self, seconds: float) -> None:
        with self.hub.store.write() as connection:
            closing.close(self.hub.store, connection, "account", self.account, seconds, "asked to wait")

    @rule(why=cause)
    def expire(self, why: Any) -> None:
        if overdue.give_up(self.hub.store, self.id, why):
            assert self.before["status"] in ("pending", "failed")

    @rule(attempts=st.none() | st.integers(1, 4), after=st.sampled_from([0, 30]))
    def reprocess(self, attempts: int | None, after: float) -> None:
        self._act(lambda: self.hub.reprocess(self.id, attempts=attempts, after=after), ("dead",))

    @precondition(lambda self: self.acts or self.claims > 2)
    @rule()
    def discard(self) -> None:
        self._act(lambda: self.hub.discard(self.id, actor="maria"), ("dead", "failed", "pending"))

    def _act(self, act: Callable[[], Event], allowed: tuple[str, ...]) -> None:
        if self.before["status"] in allowed:
            assert act().lease_epoch > self.before["lease_epoch"]
            self.acts += 1
            return
        with pytest.raises(ActionNotAllowed) as refused:
            act()
        assert refused.value.status == self.before["status"]
        assert self._row() == self.before

    # What is always true

    @invariant()
    def keeps_its_promises(self) -> None:
        if not hasattr(self, "id"):
            return
        before, now = self.before, self._row()
        assert now["lease_epoch"] >= before["lease_epoch"]
        assert now["lease_epoch"] == self.claims + self.acts
        assert 0 <= now["attempts"] <= (now["max_attempts"] or POLICY.max_attempts)
        assert now["total_attempts"] == self.claims - self.given_back
        running = now["status"] == Status.RUNNING
        assert (now["lease_owner"] is not None) == (now["lease_until"] is not None) == running
        assert (now["finished_at"] is not None) == (now["status"] in ENDED)
        assert (now["reason"] is not None) == (now["status"] in ("dead", "discarded"))
        if before["status"] in ("done", "discarded"):
            assert now == before
        for name in ("payload", "idempotency_key", "effect_key", "created_at", "account", "kind"):
            assert now[name] == before[name]
        self.before = now

    def teardown(self) -> None:
        if not hasattr(self, "id"):
            return
        with self.hub.store.read() as connection:
            epochs = connection.execute(
                text("SELECT lease_epoch FROM dlq_attempt WHERE event_id = :id"), {"id": self.id}
            ).scalars()
            counted = Counter(epochs)
        # No claim has more than one outcome.
        assert set(counted.values()) <= {1}
        assert len(counted) <= self.claims


@pytest.mark.parametrize("start", [status for status in Status if status is not Status.BLOCKED])
def test_no_walk_breaks_a_promise(sqlite_url: str, start: Status) -> None:
    Walk.start = start
    Walk.hub = hub = Hub(read_settings(database_url=sqlite_url))
    hub.handler("k", policy=POLICY)(lambda event: None)
    hub.publish_kinds("w")

    run_state_machine_as_test(
        Walk,
        settings=settings(
            max_examples=20,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow],
        ),
    )
    hub.close()
