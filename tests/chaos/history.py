"""What happened to each event, put together from the rows of one storm?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from tests.chaos.record import AttemptRow, AuditRow, EventRow, Record


@dataclass(frozen=True, slots=True)
class Cycle:
    """From a beginning to the reprocess that ends it: the attempts, and the acts of people that came after them."""

    number: int
    attempts: list[AttemptRow]
    acts: list[AuditRow]


class History:
    """The attempts and acts of each event.

    Args:
        record: what the storm left.
    """

    def __init__(self, record: Record) -> None:
        self.attempts: dict[int, list[AttemptRow]] = defaultdict(list)
        for attempt in record.attempts:
            self.attempts[attempt.event_id].append(attempt)
        self.acts: dict[int, list[AuditRow]] = defaultdict(list)
        for act in record.audit:
            self.acts[act.event_id].append(act)

    def begun(self, event_id: int) -> float:
        """When its first recorded run began; infinity if it never ran."""
        return min((attempt.started_at for attempt in self.attempts[event_id]), default=float("inf"))

    def cycles(self, event: EventRow) -> Iterator[Cycle]:
        """Its cycles, the first one first. A reprocess is the last act of its cycle."""
        acts: list[list[AuditRow]] = [[]]
        for act in self.acts[event.id]:
            acts[-1].append(act)
            if act.action == "reprocess":
                acts.append([])
        for number in range(max(event.cycle + 1, len(acts))):
            attempts = [attempt for attempt in self.attempts[event.id] if attempt.cycle == number]
            yield Cycle(number, attempts, acts[number] if number < len(acts) else [])

    def deaths(self, event: EventRow) -> Iterator[float]:
        """When it died. A lost attempt was a death if the event was dead when somebody next looked at it."""
        for cycle in self.cycles(event):
            if not cycle.attempts:
                continue
            last = cycle.attempts[-1]
            met = event.status if cycle.number == event.cycle else None
            if cycle.acts:
                met = cycle.acts[0].before
            if last.outcome == "dead" or (last.outcome == "lost" and met == "dead"):
                yield last.ended_at

    def told(self, event: EventRow) -> str:
        """The history of an event for a person."""
        tried = ", ".join(
            f"{each.lease_epoch} {each.outcome} {each.error_type or ''}".strip()
            for each in self.attempts[event.id]
        )
        acts = ", ".join(f"{each.action} {each.before}>{each.after}" for each in self.acts[event.id])
        return (
            f"event {event.id} ({event.kind}, {event.status} {event.reason}; attempts: {tried}; acts: {acts})"
        )
