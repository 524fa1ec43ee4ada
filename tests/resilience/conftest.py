"""What do the tests of the resilience library get? States of every kind, a clock they may turn, and async tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest

from dlq_console.resilience.defaults import register_defaults
from dlq_console.resilience.state import SharedState
from tests.resilience.states import ADDRESSES, SHARED_STATES, STATES, FrozenClock, open_state


class OpenState:
    """Opens the shared state of this test, as often as it is called: each as another process would see it.

    Attributes:
        address: where another process finds it.
    """

    def __init__(self, address: str, open_: Callable[[], SharedState]) -> None:
        self.address = address
        self._open = open_

    def __call__(self) -> SharedState:
        return self._open()


@pytest.fixture
def anyio_backend() -> str:
    """Tests marked `anyio` run on the loop that everybody uses."""
    return "asyncio"


@pytest.fixture(autouse=True)
def _no_retries_of_other_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """The retries of a service are limited per process; each test begins with all of them."""
    monkeypatch.setattr("dlq_console.resilience.retry_budget._budgets", {})


@pytest.fixture(autouse=True)
def _no_defaults_of_other_tests() -> Iterator[None]:
    """What a program registers, or is offered by importing a public name, is of its process."""
    register_defaults(None)
    yield
    register_defaults(None)


@pytest.fixture
def clock() -> FrozenClock:
    """A clock that goes only when the test says so."""
    return FrozenClock()


@pytest.fixture(params=STATES)
def state(request: pytest.FixtureRequest) -> Iterator[SharedState]:
    """An empty state of every kind."""
    yield from open_state(request, request.param)


def _opening(request: pytest.FixtureRequest, which: str) -> Iterator[OpenState]:
    opened = contextmanager(open_state)
    with ExitStack() as stack:
        address: str = request.getfixturevalue(ADDRESSES[which])
        yield OpenState(address, lambda: stack.enter_context(opened(request, which)))


@pytest.fixture(params=SHARED_STATES)
def open_shared(request: pytest.FixtureRequest) -> Iterator[OpenState]:
    """Opens one and the same empty shared state, of every kind, as often as it is called."""
    yield from _opening(request, request.param)


@pytest.fixture
def open_redis(request: pytest.FixtureRequest) -> Iterator[OpenState]:
    """The same with Redis alone, for long tests of what does not depend on the store."""
    yield from _opening(request, "redis")
