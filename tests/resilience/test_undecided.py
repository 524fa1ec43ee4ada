"""Which calls wait for a decision, and is an end ever lost that a holder has to say?"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import threading
from typing import Any

import pytest
from billiard.exceptions import SoftTimeLimitExceeded

from dlq_console.errors import ConfigurationError, LeaseLost, OutcomeUnknown, StoreUnavailable
from dlq_console.resilience.breaker import CircuitBreakerConfig
from dlq_console.resilience.calls import Replay
from dlq_console.resilience.errors import StillRunningError, VerifierFailedError
from dlq_console.resilience.guard import guard
from dlq_console.resilience.idempotency import CLAIMS, IdempotentCalls, idempotent_node
from dlq_console.resilience.idempotency.doubt import leaves_doubt
from dlq_console.resilience.idempotency.rules import Status
from dlq_console.resilience.idempotency.undecided import OPEN_CALLS, decide, undecided
from dlq_console.resilience.redis_state import RedisState
from dlq_console.resilience.retry import RetryConfig
from dlq_console.resilience.state import MemoryState, SharedState
from tests.resilience.conftest import OpenState
from tests.resilience.states import FrozenClock
from tests.resilience.test_retry import Flaky
from tests.services.process import StartChild, wait_until
from tests.services.redis import RedisServer

STRANGE = ["a:b", "{a}", "a {b}:c", "ação 8841", "a\u0301", "日本 🚚", "a'b\"c", "%s|*"]


@pytest.fixture
def memory(clock: FrozenClock) -> MemoryState:
    return MemoryState(clock)


def times_out() -> None:
    raise TimeoutError


def finds_no_connection() -> None:
    raise ConnectionRefusedError


def leave_doubt(calls: IdempotentCalls, key: str, about: str = "") -> None:
    with pytest.raises(TimeoutError):
        calls.run(key, "f", times_out, about=about)


def is_there(state: SharedState) -> bool:
    try:
        state.read(CLAIMS, "nobody's")
    except StoreUnavailable:
        return False
    return True


def listed(state: SharedState) -> list[tuple[str, str]]:
    return [(each.call.key, each.error) for each in undecided(state)]


# The list


def test_only_calls_of_unknown_outcome_are_listed_until_somebody_decides(state: SharedState) -> None:
    calls = IdempotentCalls("book", state)
    calls.run("done", "f", lambda: 1)
    with pytest.raises(ConnectionRefusedError):
        calls.run("failed", "f", finds_no_connection)
    leave_doubt(calls, "applied", about="order=8841")
    leave_doubt(calls, "not applied")
    first, second = undecided(state)
    assert (first.call.key, first.call.about, first.error) == ("applied", "order=8841", "TimeoutError")
    assert second.call.key == "not applied"
    assert first.since <= second.since <= state.now() + 1
    assert calls.decide("applied", applied=True, actor="ana", result={"number": 7})
    assert calls.decide("not applied", applied=False, actor="ana")
    assert listed(state) == []
    assert state.read_all(OPEN_CALLS)[0] == {}
    assert calls.run("applied", "f", lambda: 9) == Replay({"number": 7})
    assert calls.run("not applied", "f", lambda: 9) == 9


def test_of_two_who_decide_one_is_told_that_there_is_nothing_to_decide(state: SharedState) -> None:
    calls = IdempotentCalls("book", state)
    leave_doubt(calls, "k")
    together = threading.Barrier(2, timeout=20)
    answers: list[bool] = []

    def person(applied: bool) -> None:
        together.wait()
        answers.append(calls.decide("k", applied=applied, actor="ana"))

    people = [threading.Thread(target=person, args=(applied,)) for applied in (True, False)]
    for each in people:
        each.start()
    for each in people:
        each.join()
    assert sorted(answers) == [False, True]


def test_a_call_under_way_is_not_undecided_until_its_lease_is_over(
    memory: MemoryState, clock: FrozenClock
) -> None:
    calls = IdempotentCalls("book", memory, lease=20)

    def slow() -> str:
        assert listed(memory) == []
        clock.advance(21)
        assert listed(memory) == [("k", "its process died")]
        return "late"

    assert calls.run("k", "f", slow) == "late"
    assert listed(memory) == []


def test_a_call_of_a_killed_process_is_listed_although_nobody_makes_it_again(
    open_shared: OpenState, start_child: StartChild
) -> None:
    state = open_shared()
    code = (
        "import sys, time\n"
        "from dlq_console.resilience.idempotency import idempotent_node\n"
        "from tests.resilience.crowd import open_by_address\n"
        "@idempotent_node(open_by_address(sys.argv[1]), 'book', ['order'], lease=1)\n"
        "def book(given):\n"
        "    print('inside', flush=True)\n"
        "    time.sleep(60)\n"
        "book({'order': 8841})\n"
    )
    child = start_child([sys.executable, "-c", code, open_shared.address])
    child.wait_for_line("inside")
    child.kill()
    wait_until(lambda: undecided(state), 20, "the lease to be over")
    (doubt,) = undecided(state)
    assert (doubt.call.node, doubt.call.about, doubt.error) == ("book", "order=8841", "its process died")
    call = doubt.call
    assert decide(state, call.record, applied=False, actor="ana", result=None, ttl=call.ttl)
    assert undecided(state) == []


def test_a_decision_about_one_holder_leaves_the_call_of_the_next_one_in_the_list(
    memory: MemoryState,
) -> None:
    calls = IdempotentCalls("book", memory)
    leave_doubt(calls, "k")
    assert calls.decide("k", applied=False, actor="ana")
    leave_doubt(calls, "k")
    assert listed(memory) == [("k", "TimeoutError")]


def test_whoever_meets_a_doubt_that_is_not_listed_lists_it(memory: MemoryState) -> None:
    calls = IdempotentCalls("book", memory)
    leave_doubt(calls, "k")
    (record,) = memory.read_all(OPEN_CALLS)[0]
    memory._kept.pop((OPEN_CALLS.name, record))
    assert listed(memory) == []
    with pytest.raises(OutcomeUnknown):
        calls.run("k", "f", lambda: 1)
    assert listed(memory) == [("k", "TimeoutError")]


def test_a_call_is_known_by_its_key_fields_without_their_secrets(memory: MemoryState) -> None:
    @idempotent_node(memory, "book", ["order", "token"])
    def book(given: dict[str, Any]) -> None:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        book({"order": 8841, "token": "hunter2hunter2"})
    (doubt,) = undecided(memory)
    assert doubt.call.about.startswith("order=8841, token=")
    assert "hunter2" not in str(memory._kept)
    with pytest.raises(TimeoutError):
        guard("erp", idempotency_key=lambda: "pay " + "9" * 200, state=memory).call(times_out)
    _, paid = undecided(memory)
    assert (paid.call.node, len(paid.call.about), paid.call.about[:5]) == ("erp", 120, "pay 9")


def test_the_error_names_the_command_that_decides(memory: MemoryState) -> None:
    calls = IdempotentCalls("book", memory)
    leave_doubt(calls, "order 1")
    with pytest.raises(
        OutcomeUnknown, match=r"dlq-console nodes decide 'order 1' --applied \(or --not-applied\)\.$"
    ):
        calls.run("order 1", "f", lambda: 1)


@pytest.mark.parametrize("name", STRANGE)
def test_a_key_may_be_any_text(state: SharedState, name: str) -> None:
    calls = IdempotentCalls(name, state)
    assert calls.run(name, "f", lambda: name) == name
    assert calls.run(name, "f", lambda: "again") == Replay(name)
    leave_doubt(calls, f"{name}/2", about=name)
    (doubt,) = undecided(state)
    assert (doubt.call.node, doubt.call.key, doubt.call.about) == (name, f"{name}/2", name)
    assert calls.decide(f"{name}/2", applied=True, actor=name)
    assert calls.run(f"{name}/2", "f", lambda: "again") == Replay(None)

    @idempotent_node(state, "book", ["order"])
    def node(given: dict[str, str]) -> str:
        return given["order"]

    assert [node({"order": name}), node({"order": name})] == [name, name]


def test_nothing_is_sent_for_a_call_that_cannot_be_listed(
    memory: MemoryState, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []
    change = memory.change

    def away_for_the_list(kind: Any, name: str, changing: Any) -> Any:
        if kind is OPEN_CALLS:
            raise StoreUnavailable
        return change(kind, name, changing)

    calls = IdempotentCalls("book", memory)
    with monkeypatch.context() as here:
        here.setattr(memory, "change", away_for_the_list)
        with pytest.raises(StoreUnavailable):
            calls.run("k", "f", lambda: made.append(1))
    assert made == []
    calls.run("k", "f", lambda: made.append(1))
    assert made == [1]


# A doubt is not lost


def test_an_attempt_that_left_a_doubt_is_the_last_one_where_nobody_can_be_asked(memory: MemoryState) -> None:
    errors: list[BaseException] = [ConnectionRefusedError(), TimeoutError(), ConnectionRefusedError()]
    made: list[int] = []

    def pay() -> None:
        made.append(1)
        raise errors.pop(0)

    retry = RetryConfig(max_attempts=9, base_delay=0)
    erp = guard("erp", breaker=False, retry=retry, idempotency_key="one", state=memory)
    with pytest.raises(TimeoutError):
        erp.call(pay)
    with pytest.raises(OutcomeUnknown, match="TimeoutError"):
        erp.call(pay)
    assert made == [1, 1]
    assert [each.error for each in undecided(memory)] == ["TimeoutError"]


@pytest.mark.parametrize(
    ("verdict", "made", "expected"),
    [("not_applied", 2, 2), ({"number": 1}, 1, {"number": 1}), ("applied", 1, None)],
)
def test_after_an_attempt_that_left_a_doubt_the_service_is_asked_before_the_next_one(
    memory: MemoryState, verdict: Any, made: int, expected: Any
) -> None:
    asked: list[int] = []
    pay = Flaky(1, TimeoutError())

    def verify(order: int) -> Any:
        asked.append(order)
        return verdict

    retry = RetryConfig(max_attempts=3, base_delay=0)
    erp = guard("erp", retry=retry, idempotency_key=str, verify=verify, state=memory)
    assert erp.call(lambda order: pay(), 8841) == expected
    assert (asked, pay.calls) == ([8841], made)
    assert undecided(memory) == []


@pytest.mark.anyio
async def test_an_async_guard_asks_an_async_verifier(memory: MemoryState) -> None:
    pay = Flaky(1, TimeoutError())

    async def call() -> int:
        return pay()

    async def verify() -> str:
        return "not_applied"

    retry = RetryConfig(max_attempts=3, base_delay=0)
    erp = guard("erp", retry=retry, idempotency_key="one", verify=verify, state=memory)
    assert await erp(call)() == 2
    with pytest.raises(ConfigurationError, match="is async, but its function is not"):
        erp(pay)
    with pytest.raises(ConfigurationError, match="is async, but its function is not"):
        erp.call(pay)


class Bank:
    """Pays at the second attempt, whose answer is lost as that of the first one; its verifier tells what it has seen."""

    def __init__(self) -> None:
        self.attempts = 0
        self.paid: list[str] = []
        self.looked, self.answers = threading.Event(), threading.Event()

    def verify(self, order: str) -> Any:
        seen = "applied" if self.paid else "not_applied"
        if threading.current_thread().name == "slow" and not self.looked.is_set():
            self.looked.set()
            assert self.answers.wait(20)
        return seen

    def pay(self, order: str) -> str:
        self.attempts += 1
        if self.attempts > 1:
            self.paid.append(order)
        if self.attempts < 3:
            raise TimeoutError
        return order

    async def apay(self, order: str) -> str:
        return self.pay(order)


@pytest.mark.parametrize("own_retry", [False, True], ids=["made again by others", "made again by its holder"])
def test_what_a_slow_verifier_has_seen_decides_no_later_doubt(state: SharedState, own_retry: bool) -> None:
    bank, calls = Bank(), IdempotentCalls("pay", state)
    asked: list[Any] = []

    def pay(token: str | None) -> Any:
        return calls.run("k", "f", lambda: bank.pay("o1"), token=token, verify=lambda: bank.verify("o1"))

    def pay_slowly() -> None:
        asked.append(pay(None))

    with pytest.raises(TimeoutError):
        pay("mine")
    slow = threading.Thread(target=pay_slowly, name="slow")
    slow.start()
    assert bank.looked.wait(20)
    with pytest.raises(TimeoutError):
        pay("mine" if own_retry else None)
    bank.answers.set()
    slow.join()
    assert (bank.paid, asked) == (["o1"], [Replay(None)])


@pytest.mark.anyio
async def test_what_a_slow_async_verifier_has_seen_decides_no_later_doubt(state: SharedState) -> None:
    bank, erp = Bank(), IdempotentCalls("pay", state)
    looked, answers = asyncio.Event(), asyncio.Event()

    async def verify() -> Any:
        seen = "applied" if bank.paid else "not_applied"
        if not looked.is_set():
            looked.set()
            await answers.wait()
        return seen

    async def pay() -> Any:
        return await erp.arun("k", "f", lambda: bank.apay("o1"), verify=verify)

    with pytest.raises(TimeoutError):
        await pay()
    slow = asyncio.create_task(pay())
    await looked.wait()
    with pytest.raises(TimeoutError):
        await pay()
    answers.set()
    assert (await slow, bank.paid) == (Replay(None), ["o1"])


def test_a_verifier_that_always_comes_too_late_is_not_asked_for_ever(memory: MemoryState) -> None:
    calls = IdempotentCalls("pay", memory)
    asked: list[int] = []

    def verify() -> Any:
        asked.append(1)
        assert calls.decide("k", applied=False, actor="ana")
        leave_doubt(calls, "k")
        return "not_applied"

    leave_doubt(calls, "k")
    with pytest.raises(OutcomeUnknown):
        calls.run("k", "f", lambda: "twice", verify=verify)
    assert len(asked) == 3


def test_a_decision_about_one_doubt_is_none_about_the_next_one(memory: MemoryState) -> None:
    calls = IdempotentCalls("pay", memory)
    leave_doubt(calls, "k")
    (first,) = undecided(memory)
    assert calls.decide("k", applied=False, actor="ana", doubt=first.doubt)
    leave_doubt(calls, "k")
    (second,) = undecided(memory)
    assert not calls.decide("k", applied=False, actor="ana", doubt=first.doubt)
    assert listed(memory) == [("k", "TimeoutError")]
    assert calls.decide("k", applied=True, actor="ana", doubt=second.doubt)


# A verifier that fails


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_a_verifier_that_fails_hides_no_error_of_the_call_and_says_nothing_about_the_service(
    memory: MemoryState, caplog: pytest.LogCaptureFixture, is_async: bool
) -> None:
    lost = TimeoutError("the answer was lost")
    pay = Flaky(9, lost)

    def verify() -> Any:
        raise ConnectionError("secret")

    async def apay() -> int:
        return pay()

    retry, once = RetryConfig(max_attempts=5, base_delay=0), CircuitBreakerConfig(failure_threshold=2)
    erp = guard("erp", breaker=once, retry=retry, idempotency_key="one", verify=verify, state=memory)
    with pytest.raises(TimeoutError) as caught:
        asyncio.run(erp.call(apay)) if is_async else erp.call(pay)
    assert caught.value is lost
    assert leaves_doubt(lost)
    failed = lost.__context__
    assert isinstance(failed, VerifierFailedError)
    assert isinstance(failed.__cause__, ConnectionError)
    assert 'The verifier of "erp" failed with ConnectionError.' in caplog.text
    assert "secret" not in caplog.text
    stats = erp.stats()["breaker"]
    assert (pay.calls, stats["failures"], stats["ignored"], stats["state"]) == (1, 1, 1, "closed")


def test_a_verifier_that_fails_leaves_a_doubt_of_before_as_it_was(memory: MemoryState) -> None:
    calls = IdempotentCalls("pay", memory)
    leave_doubt(calls, "k")

    def verify() -> Any:
        raise ZeroDivisionError

    with pytest.raises(OutcomeUnknown, match=r"TimeoutError, and its verifier failed with ZeroDivisionError"):
        calls.run("k", "f", lambda: "twice", verify=verify)
    assert listed(memory) == [("k", "TimeoutError")]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SoftTimeLimitExceeded(), ConfigurationError()])
def test_an_interrupt_is_no_failure_of_the_verifier(memory: MemoryState, error: BaseException) -> None:
    calls = IdempotentCalls("pay", memory)
    leave_doubt(calls, "k")

    def verify() -> Any:
        raise error

    with pytest.raises(type(error)):
        calls.run("k", "f", lambda: "twice", verify=verify)


def test_what_could_not_be_said_of_an_attempt_is_not_said_of_the_next_one(
    redis_server: RedisServer, redis_url: str
) -> None:
    state = RedisState(redis_url, timeout=0.3)
    calls = IdempotentCalls("book", state)

    def fail() -> None:
        redis_server.pause()
        raise ConnectionRefusedError

    with pytest.raises(ConnectionRefusedError):
        calls.run("k", "f", fail, token="mine")
    redis_server.resume()

    def again() -> str:
        # The background has had its turn, also where it was slow: what it could say late is said.
        calls._claims.tick()
        with pytest.raises(StillRunningError):
            IdempotentCalls("book", state).run("k", "f", lambda: "twice")
        return "once"

    wait_until(lambda: is_there(state), 20, "Redis")
    assert calls.run("k", "f", again, token="mine") == "once"
    state.close()


# The state came back empty


@pytest.mark.parametrize("held_late", [False, True], ids=["said at once", "said in the background"])
def test_a_result_is_kept_although_redis_was_emptied_during_the_call(
    redis_server: RedisServer, redis_url: str, caplog: pytest.LogCaptureFixture, held_late: bool
) -> None:
    state = RedisState(redis_url, timeout=0.3)
    calls = IdempotentCalls("book", state)

    def book() -> dict[str, int]:
        redis_server.flush()
        if held_late:
            redis_server.pause()
        return {"number": 7}

    assert calls.run("k", "f", book) == {"number": 7}
    if held_late:
        redis_server.resume()

    def kept() -> bool:
        claim = calls.look("k")
        return claim is not None and claim.status is Status.DONE

    wait_until(kept, 20, "the result to be kept")
    assert calls.run("k", "f", lambda: "twice") == Replay({"number": 7})
    wait_until(lambda: "was gone from the shared state" in caplog.text, 20, "the log")
    assert undecided(state) == []
    state.close()


def test_a_doubt_is_kept_and_listed_although_redis_was_emptied_during_the_call(
    redis_server: RedisServer, redis_url: str
) -> None:
    state = RedisState(redis_url, timeout=5)
    calls = IdempotentCalls("book", state)

    def book() -> None:
        redis_server.flush()
        raise TimeoutError

    with pytest.raises(TimeoutError):
        calls.run("k", "f", book)
    with pytest.raises(OutcomeUnknown):
        calls.run("k", "f", lambda: "twice")
    assert listed(state) == [("k", "TimeoutError")]
    state.close()


def test_a_call_under_way_claims_anew_what_an_emptied_redis_has_forgotten(
    redis_server: RedisServer, redis_url: str
) -> None:
    state = RedisState(redis_url, timeout=5)
    calls = IdempotentCalls("book", state, lease=1)

    def book() -> str:
        redis_server.flush()
        wait_until(lambda: calls.look("k") is not None, 20, "the next sign of life")
        with pytest.raises(StillRunningError):
            IdempotentCalls("book", state).run("k", "f", lambda: "twice")
        assert len(state.read_all(OPEN_CALLS)[0]) == 1
        return "once"

    assert calls.run("k", "f", book) == "once"
    state.close()


def test_a_result_that_comes_after_somebody_else_began_anew_is_told_and_changes_nothing(
    memory: MemoryState,
) -> None:
    calls = IdempotentCalls("book", memory)

    def first() -> str:
        memory.forget()
        assert calls.run("k", "f", lambda: "second") == "second"
        return "first"

    with pytest.raises(LeaseLost):
        calls.run("k", "f", first)
    assert calls.run("k", "f", lambda: "third") == Replay("second")


@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_a_forked_child_does_not_keep_the_calls_of_its_parent_alive(memory: MemoryState) -> None:
    calls = IdempotentCalls("book", memory)

    def during() -> bytes:
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.write(write, b"left" if calls._claims._running else b"none")
            finally:
                os.kill(os.getpid(), signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(write)
        with os.fdopen(read, "rb") as answer:
            return answer.read()

    told: list[bytes] = []
    calls.run("k", "f", lambda: told.append(during()))
    assert told == [b"none"]


def test_a_result_that_cannot_be_kept_is_told_in_the_log(
    memory: MemoryState, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    IdempotentCalls("book", memory).run("k", "f", lambda: {1, 2})
    assert 'The result of "book" cannot be kept' in caplog.text
