"""Is it still right to send an event, now that its turn has come or a person asks for it?

Two rules of its kind say so: `replay_policy`, where a newer event of the same kind, account and entity exists, and
`max_age`. Both are looked at right before every run, the first also when somebody reprocesses.
"""

from __future__ import annotations

from dlq_console.errors import ActionNotAllowed
from dlq_console.hub.failures import failure
from dlq_console.hub.policy import Policy, ReplayPolicy
from dlq_console.store import renewals, succession, transitions
from dlq_console.store.events import Event
from dlq_console.store.states import Action, Reason, Status
from dlq_console.store.store import Store
from dlq_console.store.succession import SENT, SENT_OR_COMING
from dlq_console.store.succession import Newer as Newer
from dlq_console.store.transitions import Ending

#: In which status a newer event takes the place of one that is about to run.
_REPLACES: dict[ReplayPolicy, tuple[Status, ...]] = {
    "latest_wins": SENT,
    "latest_wins_pending": SENT_OR_COMING,
}


def ending_without_run(store: Store, event: Event, policy: Policy, *, asks_first: bool) -> Ending | None:
    """How a claimed event ends without being run; None where it may run.

    Args:
        store: where the event is.
        event: as the claim returned it.
        policy: of its kind.
        asks_first: the verifier is to be asked whether the provider has it; that is worth knowing whatever came later.
    """
    if _is_too_old(store, event, policy):
        message = (
            f"It is older than the {policy.max_age:g} seconds after which this kind must not run any more."
        )
        return transitions.buried(failure("TooOld", message), Reason.TOO_OLD)
    statuses = _REPLACES.get(policy.replay_policy)
    if statuses is None or asks_first:
        return None
    newer = succession.newer(store, event.id, statuses)
    return None if newer is None else transitions.superseded(newer.id)


def in_the_way(replay_policy: ReplayPolicy, *, even_if_newer: bool) -> tuple[Status, ...]:
    """In which statuses a newer event keeps a person from reprocessing; in none where it does not."""
    if replay_policy == "always" or (replay_policy == "ask" and even_if_newer):
        return ()
    return _REPLACES.get(replay_policy, SENT_OR_COMING)


def refusal(
    newer: Newer, replay_policy: ReplayPolicy, *, action: Action = Action.REPROCESS
) -> ActionNotAllowed:
    """What a person is told whose reprocess, or another act that sends it, would undo a newer event."""
    stands = f"Event {newer.id}, a newer one of the same kind, account and number, is {newer.status}"
    if replay_policy == "ask":
        message = f"{stands}; this one could undo it. To send it all the same, say so (even_if_newer)."
    else:
        message = f"{stands} and takes the place of this one; discard this one."
    return ActionNotAllowed(message, status=Status.DEAD, action=action, newer=newer.id)


def newer_event(store: Store, event_id: int, replay_policy: ReplayPolicy) -> Newer | None:
    """The newer event that a person should know of before they reprocess this one.

    Where the policy refuses a reprocess, or asks back, it is the one because of which it does.
    """
    return succession.newer(store, event_id, _REPLACES.get(replay_policy, SENT_OR_COMING))


def _is_too_old(store: Store, event: Event, policy: Policy) -> bool:
    if policy.max_age is None or event.started_at is None:
        return False
    if (event.started_at - event.created_at).total_seconds() <= policy.max_age:
        return False
    # Who put it back to work knew how old it was: its age counts from then.
    again = renewals.reprocessed_at(store, event.id) if event.cycle else None
    return again is None or (event.started_at - again).total_seconds() > policy.max_age
