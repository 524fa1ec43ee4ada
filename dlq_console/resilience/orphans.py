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
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from dlq_console.clock import monotonic
from dlq_console.errors import StoreUnavailable
from dlq_console.resilience import checks, queue_rules
from dlq_console.resilience.backpressure import identified
from dlq_console.resilience.calls import no_awaitable, off_the_loop, to_the_end
from dlq_console.resilience.errors import StillRunningError
from dlq_console.resilience.forks import forget_in_child
from dlq_console.resilience.leases import Lease, new_token, renewed, settled
from dlq_console.resilience.link import link_to
from dlq_console.resilience.queue_rules import QUEUES
from dlq_console.resilience.state import Change, Kind, SharedState, checked_state, unchanged

logger = logging.getLogger(__name__)

#: Work whose process shows no sign of life for so long is an orphan, in seconds.
LEASE = 30.0
#: Longest input that is kept with the work under way, in characters of JSON: all of it stands in one record.
LONGEST_INPUT = 1_000
_FOR_EVER = 10 * 365 * 86_400.0


@dataclass(frozen=True, slots=True)
class Held(Lease):
    """Work under way.

    Attributes:
        given: its input as JSON; empty where there is none, or none that can be kept.
    """

    given: str = ""


Work = Mapping[str, Held]


@dataclass(frozen=True, slots=True)
class _Begun:
    """What became of the wish to begin.

    Attributes:
        wait: how long the one who does it now may take; None: it is begun.
        before: the input that a dead holder was given, as JSON.
    """

    wait: float | None
    before: str = ""


def _encode(work: Work) -> str:
    plain = {id_: asdict(held) for id_, held in work.items()}
    for each in plain.values():
        if not each["given"]:
            del each["given"]
    return json.dumps(plain, separators=(",", ":"))


def _decode(text: str) -> Work:
    return {id_: Held(**held) for id_, held in json.loads(text).items()}


def _spelled(given: Any) -> str:
    """An input as JSON from which it can be read again as it is; empty where there is none."""
    if given is None:
        return ""
    try:
        text = json.dumps(given, allow_nan=False, separators=(",", ":"))
        return text if len(text) <= LONGEST_INPUT and bool(json.loads(text) == given) else ""
    except Exception:  # noqa: BLE001 - whatever hides in an input, work goes on without keeping it
        return ""


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
    def hold(self, id_: str, given: Any = None) -> Iterator[Any]:
        """The work is under way while the block lasts, however it ends; only a dead process leaves an orphan.

        When the state is away at the end, that is said in the background; the block ends as it would have.

        Args:
            id_: of the work.
            given: its input, for whoever takes it up when this process dies. Kept where it is JSON of at most 1,000
                characters; it stands in the shared state as it is.

        Returns:
            The input that a dead process held for this work; None where there is none.

        Raises:
            StillRunningError: it is under way elsewhere.
        """
        token = new_token()
        before = self._begin(id_, token, _spelled(given))
        try:
            yield before
        finally:
            self._end(id_, token)

    @asynccontextmanager
    async def ahold(self, id_: str, given: Any = None) -> AsyncIterator[Any]:
        """As `hold`, for async code."""
        token = new_token()
        begin = partial(self._begin, id_, token, _spelled(given))
        end = partial(self._end, id_, token)
        before = await off_the_loop(self._state, begin, undo=lambda _: end())
        try:
            yield before
        finally:
            await to_the_end(self._state, end)

    def orphans(self) -> list[str]:
        """The work whose process has died; what an `OrphanScanner` is to find."""
        return self._state.change(WORK, self.name, _orphaned)

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

    def _begin(self, id_: str, token: str, given: str) -> Any:
        begin = partial(_begun, id_=id_, token=token, lease=self._lease, given=given)
        begun = self._state.change(WORK, self.name, begin)
        if begun.wait is not None:
            raise StillRunningError(
                f'"{self.name}" {id_} is under way elsewhere.', name=self.name, retry_after=begun.wait
            )
        with self._lock:
            self._held[id_, token] = monotonic()
        self._link.keep(self)
        return json.loads(begun.before) if begun.before else None

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
    work: Work | None, now: float, *, id_: str, token: str, lease: float, given: str = ""
) -> Change[Work, _Begun]:
    """Begin, unless somebody does it now; what a dead holder was given stays where this one is given nothing."""
    held = (work or {}).get(id_)
    if held is not None and held.token != token and held.expires > now:
        stands = {**(work or {}), id_: settled([held], now)[0]}
        begun = _Begun(stands[id_].expires - now)
        return unchanged(begun) if stands == work else Change(begun, stands, _FOR_EVER)
    before = "" if held is None else held.given
    begins = Held(token, now + lease, lease, given or before)
    return Change(_Begun(None, before), {**(work or {}), id_: begins}, _FOR_EVER)


def _orphaned(work: Work | None, now: float) -> Change[Work, list[str]]:
    """The answer is the work whose lease is over; after the clock was set back, no lease is longer than it was given for."""
    work = work or {}
    over = [id_ for id_, lease in work.items() if lease.expires <= now]
    stands = {id_: lease if id_ in over else settled([lease], now)[0] for id_, lease in work.items()}
    return unchanged(over) if stands == work else Change(over, stands, _FOR_EVER)


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

        Raises:
            ConfigurationError: `find` is async; await `ascan`.
        """
        # What is done while we search must not be brought back by what we found before.
        began = self._state.read(QUEUES, self.name).now
        return self._queue(no_awaitable(self._find(), self.name), began)

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
