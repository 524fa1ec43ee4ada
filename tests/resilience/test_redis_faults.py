"""What happens to calls when their Redis is emptied, restarted, frozen, closed to us or gone?"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import pytest
import redis
from billiard.exceptions import SoftTimeLimitExceeded

from dlq_console.clock import monotonic
from dlq_console.errors import StoreUnavailable
from dlq_console.resilience.breaker import BREAKERS, Admission, CircuitBreaker, CircuitBreakerConfig
from dlq_console.resilience.bulkhead import Bulkhead, BulkheadConfig
from dlq_console.resilience.errors import BulkheadFullError, CircuitOpenError
from dlq_console.resilience.figures import read_figures
from dlq_console.resilience.idempotency import IdempotentCalls
from dlq_console.resilience.link import FIRST_RETRY, link_to
from dlq_console.resilience.redis_state import RedisState
from tests.resilience.crowd import in_threads
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


def test_emptying_redis_in_the_midst_of_traffic_breaks_no_call(
    redis_state: RedisState, redis_server: RedisServer
) -> None:
    breaker = CircuitBreaker("erp", CONFIG, state=redis_state)
    bulkhead = Bulkhead("erp", BulkheadConfig(max_concurrent=4), state=redis_state)
    answers: list[Any] = []
    end = threading.Event()

    def traffic() -> None:
        while not end.is_set():
            answers.append(_answer_or_error(breaker, bulkhead))

    threads = [threading.Thread(target=traffic) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(5):
        before = len(answers)
        wait_until(lambda: len(answers) > before + 20, 30, "some calls")  # noqa: B023 - used within the round
        redis_server.flush()
    end.set()
    for thread in threads:
        thread.join(30)
    assert set(answers) == {"answer"}
    assert state_of(breaker) == "closed"


def test_that_redis_was_emptied_is_told_once_and_not_as_something_else(
    redis_state: RedisState, redis_server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    bulkhead = Bulkhead("erp", BulkheadConfig(max_concurrent=3), state=redis_state)
    breakers = [CircuitBreaker(name, CONFIG, state=redis_state) for name in ("erp", "crm")]
    held = [bulkhead.acquire() for _ in range(3)]
    for breaker in breakers:
        failing(breaker, 1)
    redis_server.flush()
    wait_until(lambda: all(each.stats()["consecutive_failures"] == 0 for each in breakers), 20, "the loss")
    for each in held:
        each.release()
    told = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(told) == 1
    assert "has forgotten records" in told[0]
    assert "it was emptied" in told[0]
    assert bulkhead.stats()["overran"] == 0


def test_a_slot_that_redis_forgot_is_no_call_that_outlived_its_lease(
    redis_state: RedisState, redis_server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    bulkhead = Bulkhead("erp", BulkheadConfig(max_concurrent=3), state=redis_state)
    elsewhere = RedisState(redis_state._url, timeout=5.0)
    held = bulkhead.acquire()
    redis_server.flush()
    Bulkhead("erp", BulkheadConfig(max_concurrent=3), state=elsewhere).acquire()
    elsewhere.close()
    held.release()
    assert [record.getMessage() for record in caplog.records if "outlived" in record.getMessage()] == []
    assert sum("it was emptied" in record.getMessage() for record in caplog.records) == 1
    assert bulkhead.stats()["overran"] == 0


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


def test_no_call_waits_to_find_out_whether_redis_is_back(
    redis_state: RedisState, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    bulkhead = Bulkhead("erp", BulkheadConfig(max_concurrent=8), state=redis_state)
    link = link_to(redis_state)
    asking: list[str] = []

    def noting(ask: Callable[..., Any]) -> Callable[..., Any]:
        def asked(*arguments: Any) -> Any:
            asking.append(threading.current_thread().name)
            return ask(*arguments)

        return asked

    with redis_server.paused():
        bulkhead.run(ok)
        for name in ("_load", "_load_all", "_swap"):
            monkeypatch.setattr(redis_state, name, noting(getattr(redis_state, name)))
        wait_until(lambda: bulkhead.run(ok) and link._retry_after > FIRST_RETRY * 2, 30, "two looks in vain")
        assert set(asking) == {"dlq-console-link"}


def test_no_call_of_a_program_fails_because_redis_is_frozen_for_five_seconds(
    redis_state: RedisState, redis_server: RedisServer, redis_url: str
) -> None:
    breaker = CircuitBreaker("erp", CONFIG, state=redis_state)
    config = BulkheadConfig(max_concurrent=8)
    bulkhead = Bulkhead("erp", config, state=redis_state)
    breaker.call(bulkhead.run, ok)
    end, began = threading.Event(), monotonic()
    shown: list[bool] = []

    def traffic() -> list[Any]:
        answers = []
        while not end.wait(0.005):
            answers.append(_answer_or_error(breaker, bulkhead))
        return answers

    def freeze() -> None:
        with redis_server.paused():
            wait_until(lambda: monotonic() - began > 5, 30, "five seconds of traffic")
            shown.extend([breaker.stats()["degraded"], bulkhead.stats()["degraded"]])
        end.set()

    freezing = threading.Thread(target=freeze)
    freezing.start()
    answers = list(chain.from_iterable(in_threads(8, traffic)))
    freezing.join()
    assert set(answers) == {"answer"}
    assert len(answers) > 8 * 20
    assert shown == [True, True]
    wait_until(lambda: back(redis_state), 20, "Redis to be found again")
    failing(breaker, 2)
    elsewhere = RedisState(redis_url, timeout=5.0)
    assert state_of(CircuitBreaker("erp", CONFIG, state=elsewhere)) == "open"
    other = Bulkhead("erp", config, state=elsewhere)
    wait_until(lambda: other.stats()["in_use"] == 0, 20, "the slots to be free")
    held = bulkhead.acquire()
    assert other.stats()["in_use"] == 1
    held.release()
    elsewhere.close()


def _answer_or_error(breaker: CircuitBreaker, bulkhead: Bulkhead) -> Any:
    try:
        return breaker.call(bulkhead.run, ok)
    except Exception as error:  # noqa: BLE001 - each of them would be the fault that the test looks for
        return repr(error)


END_OF_A_PROBE: dict[str, Callable[[Admission], None]] = {
    "given back": Admission.given_back,
    "succeeded": Admission.succeeded,
    "failed": lambda admission: admission.failed(TimeoutError()),
}


@pytest.mark.parametrize("noticed", ["before it ends", "as it ends"])
@pytest.mark.parametrize("end", END_OF_A_PROBE)
def test_the_permit_of_a_probe_that_ends_while_redis_is_away_is_free_when_it_is_back(
    redis_state: RedisState, redis_server: RedisServer, redis_url: str, end: str, noticed: str
) -> None:
    config = CircuitBreakerConfig(failure_threshold=1, success_threshold=1, recovery_timeout=0.1)
    breaker = CircuitBreaker("erp", config, state=redis_state)
    failing(breaker, 1)
    wait_until(lambda: state_of(breaker) == "half_open", 20, "its time to be over")
    probe = breaker.admit(limit=3600)
    assert probe.probe
    with redis_server.paused():
        if noticed == "before it ends":
            wait_until(lambda: breaker.stats()["degraded"], 20, "the loss to be noticed")
        END_OF_A_PROBE[end](probe)
    elsewhere = RedisState(redis_url, timeout=5.0)
    other = CircuitBreaker("erp", config, state=elsewhere)
    wait_until(lambda: _is_let_through(other), 30, "the permit")
    elsewhere.close()


def _is_let_through(breaker: CircuitBreaker) -> bool:
    try:
        return breaker.admit().probe
    except CircuitOpenError:
        return False


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


def _text(client: redis.Redis, key: str) -> None:
    client.set(key, "damaged")


def _bytes(client: redis.Redis, key: str) -> None:
    client.set(key, b"\xff\xfe")


def _list(client: redis.Redis, key: str) -> None:
    client.delete(key)
    client.lpush(key, "damaged")


Damage = Callable[[redis.Redis, str], None]


@pytest.mark.parametrize("damage", [_text, _bytes, _list])
def test_what_cannot_be_read_in_redis_is_no_record_and_is_replaced_and_concerns_no_other_service(
    redis_state: RedisState, redis_server: RedisServer, caplog: pytest.LogCaptureFixture, damage: Damage
) -> None:
    breaker = CircuitBreaker("erp", CONFIG, state=redis_state)
    bulkhead = Bulkhead("crm", TWO, state=redis_state)
    failing(breaker, 1)
    with redis_server.client() as client:
        damage(client, "dlq:{breaker}:erp")
    wait_until(lambda: breaker.stats()["consecutive_failures"] == 0, 5, "the damage to be seen")
    assert read_figures(redis_state).breakers.keys() <= {"erp"}
    assert breaker.call(ok) == bulkhead.run(ok) == "answer"
    failing(breaker, 2)
    assert state_of(breaker) == "open"
    seen = redis_state.read(BREAKERS, "erp").record
    assert seen is not None
    assert link_to(redis_state).epoch == 0
    assert sum("cannot be read" in record.getMessage() for record in caplog.records) == 1


def test_a_list_of_circuits_that_something_else_stands_in_for_is_begun_anew(
    redis_state: RedisState, redis_server: RedisServer
) -> None:
    with redis_server.client() as client:
        client.set("dlq:{breaker}", "damaged")
    failing(CircuitBreaker("erp", CONFIG, state=redis_state), 1)
    assert back(redis_state)
    assert list(redis_state.read_all(BREAKERS)[0]) == ["erp"]


@pytest.mark.parametrize("damage", [_text, _bytes, _list])
def test_a_call_that_must_be_made_once_is_not_made_again_where_its_record_cannot_be_read(
    redis_state: RedisState, redis_server: RedisServer, damage: Damage
) -> None:
    calls, made = IdempotentCalls("book", redis_state), []
    calls.run("k", "f", lambda: made.append(1))
    with redis_server.client() as client:
        (key,) = client.scan_iter("dlq:{claim}:*")
        damage(client, key)
    with pytest.raises(StoreUnavailable, match="damaged"):
        calls.run("k", "f", lambda: made.append(2))
    assert made == [1]


def test_what_cannot_be_read_leaves_the_slots_of_all_services_renewed(
    redis_state: RedisState, redis_server: RedisServer
) -> None:
    elsewhere = RedisState(redis_state._url, timeout=5.0)
    config = BulkheadConfig(max_concurrent=1, acquire_timeout=0, lease=1)
    held = Bulkhead("crm", config, state=redis_state).acquire()
    breaker = CircuitBreaker("erp", CONFIG, state=redis_state)
    failing(breaker, 1)
    with redis_server.client() as client:
        _bytes(client, "dlq:{breaker}:erp")
    other = Bulkhead("crm", config, state=elsewhere)
    wait_until(lambda: (other.stats()["oldest"] or {"seconds": 9})["seconds"] > 2, 20, "two leases")
    assert other.stats()["in_use"] == 1
    held.release()
    elsewhere.close()


def test_a_host_name_that_can_be_none_is_a_state_that_is_away() -> None:
    state = RedisState(f"redis://{'a' * 70}.example:6379")
    breaker = CircuitBreaker("erp", CONFIG, state=state)
    assert breaker.call(ok) == "answer"
    assert breaker.stats()["degraded"] is True
    state.close()


def test_the_answer_to_an_interrupted_question_is_not_taken_for_that_to_the_next(
    redis_state: RedisState, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = RedisState(redis_state._url, timeout=20)
    for name, failures in (("erp", 1), ("crm", 2)):
        failing(CircuitBreaker(name, CircuitBreakerConfig(failure_threshold=9), state=state), failures)

    def interrupted(*_: Any, **__: Any) -> Any:
        raise SoftTimeLimitExceeded

    # Others of this process may hold one, and a new one would ask something of its own first.
    pool = state._redis.connection_pool
    for connection in [pool.get_connection() for _ in range(4)]:
        pool.release(connection)
    with redis_server.paused():
        with monkeypatch.context() as patched:
            patched.setattr(state._redis, "parse_response", interrupted)
            with pytest.raises(SoftTimeLimitExceeded):
                state.read(BREAKERS, "erp")
        thread = threading.Timer(0.2, redis_server.resume)
        thread.start()
        seen = state.read(BREAKERS, "crm").record
        thread.join()
    assert seen is not None
    assert seen.failures == 2
    state.close()


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


def test_nobody_looks_through_all_the_keys_of_a_redis(
    redis_state: RedisState, redis_server: RedisServer
) -> None:
    with redis_server.client() as client:
        client.config_resetstat()
        failing(CircuitBreaker("erp", CONFIG, state=redis_state), 2)
        Bulkhead("erp", TWO, state=redis_state).run(ok)
        assert list(read_figures(redis_state).breakers) == ["erp"]
        used = {name.removeprefix("cmdstat_") for name in client.info("commandstats")}
    assert "get" in used
    assert used & {"keys", "scan", "sort"} == set()
