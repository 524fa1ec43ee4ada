"""Which calls of nodes and guards wait for a person to say whether they had their effect, and how is that said?

They stand in the state that guards share, so a call of a program with a state of its own is decided there.
"""

from __future__ import annotations

from typing import Any

from dlq_console.errors import ActionNotAllowed, EventNotFound, PayloadRefused
from dlq_console.hub.actions import clean_actor, clean_note
from dlq_console.hub.door_figures import moment
from dlq_console.resilience import SharedState
from dlq_console.resilience.idempotency import undecided
from dlq_console.resilience.idempotency.rules import in_doubt
from dlq_console.resilience.idempotency.undecided import OPEN_CALLS, OpenCall, Undecided
from dlq_console.store import acts
from dlq_console.store.canonical import encode_payload
from dlq_console.store.store import Store

#: Begins the subject of an audit row.
PREFIX = "node:"


def undecided_nodes(state: SharedState) -> list[dict[str, Any]]:
    """The calls of unknown outcome as plain values, the oldest first.

    Raises:
        StoreUnavailable: the shared state is away.
    """
    return [_plain(each) for each in undecided.undecided(state)]


def decide(
    store: Store,
    state: SharedState,
    key: str,
    *,
    applied: bool,
    actor: str,
    node: str | None = None,
    note: str | None = None,
    result: object = None,
    doubt: str | None = None,
) -> dict[str, Any]:
    """Say whether a call of unknown outcome had its effect; what is told is what was decided about which call.

    Args:
        store: the store, for the audit.
        state: the one that guards share.
        key: of the call, as the list and the error show it.
        applied: whether the effect is there; if not, the call may be made again.
        actor: who says so.
        node: its name, where calls of two nodes have the same key.
        note: why.
        result: of a call that was applied, for whoever makes it again.
        doubt: the one that is decided, as the list shows it; None: the one that stands now.

    Raises:
        EventNotFound: no such call waits for a decision.
        ActionNotAllowed: it was decided or has ended meanwhile, its process still shows signs of life, or it was made
            again since and left another doubt.
        PayloadRefused: an argument is no such thing.
        StoreUnavailable: the shared state is away.
    """
    who, why = clean_actor(actor), clean_note(note)
    if result is not None and not applied:
        raise PayloadRefused("result: a call that was not applied has none.")
    text = encode_payload(result, max_bytes=undecided.LARGEST_RESULT, name="result") if applied else None
    call = _called(state, key, node)
    if not undecided.decide(
        state, call.record, applied=applied, actor=who, result=text, ttl=call.ttl, doubt=doubt
    ):
        raise _refusal(state, call)
    outcome = "applied" if applied else "not_applied"
    _record(store, who, call, why, outcome)
    return {"key": call.key, "node": call.node, "about": call.about, "outcome": outcome}


def _called(state: SharedState, key: str, node: str | None) -> OpenCall:
    """The open call with this key."""
    listed, _ = state.read_all(OPEN_CALLS)
    calls = [call for call in listed.values() if call.key == key and node in (None, call.node)]
    if not calls:
        raise EventNotFound(
            f"No call {key:.200} waits for a decision: somebody has decided, or it has ended; `nodes list` shows those that wait."
        )
    if len(calls) > 1:
        names = " or ".join(sorted(call.node for call in calls))
        raise PayloadRefused(f"node: calls of several nodes have the key {key:.200}; name the node, {names}.")
    return calls[0]


def _refusal(state: SharedState, call: OpenCall) -> ActionNotAllowed:
    claim, now = undecided.read_claim(state, call.record)
    status = "forgotten" if claim is None else str(claim.status)
    why = f"is {status}: there is nothing to decide about it."
    if claim is not None and in_doubt(claim, now):
        why = "was decided and made again meanwhile, and is in doubt anew: look at the other side once more."
    return ActionNotAllowed(
        f"The call {call.key} of {call.node} {why}",
        status=status,
        action="decide_node",
    )


def _record(store: Store, actor: str, call: OpenCall, note: str | None, outcome: str) -> None:
    """Into the audit, after the act: the state may be another store, and a decision that was not kept is none."""
    with store.write() as connection:
        acts.record(
            store,
            connection,
            actor=actor,
            action="decide_node",
            subject=f"{PREFIX}{call.record}",
            note=note,
            before="unknown",
            after=outcome,
        )


def _plain(doubt: Undecided) -> dict[str, Any]:
    return {
        "key": doubt.call.key,
        "node": doubt.call.node,
        "about": doubt.call.about,
        "error": doubt.error,
        "by": doubt.by,
        "since": moment(doubt.since),
        "doubt": doubt.doubt,
    }
