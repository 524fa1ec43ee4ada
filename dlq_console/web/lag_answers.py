"""Are we behind? The sentence on top of the page of the lag: how it is now, and how first attempts went last.

What waits now is taken from the state that every page of health tells; what was measured is told with its time.
"""

from __future__ import annotations

from flask_babel import gettext

from dlq_console.health.series import Series
from dlq_console.health.values import Why
from dlq_console.web import display, health_answers, health_words
from dlq_console.web.chart_subjects import Unit
from dlq_console.web.chart_views import moment_of, written
from dlq_console.web.health_seen import Seen
from dlq_console.web.series_seen import Asked


def answer(what: Asked, seen: Seen, shown: Series) -> str:
    """Both in one paragraph.

    Args:
        what: what the page was asked for.
        seen: the state, as far as the asking person may see it.
        shown: the numbers of the charts.
    """
    told = [sentence for sentence in (_now(what, seen), _measured(shown)) if sentence]
    return " ".join(told) or gettext("Nothing was measured in this time.")


def _now(what: Asked, seen: Seen) -> str:
    """How long the first of what is due has waited; of one kind that is not known."""
    if seen.is_doubtful:
        return health_answers.doubt(seen)
    if what.kind:
        return ""
    accounts = [one for one in seen.health.accounts if what.account in ("", one.account)]
    oldest = min((one.counts.oldest_due_at for one in accounts if one.counts.oldest_due_at), default=None)
    if oldest is not None:
        return gettext("The oldest due event has waited %(age)s.", age=display.current().since(oldest))
    if any(one.why is Why.NOT_SEEN or health_words.waiting(one).number for one in accounts):
        return ""
    return gettext("No event is due and waiting.")


def _measured(shown: Series) -> str:
    """How soon first attempts started in the last point that has any."""
    half, late = shown.columns.get("lag_p50", ()), shown.columns.get("lag_p95", ())
    known = [one for one in zip(shown.times, half, late, strict=False) if None not in one]
    if not known:
        return ""
    at, half_now, late_now = known[-1]
    return gettext(
        "At %(time)s: of the first attempts, half started within %(half)s of being due and 95 of 100 within %(late)s.",
        time=moment_of(at),
        half=written(Unit.SECONDS, half_now),
        late=written(Unit.SECONDS, late_now),
    )
