"""What does an event look like as JSON? One answer for the API and for `--json` of the command line."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from dlq_console.redact import masked
from dlq_console.store.canonical import LARGEST_PAYLOAD, encode_payload
from dlq_console.store.desk import Marks, Note
from dlq_console.store.events import Attempt, AuditEntry, Event, EventSummary
from dlq_console.store.queries import Count, Page

Document = dict[str, Any]

#: Names that stand for another thing in the answer, where `attempts` lists the attempts themselves.
_RENAMED = {"attempts": "attempt_count"}


def summary_json(event: EventSummary) -> Document:
    """One event of a list: everything but payload and result."""
    return {
        _RENAMED.get(field.name, field.name): getattr(event, field.name) for field in fields(EventSummary)
    }


def event_json(
    event: Event,
    attempts: Sequence[Attempt] = (),
    audit: Sequence[AuditEntry] = (),
    marks: Marks | None = None,
    notes: Sequence[Note] = (),
) -> Document:
    """One event with payload, result, attempts and audit, newest first; secret-looking fields are masked.

    What people have put on it is left out where it was not read.
    """
    whole = summary_json(event) | {
        "payload": masked(event.exact_payload),
        "result": masked(event.result),
        "attempts": [_plain(attempt) for attempt in attempts],
        "audit": [_act_json(entry) for entry in audit],
    }
    return whole if marks is None else whole | marks_json(marks, notes)


def marks_json(marks: Marks, notes: Sequence[Note]) -> Document:
    """What people have put on an event; notes newest first."""
    return {
        "assignee": marks.assignee,
        "assignment_due": marks.due_at,
        "tags": list(marks.tags),
        "snoozed_until": marks.snoozed_until,
        "notes": [_plain(note) for note in notes],
    }


def page_json(page: Page[EventSummary], count: Count) -> Document:
    """One page of a list."""
    return {
        "items": [summary_json(event) for event in page.items],
        "next_cursor": page.next_cursor,
        "previous_cursor": page.previous_cursor,
        "count": count.number,
        "count_capped": count.capped,
    }


def to_text(document: Mapping[str, Any]) -> str:
    """A document as JSON text: times in UTC, numbers with the digits they came with."""
    # Member by member, because a payload may itself be as deep as the writer goes.
    members = (
        f"{json.dumps(name)}:{encode_payload(value, max_bytes=LARGEST_PAYLOAD, name=name)}"
        for name, value in document.items()
    )
    return f"{{{','.join(members)}}}"


def _act_json(entry: AuditEntry) -> Document:
    """One act, without the address it came from: whoever sees an event need not see where colleagues sit."""
    return {name: value for name, value in _plain(entry).items() if name != "address"}


def _plain(value: Attempt | AuditEntry | Note) -> Document:
    return {field.name: getattr(value, field.name) for field in fields(value)}
