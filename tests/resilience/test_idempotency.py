"""Does a call have its effect once, however often its caller is run again?"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from dlq_console.errors import (
    ConfigurationError,
    IdempotencyConflict,
    LeaseLost,
    OutcomeUnknown,
    PayloadRefused,
    PermanentError,
    RateLimited,
    StoreUnavailable,
    TransientError,
)
from dlq_console.resilience.calls import Replay
from dlq_console.resilience.defaults import Defaults, register_defaults
from dlq_console.resilience.errors import BudgetExceededError, CircuitOpenError, StillRunningError
from dlq_console.resilience.idempotency import CLAIMS, IdempotentCalls, idempotent_node, rules
from dlq_console.resilience.idempotency.rules import Begin, Claim, InDoubt, Kept, Status, decode, encode
from dlq_console.resilience.redis_state import RedisState
from dlq_console.resilience.state import MemoryState, SharedState
from tests.resilience.conftest import OpenState
from tests.resilience.states import FrozenClock
from tests.services.process import StartChild, wait_until
from tests.services.redis import RedisServer

LEASE = 20.0


@pytest.fixture
def memory(clock: FrozenClock) -> MemoryState:
    return MemoryState(clock)


class Effects:
    """What the outside world remembers."""

    def __init__(self) -> None:
        self.made: list[Any] = []

    def __call__(self, value: Any = "sent") -> dict[str, Any]:
        self.made.append(value)
        return {"number": len(self.made), "value": value}

    def node(self, given: dict[str, Any]) -> dict[str, Any]:
        """The same as a node of a graph."""
        return self()


@pytest.fixture
def effects() -> Effects:
    return Effects()


def test_a_call_is_made_once_and_its_result_is_given_again(state: SharedState, effects: Effects) -> None:
    @idempotent_node(state, "book", ["order"])
    def book(graph: dict[str, Any]) -> dict[str, Any]:
        return effects(graph["order"])

    assert book({"order": 8841}) == {"number": 1, "value": 8841}
    assert book({"order": 8841}) == {"number": 1, "value": 8841}
    assert book({"order": 8842}) == {"number": 2, "value": 8842}
    assert effects.made == [8841, 8842]


@pytest.mark.anyio
async def test_an_async_node_is_made_once(state: SharedState, effects: Effects) -> None:
    @idempotent_node(state, "book", ["order"])
    async def book(graph: dict[str, Any]) -> dict[str, Any]:
        await asyncio.sleep(0)
        return effects(graph["order"])

    results = [await book({"order": 8841}) for _ in range(3)]
    assert results == [{"number": 1, "value": 8841}] * 3
    assert len(effects.made) == 1


def test_the_key_may_be_made_of_arguments(memory: MemoryState, effects: Effects) -> None:
    @idempotent_node(memory, "pay", ["account", "invoice"])
    def pay(account: str, invoice: int, *, amount: float = 1.0) -> dict[str, Any]:
        return effects((account, invoice, amount))

    pay("a", 1)
    pay("a", invoice=1)
    pay("a", 2)
    pay("b", 1)
    assert effects.made == [("a", 1, 1.0), ("a", 2, 1.0), ("b", 1, 1.0)]
    with pytest.raises(IdempotencyConflict):
        pay("a", 1, amount=2.0)


@dataclass
class Input:
    """The input of a node that is an object."""

    order: int
    note: str = ""


def test_the_input_may_be_an_object(memory: MemoryState, effects: Effects) -> None:
    @idempotent_node(memory, "book", ["order"])
    def book(given: Input) -> dict[str, Any]:
        return effects(given.order)

    book(Input(1))
    book(Input(1))
    assert effects.made == [1]


@pytest.mark.parametrize(
    ("one", "other"),
    [({"a": 1, "b": 2.0}, {"b": 2, "a": 1}), ({"a": "é"}, {"a": "e\u0301"}), ({"a": (1, 2)}, {"a": [1, 2]})],
)
def test_the_same_input_in_another_spelling_is_the_same_call(
    memory: MemoryState, effects: Effects, one: dict[str, Any], other: dict[str, Any]
) -> None:
    book = idempotent_node(memory, "book", ["a"])(effects.node)
    book(one)
    book(other)
    assert len(effects.made) == 1


def test_the_same_key_with_another_input_is_refused(memory: MemoryState, effects: Effects) -> None:
    book = idempotent_node(memory, "book", ["order"])(effects.node)
    book({"order": 1, "amount": 10})
    with pytest.raises(IdempotencyConflict):
        book({"order": 1, "amount": 12})
    assert len(effects.made) == 1


def test_what_a_node_is_given_beside_its_input_is_compared_as_well(
    memory: MemoryState, effects: Effects
) -> None:
    @idempotent_node(memory, "pay", ["order"])
    def pay(
        given: dict[str, Any], amount: int = 10, *, session: object = None, **more: Any
    ) -> dict[str, Any]:
        return effects(amount)

    pay({"order": 1})
    assert pay({"order": 1}, amount=10, session=object())["number"] == 1
    for others in ({"amount": 99}, {"currency": "EUR"}):
        with pytest.raises(IdempotencyConflict, match="with another input"):
            pay({"order": 1}, **others)
    with pytest.raises(IdempotencyConflict):
        pay({"order": 1}, 99)
    assert effects.made == [10]


def test_the_config_of_a_graph_is_no_input_of_its_node_and_any_other_config_is(
    memory: MemoryState, effects: Effects
) -> None:
    @idempotent_node(memory, "book", ["order"])
    def book(given: dict[str, Any], config: dict[str, Any]) -> dict[str, Any]:
        return effects(given["order"])

    for thread in ("a", "b"):
        assert book({"order": 1}, {"configurable": {"thread_id": thread}, "tags": []})["number"] == 1
    book({"order": 2}, {"currency": "BRL"})
    with pytest.raises(IdempotencyConflict):
        book({"order": 2}, {"currency": "EUR"})


def test_nodes_of_different_names_never_share_a_call(memory: MemoryState, effects: Effects) -> None:
    for name in ("a", "b", "a b"):
        idempotent_node(memory, name, ["order"])(effects.node)({"order": 1})
    assert len(effects.made) == 3


# How it ended


@pytest.mark.parametrize(
    "error",
    [
        TransientError(),
        PermanentError(),
        RateLimited(),
        ConnectionRefusedError(),
        CircuitOpenError(),
        BudgetExceededError(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_call_that_had_no_effect_may_be_made_again_also_with_corrected_input(
    memory: MemoryState, effects: Effects, error: Exception
) -> None:
    def book(given: dict[str, Any]) -> dict[str, Any]:
        if given["customer"] == "unknown":
            raise error
        return effects()

    node = idempotent_node(memory, "book", ["order"])(book)
    with pytest.raises(type(error)):
        node({"order": 1, "customer": "unknown"})
    assert node({"order": 1, "customer": "known"})["number"] == 1


@pytest.mark.parametrize(
    "error",
    [
        OutcomeUnknown(), TimeoutError(), ConnectionResetError(), BudgetExceededError(during_call=True),
        ValueError(), KeyError("confirmation"), asyncio.CancelledError(), SystemExit(), KeyboardInterrupt(),
    ],
    ids=lambda error: type(error).__name__,
)  # fmt: skip
def test_a_call_of_unknown_outcome_is_never_made_again_by_itself(
    memory: MemoryState, effects: Effects, error: BaseException
) -> None:
    def book(given: dict[str, Any]) -> None:
        effects()
        raise error

    node = idempotent_node(memory, "book", ["order"])(book)
    with pytest.raises(type(error)):
        node({"order": 1})
    with pytest.raises(OutcomeUnknown, match="Nobody knows whether"):
        node({"order": 1})
    assert len(effects.made) == 1


def test_an_unknown_outcome_is_not_forgotten_with_the_results(
    memory: MemoryState, clock: FrozenClock, effects: Effects
) -> None:
    def book(given: dict[str, Any]) -> None:
        effects()
        raise TimeoutError

    node = idempotent_node(memory, "book", ["order"], ttl=60)(book)
    with pytest.raises(TimeoutError):
        node({"order": 1})
    clock.advance(365 * 86_400)
    with pytest.raises(OutcomeUnknown):
        node({"order": 1})


def test_a_person_decides_about_an_unknown_outcome(memory: MemoryState, effects: Effects) -> None:
    calls = IdempotentCalls("book", memory)

    def book() -> dict[str, Any]:
        effects()
        raise TimeoutError

    for key in ("applied", "not applied"):
        with pytest.raises(TimeoutError):
            calls.run(key, "f", book)
    assert calls.decide("applied", applied=True, actor="ana", result={"number": 7})
    assert calls.run("applied", "f", book) == Replay({"number": 7})
    assert calls.decide("not applied", applied=False, actor="ana")
    assert calls.run("not applied", "f", effects)["number"] == 3
    assert not calls.decide("not applied", applied=False, actor="bea")
    assert not calls.decide("nobody's", applied=True, actor="bea")


@pytest.mark.parametrize(
    ("verdict", "made", "expected"),
    [
        ("applied", 1, None),
        ({"number": 9}, 1, {"number": 9}),
        ("not_applied", 2, {"number": 2, "value": "sent"}),
    ],
)
def test_a_verifier_decides_by_asking_the_service(
    memory: MemoryState, effects: Effects, verdict: Any, made: int, expected: Any
) -> None:
    asked: list[Any] = []

    def verify(given: dict[str, Any]) -> Any:
        asked.append(given["order"])
        return verdict

    def book(given: dict[str, Any]) -> dict[str, Any]:
        result = effects()
        if len(effects.made) == 1:
            raise TimeoutError
        return result

    node = idempotent_node(memory, "book", ["order"], verify=verify)(book)
    with pytest.raises(TimeoutError):
        node({"order": 1})
    assert node({"order": 1}) == expected
    assert (asked, len(effects.made)) == ([1], made)


def test_a_verifier_that_cannot_tell_leaves_the_doubt_and_one_that_answers_nonsense_is_told(
    memory: MemoryState, effects: Effects
) -> None:
    answers: list[Any] = ["unknown", "perhaps"]

    def book(given: dict[str, Any]) -> None:
        raise TimeoutError

    node = idempotent_node(memory, "book", ["order"], verify=lambda given: answers.pop(0))(book)
    with pytest.raises(TimeoutError):
        node({"order": 1})
    with pytest.raises(OutcomeUnknown, match="cannot tell"):
        node({"order": 1})
    with pytest.raises(ConfigurationError, match="'perhaps'"):
        node({"order": 1})


def test_a_result_that_is_no_json_is_given_once_and_its_effect_is_not_repeated(
    memory: MemoryState, effects: Effects
) -> None:
    def book(given: dict[str, Any]) -> object:
        effects()
        return object()

    node = idempotent_node(memory, "book", ["order"])(book)
    node({"order": 1})
    with pytest.raises(PayloadRefused, match="could not be kept"):
        node({"order": 1})
    assert len(effects.made) == 1


def test_a_result_is_kept_for_its_time(memory: MemoryState, clock: FrozenClock, effects: Effects) -> None:
    node = idempotent_node(memory, "book", ["order"], ttl=60)(effects.node)
    node({"order": 1})
    clock.advance(59)
    assert node({"order": 1})["number"] == 1
    clock.advance(2)
    assert node({"order": 1})["number"] == 2


# Claims


def test_a_call_that_is_being_made_is_not_begun_a_second_time(state: SharedState, effects: Effects) -> None:
    calls = IdempotentCalls("book", state)
    inside, leave = threading.Event(), threading.Event()

    def slow() -> dict[str, Any]:
        inside.set()
        assert leave.wait(20)
        return effects()

    thread = threading.Thread(target=calls.run, args=("k", "f", slow))
    thread.start()
    assert inside.wait(20)
    with pytest.raises(StillRunningError) as caught:
        calls.run("k", "f", effects)
    assert caught.value.retry_after is not None
    assert 0 < caught.value.retry_after <= 35
    with pytest.raises(IdempotencyConflict):
        calls.run("k", "another", effects)
    leave.set()
    thread.join()
    assert calls.run("k", "f", effects) == Replay({"number": 1, "value": "sent"})


def test_its_holder_may_begin_again_for_a_retry_of_its_own(memory: MemoryState, effects: Effects) -> None:
    calls = IdempotentCalls("book", memory)
    begin = partial(rules.begin, token="mine", fingerprint="f", lease=LEASE, by="p")
    assert memory.change(CLAIMS, "book k", begin) == Begin()
    with pytest.raises(StillRunningError):
        calls.run("k", "f", effects)
    assert calls.run("k", "f", effects, token="mine")["number"] == 1


def test_its_holder_may_not_begin_again_after_a_doubt_unless_the_service_says_that_nothing_was_done(
    memory: MemoryState, effects: Effects
) -> None:
    calls = IdempotentCalls("book", memory)

    def fail() -> None:
        raise TimeoutError

    for verify in (None, lambda: "unknown"):
        with pytest.raises(TimeoutError if verify is None else OutcomeUnknown):
            calls.run("k", "f", fail, token="mine", verify=verify)
        with pytest.raises(OutcomeUnknown):
            calls.run("k", "f", effects, token="mine")
    assert calls.run("k", "f", effects, token="mine", verify=lambda: "not_applied")["number"] == 1


# Methods, arguments and awaitables


class Desk:
    """An object whose method has an effect."""

    def __init__(self, made: list[Any]) -> None:
        self.made = made

    def pay(self, order: int, amount: int = 1) -> int:
        self.made.append((order, amount))
        return amount


@pytest.mark.parametrize("bound", [True, False])
def test_the_object_of_a_method_is_no_part_of_its_input(memory: MemoryState, bound: bool) -> None:
    desk = Desk([])
    protect = idempotent_node(memory, "pay", ["order"])
    pay: Any = protect(desk.pay) if bound else partial(protect(Desk.pay), desk)
    assert [pay(1), pay(1, 1), pay(order=1, amount=1)] == [1, 1, 1]
    with pytest.raises(IdempotencyConflict):
        pay(1, 9999)
    assert desk.made == [(1, 1)]


def test_a_call_with_arguments_that_do_not_fit_is_not_begun(memory: MemoryState) -> None:
    node: Any = idempotent_node(memory, "pay", ["order"])(Desk([]).pay)
    with pytest.raises(TypeError):
        node(1, 2, 3)
    assert memory.read_all(CLAIMS)[0] == {}
    assert node(1) == 1


@pytest.mark.anyio
async def test_an_awaitable_is_no_result_and_a_coroutine_that_was_not_begun_leaves_no_doubt(
    memory: MemoryState, effects: Effects
) -> None:
    async def book(given: dict[str, Any]) -> dict[str, Any]:
        return effects()

    async def task(given: dict[str, Any]) -> None:
        await asyncio.sleep(60)

    def hide(given: dict[str, Any]) -> Any:
        return book(given)

    def begin(given: dict[str, Any]) -> Any:
        return asyncio.ensure_future(task(given))

    hidden = idempotent_node(memory, "book", ["order"])(hide)
    begun = idempotent_node(memory, "task", ["order"])(begin)
    for node in (hidden, begun):
        with pytest.raises(ConfigurationError, match="hand in the async function itself"):
            node({"order": 1})
    assert await idempotent_node(memory, "book", ["order"])(book)({"order": 1}) == {
        "number": 1,
        "value": "sent",
    }
    with pytest.raises(OutcomeUnknown):
        begun({"order": 1})


def test_a_holder_that_was_given_up_cannot_overwrite_what_came_later(
    memory: MemoryState, clock: FrozenClock, effects: Effects
) -> None:
    calls = IdempotentCalls("book", memory, lease=LEASE)

    def zombie() -> str:
        clock.advance(LEASE + 1)
        assert calls.decide("k", applied=False, actor="ana")
        assert calls.run("k", "f", effects)["number"] == 1
        return "too late"

    with pytest.raises(LeaseLost):
        calls.run("k", "f", zombie)
    assert calls.run("k", "f", effects) == Replay({"number": 1, "value": "sent"})


@pytest.mark.parametrize("status", [Status.DONE, Status.FAILED, Status.UNKNOWN])
def test_a_holder_that_was_given_up_cannot_end_the_call_of_the_next_one(
    memory: MemoryState, status: Any
) -> None:
    calls = IdempotentCalls("book", memory)

    def change(function: Callable[..., Any], **arguments: Any) -> Any:
        return memory.change(CLAIMS, "book k", partial(function, **arguments))

    change(rules.begin, token="old", fingerprint="f", lease=LEASE, by="p")
    said = {"token": "old", "fingerprint": "f", "by": "p", "ttl": 60}
    change(rules.end, status=Status.FAILED, **said)
    change(rules.begin, token="new", fingerprint="f", lease=LEASE, by="p")
    assert change(rules.end, status=status, result='"late"', **said) == Kept(None)
    claim = calls.look("k")
    assert claim is not None
    assert (claim.status, claim.lease.token) == (Status.RUNNING, "new")


def test_a_killed_process_leaves_an_unknown_outcome_after_its_lease(
    open_redis: OpenState, start_child: StartChild, effects: Effects
) -> None:
    state = open_redis()
    code = (
        "import sys, time\n"
        "from dlq_console.resilience.idempotency import IdempotentCalls\n"
        "from tests.resilience.crowd import open_by_address\n"
        "calls = IdempotentCalls('book', open_by_address(sys.argv[1]), lease=1)\n"
        "calls.run('k', 'f', lambda: (print('inside', flush=True), time.sleep(60)))\n"
    )
    child = start_child([sys.executable, "-c", code, open_redis.address])
    child.wait_for_line("inside")
    calls = IdempotentCalls("book", state, lease=1)
    # It shows signs of life: after more than one lease it is still running.
    began = state.read(CLAIMS, "book k").now
    wait_until(lambda: state.read(CLAIMS, "book k").now > began + 1.3, 20, "more than one lease")
    with pytest.raises(StillRunningError):
        calls.run("k", "f", effects)
    child.kill()

    def in_doubt() -> bool:
        try:
            calls.run("k", "f", effects)
        except StillRunningError:
            return False
        except OutcomeUnknown:
            return True
        return False

    wait_until(in_doubt, 20, "the lease to be over")
    assert effects.made == []


def test_many_threads_make_one_call(state: SharedState, effects: Effects) -> None:
    calls = IdempotentCalls("book", state)
    together = threading.Barrier(8, timeout=20)
    endings: list[str] = []

    def work() -> None:
        together.wait()
        try:
            calls.run("k", "f", effects)
        except StillRunningError:
            endings.append("elsewhere")
        else:
            endings.append("result")

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(effects.made) == 1
    assert "result" in endings
    assert len(endings) == 8


@pytest.mark.anyio
async def test_a_cancelled_call_leaves_a_doubt_and_not_a_claim(state: SharedState) -> None:
    calls = IdempotentCalls("book", state)
    inside = asyncio.Event()

    async def hang() -> None:
        inside.set()
        await asyncio.sleep(60)

    task = asyncio.create_task(calls.arun("k", "f", hang))
    await inside.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    claim = calls.look("k")
    assert claim is not None
    assert claim.status is Status.UNKNOWN


# The state is away


def test_nothing_is_sent_while_the_state_is_away(
    redis_server: RedisServer, redis_url: str, effects: Effects
) -> None:
    state = RedisState(redis_url, timeout=0.3)
    node = idempotent_node(state, "book", ["order"])(effects.node)
    with redis_server.stopped(), pytest.raises(StoreUnavailable):
        node({"order": 1})
    assert effects.made == []
    assert node({"order": 1})["number"] == 1
    state.close()


def test_a_result_that_cannot_be_kept_now_is_kept_later(
    redis_server: RedisServer, redis_url: str, effects: Effects
) -> None:
    state = RedisState(redis_url, timeout=0.3)
    calls = IdempotentCalls("book", state)

    def book() -> dict[str, Any]:
        redis_server.pause()
        return effects()

    assert calls.run("k", "f", book)["number"] == 1
    redis_server.resume()

    def kept() -> bool:
        claim = calls.look("k")
        return claim is not None and claim.status is Status.DONE

    wait_until(kept, 20, "the result to be kept")
    state.close()


def test_damaged_text_is_not_taken_for_a_call_that_was_never_made(
    redis_server: RedisServer, redis_url: str, effects: Effects
) -> None:
    state = RedisState(redis_url, timeout=5)
    calls = IdempotentCalls("book", state)
    with redis_server.client() as client:
        client.set("dlq:{claim}:book k", "damaged")
    with pytest.raises(StoreUnavailable, match="damaged"):
        calls.run("k", "f", effects)
    assert effects.made == []
    state.close()


def test_the_default_state_must_outlive_the_process(sqlite_url: str, effects: Effects) -> None:
    node = idempotent_node(None, "book", ["order"])(effects.node)
    with pytest.raises(ConfigurationError, match="outlives the process"):
        node({"order": 1})
    from dlq_console.store.shared_state import SqlState

    state = SqlState(sqlite_url)
    state.create_table()
    register_defaults(lambda: Defaults(state))
    try:
        assert node({"order": 1})["number"] == 1
        assert node({"order": 1})["number"] == 1
    finally:
        register_defaults(None)
        state.close()


# Configuration


@pytest.mark.parametrize("fields", ["order", [], (), [5]])
def test_key_fields_are_a_list_of_names(fields: Any) -> None:
    with pytest.raises(ConfigurationError, match="key fields"):
        idempotent_node(MemoryState(), "book", fields)


@pytest.mark.parametrize("given", [{}, {"order": None}])
def test_a_call_without_a_value_for_its_key_is_refused(given: dict[str, Any], effects: Effects) -> None:
    node = idempotent_node(MemoryState(), "book", ["order"])(effects.node)
    with pytest.raises(ConfigurationError, match='without a value for "order"'):
        node(given)


def test_an_input_without_a_stable_spelling_is_refused_and_says_where(effects: Effects) -> None:
    node = idempotent_node(MemoryState(), "book", ["order"])(effects.node)
    with pytest.raises(PayloadRefused) as caught:
        node({"order": 1, "lines": [{"made": object()}]})
    assert (
        str(caught.value)
        == "input.lines[0].made holds a object, which has no stable spelling; pass its id instead."
    )
    assert effects.made == []


def test_a_node_keeps_its_name_and_its_documentation() -> None:
    @idempotent_node(MemoryState(), "book", ["order"])
    def book(graph: dict[str, Any]) -> None:
        """Book it."""

    assert (book.__name__, book.__doc__) == ("book", "Book it.")


# Whatever happens in whatever order


class Call(RuleBasedStateMachine):
    """Holders that begin, end in every way or never; people that decide; a clock that jumps."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = FrozenClock()
        self.state = MemoryState(self.clock)
        self.number = 0
        self.holders: list[str] = []
        #: Effects of calls that ended well or in doubt and about which nobody said "not applied".
        self.effects = 0
        #: Calls that were begun, and the doubts that a verifier was asked about, each with how many there were then.
        self.attempts = 0
        self.asked: list[tuple[str, int]] = []

    def _change(self, function: Callable[..., Any], **arguments: Any) -> Any:
        return self.state.change(CLAIMS, "k", partial(function, **arguments))

    @property
    def claim(self) -> Claim | None:
        return self.state.read(CLAIMS, "k").record

    @rule()
    def somebody_asks(self) -> None:
        self.number += 1
        token = f"t{self.number}"
        answer = self._change(
            rules.begin, token=token, fingerprint="f", lease=LEASE, by="p", attempt=f"a{self.number}"
        )
        if isinstance(answer, Begin):
            assert self.effects == 0, "an effect would be made twice"
            self.holders.append(token)
            self.effects = 1
            self.attempts += 1
        if isinstance(answer, InDoubt):
            self.asked.append((answer.doubt, self.attempts))

    @precondition(lambda self: self.holders)
    @rule(data=st.data(), status=st.sampled_from([Status.DONE, Status.FAILED, Status.UNKNOWN]))
    def somebody_ends(self, data: st.DataObject, status: Any) -> None:
        token = data.draw(st.sampled_from(self.holders))
        self.holders.remove(token)
        said = {"token": token, "fingerprint": "f", "by": "p", "ttl": 1e12}
        if self._change(rules.end, status=status, result='"r"', **said).status is Status.FAILED:
            self.effects = 0

    @rule(applied=st.booleans())
    def a_person_decides(self, applied: bool) -> None:
        if self._change(rules.decide, applied=applied, result=None, ttl=1e12, by="ana") and not applied:
            self.effects = 0

    @precondition(lambda self: self.asked)
    @rule(data=st.data(), applied=st.booleans())
    def a_verifier_answers(self, data: st.DataObject, applied: bool) -> None:
        answer = data.draw(st.sampled_from(self.asked))
        self.asked.remove(answer)
        doubt, attempts = answer
        if self._change(rules.decide, applied=applied, result=None, ttl=1e12, by="verifier", doubt=doubt):
            assert attempts == self.attempts, "what was seen of one attempt was said of another"
            self.effects = int(applied)

    @rule(seconds=st.sampled_from([1.0, LEASE, -LEASE, 86_400.0, -86_400.0]))
    def time_jumps(self, seconds: float) -> None:
        self.clock.advance(seconds)


Call.TestCase.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)
TestCall = Call.TestCase


def test_a_claim_comes_back_from_text_as_it_was(memory: MemoryState) -> None:
    IdempotentCalls("book", memory).run("k", "f", lambda: {"a": "é"})
    claim = memory.read(CLAIMS, "book k").record
    assert claim is not None
    assert decode(encode(claim)) == claim
