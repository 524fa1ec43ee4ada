"""Does a shared state take changes? A process writes a moment under a name of its own; nobody reads it."""

from __future__ import annotations

from dlq_console.resilience.state import Change, Kind

#: What was written is kept for so many seconds.
_KEPT = 60.0


def _moment(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


TRIALS: Kind[float] = Kind("trial", repr, _moment, listed=False, remembered=False, hurried=True)


def tried(_record: float | None, now: float) -> Change[float, None]:
    """The change that is written; never the same twice."""
    return Change(None, now, _KEPT)
