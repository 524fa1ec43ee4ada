"""Was anything lost? Whatever a shop was told to be in must be there, as it was handed over, and have ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from tests.chaos.record import EventRow, Promise, Record

#: How an event may end, and the reasons that may be stated for it.
ENDED: dict[str, set[str | None]] = {
    "done": {None},
    "dead": {"permanent", "exhausted", "orphaned"},
    "discarded": {"operator"},
}


def complaints(record: Record) -> Iterator[str]:
    """Promises to shops and people that were not kept."""
    yield from _promises(record)
    yield from _confirmed_acts(record)
    for event in record.events:
        if event.reason not in ENDED.get(event.status, set()):
            yield f"event {event.id} has not ended for a stated reason: {event.status} {event.reason}"


def _promises(record: Record) -> Iterator[str]:
    events = {event.id: event for event in record.events}
    for shop in record.promises:
        for promise in shop:
            event = events.pop(promise.id, None)
            if event is None:
                yield f"event {promise.id} ({promise.entity}) was promised to its shop once and is lost"
            elif not _is_as_promised(event, promise):
                yield f"event {event.id} is not as it was handed over: {event} instead of {promise}"
        for earlier, later in pairwise(shop):
            if later.id <= earlier.id:
                yield f"event {later.id} was handed over after event {earlier.id}"
    yield from (f"event {id_} was never promised to a shop: {event}" for id_, event in events.items())


def _is_as_promised(event: EventRow, promise: Promise) -> bool:
    return (event.entity_id, event.kind, event.account, event.lane) == (
        promise.entity,
        promise.kind,
        promise.account,
        promise.lane,
    )


def _confirmed_acts(record: Record) -> Iterator[str]:
    written = Counter((act.action, act.event_id) for act in record.audit)
    for act, times in Counter(record.acts).items():
        if written[act] < times:
            yield f"{act[0]} of event {act[1]} was confirmed {times} times and stands in the audit {written[act]} times"
