"""Does work of an account wait longer than it should, and until when? One answer for rows, sentences, API and frames."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from dlq_console.health.evaluate import waits_too_long
from dlq_console.health.values import AccountHealth, Why, Word


class Kind(StrEnum):
    """What is known of the end, from best to worst."""

    #: Nothing waits.
    NOTHING = "nothing"
    #: Something waits, not longer than it should, and how long it still will is not known.
    SHORTLY = "shortly"
    #: All will be through in some seconds.
    ABOUT = "about"
    #: Not before the door opens, at a known time.
    OPENING = "opening"
    #: The same, and whether it opens is decided by one call then.
    TRY = "try"
    #: It is late, and its door opened too short ago to tell.
    UNKNOWN = "unknown"
    #: It does not end as things are: more comes in than goes out, or nothing goes out before a person acts.
    NONE = "none"


@dataclass(frozen=True, slots=True)
class End:
    """Until when work waits.

    Attributes:
        kind: what is known of it.
        seconds: from the moment of the look until all is through; with `ABOUT` only.
        at: when the door opens or is tried; with `OPENING` and `TRY` only.
    """

    kind: Kind = Kind.NOTHING
    seconds: float | None = None
    at: datetime | None = None

    @property
    def badness(self) -> tuple[int, float]:
        """The worse, the more: what to choose the last of several by."""
        return _KINDS.index(self.kind), self.at.timestamp() if self.at else self.seconds or 0.0


_KINDS = tuple(Kind)
#: Nothing waits.
NO_WAIT = End()


def is_late(account: AccountHealth, as_of: datetime) -> bool:
    """Whether events of it wait longer than they should, or wait for a door or a worker.

    What nobody has counted lately is not known to be late, and neither is anything late where the judgement was `ok`.
    """
    counts = account.counts
    if not counts.waiting or account.word in (Word.OK, Word.UNKNOWN):
        return False
    if account.why in (Why.NO_WORKER, Why.NOTHING_COMPLETES, Why.BEHIND) or account.is_closed:
        return True
    waited = (as_of - counts.oldest_due_at).total_seconds() if counts.oldest_due_at else 0.0
    return waits_too_long(waited, account.flow.lag_p95)


def end(account: AccountHealth, as_of: datetime) -> End:
    """Until when its work waits, as of that moment."""
    if not account.counts.waiting:
        return NO_WAIT
    if account.drain.seconds is not None:
        return End(Kind.ABOUT, seconds=account.drain.seconds)
    closing = account.closing
    # Where the provider allows less than comes in, it does not drain once the door is open either.
    opens = account.is_closed and account.drain.bound != "provider"
    if opens and closing is not None and closing.until is not None:
        # What a person holds open is not tried, it ends.
        tried = closing.cause == "circuit" and not account.circuit_forced
        return End(Kind.TRY if tried else Kind.OPENING, at=closing.until)
    if not is_late(account, as_of):
        return End(Kind.SHORTLY)
    return End(Kind.UNKNOWN if account.drain.bound == "opening" else Kind.NONE)
