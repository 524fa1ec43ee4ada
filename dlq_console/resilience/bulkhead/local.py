"""How does async code of one process keep the calls of a service few, without looking again and again? It is woken.

The slots are those of an `anyio.CapacityLimiter`: whoever waits is served in the order in which he came, at the moment
at which a slot becomes free. Nothing is shared with other processes or with other event loops.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import anyio
from anyio import from_thread, to_thread

from dlq_console.clock import monotonic
from dlq_console.resilience import budget, checks
from dlq_console.resilience.bulkhead.config import BulkheadConfig
from dlq_console.resilience.calls import is_async, no_awaitable, no_generator
from dlq_console.resilience.errors import BulkheadFullError, BulkheadTimeoutError


class LocalBulkhead:
    """Lets so many calls of a service be under way at once, in one event loop.

    Args:
        name: of the service.
        config: the limits; a slot of this process needs no lease.

    Raises:
        ConfigurationError: an argument is not fit.
    """

    def __init__(self, name: str, config: BulkheadConfig | None = None) -> None:
        self.name = checks.name(name, "bulkhead")
        self.config = checks.config(config, "config", BulkheadConfig)
        self._limiter: anyio.CapacityLimiter | None = None
        self._since: dict[object, float] = {}
        self._counts = {"calls": 0, "rejected": 0, "timeouts": 0}

    async def run(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call `fn` in a slot; a sync function runs in a thread, and keeps its slot until it really ends.

        Raises:
            BulkheadFullError: no slot became free in time; it was not called.
            BulkheadTimeoutError: it took longer than its limit.
            BudgetExceededError: the budget leaves no time to begin.
            ConfigurationError: `fn` is a generator function.
        """
        no_generator(fn, self.name)
        slot = object()
        await self._enter(slot)
        call = partial(fn, *args, **kwargs)
        try:
            limit = self._limit_of_call()
        except BaseException:
            self._leave(slot)
            raise
        with anyio.move_on_after(limit):
            return await (self._await(call, slot) if is_async(fn) else self._in_thread(call, slot))
        self._counts["timeouts"] += 1
        raise BulkheadTimeoutError(
            f'A call of "{self.name}" took longer than its limit of {limit or 0:.3g} s.', name=self.name
        )

    def resize(self, max_concurrent: int) -> None:
        """Change the number of slots; calls under way keep theirs, and whoever waits gets the new ones.

        Raises:
            ConfigurationError: it is no whole number of at least 0.
        """
        self.config = replace(self.config, max_concurrent=max_concurrent)
        if self._limiter is not None and max_concurrent:
            self._limiter.total_tokens = max_concurrent

    def stats(self) -> dict[str, Any]:
        """Who is inside, who waits, and what was counted."""
        waiting = 0 if self._limiter is None else self._limiter.statistics().tasks_waiting
        oldest = min(self._since.values(), default=None)
        return {
            "max": self.config.max_concurrent,
            "in_use": len(self._since),
            "available": max(0, self.config.max_concurrent - len(self._since)),
            "waiting": waiting,
            "oldest": None if oldest is None else {"owner": "", "seconds": monotonic() - oldest},
            **self._counts,
        }

    async def _enter(self, slot: object) -> None:
        entered = False
        # Without slots there is nothing to wait for.
        if self.config.max_concurrent:
            limiter = self._limiter = self._limiter or anyio.CapacityLimiter(self.config.max_concurrent)
            try:
                limiter.acquire_on_behalf_of_nowait(slot)
                entered = True
            except anyio.WouldBlock:
                entered = await self._waited(limiter, slot)
        if not entered:
            self._counts["rejected"] += 1
            raise BulkheadFullError(
                f'"{self.name}" is not called: all its {self.config.max_concurrent} slots are taken.',
                name=self.name,
            )
        self._counts["calls"] += 1
        self._since[slot] = monotonic()

    async def _waited(self, limiter: anyio.CapacityLimiter, slot: object) -> bool:
        """Whether a slot became free in time; one that is free because there are none any more is not taken."""
        with anyio.move_on_after(self._wait_limit()):
            await limiter.acquire_on_behalf_of(slot)
            if self.config.max_concurrent:
                return True
            limiter.release_on_behalf_of(slot)
        return False

    def _leave(self, slot: object) -> None:
        del self._since[slot]
        if self._limiter is not None:
            self._limiter.release_on_behalf_of(slot)

    async def _await(self, call: Callable[[], Any], slot: object) -> Any:
        try:
            return await call()
        finally:
            self._leave(slot)

    async def _in_thread(self, call: Callable[[], Any], slot: object) -> Any:
        begun = False

        def work() -> Any:
            nonlocal begun
            begun = True
            try:
                return call()
            finally:
                from_thread.run_sync(self._leave, slot)

        try:
            # The slots are the limit; the number of threads needs none of its own.
            unlimited = anyio.CapacityLimiter(math.inf)
            result = await to_thread.run_sync(work, abandon_on_cancel=True, limiter=unlimited)
        except BaseException:
            if not begun:
                self._leave(slot)
            raise
        return no_awaitable(result, self.name)

    def _wait_limit(self) -> float:
        own = self.config.acquire_timeout
        return min(own, max(0.0, budget.remaining_budget() - budget.RESERVE)) if budget.is_set() else own

    def _limit_of_call(self) -> float | None:
        own = self.config.timeout
        return budget.child_limit(own, name=self.name) if budget.is_set() else own
