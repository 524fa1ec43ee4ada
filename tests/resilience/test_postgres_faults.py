"""What happens to calls when the PostgreSQL that they share a state in is frozen, or holds a lock?"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from dlq_console.errors import StoreUnavailable
from dlq_console.resilience.breaker import BREAKERS, CircuitBreaker
from dlq_console.resilience.bulkhead import Bulkhead, BulkheadConfig
from dlq_console.resilience.link import link_to
from dlq_console.resilience.state import SharedState
from dlq_console.store.shared_state import SqlState
from dlq_console.store.store import Store
from tests.resilience.crowd import in_threads
from tests.resilience.test_breaker import failing, ok, state_of
from tests.resilience.test_redis_faults import CONFIG
from tests.services.postgres import PostgresServer
from tests.services.process import wait_until

ROOM = BulkheadConfig(max_concurrent=8)


@pytest.fixture(params=["its own address", "the store of a hub"])
def sql_state(request: pytest.FixtureRequest, postgres_url: str) -> Iterator[SqlState]:
    """A state on the server of this run, opened in both ways."""
    store = Store(postgres_url)
    with closing(SqlState(postgres_url if request.param == "its own address" else store)) as state:
        yield state
    store.engines.dispose()


def back(state: SharedState) -> bool:
    return link_to(state).away is None


def test_calls_are_answered_while_postgresql_is_frozen_and_share_again_when_it_goes_on(
    sql_state: SqlState, postgres_server: PostgresServer
) -> None:
    breaker = CircuitBreaker("erp", CONFIG, state=sql_state)
    bulkhead = Bulkhead("erp", ROOM, state=sql_state)
    breaker.call(bulkhead.run, ok)
    with postgres_server.paused():
        assert in_threads(8, lambda: breaker.call(bulkhead.run, ok)) == ["answer"] * 8
        assert bulkhead.stats()["degraded"] is True
        failing(breaker, 2)
        assert state_of(breaker) == "open"
    wait_until(lambda: back(sql_state), 30, "PostgreSQL to be found again")
    failing(breaker, 1)
    seen = sql_state.read(BREAKERS, "erp").record
    assert seen is not None
    assert seen.failures == 1
    wait_until(lambda: bulkhead.stats()["in_use"] == 0, 30, "the slots to be free")


def test_the_first_call_of_a_program_does_not_wait_for_a_frozen_postgresql(
    sql_state: SqlState, postgres_server: PostgresServer
) -> None:
    with postgres_server.paused():
        assert CircuitBreaker("erp", CONFIG, state=sql_state).call(ok) == "answer"
        assert not back(sql_state)


def test_who_waits_for_a_lock_gives_up_and_leaves_nobody_waiting_in_the_database(
    sql_state: SqlState, postgres_server: PostgresServer
) -> None:
    breaker = CircuitBreaker("erp", CONFIG, state=sql_state)
    breaker.force_closed(actor="ana")
    database = sql_state.place.split()[0]
    with postgres_server.connect(database) as other, other.transaction():
        other.execute(f"SELECT * FROM {sql_state.table.name} FOR UPDATE")
        with pytest.raises(StoreUnavailable):
            breaker.force_open(actor="ana")
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = %s"
        wait_until(lambda: other.execute(waiting, [database]).fetchone() == (0,), 30, "no waiter")
    wait_until(lambda: back(sql_state), 30, "the state")
    breaker.force_open(actor="ana")
    assert state_of(breaker) == "open"
