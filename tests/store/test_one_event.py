"""Does the event page get everything about one event, and the true reason why it does not run?"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from dlq_console.clock import utc_now
from dlq_console.resilience.breaker import CircuitState
from dlq_console.resilience.pacing import ErrorBudget, Limits, Pace
from dlq_console.store import door_acts, doors, queries, scopes
from dlq_console.store.doors import Door
from dlq_console.store.limits import KindLimits, encode
from dlq_console.store.queries.events import MAX_HISTORY
from dlq_console.store.scope_names import ScopeType, account_scope, method_name, method_scope
from dlq_console.store.store import Store
from tests.store import closing
from tests.store.filling import fill, put


def one(store: Store, **values: Any) -> int:
    return fill(store, [{"status": "pending"} | values])[0]


def publish(store: Store, kind: str, provider: str | None = None, limits: str | None = None) -> None:
    put(
        store,
        "kind",
        name=kind,
        policy="{}",
        max_attempts=6,
        timeout=60.0,
        provider=provider,
        limits=limits,
        published_at=utc_now(),
    )


def live_worker(store: Store, accounts: list[str] | None = None, silent_for: float = 0) -> None:
    put(
        store,
        "worker",
        id=f"worker-{accounts}-{silent_for}",
        mode="table",
        host="here",
        pid=1,
        version="1",
        slots=4,
        accounts=None if accounts is None else json.dumps(accounts),
        state="running",
        started_at=utc_now(),
        heartbeat_at=utc_now() - timedelta(seconds=silent_for),
    )


def close(store: Store, type_: ScopeType, name: str, seconds: float) -> None:
    with store.write() as connection:
        closing.close(store, connection, type_, name, seconds, "too many calls")


def waits(store: Store, event_id: int) -> tuple[str | None, datetime | None]:
    event = queries.get_event(store, event_id)
    assert event is not None
    return event.waiting_for, event.waiting_until


def test_an_event_is_read_with_payload_and_result(store: Store) -> None:
    event_id = one(
        store, status="done", payload='{"price":12.50,"exact":0.1000000000000000000001}', result='{"id":7}'
    )
    event = queries.get_event(store, event_id)
    assert event is not None
    assert event.payload == {"price": 12.5, "exact": Decimal("0.1000000000000000000001")}
    assert (event.result, event.queue, event.max_attempts) == ({"id": 7}, "erp.filial-sp", 6)
    assert event.created_at.tzinfo is not None
    assert event.created_at.utcoffset() == timedelta(0)


@pytest.mark.parametrize("event_id", [0, -1, 404, 2**63 - 1, 2**63, 10**40])
def test_there_is_no_event_of_an_id_that_nobody_has(store: Store, event_id: int) -> None:
    one(store)
    assert queries.get_event(store, event_id) is None
    assert queries.summaries(store, [event_id]) == {}


def test_an_event_that_could_run_waits_for_nothing(store: Store) -> None:
    live_worker(store)
    assert waits(store, one(store)) == (None, None)


def test_an_event_that_is_not_due_waits_for_its_time(store: Store) -> None:
    live_worker(store)
    later = utc_now() + timedelta(minutes=5)
    assert waits(store, one(store, status="failed", next_run_at=later)) == ("time", later)


@pytest.mark.parametrize(
    ("type_", "name", "expected"),
    [
        ("account", "filial-sp", "account_closed"),
        ("method", "filial-sp/order.create", "method_closed"),
        ("provider", "omie", "provider_closed"),
    ],
)
def test_an_event_behind_a_closed_door_waits_until_it_opens(
    store: Store, type_: ScopeType, name: str, expected: str
) -> None:
    live_worker(store)
    publish(store, "order.create", provider="omie")
    event_id = one(store)
    close(store, type_, name, 600)
    reason, until = waits(store, event_id)
    assert reason == expected
    assert until is not None
    assert timedelta(minutes=9) < until - utc_now() <= timedelta(minutes=10)
    store.clock.advance(601)
    # The worker of this test has no heart, so it is gone by then.
    assert waits(store, event_id) == ("no_worker", None)


def test_the_door_of_an_account_with_a_slash_in_its_name_is_its_own(store: Store) -> None:
    live_worker(store)
    close(store, "method", method_name("sp/1", "order.create"), 600)
    assert waits(store, one(store, account="sp/1"))[0] == "method_closed"
    assert waits(store, one(store, account="sp"))[0] is None


def test_of_several_doors_the_one_that_opens_last_is_told(store: Store) -> None:
    live_worker(store)
    event_id = one(store, next_run_at=utc_now() + timedelta(minutes=5))
    close(store, "account", "filial-sp", 60)
    assert waits(store, event_id)[0] == "time"
    close(store, "account", "filial-sp", 600)
    assert waits(store, event_id)[0] == "account_closed"


def test_a_door_of_another_account_holds_nobody_up(store: Store) -> None:
    live_worker(store)
    close(store, "account", "filial-rj", 600)
    assert waits(store, one(store)) == (None, None)


def test_a_kind_that_no_worker_knows_waits_for_a_handler(store: Store) -> None:
    live_worker(store)
    event_id = one(store, next_run_at=utc_now() + timedelta(minutes=5))
    assert waits(store, event_id)[0] == "time"
    publish(store, "invoice.create")
    assert waits(store, event_id) == ("no_handler", None)
    publish(store, "order.create")
    assert waits(store, event_id)[0] == "time"


def test_without_a_living_worker_for_its_account_an_event_waits_for_one(store: Store) -> None:
    event_id = one(store)
    assert waits(store, event_id) == ("no_worker", None)
    live_worker(store, ["filial-rj"])
    live_worker(store, silent_for=46)
    assert waits(store, event_id) == ("no_worker", None)
    live_worker(store, ["filial-rj", "filial-sp"])
    assert waits(store, event_id) == (None, None)


@pytest.mark.parametrize("status", ["running", "done", "dead", "discarded"])
def test_an_event_that_runs_or_has_ended_waits_for_nothing(store: Store, status: str) -> None:
    event_id = one(store, status=status)
    close(store, "account", "filial-sp", 600)
    assert waits(store, event_id) == (None, None)


def attempt(store: Store, event_id: int, number: int) -> None:
    now = utc_now()
    put(
        store,
        "attempt",
        event_id=event_id,
        cycle=0,
        number=number,
        lease_epoch=number,
        kind="order.create",
        account="filial-sp",
        due_at=now - timedelta(seconds=3),
        started_at=now - timedelta(seconds=2),
        ended_at=now,
        outcome="failed",
        error_type="TransientError",
        error="busy",
    )


def test_attempts_and_audit_of_an_event_are_its_own_and_newest_first(store: Store) -> None:
    first, second = fill(store, [{"status": "dead"}] * 2)
    for event_id, number in ((first, 1), (second, 1), (first, 2)):
        attempt(store, event_id, number)
        put(
            store,
            "audit",
            at=utc_now(),
            actor="maria",
            action="reprocess",
            event_id=event_id,
            note=f"try {number}",
        )
    assert [one.number for one in queries.attempts(store, first)] == [2, 1]
    assert queries.attempts(store, first)[0].run_seconds == pytest.approx(2)
    assert [entry.note for entry in queries.audit(store, first)] == ["try 2", "try 1"]
    assert [entry.event_id for entry in queries.audit(store, second)] == [second]
    assert queries.attempts(store, 404) == ()
    assert queries.audit(store, 404) == ()


def test_of_a_long_history_the_newest_part_is_read(store: Store) -> None:
    event_id = one(store, status="dead")
    for number in range(1, MAX_HISTORY + 2):
        attempt(store, event_id, number)
    numbers = [one.number for one in queries.attempts(store, event_id)]
    assert (len(numbers), numbers[0], numbers[-1]) == (MAX_HISTORY, MAX_HISTORY + 1, 2)


def test_the_present_state_of_some_events_is_read_by_id(store: Store) -> None:
    made = fill(store, [{"status": status} for status in ("dead", "running", "done")])
    found = queries.summaries(store, [made[0], made[2], 404])
    assert {event_id: event.status for event_id, event in found.items()} == {made[0]: "dead", made[2]: "done"}
    assert queries.summaries(store, []) == {}


def test_an_event_says_by_what_its_door_is_closed_and_in_whose_words(store: Store) -> None:
    live_worker(store)
    event_id = one(store)
    close(store, "account", "filial-sp", 600)
    with store.write() as connection:
        paused = door_acts.paused(by="joana", note="Inventory", seconds=None)
        doors.change(store, connection, account_scope("filial-sp"), paused)
    event = queries.get_event(store, event_id)
    assert event is not None
    assert (event.waiting_for, event.waiting_until) == ("account_closed", None)
    assert (event.waiting_cause, event.waiting_reason, event.waiting_by) == ("pause", "Inventory", "joana")


def test_an_event_of_a_paced_provider_waits_for_its_turn(store: Store) -> None:
    live_worker(store)
    event_id = one(store)

    def paced(door: Door, now: float) -> Door:
        return replace(door, limited=True, paced_until=now + 5)

    with store.write() as connection:
        doors.change(store, connection, method_scope("filial-sp", "order.create"), paced)
    reason, until = waits(store, event_id)
    assert (reason, until is not None) == ("pace", True)


def test_an_event_behind_a_circuit_in_test_waits_for_the_probe(store: Store) -> None:
    live_worker(store, silent_for=-121)
    event_id = one(store)

    def opened(door: Door, now: float) -> Door:
        circuit = replace(
            door.circuit, state=CircuitState.OPEN, since=now, open_until=now + 120, open_for=120, generation=1
        )
        return replace(door, circuit=circuit)

    with store.write() as connection:
        doors.change(store, connection, account_scope("filial-sp"), opened)
    assert waits(store, event_id)[0] == "account_closed"
    store.clock.advance(121)
    assert waits(store, event_id) == ("probe", None)


def test_an_event_of_an_account_that_may_run_nothing_waits_for_a_higher_limit(store: Store) -> None:
    live_worker(store)
    event_id = one(store, status="failed", next_run_at=utc_now() + timedelta(minutes=5))
    scopes.limit_account(store, "filial-sp", 0)
    assert waits(store, event_id) == ("limit", None)
    with store.write() as connection:
        paused = door_acts.paused(by="joana", note=None, seconds=None)
        doors.change(store, connection, account_scope("filial-sp"), paused)
    assert waits(store, event_id) == ("account_closed", None), "whoever paused it has more to tell"
    scopes.limit_account(store, "filial-rj", 1)
    assert waits(store, one(store, account="filial-rj")) == (None, None)


@pytest.mark.parametrize("reach", ["method", "account"])
def test_a_retry_waits_while_only_what_is_kept_for_fresh_work_is_left(store: Store, reach: str) -> None:
    live_worker(store)
    budget = Limits(budget=ErrorBudget(failures=3, seconds=1800, keep=2))
    limits = {
        "method": KindLimits(provider="omie", method=budget),
        "account": KindLimits(provider="omie", account=budget),
    }[reach]
    publish(store, "order.create", provider="omie", limits=encode(limits))
    fresh, retried, live_again = (
        one(store, **more) for more in ({}, {"priority": 1}, {"total_attempts": 1, "attempts": 1})
    )
    assert waits(store, retried) == (None, None)

    def refused(door: Door, now: float) -> Door:
        return replace(door, limited=True, pace=Pace(failures=(now - 100,)))

    scope = {"method": method_scope("filial-sp", "order.create"), "account": account_scope("filial-sp")}[
        reach
    ]
    with store.write() as connection:
        doors.change(store, connection, scope, refused)
    assert waits(store, fresh) == (None, None)
    for event_id in (retried, live_again):
        reason, until = waits(store, event_id)
        assert reason == "reserve"
        assert until is not None
        assert timedelta(seconds=1600) < until - utc_now() <= timedelta(seconds=1700)
