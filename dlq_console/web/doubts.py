"""What do pages of circuits and slots say where nobody works? The same as the pages of accounts, in the same words.

They read most of what they show themselves. Yet where nobody counts and judges any more, nothing of it moves by itself,
and what they would say of it could be taken for how things stand.
"""

from __future__ import annotations

from typing import Any

from dlq_console.web import health_answers, pulse
from dlq_console.web.pulse import Pulse


def standing(answer: str) -> dict[str, Any]:
    """The sentence on top of a page, for its template; `answer` where somebody looks, doubt where nobody does any more."""
    seen = pulse.look_now()
    if seen.health.as_of is None:
        return {"answer": answer, "doubtful": False, "unseen": health_answers.doubt(seen)}
    doubtful = seen.is_doubtful
    return {"answer": health_answers.doubt(seen) if doubtful else answer, "doubtful": doubtful, "unseen": ""}


def age() -> Pulse:
    """How old such a page is: as old as what was counted and judged last; just read where nobody ever did."""
    seen = pulse.look_now()
    return pulse.just_now() if seen.health.as_of is None else pulse.pulse(seen)
