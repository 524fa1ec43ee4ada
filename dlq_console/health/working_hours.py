"""How much of a span lies in the hours in which people work? Nobody is to be told at night that nobody has come yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

#: Names of the days, in the order of `datetime.weekday`.
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
#: What lies longer ago is not counted.
LONGEST = timedelta(days=366)


@dataclass(frozen=True, slots=True)
class WorkingHours:
    """On which days people work, from when to when."""

    days: tuple[int, ...] = (0, 1, 2, 3, 4)
    begin: time = time(8)
    end: time = time(18)

    def minutes(self, since: datetime, until: datetime, zone: ZoneInfo) -> float:
        """Minutes between two moments in which people of that time zone worked."""
        # As moments, since a day may have 23 or 25 hours.
        until = until.astimezone(UTC)
        since = max(since.astimezone(UTC), until - LONGEST)
        day, last = since.astimezone(zone).date(), until.astimezone(zone).date()
        worked = timedelta(0)
        while day <= last:
            if day.weekday() in self.days:
                begin, end = (
                    datetime.combine(day, each, zone).astimezone(UTC) for each in (self.begin, self.end)
                )
                worked += max(timedelta(0), min(end, until) - max(begin, since))
            day += timedelta(days=1)
        return worked / timedelta(minutes=1)


def hours_as_written(hours: WorkingHours) -> dict[str, str | list[str]]:
    """Them as the file of rules says them, and `hours_from` reads them."""
    return {
        "days": [DAYS[day] for day in hours.days],
        "from": f"{hours.begin:%H:%M}",
        "to": f"{hours.end:%H:%M}",
    }


def hours_from(written: Mapping[str, Any]) -> WorkingHours:
    """The hours from what `hours_as_written` made of them."""
    days = tuple(DAYS.index(day) for day in written["days"])
    return WorkingHours(days, read_time(written["from"]), read_time(written["to"]))


def read_time(text: str) -> time:
    """A time of the day as `08:00`.

    Raises:
        ValueError: it is none.
    """
    return datetime.strptime(text, "%H:%M").time()  # noqa: DTZ007 - a time of the day has no zone
