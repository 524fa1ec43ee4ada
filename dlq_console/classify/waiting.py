"""How long does this answer ask to wait, and where does it say so?"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, tzinfo
from email.utils import parsedate_to_datetime
from zoneinfo import ZoneInfo

from dlq_console.classify import waits
from dlq_console.classify.rules import Rule, View, WaitFrom, any_value
from dlq_console.classify.verdicts import VerdictClass
from dlq_console.classify.waits import Wait

_RETRY_AFTER = WaitFrom(place="header", name="retry-after")
#: Where a wait is looked for unless the rule says where.
_USUAL = {
    VerdictClass.TRANSIENT: (_RETRY_AFTER,),
    VerdictClass.UNKNOWN: (_RETRY_AFTER,),
    VerdictClass.RATE_LIMITED: (
        _RETRY_AFTER,
        WaitFrom(place="header", name="ratelimit-reset"),
        WaitFrom(place="header", name="x-ratelimit-reset"),
        WaitFrom(place="message"),
    ),
}


def wait_of(rule: Rule | None, class_: VerdictClass, view: View, now: datetime) -> Wait | None:
    """The first wait that is found where the rule looks for it, else the rule's own."""
    places = _USUAL.get(class_, ()) if rule is None or rule.then.wait_from is None else rule.then.wait_from
    zone = ZoneInfo(rule.timezone) if rule else UTC
    for place in places:
        for seconds in _seconds(place, view, now, zone):
            if seconds is not None:
                return Wait(seconds, _source(place))
    return None if rule is None or rule.then.wait is None else Wait(rule.then.wait, "rule default")


def _source(place: WaitFrom) -> str:
    if place.place == "header":
        return f"header {'-'.join(word.capitalize() for word in place.name.split('-'))}"
    return f"path {place.name}" if place.place == "path" else place.place


def _seconds(place: WaitFrom, view: View, now: datetime, zone: tzinfo) -> Iterator[float | None]:
    match place.place:
        case "header":
            if (value := view.reading.headers.get(place.name)) is not None:
                yield waits.from_value(value, _clock_of(view, now), unit=place.unit, zone=zone)
        case "path":
            for text in view.at(tuple(place.name.split("."))):
                yield waits.from_value(text, now, unit=place.unit, zone=zone)
        case "message":
            for message in view.messages:
                yield waits.from_message(message, now, zone=zone)
        case "cost":
            yield _cost(view, tuple(place.name.split(".")))
        case _:
            yield waits.until_next_day(now, zone=zone)


def _clock_of(view: View, now: datetime) -> datetime:
    """The provider's own clock, where the answer tells it: a date is then a duration, whatever the clock here says."""
    try:
        told = parsedate_to_datetime(view.reading.headers["date"])
    except (KeyError, TypeError, ValueError, IndexError, OverflowError):
        return now
    return told if told.tzinfo else told.replace(tzinfo=UTC)


def _cost(view: View, path: tuple[str, ...]) -> float | None:
    bucket = (*path, "throttleStatus")
    return waits.from_cost(
        any_value(view.reading.tree, (*path, "requestedQueryCost")),
        any_value(view.reading.tree, (*bucket, "currentlyAvailable")),
        any_value(view.reading.tree, (*bucket, "restoreRate")),
    )
