"""What does an alert say once it is over? The same as before, as something that was: nobody is to take it for the present."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dlq_console.health.alert_values import When

if TYPE_CHECKING:
    from dlq_console.health.alert_words import Speak


def past(when: When, number: int, found: Mapping[str, Any], speak: Speak) -> str:
    """The sentence, to be filled in like that of an open notice; empty where that tells of the past already."""
    return _of_letters(when, number, speak) or _counted(when, number, speak) or _plain(when, found, speak)


def _of_letters(when: When, number: int, speak: Speak) -> str:
    ngettext = speak.ngettext
    match when:
        case When.DEAD_LETTERS:
            return ngettext(
                "%(about)s had %(num)d dead letter.", "%(about)s had %(num)d dead letters.", number
            )
        case When.NEW_CAUSE:
            return ngettext(
                "%(about)s had %(num)d dead letter of a cause that was new there.",
                "%(about)s had %(num)d dead letters of a cause that was new there.",
                number,
            )
        case When.DEAD_GROWS:
            return ngettext(
                "%(about)s had %(num)d more dead letter than an hour before.",
                "%(about)s had %(num)d more dead letters than an hour before.",
                number,
            )
        case When.UNCLASSIFIED:
            return ngettext(
                "%(about)s had %(num)d dead letter of one day that no rule knew.",
                "%(about)s had %(num)d dead letters of one day that no rule knew.",
                number,
            )
    return ""


def _counted(when: When, number: int, speak: Speak) -> str:
    ngettext = speak.ngettext
    match when:
        case When.LANE_STOPPED:
            return ngettext(
                "%(num)d lane of %(about)s stood still behind a dead letter.",
                "%(num)d lanes of %(about)s stood still behind a dead letter.",
                number,
            )
        case When.BREAKER_OPENINGS:
            return ngettext(
                "The circuit of %(about)s opened %(num)d time within a day.",
                "The circuit of %(about)s opened %(num)d times within a day.",
                number,
            )
        case When.IN_DOUBT:
            return ngettext(
                "It was not known whether %(num)d event of %(about)s was applied.",
                "It was not known whether %(num)d events of %(about)s were applied.",
                number,
            )
    return ""


def _plain(when: When, found: Mapping[str, Any], speak: Speak) -> str:
    _ = speak.gettext
    if when is When.NOTHING_COMPLETES and found.get("no_worker"):
        return _("Events of %(about)s were due for %(span)s, and no worker served it.")
    sentences = {
        When.LAG_P95: _("Events of %(about)s started up to %(span)s after they were due (p95)."),
        When.OLDEST_DUE: _("The first event of %(about)s was due for %(span)s."),
        When.BREAKER_OPEN: _("The circuit of %(about)s was open: calls were blocked."),
        When.BULKHEAD_USE: _("%(about)s used %(num)d%% of its slots."),
        When.RECOVERY_QUEUE: _("The recovery queue %(about)s was %(num)d%% full."),
        When.NOTHING_COMPLETES: _("Events of %(about)s were due, and none ended for %(span)s."),
        When.PROVIDER_BLOCK: _("The provider blocked %(about)s."),
        When.OLDEST_DEAD: _(
            "The oldest dead letter of %(about)s waited for %(span)s of working time, and nobody saw to it."
        ),
        When.DEAD_RATE: _("%(num)d%% of the events of %(about)s that ended within half an hour died."),
        When.AUTH_FAILURE: _("The log-in of %(about)s was refused: nothing of it ran."),
        When.ERROR_BUDGET: _(
            "%(about)s had used %(num)d%% of the failing answers that its provider puts up with."
        ),
        When.LANE_WAITS: _("A lane of %(about)s waited behind the same event for %(span)s."),
    }
    return sentences.get(when, "")
