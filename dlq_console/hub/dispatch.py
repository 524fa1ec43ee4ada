"""How workers learn that something may run: a message with the event's id and epoch, or nothing at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

#: When Redis hands a message out again that nobody acknowledged, in seconds. The shortest of all programs on one
#: Redis counts for all of them. A second delivery is harmless: the claim refuses it.
VISIBILITY_TIMEOUT = 3600


@dataclass(frozen=True, slots=True)
class Message:
    """What the broker carries: which event, under which epoch it was sent, on which queue, and its time limit."""

    event_id: int
    lease_epoch: int
    queue: str
    #: Seconds that the handler may take.
    time_limit: float


class Publisher(Protocol):
    """Hands messages to a broker. The row is the truth: a lost message is a late one, a duplicate is refused."""

    def publish(self, messages: Sequence[Message]) -> list[int]:
        """Send; returns the ids of the events whose messages were handed over.

        Never raises and never takes longer than 3 seconds: what was not sent is sent later by the relay.
        """

    def close(self) -> None:
        """Let go of connections."""


class NoPublisher:
    """Table mode: workers find due events by themselves."""

    def publish(self, messages: Sequence[Message]) -> list[int]:
        """Nothing is sent and nothing needs to be."""
        return []

    def close(self) -> None:
        """Nothing to let go of."""
