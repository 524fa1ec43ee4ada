"""Which items of recovery queues have failed too often, and what may a person do with them?

A parked item keeps its place in its queue, and nobody takes it. It is let go on, or taken out for good.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from dlq_console.errors import StoreUnavailable
from dlq_console.resilience import queue_rules
from dlq_console.resilience.queue_rules import QUEUES, Item
from dlq_console.resilience.state import SharedState


@dataclass(frozen=True, slots=True)
class ParkedItem:
    """An item that waits for a person.

    Attributes:
        queue: its name.
        id: of the item; in two queues, the same value has the same.
        value: the item as JSON.
        error: class of the error of its last attempt.
        attempts: how often it was begun.
        since: when it was parked; seconds since 1970.
        by: the process that tried it last.
    """

    queue: str
    id: str
    value: str
    error: str
    attempts: int
    since: float
    by: str


def parked(state: SharedState) -> list[ParkedItem]:
    """The parked items of all queues, the oldest first.

    Raises:
        StoreUnavailable: the state cannot be reached, or what stands there cannot be read.
    """
    try:
        queues, _ = state.read_all(QUEUES)
    except ValueError as error:
        raise StoreUnavailable("What is known of a recovery queue is damaged.") from error
    found = [_told(name, item) for name, record in queues.items() for item in record.items if item.parked]
    return sorted(found, key=lambda item: item.since)


def resume(state: SharedState, queue: str, id_: str) -> bool:
    """Let a parked item be tried again, with all of its attempts; False when none with this id is parked.

    Raises:
        StoreUnavailable: the state cannot be reached.
    """
    return state.change(QUEUES, queue, partial(queue_rules.resume, id_=id_))


def discard(state: SharedState, queue: str, id_: str) -> bool:
    """Take a parked item out of its queue for good; False when none with this id is parked.

    Raises:
        StoreUnavailable: the state cannot be reached.
    """
    return state.change(QUEUES, queue, partial(queue_rules.discard, id_=id_))


def _told(queue: str, item: Item) -> ParkedItem:
    return ParkedItem(
        queue, item.id, item.value, item.error, item.attempts, item.ready_at - item.delay, item.owner
    )
