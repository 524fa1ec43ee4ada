"""Has somebody asked the ERP whether a dead letter would pass now, and what did it say?"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from flask import url_for
from flask_babel import gettext

from dlq_console.store import queries
from dlq_console.store.events import EventSummary
from dlq_console.web import display
from dlq_console.web.follow import BRISK, Follow
from dlq_console.web.hub import store

#: After so many seconds without an answer the page stops asking for it.
PATIENCE = 120.0


@dataclass(frozen=True, slots=True)
class Asked:
    """The question button, and what is known of the last question.

    `sentence` is empty where none was asked since the event died; `follow` looks for the answer.
    """

    may_ask: bool
    sentence: str = ""
    tone: str = "idle"
    shape: str = "ring"
    at: datetime | None = None
    follow: Follow | None = None
    waits: bool = False


def asked(event: EventSummary, *, may_ask: bool) -> Asked | None:
    """What the page of a dead letter says of prechecks; None where nobody may ask and nobody has."""
    last = queries.last_precheck(store(), event.id)
    if last is None or not last.is_about(event):
        return Asked(may_ask) if may_ask else None
    if not last.is_open:
        sentence, tone, shape = _answer(last.answer)
        return Asked(may_ask, sentence, tone, shape, last.answered_at)
    waited = (display.current().now - last.asked_at).total_seconds()
    if waited > PATIENCE:
        sentence = gettext("The ERP has not been asked yet: the account is closed, or no worker is free.")
        return Asked(may_ask, sentence, at=last.asked_at, waits=True)
    follow = Follow(url_for("acts.answer", event_id=event.id), BRISK)
    return Asked(
        may_ask, gettext("The ERP is being asked…"), "info", "half", last.asked_at, follow, waits=True
    )


def _answer(answer: str | None) -> tuple[str, str, str]:
    match answer:
        case "likely":
            return gettext("The ERP says: likely to pass now."), "ok", "disc"
        case "unchanged":
            return gettext("The ERP says: nothing has changed, it would fail again."), "fail", "square"
        case "gone":
            return gettext("The ERP says: the record is gone there."), "warn", "triangle"
    return gettext("The ERP could not tell whether it would pass."), "idle", "ring"
