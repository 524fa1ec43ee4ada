"""What happens when more work comes than can be done? A bounded queue refuses the newest, and nothing is dropped.

A refused item is a dead letter, durable before its caller is told. From 70 % on there is a warning.
"""

from __future__ import annotations

import inspect
import json
import logging
from collections.abc import Callable
from functools import partial
from typing import Any

from dlq_console.clock import monotonic
from dlq_console.errors import ConfigurationError, PayloadRefused, StoreUnavailable
from dlq_console.resilience import checks, queue_rules
from dlq_console.resilience.calls import is_async, no_awaitable, off_the_loop
from dlq_console.resilience.link import link_to
from dlq_console.resilience.queue_rules import QUEUES, Pushed
from dlq_console.resilience.spelling import digest, spelled
from dlq_console.resilience.state import SharedState
from dlq_console.resilience.tallies import Tally

logger = logging.getLogger(__name__)

#: Longest item, in characters of JSON: the queue is one record, so it holds references and not contents.
LARGEST_ITEM = 4_000
#: Seconds between two warnings about the same queue.
_WARN_EVERY = 60.0


def identified(item: Any) -> tuple[str, str]:
    """The id and the JSON of an item.

    Raises:
        PayloadRefused: it is no JSON, or too long.
    """
    value = spelled(item, "item")
    if len(value) > LARGEST_ITEM:
        raise PayloadRefused(
            f"The item has {len(value)} characters of JSON and may have {LARGEST_ITEM}; queue a reference instead."
        )
    return digest(value), value


class QueueGuard:
    """Puts items into a bounded queue.

    Args:
        state: shared by all processes that use the queue.
        name: of the queue.
        max_size: items it holds at most, those under way included.
        warn_at: share of it from which there are warnings.
        on_full: makes the dead letter (reason `queue_full`) of an item that is refused; called before anybody is told.
            May be async for `asafe_enqueue`.

    Raises:
        ConfigurationError: an argument is not fit.
    """

    def __init__(
        self,
        state: SharedState,
        name: str,
        *,
        max_size: int = 100,
        warn_at: float = 0.7,
        on_full: Callable[[Any], Any],
    ) -> None:
        self.name = checks.name(name, "queue")
        checks.count(max_size, "max_size")
        checks.number(warn_at, "warn_at", above=0, at_most=1)
        checks.function(on_full, "on_full")
        self._state = state
        self._max_size = max_size
        self._warn_at = warn_at
        self._on_full = on_full
        self._tally = Tally(link_to(state), f"queue {name}")
        self._warned_at = -_WARN_EVERY

    def safe_enqueue(self, item: Any) -> bool:
        """Put an item in; False when it became a dead letter instead. The same item twice is in it once.

        Raises:
            PayloadRefused: it is no JSON, or too long; nothing was done with it.
            ConfigurationError: `on_full` is async, or gave something to be awaited: nobody would await it here.
            Exception: what `on_full` raised: then the item is neither queued nor a dead letter.
        """
        if is_async(self._on_full):
            raise ConfigurationError(
                f'on_full of the queue "{self.name}" is async; await asafe_enqueue, or give it a sync function.'
            )
        if self._pushed(*identified(item)):
            return True
        no_awaitable(self._on_full(item), self.name)
        self._tally.add("refused")
        return False

    async def asafe_enqueue(self, item: Any) -> bool:
        """As `safe_enqueue`, for async code; `on_full` may be async."""
        if await off_the_loop(self._state, partial(self._pushed, *identified(item))):
            return True
        made = self._on_full(item)
        if inspect.isawaitable(made):
            await made
        self._tally.add("refused")
        return False

    def stats(self) -> dict[str, Any]:
        """What stands in the record, and what this process has refused."""
        reading = self._state.read(QUEUES, self.name)
        figures = queue_rules.figures(reading.record, reading.now)
        return {**figures, "max": self._max_size, "refused": self._tally.own().get("refused", 0)}

    def _pushed(self, id_: str, value: str) -> bool:
        change = partial(queue_rules.push, id_=id_, value=value, max_size=self._max_size)
        try:
            pushed = self._state.change(QUEUES, self.name, change)
        except StoreUnavailable as away:
            # Whether it was put in at the last moment is not known: then it is done, and a dead letter as well.
            logger.warning(
                "queue %s cannot be reached, its new items become dead letters: %s", self.name, away
            )
            return False
        self._warn(pushed)
        return pushed.accepted

    def _warn(self, pushed: Pushed) -> None:
        if pushed.size < self._warn_at * self._max_size or monotonic() - self._warned_at < _WARN_EVERY:
            return
        self._warned_at = monotonic()
        logger.warning("queue %s holds %s of at most %s items", self.name, pushed.size, self._max_size)


def read_item(value: str) -> Any:
    """An item from the JSON under which it is kept."""
    return json.loads(value)
