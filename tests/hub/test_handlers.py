"""Handlers: any function of an event may be one, async ones share one loop, and what could never run is refused."""

from __future__ import annotations

import asyncio
import functools
import logging
import os
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import pytest

from dlq_console import ConfigurationError, Event, Hub, Policy, Run
from dlq_console.hub.handlers import Registry
from tests.services.process import StartChild


@pytest.fixture
def hub() -> Iterator[Hub]:
    hub = Hub.in_memory()
    yield hub
    hub.close()


def _run(hub: Hub, number: int = 1) -> Event:
    return hub.run(hub.enqueue("k", account="a", entity_id=number, payload={"n": number}).id)  # type: ignore[arg-type] # an int is taken too


class Methods:
    def one(self, event: Event) -> str:
        return f"one {event.id}"

    def two(self, event: Event, run: Run) -> str:
        return f"two {run.attempt}"

    def __call__(self, event: Event) -> str:
        return f"call {event.id}"


class AsyncCall:
    async def __call__(self, event: Event) -> str:
        return f"async call {event.id}"


def plain_decorator(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


async def of_event(event: Event) -> str:
    return f"async {event.id}"


async def of_both(event: Event, run: Run) -> str:
    await asyncio.sleep(0)
    return f"async {event.id} {run.attempt}"


def async_in_a_plain_one(event: Event) -> Awaitable[str]:
    return of_event(event)


def with_a_setting(event: Event, retries: int = 3) -> str:
    return f"setting {retries}"


FORMS: dict[str, tuple[Callable[..., Any], str]] = {
    "event": (lambda event: f"event {event.id}", "event 1"),
    "event and run": (lambda event, run: f"run {run.attempt}", "run 1"),
    "run with a default": (lambda event, run=None: f"run {run.attempt}", "run 1"),
    "another argument with a default": (with_a_setting, "setting 3"),
    "keyword with a default": (lambda event, *, client="x": f"client {client}", "client x"),
    "more of anything": (lambda event, *args, **kwargs: f"{args} {kwargs}", "() {}"),
    "method": (Methods().one, "one 1"),
    "method with run": (Methods().two, "two 1"),
    "callable": (Methods(), "call 1"),
    "partial": (functools.partial(lambda prefix, event: f"{prefix} {event.id}", "partial"), "partial 1"),
    "async": (of_event, "async 1"),
    "async with run": (of_both, "async 1 1"),
    "async callable": (AsyncCall(), "async call 1"),
    "async, wrapped": (plain_decorator(of_both), "async 1 1"),
    "async, partial": (functools.partial(of_event), "async 1"),
    "async in a plain function": (async_in_a_plain_one, "async 1"),
}


@pytest.mark.parametrize(("function", "result"), FORMS.values(), ids=FORMS)
def test_every_form_of_a_handler_is_run_to_its_end(
    hub: Hub, function: Callable[..., Any], result: str
) -> None:
    assert hub.handler("k")(function) is function
    event = _run(hub)
    assert (event.status, event.result, event.last_error) == ("done", result, None)


def generator(event: Event) -> Iterator[int]:
    yield event.id


async def async_generator(event: Event) -> AsyncIterator[int]:
    yield event.id


UNFIT: dict[str, Callable[..., Any]] = {
    "nothing": lambda: None,
    "three": lambda event, run, more: None,
    "a required keyword": lambda event, *, client: None,
    "a required keyword besides run": lambda event, run, *, client: None,
    "only keywords": lambda **kwargs: None,
    "only the rest": lambda *args: None,
    "a generator": generator,
    "an async generator": async_generator,
}


@pytest.mark.parametrize("function", UNFIT.values(), ids=UNFIT)
def test_a_function_that_could_never_run_is_refused_by_the_name_of_its_kind(
    hub: Hub, function: Callable[..., Any]
) -> None:
    with pytest.raises(ConfigurationError, match="The handler of k must "):
        hub.handler("k")(function)
    assert hub.registry.get("k") is None


@pytest.mark.parametrize("kind", ["", "  ", "a\x00", "x" * 121, "\ud800", None, 5.5])
def test_a_kind_that_no_event_can_have_is_refused(hub: Hub, kind: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"^A handler needs the name of its kind"):
        hub.handler(kind)


@pytest.mark.parametrize("written", [" order.create ", "cafe\u0301"])
def test_a_kind_is_found_however_it_is_written(hub: Hub, written: str) -> None:
    hub.handler(written)(lambda event: "found")
    made = hub.enqueue(written, account="a", entity_id="1", payload=1)
    assert hub.run(made.id).result == "found"


def test_a_kind_has_one_handler(hub: Hub) -> None:
    hub.handler("k")(lambda event: 1)
    with pytest.raises(ConfigurationError, match="The kind k has a handler already"):
        hub.handler(" k ")(lambda event: 2)
    assert _run(hub).result == 1


def test_what_is_published_is_what_the_policies_say() -> None:
    registry = Registry()
    registry.register("a", Policy(max_attempts=2, timeout=5, provider="erp"))(lambda event: None)
    registry.register("b", Policy())(lambda event: None)
    first, second = registry.kinds()
    assert (first.name, first.max_attempts, first.timeout, first.provider) == ("a", 2, 5, "erp")
    assert first.policy == Policy(max_attempts=2, timeout=5, provider="erp").published() | {"precheck": False}
    assert (second.name, second.max_attempts, second.provider) == ("b", 6, None)


# Async


class Client:
    """Bound to the loop on which it was made, as pools of connections are."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.lock = asyncio.Lock()

    async def call(self) -> str:
        assert asyncio.get_running_loop() is self.loop
        async with self.lock:
            await asyncio.sleep(0)
        return threading.current_thread().name


def test_a_client_that_is_kept_between_runs_works_in_every_run(hub: Hub) -> None:
    kept: list[Client] = []

    @hub.handler("k")
    async def handle(event: Event) -> str:
        if not kept:
            kept.append(Client())
        return await kept[0].call()

    events = [_run(hub, number) for number in range(3)]
    assert [(event.status, event.result) for event in events] == [("done", "dlq-console-async")] * 3


def test_two_hubs_share_the_loop_of_their_process(hub: Hub) -> None:
    loops = []
    other = Hub.in_memory()
    for each in (hub, other):

        async def handle(event: Event) -> None:
            loops.append(asyncio.get_running_loop())

        each.handler("k")(handle)
        assert _run(each).status == "done"
    assert loops[0] is loops[1]
    other.close()


def test_an_async_handler_is_stopped_at_its_time_limit_and_tried_again(hub: Hub) -> None:
    stopped = threading.Event()

    @hub.handler("k", policy=Policy(timeout=0.05, retry_on=()))
    async def handle(event: Event) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            stopped.set()
            raise

    event = _run(hub)
    assert stopped.wait(5)
    assert (event.status, event.error_type) == ("failed", "TimeLimitExceeded")
    assert event.last_error == "The run was stopped at its time limit of 0.05 seconds."


def test_a_time_out_of_an_async_handler_itself_is_not_taken_for_its_time_limit(hub: Hub) -> None:
    @hub.handler("k")
    async def handle(event: Event) -> None:
        async with asyncio.timeout(0.01):
            await asyncio.Event().wait()

    event = _run(hub)
    assert (event.status, event.error_type) == ("failed", "TimeoutError")


@pytest.mark.parametrize(
    "error", [SystemExit(3), MemoryError(), asyncio.CancelledError(), StopAsyncIteration()]
)
def test_an_async_handler_may_raise_anything_and_the_next_one_runs(hub: Hub, error: BaseException) -> None:
    @hub.handler("k")
    async def handle(event: Event) -> str:
        if event.entity_id == "1":
            raise error
        return "well"

    assert _run(hub, 1).error_type == type(error).__name__
    assert _run(hub, 2).result == "well"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_async_handler_runs_although_something_left_behind_has_ended_the_loop(hub: Hub) -> None:
    async def leave() -> None:
        raise SystemExit

    @hub.handler("k", policy=Policy(timeout=0.5))
    async def handle(event: Event) -> str:
        if event.entity_id == "1":
            hub.left_behind = asyncio.create_task(leave())  # type: ignore[attr-defined] # a task nobody holds is dropped
            await asyncio.sleep(0)
            await asyncio.Event().wait()
        return "well"

    assert _run(hub, 1).error_type == "TimeLimitExceeded"
    assert _run(hub, 2).result == "well"


FORKING = """
import asyncio, os, sys
from dlq_console import Hub

hub = Hub.in_memory()

@hub.handler("k")
async def handle(event):
    await asyncio.sleep(0)
    return os.getpid()

def run(number):
    event = hub.run(hub.enqueue("k", account="a", entity_id=number, payload=1).id)
    assert (event.status, event.result) == ("done", os.getpid()), event

run("parent")
child = os.fork()
if child == 0:
    run("child")
    os._exit(0)
_, status = os.waitpid(child, 0)
run("parent again")
hub.close()
sys.exit(os.waitstatus_to_exitcode(status))
"""


def test_async_handlers_work_in_a_child_that_was_forked_after_the_loop_had_started(
    start_child: StartChild,
) -> None:
    child = start_child([sys.executable, "-c", FORKING])
    assert child.wait_for_exit(30) == 0, child.output()


# Run


def test_a_run_tells_its_attempt_its_effect_key_and_what_is_left_of_its_time(
    hub: Hub, caplog: pytest.LogCaptureFixture
) -> None:
    runs: list[Run] = []

    @hub.handler("k", policy=Policy(timeout=60))
    def handle(event: Event, run: Run) -> None:
        runs.append(run)
        run.log.warning("hello from %s", os.getpid())
        run.check()
        assert run.effect_key == event.effect_key
        raise ConnectionError("busy")

    caplog.set_level(logging.WARNING, "dlq_console.handler")
    event = _run(hub)
    hub.clock.advance(3600)
    hub.run(event.id)
    assert [run.attempt for run in runs] == [1, 2]
    assert len({run.effect_key for run in runs}) == 1
    assert 0 < runs[0].remaining() <= 60
    # The logger is an adapter, so that handlers of logs may show which event it was.
    assert runs[0].log.extra == {"event_id": event.id}
    assert "hello from" in caplog.text


def test_the_time_that_is_left_is_never_below_nothing(hub: Hub) -> None:
    left: list[float] = []

    @hub.handler("k", policy=Policy(timeout=0.001))
    def handle(event: Event, run: Run) -> None:
        deadline = run.deadline
        while run.remaining():
            pass
        left.extend((run.remaining(), deadline))

    _run(hub)
    assert left[0] == 0.0
