"""What do pages of circuits and slots say where nobody works? Since when nobody looks, and what of them is known all the same.

They read most of what they show from the database themselves, and that is so now. Yet where nobody works nothing of it
moves by itself, and what others read for them is from then.
"""

from __future__ import annotations

from typing import Any

from flask_babel import gettext

from dlq_console.web import display, health_answers, pulse
from dlq_console.web.health_seen import Seen
from dlq_console.web.pulse import Pulse


def standing(answer: str, known: str) -> dict[str, Any]:
    """The sentence on top of a page, for its template.

    Args:
        answer: what it says where somebody looks.
        known: what of it is known also where nobody does, and what is not.
    """
    seen = pulse.look_now()
    if seen.health.as_of is None:
        return {"answer": answer, "doubtful": False, "unseen": health_answers.doubt(seen)}
    doubtful = seen.is_doubtful
    return {"answer": _doubt(seen, known) if doubtful else answer, "doubtful": doubtful, "unseen": ""}


def _doubt(seen: Seen, known: str) -> str:
    if seen.away or seen.health.as_of is None:
        return health_answers.doubt(seen)
    when = display.current().moment(seen.health.as_of)
    nobody = gettext(
        "Nobody has looked since %(time)s, because no worker or scheduler runs.",
        time=when,
    )
    return f"{nobody} {known}"


def age() -> Pulse:
    """How old such a page is: as old as what was counted and judged last; just read where nobody ever did."""
    seen = pulse.look_now()
    return pulse.just_now() if seen.health.as_of is None else pulse.pulse(seen)
