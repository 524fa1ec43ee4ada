"""How does a person name a moment in a form? In the zone of the page, or as one of a few usual ones."""

from __future__ import annotations

from datetime import datetime, timedelta

from flask_babel import gettext

from dlq_console.web import display

#: When a working day begins, in the zone of the person.
MORNING = 8
_MONDAY = 7


def read_moment(text: str) -> datetime | None:
    """The moment of a form field; None for an empty one. Without a zone it is in that of the page.

    Raises:
        ValueError: it is no moment.
    """
    if not text.strip():
        return None
    moment = datetime.fromisoformat(text.strip())
    moment = moment if moment.tzinfo else moment.replace(tzinfo=display.current().zone)
    # The first and the last years cannot be shown in every zone.
    return moment + timedelta(days=1) - timedelta(days=1)


def field_value(moment: datetime | None) -> str:
    """The same for a field of the browser's own calendar."""
    return f"{moment.astimezone(display.current().zone):%Y-%m-%dT%H:%M}" if moment else ""


def usual() -> list[tuple[str, str]]:
    """Moments that people put something off to: the value of each choice, and what it is called."""
    now = display.current().now.astimezone(display.current().zone).replace(microsecond=0)
    morning = (now + timedelta(days=1)).replace(hour=MORNING, minute=0, second=0)
    monday = morning + timedelta(days=-morning.weekday() % _MONDAY)
    hour = f"{MORNING}:00"
    return [
        ((now + timedelta(hours=1)).isoformat(), gettext("for an hour")),
        ((now + timedelta(hours=4)).isoformat(), gettext("for four hours")),
        (morning.isoformat(), gettext("until tomorrow, %(time)s", time=hour)),
        (monday.isoformat(), gettext("until Monday, %(time)s", time=hour)),
        ((now + timedelta(days=30)).isoformat(), gettext("for 30 days")),
    ]
