"""How a statement names the present moment: the database's own clock, in one spelling per engine.

Times are `timestamptz` on PostgreSQL and whole microseconds since 1970 on SQLite. Both are always told by the
database, so a worker whose clock is wrong changes nothing. `advance` moves the clock of one store forward, which is
how tests reach a retry that is due in an hour.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class DatabaseClock:
    """Spells the present moment and durations as SQL for one engine."""

    def __init__(self, dialect: str) -> None:
        self._sqlite = dialect == "sqlite"
        self._offset_us = 0
        self._listeners: list[Callable[[], None]] = []

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call `listener` when the clock was moved, so that prepared statements are written anew."""
        self._listeners.append(listener)

    def advance(self, seconds: float) -> None:
        """Move the clock of this store forward; other stores on the same database do not see it."""
        self._offset_us += round(seconds * 1_000_000)
        for listener in self._listeners:
            listener()

    def now_sql(self) -> str:
        """SQL for the present moment."""
        if self._sqlite:
            host = "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) * 1000"
            return f"({host} + {self._offset_us})"
        if self._offset_us:
            return f"(statement_timestamp() + interval '{self._offset_us} microseconds')"
        return "statement_timestamp()"

    def interval_sql(self, seconds: str) -> str:
        """SQL for a duration to be added to a time; `seconds` is an SQL expression and may be fractional."""
        if self._sqlite:
            return f"CAST({seconds} * 1000000 AS INTEGER)"
        return f"make_interval(secs => CAST({seconds} AS double precision))"

    def words(self) -> dict[str, object]:
        """What a statement template may write: `{now} + {interval[seconds]}`, `{greatest}(a, b)`, `CAST(x AS {time})`.

        In `{interval[...]}` a word is a parameter and a number is itself, both in seconds; a duration that is
        computed is written `CAST({second} * (...) AS {duration})`.
        """
        return {
            "now": self.now_sql(),
            "interval": _Interval(self),
            "greatest": "max" if self._sqlite else "greatest",
            "least": "min" if self._sqlite else "least",
            "time": "INTEGER" if self._sqlite else "timestamptz",
            "second": "1000000.0" if self._sqlite else "interval '1 second'",
            "duration": "INTEGER" if self._sqlite else "interval",
        }


class _Interval:
    """Lets a template write `{interval[name]}`."""

    def __init__(self, clock: DatabaseClock) -> None:
        self._clock = clock

    def __getitem__(self, seconds: str | int) -> str:
        return self._clock.interval_sql(f":{seconds}" if isinstance(seconds, str) else str(seconds))


def to_microseconds(moment: datetime) -> int:
    """An aware time as whole microseconds since 1970, exactly."""
    return (moment - EPOCH) // timedelta(microseconds=1)


def from_seconds(seconds: float | None) -> datetime | None:
    """The moment of seconds since 1970, in UTC; None for None."""
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def from_microseconds(value: int) -> datetime:
    """The inverse of `to_microseconds`."""
    return EPOCH + timedelta(microseconds=value)
