"""What does a person have to know of newer events of the same number before they act on this one?"""

from __future__ import annotations

from dataclasses import dataclass

from flask_babel import gettext

from dlq_console.hub.policy import ReplayPolicy
from dlq_console.hub.staleness import Newer, newer_event
from dlq_console.store.events import EventSummary
from dlq_console.store.states import Reason, Status
from dlq_console.web import display
from dlq_console.web.hub import hub, store


@dataclass(frozen=True, slots=True)
class Succession:
    """What to say of a newer event.

    Attributes:
        sentences: about it, in the order in which they are read.
        newer: its id; None where there is nothing to say.
        bars: this one may not be reprocessed any more.
        asks: this one is reprocessed only by somebody who says that they know of it.
    """

    sentences: tuple[str, ...] = ()
    newer: int | None = None
    bars: bool = False
    asks: bool = False


NOTHING_NEWER = Succession()


def succession(event: EventSummary) -> Succession:
    """The newer event that matters to one that was superseded, is dead, or took in a repeat."""
    if event.superseded_by is not None:
        if event.reason == Reason.EDITED:
            taken = gettext("The event that holds its corrected payload took its place.")
        else:
            taken = gettext("A newer event of the same number took its place.")
        return Succession((taken,), event.superseded_by)
    if event.status != Status.DEAD and not event.duplicates:
        return Succession()
    policy = hub().policy(event.kind).replay_policy
    newer = newer_event(store(), event.id, policy)
    if newer is None:
        return Succession()
    repeated = _repeated_after(event, newer)
    if event.status != Status.DEAD:
        return Succession(repeated, newer.id) if repeated else Succession()
    return Succession(
        (_stands(newer), *_consequence(policy), *repeated),
        newer.id,
        bars=policy in ("latest_wins", "latest_wins_pending"),
        asks=policy == "ask",
    )


def _stands(newer: Newer) -> str:
    if newer.status == Status.DONE:
        return gettext("A newer event of the same number has been sent already.")
    return gettext("A newer event of the same number is on its way.")


def _consequence(policy: ReplayPolicy) -> tuple[str, ...]:
    match policy:
        case "always":
            return ()
        case "ask":
            return (gettext("Sent after it, this one could undo what that one did."),)
        case _:
            return (gettext("Nothing of this kind is sent after a newer one: discard this one."),)


def _repeated_after(event: EventSummary, newer: Newer) -> tuple[str, ...]:
    """What was sent, then something else, and then the same again: perhaps it was meant to be sent again."""
    last = event.last_duplicate_at
    if last is None or last <= newer.created_at or not event.is_keyed_by_content:
        return ()
    told = gettext(
        "After a newer event of the same number the same content as here came in again, at %(time)s. It was taken for a "
        "repeat of this one and not sent: if it was meant to be sent again, send it with a version.",
        time=display.current().moment(last),
    )
    return (told,)
