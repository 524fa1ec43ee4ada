"""How long does the provider ask to wait? Every way in which providers say it, as seconds from now.

No clock is read here: `now` is handed in. A wait is never rounded below what was said, and never cut: whoever uses it
decides from when on a wait is so long that a scope is parked. What is no wait (negative, infinite, not a number, in no
known shape) gives None.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from email.utils import parsedate_to_datetime

from dlq_console.classify.text import plain, tidy

#: From this number on a number is a time since 1970, not a duration: it would be a wait of over 30 years.
_EPOCH_SECONDS = 1_000_000_000
_EPOCH_MILLISECONDS = 1_000_000_000_000
#: The longest wait that is believed: ten years. What is longer is damaged.
LONGEST = 10 * 366 * 86_400
#: A clock time that is over by no more than this was meant for today and is over, rather than for tomorrow.
_JUST_OVER = timedelta(minutes=5)

UNITS: Mapping[str, float] = {"milliseconds": 0.001, "seconds": 1, "minutes": 60, "hours": 3600, "epoch": 1}

_NUMBER = re.compile(r"[+-]?[0-9]{1,15}(?:[.,][0-9]{1,9})?")
_ISO = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[t ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?\s?(?:z|[+-][0-9]{2}:?[0-9]{2})?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Wait:
    """Seconds, never negative, and where they were found."""

    seconds: float
    source: str


def from_value(value: str, now: datetime, *, unit: str = "seconds", zone: tzinfo = UTC) -> float | None:
    """The wait that a header or a field of a body names.

    Args:
        value: a number (rounded up to whole seconds), a time since 1970, an HTTP date or an ISO time; a time that is
            past gives 0.
        now: aware; for an HTTP date best the `Date` header of the same answer, so that no clock but the provider's
            counts.
        unit: of a plain number: one of `UNITS`.
        zone: of an ISO time without one.
    """
    value = value.strip()[:100]
    if _NUMBER.fullmatch(value):
        return _from_number(float(value.replace(",", ".")), now, unit)
    moment = _iso(value, zone) if _ISO.fullmatch(value) else _http_date(value)
    return None if moment is None else _until(moment, now)


def _from_number(number: float, now: datetime, unit: str) -> float | None:
    if unit == "epoch" or number >= _EPOCH_SECONDS:
        seconds = number / 1000 if number >= _EPOCH_MILLISECONDS else number
        return _whole(max(0.0, seconds - now.timestamp()))
    return _whole(number * UNITS[unit])


def _whole(seconds: float) -> float | None:
    """Rounded up, so that nobody calls a moment too early."""
    if not math.isfinite(seconds) or seconds < 0 or seconds > LONGEST:
        return None
    # A rounding error of the clock is not a second.
    return float(math.ceil(round(seconds, 3)))


def _until(moment: datetime, now: datetime) -> float | None:
    return _whole(max(0.0, (moment - now).total_seconds()))


def _iso(value: str, zone: tzinfo) -> datetime | None:
    try:
        moment = datetime.fromisoformat(value.upper().replace(" Z", "Z"))
        return moment if moment.tzinfo else moment.replace(tzinfo=zone)
    except ValueError:
        return None


def _http_date(value: str) -> datetime | None:
    # Only what begins with the name of a day: the parser would take bare numbers for years.
    if not value[:3].isalpha():
        return None
    try:
        moment = parsedate_to_datetime(value)
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (TypeError, ValueError, IndexError, OverflowError):
        return None


# Waits in prose, English and Portuguese. The text is plain: no capitals, no accents.

_LEAD = (
    r"(?:try again|retry|retry again|wait|available|reset|resets|blocked|expires?|tente novamente|tentar novamente|"
    r"tente de novo|aguarde|espere|aguardar|liberad[oa]|bloquead[oa])"
)
_JOIN = r"[^0-9\n]{0,40}?"
_UNIT = (
    r"(?P<unit>milliseconds?|millis|ms|milissegundos?|seconds?|secs?|segundos?|segs?|s"
    r"|minutes?|mins?|minutos?|m|hours?|hrs?|horas?|h|days?|dias?)\b"
)
_AMOUNT = r"(?P<amount>[0-9]{1,12}(?:[.,][0-9]{1,6})?)"
_DURATION = re.compile(
    rf"\b{_LEAD}{_JOIN}\b{_AMOUNT}\s?{_UNIT}(?P<more>(?:\s?(?:e|and|,)?\s?[0-9]{{1,6}}\s?[a-z]{{1,8}}){{0,2}})"
)
_MORE = re.compile(rf"{_AMOUNT}\s?{_UNIT}")
_UNTIL = r"\b(?:until|at|ate|as|after|apos|from|a partir (?:de|das))\b(?: (?:as|o|dia|the|de|das)\b){0,2} ?"
_CLOCK = r"(?P<hour>[0-2]?[0-9])[:h](?P<minute>[0-5][0-9])(?::(?P<second>[0-5][0-9]))?"
_CLOCK_TIME = re.compile(rf"{_UNTIL}{_CLOCK}(?![0-9])(?: ?(?P<half>am|pm)\b)?")
_DAY_FIRST = re.compile(
    r"\b(?P<day>[0-3][0-9])/(?P<month>[01][0-9])/(?P<year>20[0-9]{2})(?: (?:as|at|,|-))? ?"
    r"(?P<hour>[0-2][0-9])[:h](?P<minute>[0-5][0-9])(?::(?P<second>[0-5][0-9]))?"
)
_SECONDS_OF: tuple[tuple[str, float], ...] = (
    ("mil", 0.001), ("ms", 0.001), ("s", 1), ("m", 60), ("h", 3600), ("d", 86_400),
)  # fmt: skip


def from_message(text: str, now: datetime, *, zone: tzinfo = UTC) -> float | None:
    """The wait that a sentence names: "try again in 55 seconds", "Aguarde 43 segundos", "blocked until 14:35".

    Args:
        text: as it was said; only the part that messages are compared by is read.
        now: aware.
        zone: of a clock time. A clock time without a date is the next one; one that is just over gives 0.
    """
    said = plain(tidy(text))
    for find in (_in_words, _iso_in_text, _day_first_in_text, _clock_in_text):
        if (seconds := find(said, now, zone)) is not None:
            return seconds
    return None


def _in_words(said: str, _now: datetime, _zone: tzinfo) -> float | None:
    found = _DURATION.search(said)
    if found is None:
        return None
    total = _seconds(found["amount"], found["unit"])
    return _whole(
        total + sum(_seconds(more["amount"], more["unit"]) for more in _MORE.finditer(found["more"]))
    )


def _seconds(amount: str, unit: str) -> float:
    factor = next(seconds for start, seconds in _SECONDS_OF if unit.startswith(start))
    return float(amount.replace(",", ".")) * factor


def _iso_in_text(said: str, now: datetime, zone: tzinfo) -> float | None:
    found = _ISO.search(said)
    moment = _iso(found[0].strip(), zone) if found else None
    return None if moment is None else _until(moment, now)


def _day_first_in_text(said: str, now: datetime, zone: tzinfo) -> float | None:
    found = _DAY_FIRST.search(said)
    if found is None:
        return None
    numbers = (int(found[name] or 0) for name in ("year", "month", "day", "hour", "minute", "second"))
    try:
        return _until(datetime(*numbers, tzinfo=zone), now)  # type: ignore[misc, arg-type]  # six whole numbers
    except ValueError:
        return None


def _clock_in_text(said: str, now: datetime, zone: tzinfo) -> float | None:
    found = _CLOCK_TIME.search(said)
    if found is None:
        return None
    hour = int(found["hour"])
    if found["half"] and hour <= 12:
        hour = hour % 12 + (12 if found["half"] == "pm" else 0)
    here = now.astimezone(zone)
    try:
        moment = here.replace(
            hour=hour, minute=int(found["minute"]), second=int(found["second"] or 0), microsecond=0
        )
    except ValueError:
        return None
    if moment < here - _JUST_OVER:
        moment += timedelta(days=1)
    return _until(moment, now)


def from_cost(requested: object, available: object, restore_rate: object) -> float | None:
    """The wait until a bucket holds what a query costs: (requested - available) / restore_rate."""
    if not all(
        isinstance(each, int | float) and math.isfinite(each) for each in (requested, available, restore_rate)
    ):
        return None
    cost, left, rate = (float(each) for each in (requested, available, restore_rate))  # type: ignore[arg-type]  # checked above
    return None if rate <= 0 else _whole(max(0.0, (cost - left) / rate))


def until_next_day(now: datetime, *, zone: tzinfo = UTC) -> float | None:
    """The wait until a limit per day begins anew, at midnight of the provider's time zone."""
    here = now.astimezone(zone)
    midnight = (here + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    return _until(midnight.astimezone(UTC), now)
