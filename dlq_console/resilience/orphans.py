"""Which work has lost its process, and how does it get back into the queue?

For work outside the hub, such as the threads of a graph; the hub rescues its own lapsed leases in place.
"""

from __future__ import annotations

import inspect
import json
import logging
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict
from functools import partial
from typing import Any

from dlq_console.clock import monotonic
from dlq_console.errors import StoreUnavailable
from dlq_console.resilience import checks, queue_rules
from dlq_console.resilience.backpressure import identified
from dlq_console.resilience.calls import off_the_loop, to_the_end
from dlq_console.resilience.errors import StillRunningError
from dlq_console.resilience.forks import forget_in_child
from dlq_console.resilience.leases import Lease, new_token, renewed
from dlq_console.resilience.link import link_to
from dlq_console.resilience.queue_rules import QUEUES
from dlq_console.resilience.state import Change, Kind, SharedState, checked_state, unchanged

logger = logging.getLogger(__name__)

#: Work whose process shows no sign of life for so long is an orphan, in seconds.
LEASE = 30.0
_FOR_EVER = 10 * 365 * 86_400.0

Work = Mapping[str, Lease]


def _encode(work: Work) -> str:
    return json.dumps({id_: asdict(lease) for id_, lease in work.items()}, separators=(",", ":"))


def _decode(text: str) -> Work:
    return {id_: Lease(**lease) for id_, lease in json.loads(text).items()}


WORK: Kind[Work] = Kind("work", _encode, _decode)


class WorkRegister:
    """Knows which work is under way, and which has lost its process.

    Args:
        state: shared by all processes that do the work.
        name: of the kind of work.
        lease: how long a process may be without a sign of life, in seconds.
    """

    def __init__(self, state: SharedState, name: str, *, lease: float = LEASE) -> None:
        self.name = checks.name(name, "work register")
        checks.seconds(lease, "lease", at_least=1)
        self._state = state
        self._link = link_to(state)
        self._lease = lease
        self.forget()
        forget_in_child(self)

    def forget(self) -> None:
        """Hold no work, as in a forked child: that of its parent is not its own."""
        self._lock = threading.Lock()
        self._held: dict[tuple[str, str], float] = {}
        self._unsaid: set[tuple[str, str]] = set()

    @contextmanager
    def hold(self, id_: str) -> Iterator[None]:
        """The work is under way while the block lasts, however it ends; only a dead process leaves an orphan.

        When the state is away at the end, that is said in the background; the block ends as it would have.

        Raises:
            StillRunningError: it is under way elsewhere.
        """
        token = new_token()
        self._begin(id_, token)
        try:
            yield
        finally:
            self._end(id_, token)

    @asynccontextmanager
    async def ahold(self, id_: str) -> AsyncIterator[None]:
        """As `hold`, for async code."""
        token = new_token()
        end = partial(self._end, id_, token)
        await off_the_loop(self._state, partial(self._begin, id_, token), undo=lambda _: end())
        try:
            yield
        finally:
            await to_the_end(self._state, end)

    def orphans(self) -> list[str]:
        """The work whose process has died; what an `OrphanScanner` is to find."""
        reading = self._state.read(WORK, self.name)
        return [id_ for id_, lease in (reading.record or {}).items() if lease.expires <= reading.now]

    def tick(self) -> bool:
        """Show a sign of life of the work under way, and say of what has ended; in the background."""
        with self._lock:
            late = [held for held, at in self._held.items() if monotonic() - at > self._lease / 3]
            unsaid = list(self._unsaid)
        for id_, token in unsaid:
            ended = partial(_ended, id_=id_, token=token)
            if not self._link.done_unless_away(WORK, self.name, ended):
                return True
            with self._lock:
                self._unsaid.discard((id_, token))
        for id_, token in late:
            renew = partial(_renewed, id_=id_, token=token)
            if not self._link.done_unless_away(WORK, self.name, renew):
                return True
            with self._lock:
                if (id_, token) in self._held:
                    self._held[id_, token] = monotonic()
        return bool(self._held or self._unsaid)

    def _begin(self, id_: str, token: str) -> None:
        begin = partial(_begun, id_=id_, token=token, lease=self._lease)
        wait = self._state.change(WORK, self.name, begin)
        if wait is not None:
            raise StillRunningError(
                f'"{self.name}" {id_} is under way elsewhere.', name=self.name, retry_after=wait
            )
        with self._lock:
            self._held[id_, token] = monotonic()
        self._link.keep(self)

    def _end(self, id_: str, token: str) -> None:
        """Say that the work has ended; said in the background when the state is away now."""
        with self._lock:
            self._held.pop((id_, token), None)
        try:
            self._state.change(WORK, self.name, partial(_ended, id_=id_, token=token))
        except StoreUnavailable as away:
            logger.warning('"%s" %s has ended, but that cannot be kept yet: %s', self.name, id_, away)
            with self._lock:
                self._unsaid.add((id_, token))
            self._link.keep(self)


def _begun(
    work: Work | None, now: float, *, id_: str, token: str, lease: float
) -> Change[Work, float | None]:
    """The answer is None, or how long to wait for the one who does it now."""
    held = (work or {}).get(id_)
    if held is not None and held.token != token and held.expires > now:
        return unchanged(min(held.expires - now, held.length))
    return Change(None, {**(work or {}), id_: Lease(token, now + lease, lease)}, _FOR_EVER)


def _renewed(work: Work | None, now: float, *, id_: str, token: str) -> Change[Work, None]:
    held = (work or {}).get(id_)
    if held is None or held.token != token:
        return unchanged(None)
    return Change(None, {**(work or {}), id_: renewed([held], token, now)[0]}, _FOR_EVER)


def _ended(work: Work | None, _now: float, *, id_: str, token: str) -> Change[Work, None]:
    held = (work or {}).get(id_)
    if held is None or held.token != token:
        return unchanged(None)
    return Change(None, {other: lease for other, lease in (work or {}).items() if other != id_}, _FOR_EVER)


class OrphanScanner:
    """Puts orphaned work into a recovery queue; any number of scanners may run at once.

    Args:
        state: shared by all processes that use the queue.
        name: of the queue.
        find: gives the work that has lost its process, such as `WorkRegister.orphans`; may be async for `ascan`.
        max_size: items the queue holds at most.

    Raises:
        ConfigurationError: an argument is not fit.
    """

    def __init__(
        self, state: SharedState, name: str, find: Callable[[], Any], *, max_size: int = 100
    ) -> None:
        self.name = checks.name(name, "queue")
        checks.count(max_size, "max_size")
        checks.function(find, "find")
        self._state = checked_state(state)
        self._find = find
        self._max_size = max_size

    def scan(self) -> int:
        """Find orphans and queue those that are not in the queue; returns how many were put in.

        What finds no room stays an orphan, for the next scan.
        """
        # What is done while we search must not be brought back by what we found before.
        began = self._state.read(QUEUES, self.name).now
        return self._queue(self._find(), began)

    async def ascan(self) -> int:
        """As `scan`, for async code."""
        reading = await off_the_loop(self._state, partial(self._state.read, QUEUES, self.name))
        found = self._find()
        if inspect.isawaitable(found):
            found = await found
        return await off_the_loop(self._state, partial(self._queue, found, reading.now))

    def _queue(self, found: Iterable[Any], began: float) -> int:
        queued = 0
        for item in found:
            id_, value = identified(item)
            push = partial(queue_rules.push, id_=id_, value=value, max_size=self._max_size, found_at=began)
            pushed = self._state.change(QUEUES, self.name, push)
            if not pushed.accepted:
                logger.warning("queue %s is full: orphans wait for the next scan", self.name)
                break
            queued += pushed.new
        return queued
