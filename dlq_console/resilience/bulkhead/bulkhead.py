"""How does a program keep the calls of one service from taking all its threads? `bulkhead.run(fn, ...)`.

Nobody is overtaken: whoever waits holds a ticket in the record. Waiting is looking again, the sooner the nearer the
turn; a sync function past its limit frees its caller and keeps its slot until it really ends.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any
from weakref import ref

import anyio

from dlq_console.clock import monotonic
from dlq_console.resilience import budget, checks
from dlq_console.resilience.bulkhead import rules
from dlq_console.resilience.bulkhead.config import BulkheadConfig
from dlq_console.resilience.bulkhead.rules import BULKHEADS, Answer, BulkheadRecord, Granted, Waiting
from dlq_console.resilience.calls import is_async, no_awaitable, no_generator, off_the_loop, owner, to_the_end
from dlq_console.resilience.errors import BulkheadFullError, BulkheadTimeoutError
from dlq_console.resilience.forks import forget_in_child
from dlq_console.resilience.leases import new_token
from dlq_console.resilience.link import link_to
from dlq_console.resilience.state import Contended, MemoryState, SharedState
from dlq_console.resilience.tallies import Tally
from dlq_console.resilience.threads import OverrunError, call_within

logger = logging.getLogger(__name__)

#: A process that dies takes a local state with it: its slots need no lease.
_AS_LONG_AS_THE_PROCESS = 1e9
#: Seconds between two looks for each place in the line, drawn by lot: a long line must not keep the state busy.
_EACH_PLACE = (0.002, 0.01)
#: The longest of these pauses.
_LONGEST_PAUSE = 0.25


class Held:
    """A slot that is asked for or held; give it back with `release`.

    An interrupt, such as a soft time limit, may strike between any two steps and take it from whoever should give it
    back. Then nobody has this object any more, and the slot is free again.
    """

    def __init__(self, bulkhead: Bulkhead) -> None:
        self._bulkhead = bulkhead
        self.token = new_token()
        #: Of the link, when the slot was given.
        self.epoch = 0
        _in_hand[self.token] = ref(self)

    def release(self) -> None:
        """Give the slot back."""
        self._bulkhead.give_back(self)

    async def arelease(self) -> None:
        """As `release`, for async code; is done also when the task is being cancelled."""
        await to_the_end(self._bulkhead.shared_state, self.release)


#: What somebody in this process may still give back, by its token. No WeakValueDictionary: that runs code of its own
#: where an object ends, in which an interrupt would be lost.
_in_hand: dict[str, ref[Held]] = {}


def _is_in_hand(token: str) -> bool:
    held = _in_hand.get(token)
    return held is not None and held() is not None


class Bulkhead:
    """Lets so many calls of a service be under way at once.

    Args:
        name: of the service; all processes that use the same name and state share the slots.
        config: the limits.
        state: where the slots are kept; None: in this process alone.

    Raises:
        ConfigurationError: an argument is not fit.
    """

    def __init__(
        self, name: str, config: BulkheadConfig | None = None, *, state: SharedState | None = None
    ) -> None:
        self.name = checks.name(name, "bulkhead")
        self.config = checks.config(config, "config", BulkheadConfig)
        self._link = link_to(state if state is not None else MemoryState())
        self._tally = Tally(self._link, f"bulkhead {name}")
        self.forget()
        forget_in_child(self)

    def forget(self) -> None:
        """Hold no slot, as in a forked child: the slots of its parent are not its own."""
        self._lock = threading.Lock()
        self._held: dict[str, float] = {}
        self._unsaid: set[str] = set()

    @property
    def shared_state(self) -> SharedState:
        """Where the slots are kept."""
        return self._link.state

    def resize(self, max_concurrent: int) -> None:
        """Change the number of slots for calls that begin from now on; calls under way keep theirs.

        Raises:
            ConfigurationError: it is no whole number of at least 0.
        """
        self.config = replace(self.config, max_concurrent=max_concurrent)

    def stats(self) -> dict[str, Any]:
        """What stands in the record, and what this process has counted."""
        record = self._link.look(BULKHEADS, self.name) or rules.BLANK
        counted = self._tally.own()
        return {
            **rules.figures(replace(record, max=self._limit()), self._link.now()),
            **{name: counted.get(name, 0) for name in ("calls", "rejected", "timeouts", "overran")},
            "degraded": self._link.away is not None,
        }

    def run(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call `fn` in a slot; gives an awaitable when `fn` is async.

        A sync function runs in a thread of its own, in a copy of the caller's context, where there is a time limit.

        Raises:
            BulkheadFullError: no slot became free in time; it was not called.
            BulkheadTimeoutError: it took longer than its limit.
            BudgetExceededError: the budget leaves no time to begin.
            ConfigurationError: `fn` is a generator function.
        """
        no_generator(fn, self.name)
        if is_async(fn):
            return self._run_async(fn, args, kwargs)
        held = self.acquire()
        try:
            limit = self._limit_of_call()
        except BaseException:
            held.release()
            raise
        call = partial(fn, *args, **kwargs)
        if limit is None:
            try:
                result = call()
            finally:
                held.release()
        else:
            try:
                result = call_within(limit, call, held.release)
            except OverrunError:
                raise self._overrun(limit) from None
        return no_awaitable(result, self.name)

    async def _run_async(self, fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        held = await self.aacquire()
        limit: float | None = None
        try:
            limit = self._limit_of_call()
            with anyio.move_on_after(limit):
                return await fn(*args, **kwargs)
        finally:
            await held.arelease()
        # The scope ends without a result only when its time was over.
        raise self._overrun(limit)

    # Slots

    def acquire(self, wait: float | None = None) -> Held:
        """Take a slot; wait for one at most `wait` seconds, or as configured, and never beyond the budget.

        Raises:
            BulkheadFullError: none became free.
        """
        deadline = monotonic() + self._wait_limit(wait)
        held = Held(self)
        try:
            while True:
                answer, epoch, asked = self._ask(held.token, deadline)
                if isinstance(answer, Granted):
                    return self._taken(held, epoch, asked)
                time.sleep(self._pause(answer, deadline))
        except BaseException as error:
            _in_hand.pop(held.token, None)
            if not isinstance(error, BulkheadFullError):
                self._leave(held.token)
            raise

    async def aacquire(self, wait: float | None = None) -> Held:
        """As `acquire`, for async code."""
        deadline = monotonic() + self._wait_limit(wait)
        held = Held(self)
        state = self.shared_state
        try:
            while True:
                answer, epoch, asked = await off_the_loop(
                    state, partial(self._ask, held.token, deadline), undo=lambda _: self._leave(held.token)
                )
                if isinstance(answer, Granted):
                    return self._taken(held, epoch, asked)
                await anyio.sleep(self._pause(answer, deadline))
        except BaseException as error:
            _in_hand.pop(held.token, None)
            if not isinstance(error, BulkheadFullError):
                await to_the_end(state, partial(self._leave, held.token))
            raise

    def give_back(self, held: Held) -> None:
        """Free a slot; used by what `acquire` returned. Twice does no harm."""
        with self._lock:
            renewed = self._held.pop(held.token, None)
        _in_hand.pop(held.token, None)
        if renewed is None:
            return
        try:
            stood = self._free(held.token)
        except BaseException:
            self._free_later(held.token)
            raise
        if held.epoch != self._link.epoch:
            # The state was away since it was taken: what was freed now may have been the local slot alone.
            self._free_later(held.token)
        elif not stood:
            self._missed(renewed)

    def tick(self) -> bool:
        """Renew the slots of long calls, and free those that could not be freed; in the background."""
        now, lease = monotonic(), self.config.lease
        with self._lock:
            for token in [token for token in self._held if not _is_in_hand(token)]:
                del self._held[token]
                _in_hand.pop(token, None)
                self._unsaid.add(token)
            unsaid = list(self._unsaid)
            late = [token for token, renewed in self._held.items() if now - renewed > lease / 3]
        if late and self._renewed(late):
            with self._lock:
                self._held.update({token: now for token in late if token in self._held})
        for token in unsaid:
            if not self._link.done_unless_away(BULKHEADS, self.name, partial(rules.release, token=token)):
                break
            with self._lock:
                self._unsaid.discard(token)
        return bool(self._held or self._unsaid)

    def _renewed(self, tokens: list[str]) -> bool:
        """Give these slots their full lease again; False when that must be tried again."""
        try:
            self._link.change(BULKHEADS, self.name, partial(rules.renew, tokens=tokens), begin_local=_own)
        except Contended:
            return False
        return True

    def _ask(self, token: str, deadline: float) -> tuple[Answer, int, float]:
        """Ask once for the slot; the answer, under which epoch of the link it was given, and the time before that.

        Raises:
            BulkheadFullError: the time is over, and others were faster each time.
        """
        limit = self._limit()
        asked = monotonic()
        # No slot will ever become free where there is none.
        wait = limit > 0 and asked < deadline
        change = partial(rules.acquire, token=token, owner=owner(), lease=self._lease(), wait=wait)
        local_limit = self.config.local_max_concurrent
        ask = partial(
            self._link.change,
            BULKHEADS,
            self.name,
            partial(change, limit=limit),
            local_change=partial(change, limit=limit if local_limit is None else local_limit),
            begin_local=_own,
        )
        try:
            answer = ask()
            if not isinstance(answer, Granted) and self._reclaimed():
                answer = ask()
        except Contended:
            # Nobody knows who is inside: this call waits on, or is refused, and the slots are never exceeded.
            if not wait or monotonic() >= deadline:
                # Its place in the line need not be given up at once, so nobody waits for that.
                self._free_later(token)
                raise self._rejected("too many ask for its slots at the same moment") from None
            answer = Waiting(0)
        return answer, self._link.epoch, asked

    def _reclaimed(self) -> bool:
        """Free the slots of a local state that nobody can give back any more; whether there were any."""
        if not self._link.state.local:
            return False
        record = self._link.look(BULKHEADS, self.name) or rules.BLANK
        lost = [slot.token for slot in record.slots if not _is_in_hand(slot.token)]
        for token in lost:
            _in_hand.pop(token, None)
            with self._lock:
                self._held.pop(token, None)
            self._free(token)
        return bool(lost)

    def _taken(self, held: Held, epoch: int, asked: float) -> Held:
        held.epoch = epoch
        self._tally.add("calls")
        with self._lock:
            first = not self._held
            # The lease has begun no earlier than this, so when it is over, so is as much time here.
            self._held[held.token] = asked
        if first and not self._link.state.local:
            self._link.keep(self)
        return held

    def _pause(self, answer: Answer, deadline: float) -> float:
        """Seconds until the next look.

        Raises:
            BulkheadFullError: there is nothing to wait for any more.
        """
        if isinstance(answer, Waiting):
            each = random.uniform(*_EACH_PLACE)  # noqa: S311 - spreads the looks, keeps no secret
            return min(each * (answer.before + 1), _LONGEST_PAUSE, max(0.0, deadline - monotonic()))
        raise self._rejected(f"all its {self._limit()} slots are taken")

    def _rejected(self, why: str) -> BulkheadFullError:
        self._tally.add("rejected")
        return BulkheadFullError(f'"{self.name}" is not called: {why}.', name=self.name)

    def _leave(self, token: str) -> None:
        """Leave the line; also a slot that was granted at the last moment."""
        self._free(token)

    def _free(self, token: str) -> bool:
        """Give back the slot or the place in the line; False when it was not there any more."""
        release = partial(rules.release, token=token)
        try:
            return self._link.change(BULKHEADS, self.name, release, begin_local=_own)
        except Contended:
            self._free_later(token)
            return True

    def _free_later(self, token: str) -> None:
        with self._lock:
            self._unsaid.add(token)
        self._link.keep(self)

    def _missed(self, renewed: float) -> None:
        """The slot was gone when its call ended: its lease was over, or the state has lost it."""
        if monotonic() - renewed < self.config.lease:
            self._link.tell_of_gone(BULKHEADS, self.name)
            return
        self._tally.add("overran")
        logger.warning("bulkhead %s: a call outlived the lease of its slot", self.name)

    # Limits, all of them computed for one call; nothing is written into the configuration

    def _limit(self) -> int:
        return self.config.max_concurrent

    def _lease(self) -> float:
        return _AS_LONG_AS_THE_PROCESS if self._link.state.local else self.config.lease

    def _wait_limit(self, wait: float | None) -> float:
        own = self.config.acquire_timeout if wait is None else wait
        return min(own, max(0.0, budget.remaining_budget() - budget.RESERVE)) if budget.is_set() else own

    def _limit_of_call(self) -> float | None:
        return (
            budget.child_limit(self.config.timeout, name=self.name)
            if budget.is_set()
            else self.config.timeout
        )

    def _overrun(self, limit: float | None) -> BulkheadTimeoutError:
        self._tally.add("timeouts")
        return BulkheadTimeoutError(
            f'A call of "{self.name}" took longer than its limit of {limit or 0:.3g} s.', name=self.name
        )


def _own(record: BulkheadRecord) -> BulkheadRecord:
    return rules.only_of(record, owner())
