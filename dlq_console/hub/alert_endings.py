"""What if a message of an alert could not be brought? Another attempt, for a day; it never becomes a dead letter."""

from __future__ import annotations

import json
from datetime import timedelta

from dlq_console.hub.failures import failure
from dlq_console.store import transitions
from dlq_console.store.events import Event
from dlq_console.store.transitions import Ending

#: Waits between two attempts in seconds: the first, then twice as long each time, up to the longest.
FIRST_DELAY, LONGEST_DELAY = 15.0, 900.0
#: After so long it is given up.
GIVEN_UP_AFTER = timedelta(days=1)
#: Longer than any outage, so that nothing is given up only because nobody was there to bring it.
_FOR_EVER = 366 * 86_400.0


def not_brought(job: Event, why: str) -> Ending:
    """The end of an attempt that failed: another one later, or none any more."""
    waited = (job.started_at or job.created_at) - job.created_at
    if waited > GIVEN_UP_AFTER:
        return given_up(why)
    cause = failure("NotTold", why)
    delay = min(FIRST_DELAY * 2 ** min(max(job.attempts - 1, 0), 20), LONGEST_DELAY)
    return transitions.retried(cause, delay=delay, max_wait=_FOR_EVER)


def given_up(why: str) -> Ending:
    """The end of a message that no later attempt can bring; what it was about is still in the list of notices."""
    cause = failure("NotTold", why)
    return transitions.completed(json.dumps({"told": False, "error": cause.message}), warning=cause)
