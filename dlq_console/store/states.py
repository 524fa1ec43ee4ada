"""What states an event can be in, why, and which action is allowed in which.

This is the one table that guards, buttons, API and command line read: a button exists, a verb answers 202 and an
UPDATE matches for exactly the same statuses.
"""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    """Where an event stands."""

    #: Waits behind an earlier event of its lane.
    BLOCKED = "blocked"
    #: Will run as soon as it is due and its account has room.
    PENDING = "pending"
    #: A worker holds a lease on it.
    RUNNING = "running"
    #: The last attempt failed; it will be tried again by itself.
    FAILED = "failed"
    #: The outside system has it.
    DONE = "done"
    #: Needs a person.
    DEAD = "dead"
    #: A person or a rule decided that it shall not run.
    DISCARDED = "discarded"


#: May still run without anybody's help.
OPEN = (Status.BLOCKED, Status.PENDING, Status.RUNNING, Status.FAILED)
#: Could be claimed when due.
READY = (Status.PENDING, Status.FAILED)
#: Has ended; `finished_at` is set.
ENDED = (Status.DONE, Status.DEAD, Status.DISCARDED)


class Reason(StrEnum):
    """Why an event is dead or discarded."""

    PERMANENT = "permanent"
    EXHAUSTED = "exhausted"
    UNCLASSIFIED = "unclassified"
    ORPHANED = "orphaned"
    QUEUE_FULL = "queue_full"
    EXPIRED = "expired"
    TOO_OLD = "too_old"
    IN_DOUBT = "in_doubt"
    AUTH = "auth"
    NO_HANDLER = "no_handler"
    OPERATOR = "operator"
    SUPERSEDED = "superseded"
    #: Another event holds its edited payload.
    EDITED = "edited"


DEAD_REASONS = (
    Reason.PERMANENT,
    Reason.EXHAUSTED,
    Reason.UNCLASSIFIED,
    Reason.ORPHANED,
    Reason.QUEUE_FULL,
    Reason.EXPIRED,
    Reason.TOO_OLD,
    Reason.AUTH,
    Reason.IN_DOUBT,
    Reason.NO_HANDLER,
)


class Action(StrEnum):
    """What a person may do with one event."""

    REPROCESS = "reprocess"
    DISCARD = "discard"
    #: Changes its payload: a new event with the changed one takes its place.
    EDIT = "edit"
    #: Asks the outside system whether it would pass now.
    PRECHECK = "precheck"
    #: Takes back a reprocess that has not started.
    CANCEL_SEND = "cancel_send"
    #: Takes back a discard.
    RESTORE = "restore"


#: Action -> statuses in which it is allowed.
ALLOWED: dict[Action, tuple[Status, ...]] = {
    Action.REPROCESS: (Status.DEAD,),
    Action.DISCARD: (Status.DEAD, Status.FAILED, Status.PENDING, Status.BLOCKED),
    Action.EDIT: (Status.DEAD,),
    Action.PRECHECK: (Status.DEAD,),
    Action.CANCEL_SEND: (Status.PENDING, Status.BLOCKED),
    Action.RESTORE: (Status.DISCARDED,),
}


#: Statuses of the event that a lane stands behind in which a person may let the lane go on without it.
SKIPPABLE = (Status.DEAD, Status.FAILED)


def allows(action: Action, status: str) -> bool:
    """Tell whether `action` is allowed for an event in `status`."""
    return status in ALLOWED[action]


def actions_for(status: str) -> tuple[Action, ...]:
    """The actions that a person may take in `status`, in the order in which they are offered."""
    return tuple(action for action, statuses in ALLOWED.items() if status in statuses)


class Outcome(StrEnum):
    """How one attempt ended."""

    DONE = "done"
    FAILED = "failed"
    DEAD = "dead"
    #: The worker died or froze while running it.
    LOST = "lost"
    #: The verifier was asked whether the outside system has it; costs no attempt.
    ASKED = "asked"
    #: Given back unspent: graceful stop, rate limit, no handler.
    RELEASED = "released"


class Again(StrEnum):
    """How a reprocessed event died again."""

    SAME = "same"
    DIFFERENT = "different"
