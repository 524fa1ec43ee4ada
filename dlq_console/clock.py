"""What time it is for code that runs outside the database.

State of events is timed by the database alone (`store/clock.py`). This clock serves durations inside one process
and the display of "3 minutes ago".
"""

from __future__ import annotations

import time
from datetime import UTC, datetime


def utc_now() -> datetime:
    """The host's present time, aware, in UTC."""
    return datetime.now(UTC)


def monotonic() -> float:
    """Seconds of a clock that never goes back; only differences mean something."""
    return time.monotonic()
