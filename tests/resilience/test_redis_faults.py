"""What happens to calls when their Redis is emptied, restarted, frozen, closed to us or gone?"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator

import pytest

from dlq_console.clock import monotonic
from dlq_console.errors import StoreUnavailable
from dlq_console.resilience.breaker import BREAKERS, CircuitBreaker, CircuitBreakerConfig
from dlq_console.resilience.bulkhead import Bulkhead, BulkheadConfig
from dlq_console.resilience.errors import BulkheadFullError, CircuitOpenError
from dlq_console.resilience.link import link_to
from dlq_console.resilience.redis_state import RedisState
from tests.resilience.test_breaker import failing, ok, state_of
from tests.services.process import wait_until
from tests.services.redis import RedisServer

CONFIG = CircuitBreakerConfig(failure_threshold=2, success_threshold=1, recovery_timeout=30)
TWO = BulkheadConfig(max_concurrent=2, acquire_timeout=0)


@pytest.fixture
def redis_state(redis_url: str) -> Iterator[RedisState]:
    state = RedisState(redis_url, timeout=0.5)
    yield state
    state.close()


def back(state: RedisState) -> bool:
    return link_to(state).away is None


def test_emptying_redis_closes_circuits_and_breaks_no_call(
    redis_state: RedisState, redis_server: RedisServer
) -> None:
    breaker = CircuitBreaker("erp", CONFIG, state=redis_state)
    bulkhead = Bulkhead("erp", TWO, state=redis_state)
    failing(breaker, 2)
    held = bulkhead.acquire()
    redis_server.flush()
    assert state_of(breaker) == "closed"
    wait_until(lambda: breaker.call(ok) == "answer" if state_of(breaker) == "closed" else False, 5, "a call")
    held.release()
    failing(breaker, 2)
    assert state_of(breaker) == "open"
    assert bulkhead.run(lambda: 7) == 7


def test_a_result_from_before_redis_was_emptied_decides_nothing(
    redis_state: RedisState, redis_server: RedisServer
) -> None:
    breaker = CircuitBreaker("erp", CONFIG, state=redis_state)
    failing(breaker, 2)
    breaker.reset()
    admission = breaker.admit()
    redis_server.flush()
    for _ in range(3):
        admission.failed(TimeoutError())
    assert state_of(breaker) == "closed"


def test_forgotten_scripts_are_taught_again(redis_state: RedisState, redis_server: RedisServer) -> None:
    breaker = CircuitBreaker("erp", CONFIG, state=redis_state)
    failing(breaker, 1)
    with redis_server.client() as client:
        client.script_flush()
    failing(breaker, 1)
    assert state_of(breaker) == "open"
    assert back(redis_state)


def test_a_restart_of_redis_breaks_no_call(redis_state: RedisState, redis_server: RedisServer) -> None:
    breaker = CircuitBreaker("erp", CONFIG, state=redis_state)
    failing(breaker, 1)
    redis_server.kill()
    redis_server.start()
    assert breaker.call(ok) == "answer"
    wait_until(lambda: back(redis_state), 20, "Redis to be found again")
    failing(breaker, 2)
    assert state_of(breaker) == "open"
    assert breaker.stats()["degraded"] is False
    assert redis_state.read(BREAKERS, "erp").record is not None


def test_while_redis_is_away_a_circuit_goes_on_in_each_process_and_says_so(
    redis_state: RedisState, redis_server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    breaker = CircuitBreaker("erp", CONFIG, state=redis_state)
    failing(breaker, 1)
    caplog.set_level(logging.INFO)
    with redis_server.stopped():
        failing(breaker, 1)  # the one in Redis and this one
        assert state_of(breaker) == "open"
        with pytest.raises(CircuitOpenError):
            breaker.call(ok)
        assert breaker.stats()["degraded"] is True
    wait_until(lambda: back(redis_state), 20, "Redis to be found again")
    told = [record.getMessage() for record in caplog.records if record.name.endswith("link")]
    assert sum("Limits are kept by this process alone" in each for each in told) == 1
    assert sum("is back after" in each for each in told) == 1


def test_an_open_circuit_stays_open_until_its_time_while_redis_is_away(
    redis_state: RedisState, redis_server: RedisServer
) -> None:
    config = CircuitBreakerConfig(failure_threshold=1, success_threshold=1, recovery_timeout=1.5)
    breaker = CircuitBreaker("erp", config, state=redis_state)
    failing(breaker, 1)
    with redis_server.stopped():
        with pytest.raises(CircuitOpenError):
            breaker.call(ok)
        wait_until(lambda: state_of(breaker) == "half_open", 10, "its time to be over")
        assert breaker.call(ok) == "answer"
        assert state_of(breaker) == "closed"


def test_a_frozen_redis_slows_one_call_and_not_the_next(
    redis_state: RedisState, redis_server: RedisServer
) -> None:
    breaker = CircuitBreaker("erp", CONFIG, state=redis_state)
    bulkhead = Bulkhead("erp", BulkheadConfig(max_concurrent=8), state=redis_state)
    breaker.call(bulkhead.run, ok)
    with redis_server.paused():
        began = monotonic()
        threads = [threading.Thread(target=breaker.call, args=(bulkhead.run, ok)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        # Half a second is the longest wait for an answer; eight threads do not wait for it one after the other.
        assert monotonic() - began < 4
        assert bulkhead.stats()["degraded"] is True
    wait_until(lambda: back(redis_state), 20, "Redis to be found again")


def test_while_redis_is_away_a_bulkhead_keeps_to_local_limits(
    redis_state: RedisState, redis_server: RedisServer
) -> None:
    config = BulkheadConfig(max_concurrent=3, local_max_concurrent=2, acquire_timeout=0)
    bulkhead = Bulkhead("erp", config, state=redis_state)
    elsewhere = Bulkhead("erp", config, state=RedisState(redis_state._url, timeout=0.5))
    held = bulkhead.acquire()
    with redis_server.stopped():
        local = bulkhead.acquire()
        with pytest.raises(BulkheadFullError):
            bulkhead.acquire()
        local.release()
        assert bulkhead.stats()["in_use"] == 1
        held.release()
        assert bulkhead.stats()["in_use"] == 0
    wait_until(lambda: back(redis_state), 20, "Redis to be found again")
    assert elsewhere.run(lambda: 7) == 7
    elsewhere.shared_state.close()


def test_a_person_is_told_that_an_override_cannot_be_kept(
    redis_state: RedisState, redis_server: RedisServer
) -> None:
    breaker = CircuitBreaker("erp", CONFIG, state=redis_state)
    with redis_server.stopped(), pytest.raises(StoreUnavailable):
        breaker.force_open(actor="ana")


def test_a_wrong_password_is_a_state_that_is_away_and_is_never_shown(
    redis_server: RedisServer, redis_url: str
) -> None:
    with redis_server.client() as client:
        client.config_set("requirepass", "right")
        try:
            state = RedisState(redis_url.replace("redis://", "redis://:hunter2@"))
            with pytest.raises(StoreUnavailable) as caught:
                state.read(BREAKERS, "erp")
            breaker = CircuitBreaker("erp", CONFIG, state=state)
            assert breaker.call(ok) == "answer"
            failing(breaker, 2)
            assert state_of(breaker) == "open"
            assert breaker.stats()["degraded"] is True
            state.close()
        finally:
            client.config_set("requirepass", "")
    away = link_to(state).away
    assert away is not None
    for text in (str(caught.value), away.reason, repr(state)):
        assert "hunter2" not in text
    assert f"127.0.0.1:{redis_server.port}" in str(caught.value)


def test_damaged_text_in_redis_is_no_record_and_is_replaced(
    redis_state: RedisState, redis_server: RedisServer
) -> None:
    breaker = CircuitBreaker("erp", CONFIG, state=redis_state)
    failing(breaker, 1)
    with redis_server.client() as client:
        client.set("dlq:{breaker}:erp", "damaged")
    wait_until(lambda: breaker.stats()["consecutive_failures"] == 0, 5, "the damage to be seen")
    failing(breaker, 2)
    assert state_of(breaker) == "open"


def test_every_key_has_an_end_and_begins_with_the_prefix(
    redis_state: RedisState, redis_server: RedisServer
) -> None:
    state = RedisState(redis_state._url, prefix="mine", timeout=5)
    failing(CircuitBreaker("erp", CONFIG, state=state), 2)
    Bulkhead("erp", TWO, state=state).acquire()
    state.close()
    with redis_server.client() as client:
        keys = sorted(client.scan_iter())
        counts = ["mine:{tally}", "mine:{tally}:breaker erp", "mine:{tally}:bulkhead erp"]
        assert keys == [
            "mine:{breaker}",
            "mine:{breaker}:erp",
            "mine:{bulkhead}",
            "mine:{bulkhead}:erp",
            *counts,
        ]
        assert all(client.ttl(key) > 0 for key in keys if key.endswith("erp"))
