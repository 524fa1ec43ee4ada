"""How are moments put into minutes, hours and days, in UTC? In SQL and in Python alike."""

from __future__ import annotations

from datetime import UTC, datetime

#: Grains in minutes, and how long the figures of each are kept, in seconds.
MINUTE, HOUR, DAY = 1, 60, 1440
KEPT = {MINUTE: 2 * 86_400, HOUR: 30 * 86_400, DAY: 2 * 366 * 86_400}


def bucket_sql(moment: str, seconds: int, *, sqlite: bool) -> str:
    """SQL for the beginning of the bucket of so many seconds in which a moment lies."""
    if sqlite:
        return f"(({moment}) / {seconds}000000 * {seconds}000000)"
    # `extract` yields a decimal, which takes ten times as long to divide.
    return f"to_timestamp(floor(date_part('epoch', {moment}) / {seconds}) * {seconds})"


def milliseconds_sql(end: str, begin: str, *, sqlite: bool) -> str:
    """SQL for the whole milliseconds between two moments, never less than 0."""
    if sqlite:
        return f"max(0, ({end} - {begin}) / 1000)"
    return f"greatest(0, CAST(floor(extract(epoch FROM ({end} - {begin})) * 1000) AS bigint))"


def bucket_of(moment: datetime, seconds: int) -> datetime:
    """The beginning of the bucket in which a moment lies."""
    return datetime.fromtimestamp(int(moment.timestamp()) // seconds * seconds, UTC)
