"""What must be in order around every run, for the sake of a framework? Frameworks say so from `dlq_console.contrib`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    AsyncExitStack,
    ExitStack,
    contextmanager,
)
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is entered before a run and left after it.

    Attributes:
        of_function: in the thread of a plain handler.
        of_coroutine: on the event loop of an async one.
    """

    of_function: Callable[[], AbstractContextManager[object]]
    of_coroutine: Callable[[], AbstractAsyncContextManager[object]]


_registered: list[Surroundings] = []


def register(surroundings: Surroundings) -> None:
    """From now on every run in this process has these around it."""
    _registered.append(surroundings)


@contextmanager
def around_function() -> Iterator[None]:
    """Inside the block a handler is called."""
    with ExitStack() as stack:
        for each in _registered:
            stack.enter_context(each.of_function())
        yield


async def around_coroutine(awaitable: Awaitable[Any]) -> Any:
    """What an async handler returns."""
    async with AsyncExitStack() as stack:
        for each in _registered:
            await stack.enter_async_context(each.of_coroutine())
        return await awaitable
