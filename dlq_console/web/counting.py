"""Are the counts of the groups still true? Workers take them anew all the time, unless none is running."""

from __future__ import annotations

from datetime import datetime

from dlq_console.store.queries import CountedGroup, Group, Groups
from dlq_console.web import display

#: Counts older than this, in seconds, are shown as what they are: old. They are taken every 15.
STALE_AFTER = 60


def is_stale(found: Groups) -> bool:
    """Whether nobody has counted for a while; also where nothing was counted at all."""
    return not found.items if found.sampled_at is None else _is_old(found.sampled_at)


def fresh(found: CountedGroup | None) -> Group | None:
    """The group, unless nobody has counted it for a while."""
    return None if found is None or _is_old(found.at) else found.group


def _is_old(at: datetime) -> bool:
    return (display.current().now - at).total_seconds() > STALE_AFTER
