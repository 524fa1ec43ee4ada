"""What does an event carry, and what stands beside it? Its payload, others of its record, what was sent before, its place in the ERP."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from dlq_console.hub.open_urls import open_url
from dlq_console.store import desk, people, queries
from dlq_console.store.canonical import decode_payload
from dlq_console.store.desk import GroupMarks
from dlq_console.store.events import Event
from dlq_console.store.queries import Correction, LastSuccess, Neighbours
from dlq_console.web import display, formats, history
from dlq_console.web.auth import person
from dlq_console.web.beside import field_labels
from dlq_console.web.bulk_sight import addresses
from dlq_console.web.desk import event_desk
from dlq_console.web.differences import Differences, differences
from dlq_console.web.hub import hub, store
from dlq_console.web.payload import read, readable, short_json

#: Bytes of a page for the answer of the ERP.
RESULT_SPACE = 3_000
#: The same for what is different from other payloads, all of them together.
DIFFERENT_SPACE = 6_000
#: As W3C Trace Context writes it: version, trace, span, flags.
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")
_KILO = 1000


@dataclass(frozen=True, slots=True)
class Comparison:
    """The last event of the record that was sent, and what is different from it; None where it is too large to tell."""

    sent: LastSuccess
    differences: Differences | None


@dataclass(frozen=True, slots=True)
class Corrected:
    """One side of an edit as the page of the other shows it.

    `other` is the event, `is_older` whether this one took its place; `differences` from the older to the newer, None where
    they are too large to tell.
    """

    other: int
    is_older: bool
    differences: Differences | None


def carried(event: Event) -> dict[str, Any]:
    """Everything that the page of an event shows besides its state, its history and what can be done."""
    spell = display.current().decimal
    payload = event.exact_payload
    reading = read(payload, spell, labels=field_labels(event.kind))
    waiters = _waiters(event)
    corrections, sent = queries.corrections(store(), event), queries.last_success(store(), event)
    size = DIFFERENT_SPACE // max(len(corrections) + (sent is not None), 1)
    return {
        "payload": reading.node,
        "hidden": reading.hidden,
        "reveals": people.may(person(), people.Permission.REVEAL),
        "raw_payload": short_json(payload, event.payload_json),
        "payload_size": size_in_words(len(event.payload_json.encode())),
        "result": readable(event.result, spell, size=RESULT_SPACE),
        "duplicates": history.duplicates(event),
        "others": _without(queries.same_entity(store(), event), waiters),
        "waiters": waiters,
        "comparison": _comparison(event, payload, sent, size) if sent else None,
        "corrections": [_corrected(event, payload, one, size) for one in corrections],
        "desk": event_desk(event),
        "playbook": _playbook(event),
        "erp_address": _erp_address(event, payload),
        "trace_id": trace_id(event.trace_context),
        "run_address": addresses([event.bulk_id]).get(event.bulk_id or 0, ""),
    }


def trace_id(trace_context: str | None) -> str:
    """The trace that an event belongs to; empty where it belongs to none."""
    found = _TRACEPARENT.fullmatch(trace_context or "")
    return found[1] if found else ""


def size_in_words(size: int) -> str:
    """A number of bytes in a unit that people read: `5,2 MB`."""
    shown = display.current()
    if size < _KILO:
        return f"{shown.number(size)} B"
    if size < _KILO * _KILO:
        return f"{formats.one_decimal(shown.locale, size / _KILO)} kB"
    return f"{formats.one_decimal(shown.locale, size / _KILO / _KILO)} MB"


def _waiters(event: Event) -> Neighbours:
    """What waits behind the head of a lane."""
    if event.lane is None or event.blocked_by is not None:
        return Neighbours()
    lane = queries.lane(store(), event.lane)
    return queries.behind(store(), event.lane) if lane.head == event.id else Neighbours()


def _without(found: Neighbours, named: Neighbours) -> Neighbours:
    """Some events without those that are named already."""
    known = {one.id for one in named.items}
    return replace(found, items=tuple(one for one in found.items if one.id not in known))


def _comparison(event: Event, payload: Any, sent: LastSuccess, size: int) -> Comparison:
    return Comparison(sent, _different(event, sent.payload_json, payload, size))


def _corrected(event: Event, payload: Any, correction: Correction, size: int) -> Corrected:
    is_older = correction.id == event.parent_id
    found = _different(event, correction.payload_json, payload, size, from_this=not is_older)
    return Corrected(correction.id, is_older, found)


def _different(
    event: Event, other_json: str | None, payload: Any, size: int, *, from_this: bool = False
) -> Differences | None:
    """What became different from another payload to that of `event`, or `from_this` to the other; in `size` bytes."""
    if other_json is None or len(event.payload_json) > queries.LONGEST_PAYLOAD:
        return None
    other = decode_payload(other_json, exact=True)
    before, after = (payload, other) if from_this else (other, payload)
    spell, labels = display.current().decimal, field_labels(event.kind)
    return differences(before, after, spell, labels=labels, size=size)


def _playbook(event: Event) -> GroupMarks | None:
    """How the cause of a failure is fixed, as somebody wrote it down."""
    if event.fingerprint is None:
        return None
    marks = desk.group_marks(store(), [event.fingerprint]).get(event.fingerprint)
    return marks if marks and marks.playbook else None


def _erp_address(event: Event, payload: Any) -> str | None:
    pattern = hub().policy(event.kind).open_url
    if pattern is None:
        return None
    return open_url(pattern, account=event.account, entity_id=event.entity_id, payload=payload)
