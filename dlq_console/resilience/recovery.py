"""Who does the work that was lost, without drowning in it? A consumer: three at a time in all processes, 120 s each."""

from __future__ import annotations

import asyncio
import logging
import math
import random
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread

from dlq_console.clock import monotonic
from dlq_console.errors import ConfigurationError, StoreUnavailable
from dlq_console.resilience import checks, parked_items, queue_rules
from dlq_console.resilience.backpressure import read_item
from dlq_console.resilience.calls import is_async, no_awaitable, off_the_loop, owner, to_the_end
from dlq_console.resilience.errors import StillRunningError
from dlq_console.resilience.forks import forget_in_child
from dlq_console.resilience.leases import new_token
from dlq_console.resilience.link import link_to
from dlq_console.resilience.parked_items import ParkedItem
from dlq_console.resilience.queue_rules import QUEUES, Item
from dlq_console.resilience.retry import RetryConfig
from dlq_console.resilience.state import SharedState
from dlq_console.resilience.threads import OverrunError, call_within

logger = logging.getLogger(__name__)

#: An item whose process shows no sign of life for so long is taken up by another, in seconds.
LEASE = 30.0
#: How often and after which waits an item is tried again.
RETRY = RetryConfig(max_attempts=5, base_delay=5.0, max_delay=300.0)
#: Seconds between two looks at an empty queue.
_POLL = 1.0
#: Stands for the error of an item whose processes died.
_DIED = ChildProcessError("every process that began it died")


class RecoveryConsumer:
    """Does the items of a queue.

    Args:
        state: shared by all processes that use the queue.
        name: of the queue.
        handle: does one item, sync or async; an error, SystemExit included, means that it has to be done again. After
            StillRunningError, which says that it is under way elsewhere, it is looked at again later, and no attempt
            is spent; nor is one where the consumer itself is cancelled.
        max_concurrent: items under way at once, in all processes together.
        timeout: the longest an item may take, in seconds. An async handler is cancelled then; a sync one cannot be,
            so its item stays taken until it really ends.
        retry: how often and after which waits an item is tried again.
        on_dead: makes the dead letter of an item that has failed too often, which then leaves the queue; async only
            where `handle` is. None: it stays in the queue, parked, until a person decides (see `parked`).
        lease: how long a process may be without a sign of life, in seconds.

    Raises:
        ConfigurationError: an argument is not fit.
    """

    def __init__(
        self,
        state: SharedState,
        name: str,
        handle: Callable[[Any], Any],
        *,
        max_concurrent: int = 3,
        timeout: float = 120.0,
        retry: RetryConfig = RETRY,
        on_dead: Callable[[Any, str], Any] | None = None,
        lease: float = LEASE,
    ) -> None:
        self.name = checks.name(name, "queue")
        checks.count(max_concurrent, "max_concurrent")
        checks.seconds(timeout, "timeout", above=0)
        checks.seconds(lease, "lease", at_least=1)
        checks.function(handle, "handle")
        checks.config(retry, "retry", RetryConfig)
        if on_dead is not None:
            checks.function(on_dead, "on_dead")
            if is_async(on_dead) and not is_async(handle):
                raise ConfigurationError(
                    f'on_dead of the queue "{name}" is async and its handler is not; let both be async, or neither.'
                )
        self._state = state
        self._link = link_to(state)
        self._handle = handle
        self._max_concurrent = max_concurrent
        self._timeout = timeout
        self._retry = retry
        self._on_dead: Any = on_dead
        self._lease = lease
        self.forget()
        forget_in_child(self)

    def forget(self) -> None:
        """Hold no item, as in a forked child: those of its parent are not its own."""
        self._lock = threading.Lock()
        self._held: dict[str, float] = {}

    def run_once(self) -> int:
        """Do the items that may be done now, some at a time, until there is none left; returns how many were done.

        Raises:
            StoreUnavailable: the state is away; what was under way then will be taken up again.
        """
        done: list[bool] = []
        away: list[StoreUnavailable] = []

        def work() -> None:
            try:
                while (taken := self._take()) is not None:
                    done.append(self._do(*taken))
            except StoreUnavailable as error:
                away.append(error)

        threads = [
            threading.Thread(target=work, name="dlq-console-recovery", daemon=True) for _ in self._places()
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if away:
            raise away[0]
        return sum(done)

    async def arun_once(self) -> int:
        """As `run_once`, for async code: async handlers run on this event loop.

        Raises:
            ExceptionGroup: of StoreUnavailable, as for `run_once`.
        """
        done: list[bool] = []

        async def work() -> None:
            while (taken := await off_the_loop(self._state, self._take, undo=self._untaken)) is not None:
                done.append(await self._ado(*taken))

        async with anyio.create_task_group() as group:
            for _ in self._places():
                group.start_soon(work)
        return sum(done)

    def run_forever(self, stop: threading.Event | None = None) -> None:
        """Do items as they come, until `stop` is set."""
        stop = stop or threading.Event()
        while not stop.is_set():
            try:
                self.run_once()
            except StoreUnavailable as away:
                logger.warning("queue %s: %s", self.name, away)
            stop.wait(_POLL)

    async def arun_forever(self) -> None:
        """As `run_forever`, for async code; ends when it is cancelled.

        An async item that is under way then goes back into the queue, and no attempt is spent.
        """
        while True:
            try:
                await self.arun_once()
            except* StoreUnavailable as away:
                logger.warning("queue %s: %s", self.name, away.exceptions[0])
            await anyio.sleep(_POLL)

    # What a person may do

    def parked(self) -> list[ParkedItem]:
        """The items that have failed too often and wait for a person.

        Raises:
            StoreUnavailable: the state is away.
        """
        return [item for item in parked_items.parked(self._state) if item.queue == self.name]

    def resume(self, id_: str) -> bool:
        """Let a parked item be tried again, with all of its attempts; False when none with this id is parked.

        Raises:
            StoreUnavailable: the state is away.
        """
        return parked_items.resume(self._state, self.name, id_)

    def discard(self, id_: str) -> bool:
        """Take a parked item out of the queue for good; False when none with this id is parked.

        Raises:
            StoreUnavailable: the state is away.
        """
        return parked_items.discard(self._state, self.name, id_)

    def tick(self) -> bool:
        """Show signs of life of the items under way; in the background."""
        with self._lock:
            late = [token for token, at in self._held.items() if monotonic() - at > self._lease / 3]
        for token in late:
            renew = partial(queue_rules.renew, token=token)
            if not self._link.done_unless_away(QUEUES, self.name, renew):
                return True
            with self._lock:
                if token in self._held:
                    self._held[token] = monotonic()
        return bool(self._held)

    def _places(self) -> range:
        return range(self._max_concurrent)

    def _take(self) -> tuple[Item, str] | None:
        token = new_token()
        take = partial(
            queue_rules.take,
            token=token,
            owner=owner(),
            lease=self._lease,
            max_concurrent=self._max_concurrent,
        )
        item = self._state.change(QUEUES, self.name, take)
        if item is None:
            return None
        with self._lock:
            self._held[token] = monotonic()
        self._link.keep(self)
        return item, token

    def _untaken(self, taken: tuple[Item, str] | None) -> None:
        """Give back what was taken for a task that is gone."""
        if taken is not None:
            self._given_back(*taken)

    def _do(self, item: Item, token: str) -> bool:
        """Do one item in this thread; what comes of it is written when it really ends."""
        if is_async(self._handle):
            return anyio.run(self._ado, item, token)
        done: list[bool] = []
        try:
            call_within(self._timeout, partial(self._whole, item, token, done), lambda: None)
        except OverrunError:
            logger.warning("queue %s: an item is not done after %g s and goes on", self.name, self._timeout)
        return done == [True]

    def _whole(self, item: Item, token: str, done: list[bool]) -> None:
        done.append(self._settled(item, token, self._error_of(item)))

    async def _ado(self, item: Item, token: str) -> bool:
        if not is_async(self._handle):
            return await anyio.to_thread.run_sync(self._do, item, token)
        end: Callable[[], bool] = partial(self._given_back, item, token)
        try:
            error = await self._aerror_of(item)
            if error is None or not _is_told_to_end():
                end = await self._aend_of(item, token, error)
        finally:
            # Where this task is told to end, that says nothing about the item, whatever its handler makes of it.
            done = await to_the_end(self._state, end)
        await anyio.lowlevel.checkpoint_if_cancelled()
        return done

    async def _aend_of(self, item: Item, token: str, error: BaseException | None) -> Callable[[], bool]:
        """What writes what came of an item; the dead letter of an async `on_dead` stands by then."""
        if self._on_dead is not None and is_async(self._on_dead) and self._is_last(item, error):
            return partial(self._ended, item, token, error, is_dead=await self._aletter(item, error))
        return partial(self._settled, item, token, error)

    def _error_of(self, item: Item) -> BaseException | None:
        if self._is_worn(item):
            return _DIED
        try:
            no_awaitable(self._handle(read_item(item.value)), self.name)
        except BaseException as error:  # noqa: BLE001 - whatever an item ends with, the consumer goes on
            return error
        return None

    async def _aerror_of(self, item: Item) -> BaseException | None:
        if self._is_worn(item):
            return _DIED
        try:
            with anyio.fail_after(self._timeout):
                await self._handle(read_item(item.value))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - as above
            return error
        except anyio.get_cancelled_exc_class() as error:
            if _is_told_to_end():
                raise
            return error  # something that the handler waited for was cancelled
        return None

    def _is_worn(self, item: Item) -> bool:
        """Whether it was begun as often as it may be, and its process died each time."""
        return item.attempts > self._retry.max_attempts

    def _is_last(self, item: Item, error: BaseException | None) -> bool:
        """Whether it has failed as often as it may."""
        failed = error is not None and not isinstance(error, StillRunningError)
        return failed and item.attempts >= self._retry.max_attempts

    def _letter(self, item: Item, error: BaseException | None) -> bool:
        """Make the dead letter of an item; False when there is none."""
        try:
            no_awaitable(self._on_dead(read_item(item.value), type(error).__name__), self.name)
        except (Exception, SystemExit) as failed:  # noqa: BLE001 - as above
            self._say_parked(failed)
            return False
        return True

    async def _aletter(self, item: Item, error: BaseException | None) -> bool:
        """As `_letter`, for an async `on_dead`."""
        try:
            await self._on_dead(read_item(item.value), type(error).__name__)
        except (Exception, SystemExit, anyio.get_cancelled_exc_class()) as failed:
            if isinstance(failed, anyio.get_cancelled_exc_class()) and _is_told_to_end():
                raise
            self._say_parked(failed)
            return False
        return True

    def _say_parked(self, failed: BaseException) -> None:
        logger.error(
            "queue %s: the dead letter of an item could not be made; it stays parked",
            self.name,
            exc_info=failed,
        )

    def _settled(self, item: Item, token: str, error: BaseException | None) -> bool:
        """Make the dead letter of an item where it is due, and write what came of it; True when it was done."""
        is_dead = self._on_dead is not None and self._is_last(item, error) and self._letter(item, error)
        return self._ended(item, token, error, is_dead=is_dead)

    def _ended(self, item: Item, token: str, error: BaseException | None, *, is_dead: bool) -> bool:
        """Write what came of an item; True when it was done."""
        try:
            if error is None:
                return self._state.change(QUEUES, self.name, partial(queue_rules.finish, token=token))
            kind = type(error).__name__
            if isinstance(error, StillRunningError):
                self._put_back(token, kind, error.retry_after or _POLL, unspent=True)
                return False
            logger.warning("queue %s: attempt %s of an item failed: %s", self.name, item.attempts, kind)
            if is_dead:
                self._state.change(QUEUES, self.name, partial(queue_rules.finish, token=token))
            else:
                delay = self._retry.delay(item.attempts, random.random())  # noqa: S311 - spreads attempts
                self._put_back(token, kind, delay, park=self._is_last(item, error))
            return False
        finally:
            self._let_go(token)

    def _given_back(self, item: Item, token: str) -> bool:
        """The item waits as it did before it was taken; while the state is away, until its lease is over."""
        try:
            self._put_back(token, item.error, 0.0, unspent=True)
        except StoreUnavailable as away:
            logger.warning("queue %s: an item cannot be given back now: %s", self.name, away)
        finally:
            self._let_go(token)
        return False

    def _let_go(self, token: str) -> None:
        with self._lock:
            self._held.pop(token, None)

    def _put_back(
        self, token: str, error: str, delay: float, *, park: bool = False, unspent: bool = False
    ) -> None:
        back = partial(
            queue_rules.put_back, token=token, error=error, delay=delay, park=park, unspent=unspent
        )
        self._state.change(QUEUES, self.name, back)


def _is_told_to_end() -> bool:
    """Whether this task itself is cancelled, by a scope around it or directly."""
    if anyio.current_effective_deadline() == -math.inf:
        return True
    task = asyncio.current_task() if anyio.get_cancelled_exc_class() is asyncio.CancelledError else None
    return task is not None and task.cancelling() > 0
