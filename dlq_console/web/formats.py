"""How are numbers, moments and spans written in each language?

The formatting functions of Babel take longer than rendering a row, so what they need is read once per language, and
results that repeat are kept.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import cache, lru_cache

from babel import Locale
from babel.dates import format_date
from babel.numbers import get_decimal_symbol, get_group_symbol

#: Day, month and year such that nobody can mistake the day for the month.
_DATE_PATTERNS = {"pt_BR": "dd/MM/yyyy", "en": "d MMM yyyy"}
_DAY_PATTERNS = {"pt_BR": "dd/MM", "en": "d MMM"}

MINUTE = 60
HOUR = 3600
DAY = 86400


@cache
def _symbols(locale: str) -> tuple[str, str]:
    return get_group_symbol(locale), get_decimal_symbol(locale)


def whole_number(locale: str, number: int) -> str:
    """`1.234.567` in Portuguese, `1,234,567` in English."""
    return f"{number:,}".replace(",", _symbols(locale)[0])


def decimal(locale: str, number: float | Decimal) -> str:
    """`1.240,50` in Portuguese, `1,240.50` in English: every digit that was given, also the zeros at the end."""
    text = format(number, ",f") if isinstance(number, Decimal) else format(Decimal(repr(number)), ",f")
    group, point = _symbols(locale)
    return text.translate({ord(","): group, ord("."): point})


def one_decimal(locale: str, number: float) -> str:
    """`0,4` in Portuguese, `0.4` in English."""
    return f"{number:.1f}".replace(".", _symbols(locale)[1])


@lru_cache(maxsize=1024)
def long_date(locale: str, day: date) -> str:
    """`29/11/2026` or `29 Nov 2026`."""
    return format_date(day, _DATE_PATTERNS[locale], Locale.parse(locale))


@lru_cache(maxsize=1024)
def short_date(locale: str, day: date) -> str:
    """`29/11` or `29 Nov`."""
    return format_date(day, _DAY_PATTERNS[locale], Locale.parse(locale))


def clock_time(moment: datetime) -> str:
    """`14:05:12`, whatever the language."""
    return moment.time().isoformat("seconds")


def zone_label(moment: datetime) -> str:
    """What the zone of `moment` calls itself: `-03`, `UTC`, `CET`."""
    return moment.tzname() or ""


def day_and_time(locale: str, moment: datetime, today: date, *, exact: bool = False) -> str:
    """As short as it stays clear: the time today, the day before it this year, the year as well before that.

    Seconds are told of today's times, and of all with `exact`.
    """
    day = moment.date()
    if day == today:
        return clock_time(moment)
    shown = short_date(locale, day) if day.year == today.year else long_date(locale, day)
    return f"{shown} {moment.time().isoformat('seconds' if exact else 'minutes')}"


def full(locale: str, moment: datetime) -> str:
    """`29/11/2026 14:05:12 -03`."""
    return f"{long_date(locale, moment.date())} {clock_time(moment)} {zone_label(moment)}"


def span(locale: str, seconds: float) -> str:
    """A length of time in at most two units, which are the same in every language here: `19 ms`, `3 min 20 s`."""
    if seconds <= 0:
        return "0 s"
    thousandths = round(seconds * 1000)
    if thousandths < 1000:
        return f"{thousandths} ms" if thousandths else "<1 ms"
    if seconds < 10:
        return f"{one_decimal(locale, seconds)} s"
    whole = round(seconds)
    if whole < MINUTE:
        return f"{whole} s"
    if whole < HOUR:
        return _two(whole, MINUTE, "min", 1, "s")
    if whole < DAY:
        return _two(whole, HOUR, "h", MINUTE, "min")
    return _two(whole, DAY, "d", HOUR, "h")


def coarse(elapsed: timedelta) -> tuple[int, str]:
    """How long ago in one unit, rounded down: a number and `s`, `min`, `h` or `d`."""
    seconds = abs(int(elapsed.total_seconds()))
    for size, unit in ((DAY, "d"), (HOUR, "h"), (MINUTE, "min")):
        if seconds >= size:
            return seconds // size, unit
    return seconds, "s"


def _two(seconds: int, large: int, large_unit: str, small: int, small_unit: str) -> str:
    rest = seconds % large // small
    return f"{seconds // large} {large_unit}" + (f" {rest} {small_unit}" if rest else "")
