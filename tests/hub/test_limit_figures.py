"""How much of what providers allow is used, and how long a circuit was open: figures that the pages show."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from dlq_console.clock import utc_now
from dlq_console.errors import TransientError
from dlq_console.health.openings import Openings, openings
from dlq_console.hub.doors import every_door
from dlq_console.hub.limit_figures import limit_figures
from dlq_console.hub.policy import Policy
from dlq_console.runtime import Hub
from dlq_console.store import claims, leases, presence
from dlq_console.store.events import Event
from dlq_console.store.queries.circuits import circuit_moves
from dlq_console.store.queries.circuits import openings as counted
from dlq_console.store.queries.crew import crew
from dlq_console.store.queries.runs import last_minute, run_times, waited_for_limits
from dlq_console.store.scope_names import account_scope
from tests.store.filling import put

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
DAY_AGO = NOW - timedelta(days=1)


def ago(minutes: float) -> datetime:
    """So many minutes before NOW."""
    return NOW - timedelta(minutes=minutes)


@pytest.mark.parametrize(
    ("moves", "state", "complete", "told"),
    [
        ([], "closed", True, Openings(0, 0.0)),
        ([], "open", True, Openings(0, 86_400.0)),
        ([(ago(5), "closed", "open")], "open", True, Openings(1, 300.0)),
        (
            [(ago(1), "half_open", "closed"), (ago(2), "open", "half_open"), (ago(5), "closed", "open")],
            "closed",
            True,
            Openings(1, 180.0),
        ),
        # A person's decision moves nothing by itself.
        ([(ago(3), "open", "open"), (ago(5), "closed", "open")], "open", True, Openings(1, 300.0)),
        # It was open before the span began.
        ([(ago(1_380), "open", "half_open")], "half_open", True, Openings(0, 3_600.0)),
        ([(ago(5), "closed", "open")], "open", False, Openings(1, 300.0, complete=False)),
        ([(ago(5), "closed", "open"), (ago(9_000), "open", "closed")], "open", False, Openings(1, 300.0)),
    ],
)
def test_how_long_a_circuit_was_open_comes_from_its_transitions(
    moves: list[tuple[datetime, str, str]], state: str, complete: bool, told: Openings
) -> None:
    assert openings(moves, state=state, start=DAY_AGO, now=NOW, complete=complete) == told


@pytest.fixture
def failing(hub: Hub) -> Hub:
    """A hub whose only kind is that of a provider with limits, and always fails."""

    @hub.handler("order.omie", policy=Policy(provider="omie", max_attempts=9))
    def fail(_event: Event) -> None:
        raise TransientError("away")

    hub.publish_kinds("worker-1")
    return hub


def test_a_circuit_that_opened_is_counted_with_what_it_went_through(failing: Hub) -> None:
    for number in range(5):
        failing.enqueue("order.omie", account="filial-sp", entity_id=str(number), payload={})
        failing.run_due()
        failing.clock.advance(1)
    assert counted(failing.store) == {("account", "filial-sp"): 1}
    (move,) = circuit_moves(failing.store, account_scope("filial-sp"))
    assert (move.before, move.after) == ("closed", "open")
    failing.clock.advance(90_000)
    assert counted(failing.store) == {}
    assert len(circuit_moves(failing.store, account_scope("filial-sp"))) == 1


def test_rates_and_error_budgets_of_a_provider_are_told_per_kind_and_for_all_accounts(failing: Hub) -> None:
    failing.enqueue("order.omie", account="filial-sp", entity_id="1", payload={})
    failing.run_due()
    found = limit_figures(failing.store, every_door(failing.store), {("filial-sp", "order.omie"): 12})
    by_scope = {one.scope: one for one in found}
    method, provider = by_scope["method"], by_scope["provider"]
    assert (method.account, method.kind, method.provider) == ("filial-sp", "order.omie", "omie")
    assert (method.per_minute, method.last_minute, method.most_failures) == (240, 12, 9)
    assert method.now is not None
    assert method.now < method.burst
    assert (provider.name, provider.last_minute, provider.failures) == ("omie", 12, None)


def test_who_is_at_work_and_how_long_runs_took_is_read_on_both_engines(failing: Hub) -> None:
    store, minute = failing.store, utc_now().replace(second=0, microsecond=0) - timedelta(minutes=1)
    presence.announce(store, "host-a:1:x", mode="table", slots=4, accounts=["filial-sp"])
    failing.enqueue("order.omie", account="filial-sp", entity_id="1", payload={})
    (event,) = claims.claim_any(store, worker="host-a:1:x", limit=1)
    leases.take(store, "relay", "host-a:1:x", 5)
    leases.report(store, "relay", "host-a:1:x", None)
    seen = crew(store)
    assert [(one.worker, one.alive, one.accounts) for one in seen.workers] == [
        ("host-a:1:x", True, ("filial-sp",))
    ]
    assert [(one.id, one.worker, one.late) for one in seen.running] == [(event.id, "host-a:1:x", False)]
    assert seen.last_step_at is not None
    for kind in ("", "order.omie"):
        counts = {"tried": 4, "failed": 1, "run_max_ms": 900, "run3": 4, "lost_limit_ms": 5_000}
        put(store, "rollup", grain=1, account="filial-sp", kind=kind, bucket=minute, **counts)
    times = run_times(store, "filial-sp")
    assert times is not None
    assert (times.tried, times.bad) == (4, 1)
    assert 0.1 < times.p50 < times.p99 <= 0.9
    assert run_times(store, "filial-rj") is None
    assert last_minute(store) == {("filial-sp", "order.omie"): 4}
    assert waited_for_limits(store) == {"filial-sp": 5.0}
