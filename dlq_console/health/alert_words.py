"""What does an alert say, and where does it lead? One sentence per thing that is looked at, in any language."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Protocol
from urllib.parse import quote, urlencode

from dlq_console.health.alert_past import past
from dlq_console.health.alert_values import PAGE, UNITS, When


class Speak(Protocol):
    """Sentences in one language, as gettext gives them."""

    def gettext(self, message: str) -> str:
        """The sentence in that language."""

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        """The form of it for so many."""


def sentence(
    when: When,
    subject: str,
    value: float,
    found: Mapping[str, Any],
    speak: Speak,
    *,
    over: float = 0.0,
    ended: bool = False,
) -> str:
    """What was found, in one sentence.

    Args:
        when: what the rule looks at.
        subject: what it is about.
        value: its figure, in the unit of the rule.
        found: figures that were kept with it.
        speak: the language.
        over: what the rule allows.
        ended: whether it is over, and is told as what was.
    """
    shown = span(60 * value if UNITS[when] == "minutes" else value)
    number = _percent(value, over) if UNITS[when] == "percent" else int(value)
    values = {"about": about(subject, found), "num": number, "span": shown}
    text = past(when, number, found, speak) if ended else ""
    text = (
        text
        or _of_letters(when, number, speak)
        or _counted(when, number, speak)
        or _plain(when, found, speak)
    )
    return text % values


def _percent(value: float, over: float) -> int:
    """It rounded, but never to less than the rule allows where it is more."""
    nearest = math.floor(value + 0.5)
    return math.ceil(value) if nearest < over < value else nearest


def _of_letters(when: When, number: int, speak: Speak) -> str:
    """The sentence about dead letters that are counted; empty for all else."""
    ngettext = speak.ngettext
    match when:
        case When.DEAD_LETTERS:
            return ngettext(
                "%(about)s has %(num)d dead letter.", "%(about)s has %(num)d dead letters.", number
            )
        case When.NEW_CAUSE:
            return ngettext(
                "%(about)s has %(num)d dead letter of a cause that is new there.",
                "%(about)s has %(num)d dead letters of a cause that is new there.",
                number,
            )
        case When.DEAD_GROWS:
            return ngettext(
                "%(about)s has %(num)d more dead letter than an hour ago.",
                "%(about)s has %(num)d more dead letters than an hour ago.",
                number,
            )
        case When.UNCLASSIFIED:
            return ngettext(
                "%(about)s has %(num)d dead letter of this day that no rule knows.",
                "%(about)s has %(num)d dead letters of this day that no rule knows.",
                number,
            )
    return ""


def _counted(when: When, number: int, speak: Speak) -> str:
    """The sentence about what else is counted; empty where nothing is."""
    ngettext = speak.ngettext
    match when:
        case When.LANE_STOPPED:
            return ngettext(
                "%(num)d lane of %(about)s has stopped behind a dead letter.",
                "%(num)d lanes of %(about)s have stopped behind a dead letter.",
                number,
            )
        case When.SILENCE:
            return ngettext(
                "Nothing came for %(about)s in an hour in which at least %(num)d event usually comes.",
                "Nothing came for %(about)s in an hour in which at least %(num)d events usually come.",
                number,
            )
        case When.BREAKER_OPENINGS:
            return ngettext(
                "The circuit of %(about)s has opened %(num)d time within a day.",
                "The circuit of %(about)s has opened %(num)d times within a day.",
                number,
            )
        case When.IN_DOUBT:
            return ngettext(
                "It is not known whether %(num)d event of %(about)s was applied.",
                "It is not known whether %(num)d events of %(about)s were applied.",
                number,
            )
    return ""


def _plain(when: When, found: Mapping[str, Any], speak: Speak) -> str:
    _ = speak.gettext
    if when is When.NOTHING_COMPLETES and found.get("no_worker"):
        return _("Events of %(about)s have been due for %(span)s, and no worker serves it.")
    sentences = {
        When.LAG_P95: _("Events of %(about)s start up to %(span)s after they are due (p95)."),
        When.OLDEST_DUE: _("The first event of %(about)s has been due for %(span)s."),
        When.BREAKER_OPEN: _("The circuit of %(about)s is open: calls are blocked."),
        When.BULKHEAD_USE: _("%(about)s uses %(num)d%% of its slots."),
        When.RECOVERY_QUEUE: _("The recovery queue %(about)s is %(num)d%% full."),
        When.NOTHING_COMPLETES: _("Events of %(about)s are due, and none has ended for %(span)s."),
        When.PROVIDER_BLOCK: _("The provider blocks %(about)s."),
        When.OLDEST_DEAD: _(
            "The oldest dead letter of %(about)s has waited for %(span)s of working time, and nobody sees to it."
        ),
        When.DEAD_RATE: _("%(num)d%% of the events of %(about)s that ended in the last half hour have died."),
        When.AUTH_FAILURE: _(
            "The log-in of %(about)s was refused: nothing of it runs until a person resumes it."
        ),
        When.ERROR_BUDGET: _(
            "%(about)s has used %(num)d%% of the failing answers that its provider puts up with."
        ),
        When.LANE_WAITS: _("A lane of %(about)s has waited behind the same event for %(span)s."),
    }
    return sentences.get(when, _("%(about)s is over its limit: %(num)d."))


def about(subject: str, found: Mapping[str, Any]) -> str:
    """Whose it is, as people call it."""
    account, kind = found.get("account"), found.get("kind")
    name = found.get("provider") or subject if account is None else account
    return f"{name} ({kind})" if kind else name


def title(state: str, level: str, name: str, what: str, speak: Speak) -> str:
    """The first line of a message."""
    _ = speak.gettext
    match state:
        case "closed":
            return _("Over: %(what)s") % {"what": what}
        case "again":
            return _("Still so: %(what)s") % {"what": what}
    if level == PAGE:
        return _("Urgent: %(what)s") % {"what": what}
    return _("Alert %(name)s: %(what)s") % {"name": name, "what": what}


def link(when: When, subject: str, found: Mapping[str, Any]) -> str:
    """The path of the page that shows it, with its filter."""
    account = found.get("account")
    asked = {"account": account, "kind": found.get("kind")}
    match when:
        case When.NEW_CAUSE if found.get("fingerprint"):
            path, asked = f"/groups/{quote(found['fingerprint'], safe='')}", {}
        case When.DEAD_LETTERS | When.LANE_STOPPED | When.DEAD_GROWS | When.OLDEST_DEAD | When.DEAD_RATE:
            path = "/dead-letters"
        case When.UNCLASSIFIED | When.IN_DOUBT:
            path = "/dead-letters"
            asked["reason"] = str(when)
        case When.BREAKER_OPEN | When.BREAKER_OPENINGS:
            path, asked = "/health/breakers/one", {"name": subject}
        case When.BULKHEAD_USE | When.ERROR_BUDGET:
            return "/health/bulkheads"
        case When.LAG_P95 | When.OLDEST_DUE:
            path = "/health/lag"
        case _ if account:
            path, asked = "/health/accounts", {"account": account}
        case _:
            return "/health"
    given = urlencode({name: value for name, value in asked.items() if value})
    return f"{path}?{given}" if given else path


def span(seconds: float) -> str:
    """A length of time, short: the same in every language here."""
    seconds = max(0.0, seconds)
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
