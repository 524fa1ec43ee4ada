"""Which items of recovery queues are parked until a person decides, and how is that said?

They stand in the state that guards share, so those of a program with a state of its own are decided about there.
"""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Any

from dlq_console.errors import ActionNotAllowed, EventNotFound, PayloadRefused
from dlq_console.hub.actions import clean_actor, clean_note
from dlq_console.hub.door_figures import moment
from dlq_console.redact import masked, redact_text
from dlq_console.resilience import SharedState, parked_items
from dlq_console.resilience.parked_items import ParkedItem
from dlq_console.store import acts
from dlq_console.store.store import Store

#: Begins the subject of an audit row.
PREFIX = "recovery:"


class Decision(StrEnum):
    """What a person may do with a parked item."""

    #: It is tried again, with all of its attempts.
    RESUME = "resume"
    #: It leaves its queue for good.
    DISCARD = "discard"


_OUTCOMES = {Decision.RESUME: "resumed", Decision.DISCARD: "discarded"}


def parked(state: SharedState) -> list[dict[str, Any]]:
    """The parked items of all queues as plain values, the oldest first; what looks secret in them is masked.

    Raises:
        StoreUnavailable: the shared state is away.
    """
    return [_plain(item) for item in parked_items.parked(state)]


def decide(
    store: Store,
    state: SharedState,
    id_: str,
    decision: Decision,
    *,
    actor: str,
    queue: str | None = None,
    note: str | None = None,
) -> dict[str, Any]:
    """Let a parked item be tried again, or take it out of its queue; what is told is which one it was.

    Args:
        store: the store, for the audit.
        state: the one that guards share.
        id_: of the item, as the list shows it.
        decision: what is to become of it.
        actor: who says so.
        queue: its name, where several queues hold the same item.
        note: why.

    Raises:
        EventNotFound: no such item is parked.
        ActionNotAllowed: somebody else has decided meanwhile.
        PayloadRefused: an argument is no such thing.
        StoreUnavailable: the shared state is away.
    """
    who, why = clean_actor(actor), clean_note(note)
    item = _called(state, id_, queue)
    act = parked_items.resume if decision is Decision.RESUME else parked_items.discard
    if not act(state, item.queue, item.id):
        raise ActionNotAllowed(
            f"The item {item.id} of {item.queue} is not parked any more: somebody else has decided.",
            status="not_parked",
            action=_action(decision),
        )
    outcome = _OUTCOMES[decision]
    _record(store, who, item, why, decision)
    return {"id": item.id, "queue": item.queue, "item": _shown(item), "outcome": outcome}


def _called(state: SharedState, id_: str, queue: str | None) -> ParkedItem:
    """The parked item with this id."""
    items = [item for item in parked_items.parked(state) if item.id == id_ and queue in (None, item.queue)]
    if not items:
        raise EventNotFound(
            f"No item {id_:.200} is parked: somebody has decided, or it was done; `recovery list` shows those that are."
        )
    if len(items) > 1:
        names = " or ".join(sorted(item.queue for item in items))
        raise PayloadRefused(f"queue: several queues hold the item {id_:.200}; name the queue, {names}.")
    return items[0]


def _action(decision: Decision) -> str:
    return f"{decision}_item"


def _record(store: Store, actor: str, item: ParkedItem, note: str | None, decision: Decision) -> None:
    """Into the audit, after the act: the state may be another store, and an act that failed is none."""
    with store.write() as connection:
        acts.record(
            store,
            connection,
            actor=actor,
            action=_action(decision),
            subject=f"{PREFIX}{item.queue} {item.id}",
            note=note,
            before="parked",
            after=_OUTCOMES[decision],
        )


def _shown(item: ParkedItem) -> Any:
    value = masked(json.loads(item.value))
    return redact_text(value) if isinstance(value, str) else value


def _plain(item: ParkedItem) -> dict[str, Any]:
    return {
        "id": item.id,
        "queue": item.queue,
        "item": _shown(item),
        "error": item.error,
        "attempts": item.attempts,
        "by": item.by,
        "since": moment(item.since),
    }
