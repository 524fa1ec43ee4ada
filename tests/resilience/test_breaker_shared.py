"""Do processes that share a state agree about a circuit?"""

from __future__ import annotations

import threading
import time

import pytest

from dlq_console.resilience.breaker import BREAKERS, CircuitBreaker, CircuitBreakerConfig, Transition, Window
from dlq_console.resilience.errors import CircuitOpenError
from dlq_console.resilience.link import IN_USE, link_to
from dlq_console.resilience.tallies import TALLIES
from tests.resilience.conftest import OpenState
from tests.resilience.crowd import run_crowd
from tests.resilience.test_breaker import ServiceError, fail, failing, ok
from tests.services.process import StartChild, wait_until

CONFIG = CircuitBreakerConfig(failure_threshold=5, success_threshold=1, recovery_timeout=30)
QUICK = CircuitBreakerConfig(failure_threshold=1, success_threshold=1, recovery_timeout=0.2)


@pytest.fixture
def pair(open_shared: OpenState) -> tuple[CircuitBreaker, CircuitBreaker]:
    """The same circuit as two processes see it."""
    return CircuitBreaker("erp", CONFIG, state=open_shared()), CircuitBreaker(
        "erp", CONFIG, state=open_shared()
    )


def refuses(breaker: CircuitBreaker) -> bool:
    try:
        breaker.call(ok)
    except CircuitOpenError:
        return True
    return False


def test_failures_of_all_processes_count_together(pair: tuple[CircuitBreaker, CircuitBreaker]) -> None:
    one, other = pair
    failing(one, 3)
    failing(other, 2)
    assert refuses(other)
    wait_until(lambda: refuses(one), 5, "the other process to notice")


def test_a_new_process_resets_nothing_and_writes_nothing(open_shared: OpenState) -> None:
    one = CircuitBreaker("erp", CONFIG, state=open_shared())
    failing(one, 4)
    before = one.shared_state.read(BREAKERS, "erp").record
    late = CircuitBreaker("erp", CONFIG, state=open_shared())
    CircuitBreaker("never called", CONFIG, state=late.shared_state)
    assert (late.stats()["consecutive_failures"], late.shared_state.read(BREAKERS, "erp").record) == (
        4,
        before,
    )
    assert list(late.shared_state.read_all(BREAKERS)[0]) == ["erp"]
    failing(late, 1)
    assert refuses(late)


def test_a_success_anywhere_ends_the_row_of_failures(pair: tuple[CircuitBreaker, CircuitBreaker]) -> None:
    one, other = pair
    failing(one, 4)
    other.call(ok)
    wait_until(lambda: one.stats()["consecutive_failures"] == 0, 5, "the success to be told")


def test_successes_between_failures_count_although_they_are_told_late(open_shared: OpenState) -> None:
    """Nine good calls of ten must not look like failures in a row, however fast they come."""
    breaker = CircuitBreaker("erp", CONFIG, state=open_shared())
    for _ in range(20):
        for _ in range(3):
            breaker.call(ok)
        failing(breaker, 1)
    assert not refuses(breaker)


def test_a_window_counts_the_successes_of_all(open_shared: OpenState) -> None:
    config = CircuitBreakerConfig(window=Window(seconds=60, minimum_calls=10, failure_rate=0.5))
    one = CircuitBreaker("erp", config, state=open_shared())
    other = CircuitBreaker("erp", config, state=open_shared())
    for _ in range(8):
        other.call(ok)

    def told() -> bool:
        record = one.shared_state.read(BREAKERS, "erp").record
        return record is not None and sum(bucket[1] for bucket in record.buckets) == 8

    wait_until(told, 5, "the successes to be told")
    failing(one, 7)
    assert str(one.state) == "closed"
    failing(one, 1)
    assert refuses(one)


def test_a_transition_is_told_by_the_one_process_that_brought_it_about(open_shared: OpenState) -> None:
    told: list[Transition] = []
    breakers = [
        CircuitBreaker("erp", QUICK, state=open_shared(), on_transition=lambda _, moved: told.append(moved))
        for _ in range(4)
    ]
    together = threading.Barrier(4, timeout=10)

    def work(breaker: CircuitBreaker) -> None:
        together.wait()
        with pytest.raises((ServiceError, CircuitOpenError)):
            breaker.call(fail)

    threads = [threading.Thread(target=work, args=(breaker,)) for breaker in breakers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [str(each.after) for each in told] == ["open"]
    assert len(breakers[0].stats()["history"]) == 1


@pytest.mark.parametrize("zone", ["Asia/Kolkata", "America/Sao_Paulo", "Pacific/Apia"])
def test_the_time_zone_of_a_process_changes_nothing(
    open_shared: OpenState, zone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = CircuitBreaker("erp", CONFIG, state=open_shared())
    failing(here, 5)
    before = here.stats()["retry_after"]
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("TZ", zone)
        time.tzset()
        try:
            there = CircuitBreaker("erp", CONFIG, state=open_shared())
            assert refuses(there)
            assert 0 < there.stats()["retry_after"] <= before
        finally:
            elsewhere.undo()
            time.tzset()


def test_an_override_of_one_process_holds_in_all(pair: tuple[CircuitBreaker, CircuitBreaker]) -> None:
    one, other = pair
    assert not refuses(other)
    one.force_open(actor="ana", note="ERP move")
    assert refuses(one)
    wait_until(lambda: refuses(other), 5, "the override to be seen")
    other.reset(actor="bea")
    assert not refuses(other)
    wait_until(lambda: not refuses(one), 5, "the reset to be seen")


def test_accounts_with_confusing_names_have_circuits_of_their_own(open_shared: OpenState) -> None:
    state = open_shared()
    names = ("a", "a:b", "{a}", "{a}:b", "a b", "ação", "*", "a/b", "%61")
    breakers = [CircuitBreaker(name, QUICK, state=state) for name in names]
    failing(breakers[1], 1)
    assert [str(breaker.state) for breaker in breakers].count("closed") == len(names) - 1


def test_exactly_one_probe_is_let_through_in_all_processes_and_threads(
    open_shared: OpenState, start_child: StartChild
) -> None:
    open_shared()
    entered = run_crowd(start_child, "probes", open_shared.address, processes=4, threads=8, rounds=5)
    assert [sum(each) for each in zip(*entered, strict=True)] == [1] * 5


def test_what_processes_count_is_added_up(open_shared: OpenState, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dlq_console.resilience.tallies.EVERY", 0.1)
    for state in (open_shared(), open_shared()):
        breaker = CircuitBreaker("erp", CONFIG, state=state)
        breaker.call(ok)
        failing(breaker, 1)

    def sums() -> object:
        return state.read_all(TALLIES)[0].get("breaker erp")

    expected = {"calls": 4, "successes": 2, "failures": 2}
    wait_until(lambda: sums() == expected, 10, "the counts to be added up")


def test_nobody_asks_about_a_circuit_that_nobody_uses(
    open_redis: OpenState, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dlq_console.resilience.tallies.EVERY", 0.1)
    state = open_redis()
    breaker = CircuitBreaker("erp", CONFIG, state=state)
    breaker.call(ok)
    link = link_to(state)
    assert IN_USE < 60
    monkeypatch.setattr("dlq_console.resilience.link.IN_USE", 0.0)
    wait_until(lambda: not link._background.is_running, 10, "the background to end")
    assert breaker.call(ok) == "answer"


@pytest.mark.anyio
async def test_async_code_shares_a_circuit_with_sync_code(
    pair: tuple[CircuitBreaker, CircuitBreaker],
) -> None:
    one, other = pair

    async def failing_call() -> None:
        raise ServiceError

    for _ in range(5):
        with pytest.raises(ServiceError):
            await one.call(failing_call)
    with pytest.raises(CircuitOpenError):
        await one.call(failing_call)
    wait_until(lambda: refuses(other), 5, "the other process to notice")
