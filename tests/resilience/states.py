"""Which shared states do the tests run over, and how is one opened?"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import pytest

from dlq_console.resilience.redis_state import RedisState
from dlq_console.resilience.state import MemoryState, SharedState
from dlq_console.store.shared_state import SqlState

STATES = ("memory", "sqlite", "postgresql", "redis")
SHARED_STATES = STATES[1:]

#: A busy machine must not make the suite believe that a state is away, in seconds.
GENEROUS = 5.0

#: The fixtures that hold their addresses.
ADDRESSES = {"redis": "redis_url", "sqlite": "sqlite_url", "postgresql": "postgres_url"}


class FrozenClock:
    """A clock that goes only when it is told to."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        """Let time pass; negative steps back."""
        self.now += seconds


async def until(predicate: Callable[[], bool]) -> None:
    """Let other tasks go on until the predicate holds."""
    async with asyncio.timeout(20):
        while not predicate():  # noqa: ASYNC110 - what is waited for stands in a store
            await asyncio.sleep(0.005)


def open_state(request: pytest.FixtureRequest, which: str) -> Iterator[SharedState]:
    """The state of this test of one of the kinds above; opened twice, it is what a second process would see."""
    state = _make[which](request)
    yield state
    state.close()


def _redis(request: pytest.FixtureRequest) -> SharedState:
    return RedisState(request.getfixturevalue(ADDRESSES["redis"]), timeout=GENEROUS)


def _sql(which: str) -> Callable[[pytest.FixtureRequest], SharedState]:
    def make(request: pytest.FixtureRequest) -> SharedState:
        state = SqlState(request.getfixturevalue(ADDRESSES[which]), timeout=GENEROUS)
        state.create_table()
        return state

    return make


_make: dict[str, Callable[[pytest.FixtureRequest], SharedState]] = {
    "memory": lambda _request: MemoryState(),
    "redis": _redis,
    "sqlite": _sql("sqlite"),
    "postgresql": _sql("postgresql"),
}
