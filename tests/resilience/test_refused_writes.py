"""What happens to calls when a state can be read but takes no changes: it is full, or only a copy answers?"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from typing import ClassVar

import pytest

from dlq_console.errors import StoreUnavailable
from dlq_console.resilience.breaker import BREAKERS, BreakerRecord, CircuitBreaker
from dlq_console.resilience.bulkhead import Bulkhead
from dlq_console.resilience.errors import BulkheadFullError, CircuitOpenError
from dlq_console.resilience.link import FIRST_RETRY, link_to
from dlq_console.resilience.redis_state import RedisState
from dlq_console.resilience.state import (
    AS_IT_IS,
    Answer,
    Change,
    Changing,
    Kind,
    MemoryState,
    Record,
    SharedState,
    unchanged,
)
from dlq_console.store.shared_state import SqlState
from tests.resilience.test_breaker import failing, ok, state_of
from tests.resilience.test_redis_faults import CONFIG, TWO
from tests.services.postgres import PostgresServer
from tests.services.process import wait_until
from tests.services.redis import RedisServer

Refusing = Callable[[], AbstractContextManager[None]]


@contextmanager
def full(server: RedisServer) -> Iterator[None]:
    """A Redis that has no room left and drops nothing."""
    with server.client() as client:
        client.config_set("maxmemory-policy", "noeviction")
        client.config_set("maxmemory", "1")
        try:
            yield
        finally:
            client.config_set("maxmemory", "0")


@contextmanager
def copy(server: RedisServer) -> Iterator[None]:
    """A Redis that has become the copy of one that is gone."""
    with server.client() as client:
        client.replicaof("127.0.0.1", "1")
        try:
            yield
        finally:
            client.replicaof("NO", "ONE")


@contextmanager
def read_only(server: PostgresServer, database: str) -> Iterator[None]:
    """A database that may be read only, also by those who are connected."""
    put = f"ALTER DATABASE {database} SET default_transaction_read_only"
    end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()"
    with server.connect(database) as connection:
        connection.autocommit = True
        connection.execute(f"{put} = on")
        connection.execute(end, [database])
        try:
            yield
        finally:
            connection.execute("SET default_transaction_read_only = off")
            connection.execute(f"{put} = off")
            connection.execute(end, [database])


@pytest.fixture(params=["a full Redis", "a copy of a Redis", "a read-only PostgreSQL"])
def refused(request: pytest.FixtureRequest) -> Iterator[tuple[SharedState, Refusing]]:
    """A state, and what makes it refuse changes."""
    if request.param == "a read-only PostgreSQL":
        server: PostgresServer = request.getfixturevalue("postgres_server")
        with closing(SqlState(request.getfixturevalue("postgres_url"))) as state:
            yield state, lambda: read_only(server, state.place.split()[0])
        return
    redis_server: RedisServer = request.getfixturevalue("redis_server")
    refusing = full if request.param == "a full Redis" else copy
    with closing(RedisState(request.getfixturevalue("redis_url"), timeout=0.5)) as redis_state:
        yield redis_state, lambda: refusing(redis_server)


def test_circuits_and_slots_keep_to_their_limits_and_the_loss_is_told_once(
    refused: tuple[SharedState, Refusing], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="dlq_console.resilience.link")
    state, refusing = refused
    breaker = CircuitBreaker("erp", CONFIG, state=state)
    bulkhead = Bulkhead("crm", TWO, state=state)
    breaker.call(bulkhead.run, ok)
    link = link_to(state)
    with refusing():
        held = [bulkhead.acquire(), bulkhead.acquire()]
        failing(breaker, 2)

        def looked_in_vain() -> bool:
            with pytest.raises(CircuitOpenError):
                breaker.call(ok)
            with pytest.raises(BulkheadFullError):
                bulkhead.acquire()
            assert breaker.stats()["degraded"] is True
            return link._retry_after > FIRST_RETRY * 2

        wait_until(looked_in_vain, 30, "two looks in vain")
        for each in held:
            each.release()
    wait_until(lambda: link.away is None, 30, "the state to take changes again")
    failing(breaker, 2)
    seen = state.read(BREAKERS, "erp").record
    assert seen is not None
    assert state_of(breaker) == "open"
    told = [record.levelname for record in caplog.records if record.name == "dlq_console.resilience.link"]
    assert told == ["WARNING", "INFO"]


class RefusingState(MemoryState):
    """A state that counts as shared, and takes no changes while the test says so."""

    local: ClassVar[bool] = False
    refresh_every: ClassVar[float] = 0.01

    def __init__(self) -> None:
        super().__init__()
        self.refuses = True

    def change(self, kind: Kind[Record], name: str, change: Changing[Record, Answer]) -> Answer:
        """Change one record, if there is anything to be changed and that is allowed."""

        def noting(record: Record | None, now: float) -> Change[Record, Answer]:
            outcome = change(record, now)
            if self.refuses and outcome.record is not AS_IT_IS and outcome.record is not None:
                raise StoreUnavailable
            return outcome

        return super().change(kind, name, noting)


@pytest.fixture
def refusing_state() -> Iterator[RefusingState]:
    with closing(RefusingState()) as state:
        yield state


def written(_record: BreakerRecord | None, _now: float) -> Change[BreakerRecord, None]:
    return Change(None, BreakerRecord(failures=7))


def removed(_record: BreakerRecord | None, _now: float) -> Change[BreakerRecord, None]:
    return Change(None, None)


def test_what_writes_nothing_does_not_show_that_a_state_is_back(refusing_state: RefusingState) -> None:
    link = link_to(refusing_state)
    link.change(BREAKERS, "erp", written)
    lost = link.away
    assert lost is not None
    link.insist(BREAKERS, "erp", lambda *_: unchanged(None))
    link.insist(BREAKERS, "erp", removed)
    assert not link.done_unless_away(BREAKERS, "erp", removed)
    assert link.away is lost
    refusing_state.refuses = False
    link.insist(BREAKERS, "erp", written)
    assert link.away is None


def test_a_state_that_is_lost_again_at_once_is_not_tried_more_often_than_before(
    refusing_state: RefusingState,
) -> None:
    link = link_to(refusing_state)
    link.change(BREAKERS, "erp", written)
    wait_until(lambda: link._retry_after > FIRST_RETRY, 20, "a look in vain")
    refusing_state.refuses = False
    wait_until(lambda: link.away is None, 20, "the state to take changes again")
    refusing_state.refuses = True
    link.change(BREAKERS, "erp", written)
    assert link.away is not None
    assert link._retry_after > FIRST_RETRY
