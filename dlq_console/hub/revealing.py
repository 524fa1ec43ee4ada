"""May somebody see what is masked? With a reason, which is written down in the same transaction, before they see it."""

from __future__ import annotations

from typing import Any

from dlq_console.errors import EventNotFound, PayloadRefused
from dlq_console.hub.actions import clean_actor, clean_note
from dlq_console.hub.pointers import WHOLE, NoSuchPlace, value_at
from dlq_console.redact import masked
from dlq_console.store import acts, queries
from dlq_console.store.canonical import decode_payload
from dlq_console.store.store import Store

#: What the audit calls it.
ACTION = "reveal"
#: What the audit calls the payload; a place in it is this and its pointer.
SUBJECT = "payload"


def reveal(store: Store, event_id: int, pointer: str = WHOLE, *, actor: str, note: str) -> Any:
    """What stands at a place of a payload, unmasked; numbers that are not whole as Decimal.

    Args:
        store: the store.
        event_id: whose payload.
        pointer: the place; empty for the whole payload.
        actor: who wants to see it.
        note: why; kept in the audit.

    Raises:
        EventNotFound: there is no such event.
        PayloadRefused: there is nothing at that place, or no reason was given.
    """
    reason = clean_note(note)
    if not reason:
        raise PayloadRefused("note: say why you need to see it.", cause="reason", name="note")
    with store.write() as connection:
        text = queries.payload_json(store, connection, event_id)
        if text is None:
            raise EventNotFound(f"There is no event {event_id}; it may have been pruned.")
        try:
            payload = decode_payload(text, exact=True)
            value = value_at(payload, pointer)
        except NoSuchPlace:
            raise PayloadRefused("path: the payload has nothing at this place.", cause="no_place") from None
        if pointer != WHOLE and not _is_masked(payload, pointer, value):
            raise PayloadRefused(
                "path: nothing is masked at this place; the page shows it.", cause="not_masked"
            )
        acts.record(
            store,
            connection,
            actor=clean_actor(actor),
            action=ACTION,
            event_id=event_id,
            subject=SUBJECT + pointer,
            note=reason,
        )
    return value


def _is_masked(payload: Any, pointer: str, value: Any) -> bool:
    """Whether a page would hide it, or something in it."""
    try:
        return bool(value_at(masked(payload), pointer) != value)
    except NoSuchPlace:
        return True
