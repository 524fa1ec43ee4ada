"""A person corrects the payload of a dead event: is it fit, what changes, and what takes the place of what?

Two steps. `checked` reads what was typed against the event as it is, and tells what it means; nothing is written.
`edit` does the same again and writes it, guarded by the epoch of the event that was read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dlq_console.errors import ActionNotAllowed, EventNotFound, PayloadRefused
from dlq_console.hub.actions import clean_actor, clean_note, refused
from dlq_console.hub.policy import DEFAULT_POLICY, Policy
from dlq_console.hub.schemas import check_payload
from dlq_console.hub.staleness import in_the_way, refusal
from dlq_console.redact import MASK, Misplaced, MisplacedMask, put_back
from dlq_console.store import acts, edits, succession
from dlq_console.store.canonical import (
    PayloadText,
    canonical_json,
    decode_payload,
    encode_payload,
    payload_hash,
    read_payload,
    too_large,
)
from dlq_console.store.events import Event
from dlq_console.store.states import Action, Reason, Status, allows
from dlq_console.store.store import Store

#: Characters of the way to a value that a refusal names.
MOST_NAMED = 200
#: Why a mask stands in the wrong place -> what to say of it.
_MISPLACED = {
    Misplaced.NOTHING_HIDDEN: f"{MASK} stands for no hidden value here; write the value itself.",
    Misplaced.UNCERTAIN: (
        f"it is not certain which hidden value of the list {MASK} stands for; write the value out or reveal it."
    ),
    Misplaced.WOULD_SHOW: (
        f"the value behind {MASK} would not be hidden here any more; write the value out or reveal it."
    ),
}


@dataclass(frozen=True, slots=True)
class Kind:
    """What of an event's kind matters to an edit. `max_bytes` is of a payload."""

    policy: Policy = DEFAULT_POLICY
    schema: dict[str, Any] | None = None
    max_bytes: int = 256_000


@dataclass(frozen=True, slots=True)
class Edited:
    """A payload that may be saved: as it will be stored, and as a value with every digit, its secrets in the open."""

    text: PayloadText
    payload: Any
    before: str


def check_allowed(event: Event, *, seen_epoch: int | None = None) -> None:
    """Refuse to edit an event that is not dead, may be in the outside system already, or is not as the person saw it.

    Raises:
        ActionNotAllowed: it may not be edited.
    """
    if not allows(Action.EDIT, event.status) or seen_epoch not in (None, event.lease_epoch):
        raise refused(event.status, Action.EDIT)
    if event.doubts or event.reason == Reason.IN_DOUBT:
        message = (
            "It is in doubt whether the outside system has it already; find that out there first. "
            "Reprocess it if not, discard it if so."
        )
        raise ActionNotAllowed(message, status=event.status, action=Action.EDIT)


def checked(event: Event, payload: object, kind: Kind) -> Edited:
    """What somebody made of the payload of an event, fit to be saved.

    Args:
        event: as it is.
        payload: any JSON value; a mask where the original showed one stands for what was hidden there.
        kind: of the event.

    Raises:
        PayloadRefused: it cannot be saved; the message says where and why.
    """
    original = event.exact_payload
    written = decode_payload(_as_json(payload, event, kind.max_bytes), exact=True)
    try:
        whole = put_back(written, original)
    except MisplacedMask as misplaced:
        place = misplaced.path[:MOST_NAMED]
        raise PayloadRefused(
            f"{place}: {_MISPLACED[misplaced.why]}", cause=misplaced.why, place=place
        ) from None
    text = read_payload(whole, max_bytes=kind.max_bytes)
    before = payload_hash(canonical_json(original))
    if text.digest == before:
        raise PayloadRefused(
            "payload: nothing was changed; to send it again as it is, reprocess it.", cause="unchanged"
        )
    if kind.schema is not None:
        check_payload(whole, kind.schema, event.kind)
    return Edited(text, whole, before)


def _as_json(payload: object, event: Event, max_bytes: int) -> str:
    """What was written, with its masks: how large it may be is asked once what they stand for is in their place."""
    try:
        return encode_payload(payload, max_bytes=max_bytes + len(event.payload_json))
    except PayloadRefused as refused:
        if refused.cause != "too_large":
            raise
        # Without what was hidden it is too large as well, and there is one limit only.
        raise too_large(max_bytes) from None


def edit(
    store: Store,
    event: Event,
    payload: object,
    kind: Kind,
    *,
    actor: str,
    note: str | None = None,
    seen_epoch: int | None = None,
    even_if_newer: bool = False,
) -> int:
    """Let a new event with an edited payload take the place of a dead one; returns its id.

    Args:
        store: the store.
        event: the dead event.
        payload: as for `checked`.
        kind: of the event.
        actor: who.
        note: why.
        seen_epoch: the epoch that the person saw.
        even_if_newer: the person knows of the newer event.

    Raises:
        ActionNotAllowed: the event may not be edited, not any more, or another one stands in its way.
        PayloadRefused: the payload cannot be saved.
    """
    check_allowed(event, seen_epoch=seen_epoch)
    edited = checked(event, payload, kind)
    who, why = clean_actor(actor), clean_note(note)
    statuses = in_the_way(kind.policy.replay_policy, even_if_newer=even_if_newer)
    with store.write() as connection:
        newer = succession.newer_in(store, connection, event.id, statuses) if statuses else None
        made = edits.edit(
            store,
            connection,
            event,
            edited.text,
            actor=who,
            note=why,
            on_dead=_on_dead(event, kind.policy),
            max_wait=kind.policy.max_wait,
            before=edited.before,
        )
        if made is None:
            raise _overtaken(store, event)
        if newer is not None:
            raise refusal(newer, kind.policy.replay_policy, action=Action.EDIT)
        if not made.id:
            raise _held_by(made)
    return made.id


def _on_dead(event: Event, policy: Policy) -> str | None:
    """As for a new one of its lane: a person may have let the lane go on without the old one."""
    if event.lane is None:
        return None
    return policy.on_dead or ("skip" if event.ordering_key is not None else "block")


def _overtaken(store: Store, event: Event) -> EventNotFound | ActionNotAllowed:
    with store.read() as connection:
        return refused(acts.status_of(store, connection, event.id), Action.EDIT)


def _held_by(made: edits.Made) -> ActionNotAllowed:
    message = (
        f"Event {made.holder} of the same kind, account and number holds exactly this payload already; "
        f"it is {made.holder_status}. Go on with that one and discard this one."
    )
    return ActionNotAllowed(message, status=Status.DEAD, action=Action.EDIT, newer=made.holder)
