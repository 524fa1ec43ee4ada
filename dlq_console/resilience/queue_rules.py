"""What waits to be done again, and who does it now? Pure functions over the record of a bounded queue.

Looking at the size and putting in is one change. Who takes an item holds it by a lease, so that the work of a process
that died is taken up by another one; what was accepted is never pushed out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from dlq_console.resilience.leases import Lease, is_over, renewed, settled
from dlq_console.resilience.state import Change, Kind, unchanged

#: Items that were done are remembered so long, in seconds, so that a scan which began before does not bring them back.
FINISHED_FOR = 900.0
_FOR_EVER = 10 * 365 * 86_400.0


@dataclass(frozen=True, slots=True)
class Item:
    """One piece of work.

    Attributes:
        id: the same for the same value.
        value: as JSON.
        at: when it was put in, in the state's seconds.
        attempts: how often it was begun.
        ready_at: not to be taken before.
        delay: how long that was from the start, in seconds.
        lease: of the one who does it now.
        owner: the process that does it now, or did last.
        error: class of the error of its last attempt.
        parked: it has failed too often; a person must look.
    """

    id: str
    value: str
    at: float
    attempts: int = 0
    ready_at: float = 0.0
    delay: float = 0.0
    lease: Lease | None = None
    owner: str = ""
    error: str = ""
    parked: bool = False


@dataclass(frozen=True, slots=True)
class QueueRecord:
    """The queue.

    Attributes:
        items: oldest first, those under way included.
        finished: ids of what was done lately, and when.
        max_size: how many items it may hold, as whoever put one in last has said.
    """

    items: tuple[Item, ...] = ()
    finished: Mapping[str, float] | None = None
    max_size: int | None = None


BLANK = QueueRecord()


@dataclass(frozen=True, slots=True)
class Pushed:
    """What became of an item that was offered.

    Attributes:
        accepted: it is in the queue, or was done already.
        new: it was not there before.
        size: items in the queue now.
    """

    accepted: bool
    new: bool
    size: int


def push(
    record: QueueRecord | None,
    now: float,
    *,
    id_: str,
    value: str,
    max_size: int,
    found_at: float | None = None,
) -> Change[QueueRecord, Pushed]:
    """Put an item in, if there is room.

    Args:
        record: as it stands.
        now: the state's time.
        id_: of the item; one that is in already is not put in again.
        value: of the item, as JSON.
        max_size: of the queue.
        found_at: when the search began that found it; what was done since then is not put in again.
    """
    record = record or BLANK
    size = len(record.items)
    if any(item.id == id_ for item in record.items):
        return unchanged(Pushed(accepted=True, new=False, size=size))
    if found_at is not None and (record.finished or {}).get(id_, -1.0) >= found_at:
        return _still_finished(Pushed(accepted=True, new=False, size=size), record, now, id_)
    if size >= max_size:
        return unchanged(Pushed(accepted=False, new=False, size=size))
    items = (*record.items, Item(id_, value, now))
    return _kept(
        Pushed(accepted=True, new=True, size=size + 1), replace(record, items=items, max_size=max_size)
    )


def take(
    record: QueueRecord | None, now: float, *, token: str, owner: str, lease: float, max_concurrent: int
) -> Change[QueueRecord, Item | None]:
    """Take the first item that may be done now; None when there is none, or enough are under way."""
    stands = record or BLANK
    mine = _held(record, token)
    if mine is not None:
        return unchanged(mine)
    record = _no_lease_longer_than_given(stands, now)
    nothing = unchanged(None) if record == stands else _kept(None, record)
    if len(under_way(record, now)) >= max_concurrent:
        return nothing
    for item in record.items:
        if _may_begin(item, now):
            taken = replace(
                item, attempts=item.attempts + 1, lease=Lease(token, now + lease, lease), owner=owner
            )
            return _kept(taken, _with(record, taken))
    return nothing


def finish(record: QueueRecord | None, now: float, *, token: str) -> Change[QueueRecord, bool]:
    """The item of this token was done; False when somebody else holds it by now."""
    item = _held(record, token)
    if record is None or item is None:
        return unchanged(False)
    return _kept(True, _finished(record, now, item.id))


def put_back(
    record: QueueRecord | None,
    now: float,
    *,
    token: str,
    error: str,
    delay: float,
    park: bool = False,
    unspent: bool = False,
) -> Change[QueueRecord, bool]:
    """The item of this token was not done: it waits for its next attempt, or is parked for a person.

    Args:
        record: as it stands.
        now: the state's time.
        token: of who does it.
        error: class of the error.
        delay: seconds until it may be taken again.
        park: it is not taken again before a person says so.
        unspent: it could not be begun at all, so that this was no attempt.
    """
    item = _held(record, token)
    if record is None or item is None:
        return unchanged(False)
    item = replace(item, attempts=item.attempts - unspent)
    return _kept(
        True,
        _with(record, replace(item, lease=None, error=error, ready_at=now + delay, delay=delay, parked=park)),
    )


def renew(record: QueueRecord | None, now: float, *, token: str) -> Change[QueueRecord, bool]:
    """A sign of life of the one who does the item of this token."""
    item = _held(record, token)
    if record is None or item is None or item.lease is None:
        return unchanged(False)
    return _kept(True, _with(record, replace(item, lease=renewed([item.lease], token, now)[0])))


def resume(record: QueueRecord | None, now: float, *, id_: str) -> Change[QueueRecord, bool]:
    """A person lets a parked item be tried again."""
    record = record or BLANK
    for item in record.items:
        if item.id == id_ and item.parked:
            return _kept(True, _with(record, replace(item, parked=False, attempts=0, delay=0.0)))
    return unchanged(False)


def discard(record: QueueRecord | None, now: float, *, id_: str) -> Change[QueueRecord, bool]:
    """A person takes a parked item out for good; one that another has resumed meanwhile stays."""
    record = record or BLANK
    if not any(item.id == id_ and item.parked for item in record.items):
        return unchanged(False)
    return _kept(True, _finished(record, now, id_))


def under_way(record: QueueRecord, now: float) -> tuple[Item, ...]:
    """The items that somebody does at this moment."""
    return tuple(item for item in record.items if _is_under_way(item, now))


def figures(record: QueueRecord | None, now: float) -> dict[str, Any]:
    """The queue as JSON would say it; looking changes nothing."""
    record = record or BLANK
    oldest = min((item.at for item in record.items), default=None)
    return {
        "size": len(record.items),
        "running": len(under_way(record, now)),
        "parked": sum(item.parked for item in record.items),
        "oldest_seconds": None if oldest is None else max(0.0, now - oldest),
    }


def _finished(record: QueueRecord, now: float, id_: str) -> QueueRecord:
    """The record without an item, which is remembered for a while."""
    items = tuple(item for item in record.items if item.id != id_)
    finished = {other: at for other, at in (record.finished or {}).items() if at > now - FINISHED_FOR}
    return replace(record, items=items, finished={**finished, id_: now})


def _still_finished(pushed: Pushed, record: QueueRecord, now: float, id_: str) -> Change[QueueRecord, Pushed]:
    """Not put in again; after the clock was set back, the next search counts as later than the end of the item."""
    finished = record.finished or {}
    if finished[id_] <= now:
        return unchanged(pushed)
    return _kept(pushed, replace(record, finished={**finished, id_: now}))


def _no_lease_longer_than_given(record: QueueRecord, now: float) -> QueueRecord:
    """The record after the clock was set back: else what a dead process held would stay taken so much longer."""
    items = record.items
    for item in items:
        if item.lease is not None and item.lease.expires > now + item.lease.length:
            record = _with(record, replace(item, lease=settled([item.lease], now)[0]))
    return record


def _may_begin(item: Item, now: float) -> bool:
    return not item.parked and not _is_under_way(item, now) and is_over(item.ready_at, item.delay, now)


def _is_under_way(item: Item, now: float) -> bool:
    return item.lease is not None and bool(settled([item.lease], now))


def _held(record: QueueRecord | None, token: str) -> Item | None:
    items = () if record is None else record.items
    return next((item for item in items if item.lease is not None and item.lease.token == token), None)


def _with(record: QueueRecord, changed: Item) -> QueueRecord:
    items = tuple(changed if item.id == changed.id else item for item in record.items)
    return replace(record, items=items)


def _kept(answer: Any, record: QueueRecord) -> Change[QueueRecord, Any]:
    return Change(answer, record, _FOR_EVER)


def encode(record: QueueRecord) -> str:
    """The record as JSON."""
    return json.dumps(asdict(record), separators=(",", ":"))


def decode(text: str) -> QueueRecord:
    """The inverse of `encode`.

    Raises:
        ValueError: the text is damaged; to call that "empty" would drop work.
    """
    try:
        values = json.loads(text)
        items = tuple(
            Item(**{**each, "lease": None if each["lease"] is None else Lease(**each["lease"])})
            for each in values["items"]
        )
        return QueueRecord(items, values["finished"], values.get("max_size"))
    except (TypeError, KeyError) as error:
        raise ValueError("the record of a queue is damaged") from error


QUEUES = Kind("queue", encode, decode)
