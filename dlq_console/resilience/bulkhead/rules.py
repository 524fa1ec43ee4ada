"""Who gets a slot? Pure functions over the record of a bulkhead; every process and every store uses exactly these.

A slot is a lease with a token: a holder that dies loses it when the lease is over, and nobody can free a slot that is
not his own. Whoever must wait holds a ticket, a lease as well, and is served in the order of the tickets: a free slot
is kept for the first in line.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from dlq_console.resilience.leases import Lease, holds, renewed, settled, without
from dlq_console.resilience.state import Change, Kind, unchanged

#: A ticket that its waiter does not renew is void after so many seconds.
TICKET = 3.0


@dataclass(frozen=True, slots=True)
class Slot(Lease):
    """A slot that is taken.

    Attributes:
        since: when, in the state's seconds.
        owner: by which process.
    """

    since: float
    owner: str


@dataclass(frozen=True, slots=True)
class BulkheadRecord:
    """Who is inside and who waits.

    Attributes:
        max: slots, as the last writer was configured.
        slots: those taken.
        waiting: tickets, the first in line first.
    """

    max: int = 0
    slots: tuple[Slot, ...] = ()
    waiting: tuple[Lease, ...] = ()


BLANK = BulkheadRecord()


@dataclass(frozen=True, slots=True)
class Granted:
    """The slot is taken."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """All slots are taken or kept for others; so many are in line before this one."""

    before: int


@dataclass(frozen=True, slots=True)
class Full:
    """All slots are taken, and this one does not wait any longer."""


Answer = Granted | Waiting | Full


def acquire(
    record: BulkheadRecord | None, now: float, *, limit: int, token: str, owner: str, lease: float, wait: bool
) -> Change[BulkheadRecord, Answer]:
    """Take a slot, or a place in the line.

    Args:
        record: as it stands.
        now: the state's time.
        limit: slots there are, by the configuration of whoever asks.
        token: holds the slot or the ticket; asking again with it is the same request.
        owner: the process, for people.
        lease: how long the slot is held without a sign of life, in seconds.
        wait: whether to stay in line when there is none.
    """
    record = record or BLANK
    slots, waiting = settled(record.slots, now), settled(record.waiting, now)
    if holds(slots, token):
        return unchanged(Granted())
    before = next((place for place, ticket in enumerate(waiting) if ticket.token == token), len(waiting))
    others = without(waiting, token)
    if before < limit - len(slots):
        taken = (*slots, Slot(token, now + lease, lease, now, owner))
        return _kept(Granted(), record, BulkheadRecord(limit, taken, others))
    if not wait:
        return _kept(Full(), record, BulkheadRecord(limit, slots, others))
    return _kept(Waiting(before), record, BulkheadRecord(limit, slots, _in_line(waiting, token, now)))


def release(record: BulkheadRecord | None, now: float, *, token: str) -> Change[BulkheadRecord, bool]:
    """Give back the slot, or the place in the line; whether the slot was still held."""
    record = record or BLANK
    slots = settled(record.slots, now)
    after = replace(record, slots=without(slots, token), waiting=without(record.waiting, token))
    return _kept(holds(slots, token), record, after)


def renew(
    record: BulkheadRecord | None, now: float, *, tokens: Collection[str]
) -> Change[BulkheadRecord, frozenset[str]]:
    """Give the slots of these tokens their full lease again; which tokens hold none any more."""
    record = record or BLANK
    slots = settled(record.slots, now)
    lost = frozenset(token for token in tokens if not holds(slots, token))
    for token in tokens:
        slots = renewed(slots, token, now)
    return _kept(lost, record, replace(record, slots=slots))


def only_of(record: BulkheadRecord, owner: str) -> BulkheadRecord:
    """The same with the slots of one process alone, and nobody in line."""
    return replace(record, slots=tuple(slot for slot in record.slots if slot.owner == owner), waiting=())


def figures(record: BulkheadRecord | None, now: float) -> dict[str, Any]:
    """A bulkhead as JSON would say it; looking changes nothing."""
    record = record or BLANK
    slots = settled(record.slots, now)
    oldest = min(slots, key=lambda slot: slot.since, default=None)
    return {
        "max": record.max,
        "in_use": len(slots),
        "available": max(0, record.max - len(slots)),
        "waiting": len(settled(record.waiting, now)),
        "oldest": None
        if oldest is None
        else {"owner": oldest.owner, "seconds": max(0.0, now - oldest.since)},
    }


def _in_line(waiting: tuple[Lease, ...], token: str, now: float) -> tuple[Lease, ...]:
    if not holds(waiting, token):
        return (*waiting, Lease(token, now + TICKET, TICKET))
    return tuple(
        replace(ticket, expires=now + TICKET)
        if ticket.token == token and ticket.expires - now < TICKET / 2
        else ticket
        for ticket in waiting
    )


def _kept(answer: Any, before: BulkheadRecord, after: BulkheadRecord) -> Change[BulkheadRecord, Any]:
    if (after.slots, after.waiting) == (before.slots, before.waiting):
        return unchanged(answer)
    return Change(answer, after)


def encode(record: BulkheadRecord) -> str:
    """The record as JSON; spelled out by hand, because a long line is written down often."""
    slots = [{**_spelled(slot), "since": slot.since, "owner": slot.owner} for slot in record.slots]
    waiting = [_spelled(ticket) for ticket in record.waiting]
    return json.dumps({"max": record.max, "slots": slots, "waiting": waiting}, separators=(",", ":"))


def _spelled(lease: Lease) -> dict[str, Any]:
    return {"token": lease.token, "expires": lease.expires, "length": lease.length}


def decode(text: str) -> BulkheadRecord | None:
    """The inverse of `encode`; None for anything else."""
    try:
        values = json.loads(text)
        return BulkheadRecord(
            max=int(values["max"]),
            slots=tuple(Slot(**each) for each in values["slots"]),
            waiting=tuple(Lease(**each) for each in values["waiting"]),
        )
    except (ValueError, TypeError, KeyError):
        return None


BULKHEADS = Kind("bulkhead", encode, decode, hurried=True)
