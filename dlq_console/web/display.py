"""How does one request show states, times and numbers? In one language and one zone, as of one moment."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import NamedTuple
from zoneinfo import ZoneInfo

from flask import g

from dlq_console.clock import utc_now
from dlq_console.store.events import Attempt
from dlq_console.store.queries import Count, Listed
from dlq_console.store.states import Status
from dlq_console.web import formats, words
from dlq_console.web.i18n import locale_name, select_zone


class Stamp(NamedTuple):
    """One moment in every way a page shows it: for machines, in full, as short as it stays clear, and how long ago."""

    machine: str
    full: str
    short: str
    ago: str


@dataclass(frozen=True, slots=True)
class Display:
    """The words and formats of one request."""

    locale: str
    zone: ZoneInfo
    #: Everything on the page was read at about this moment.
    now: datetime
    #: The day it is in that zone.
    today: date

    def state(self, event: Listed) -> words.Look:
        """Word, shape and tone of where an event stands."""
        waits = event.status in (Status.PENDING, Status.FAILED) and event.waiting_for not in (None, "time")
        return words.look(self.locale, words.WAITING if waits else event.status)

    def status(self, status: str) -> words.Look:
        """Word, shape and tone of a status alone."""
        return words.look(self.locale, status)

    def outcome(self, attempt: Attempt) -> words.Look:
        """Word, shape and tone of how an attempt ended."""
        return words.outcome_look(self.locale, attempt.outcome)

    def reason(self, reason: str) -> str:
        """Why an event is dead or discarded."""
        return words.reason_word(self.locale, reason)

    def number(self, number: int) -> str:
        """A whole number."""
        return formats.whole_number(self.locale, number)

    def decimal(self, number: float | Decimal) -> str:
        """A number that is not whole, with every digit that was given."""
        return formats.decimal(self.locale, number)

    def count(self, count: Count) -> str:
        """A count; beyond the limit of counting only the limit is known: `10,000+`."""
        return self.number(count.number) + ("+" if count.capped else "")

    def percent(self, share: float) -> str:
        """A part of the whole, 0 to 1, in whole percent, which every language here writes alike."""
        return "<1%" if 0 < share < 0.01 else f"{share:.0%}"

    def span(self, seconds: float) -> str:
        """A length of time."""
        return formats.span(self.locale, seconds)

    def stamp(self, moment: datetime, *, exact: bool = False) -> Stamp:
        """A moment in every way a page shows it; the short one to the second with `exact`."""
        local = moment.astimezone(self.zone)
        return Stamp(
            machine=moment.isoformat(timespec="seconds").replace("+00:00", "Z"),
            full=formats.full(self.locale, local),
            short=formats.day_and_time(self.locale, local, self.today, exact=exact),
            ago=self.ago(moment),
        )

    def moment(self, moment: datetime) -> str:
        """A time as short as it stays clear, in the zone of the page."""
        return formats.day_and_time(self.locale, moment.astimezone(self.zone), self.today)

    def full(self, moment: datetime) -> str:
        """Date, time and zone."""
        return formats.full(self.locale, moment.astimezone(self.zone))

    def as_of(self) -> str:
        """The moment of the page, with its zone."""
        return self.to_the_second(self.now)

    def to_the_second(self, moment: datetime) -> str:
        """A moment of today as `14:05:12 -03`; of another day with its day before that."""
        local = moment.astimezone(self.zone)
        clock = f"{formats.clock_time(local)} {formats.zone_label(local)}"
        if local.date() == self.today:
            return clock
        return f"{formats.short_date(self.locale, local.date())} {clock}"

    def ago(self, moment: datetime) -> str:
        """How far away a moment is: "3 min ago", "in 2 h"."""
        number, unit = formats.coarse(self.now - moment)
        return words.distance(self.locale, number, unit, ahead=moment > self.now)

    def since(self, moment: datetime) -> str:
        """How long ago a moment was, as an age: "4 min"."""
        number, unit = formats.coarse(self.now - moment)
        return f"{number} {unit}"


def current() -> Display:
    """The display of this request."""
    display: Display | None = g.get("display")
    if display is None:
        zone, now = select_zone(), utc_now()
        display = g.display = Display(locale_name(), zone, now, now.astimezone(zone).date())
    return display
