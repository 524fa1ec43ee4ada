"""When is what a person reprocesses sent? After the seconds in which it can be cancelled, or at the time they name."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from flask import request
from flask_babel import gettext

from dlq_console.hub.actions import DAY, LONGEST_AFTER
from dlq_console.web import display
from dlq_console.web.hub import hub
from dlq_console.web.moments import read_moment


class NotAhead(ValueError):
    """The form names no time ahead of now; the message is for the person, in their language."""


class When(NamedTuple):
    """At a moment; where there is none, after so many seconds."""

    after: float = 0
    at: datetime | None = None


def when_sent() -> When:
    """When the form of this request says.

    Raises:
        NotAhead: it names no time ahead of now.
    """
    try:
        moment = read_moment(request.form.get("at", ""))
    except (ValueError, OverflowError):
        raise NotAhead(gettext("This is no date and time; choose one from the calendar.")) from None
    if moment is None:
        return When(after=hub().settings.send_delay_seconds)
    if not 0 < (moment - display.current().now).total_seconds() <= LONGEST_AFTER:
        raise NotAhead(gettext("Choose a time in the next %(days)s days.", days=LONGEST_AFTER // DAY))
    return When(at=moment)
