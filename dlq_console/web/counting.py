"""Are the counts of the groups still true? Workers take them anew all the time, unless none is running."""

from __future__ import annotations

from dlq_console.store.queries import Groups
from dlq_console.web import display

#: Counts older than this, in seconds, are shown as what they are: old. They are taken every 15.
STALE_AFTER = 60


def is_stale(found: Groups) -> bool:
    """Whether nobody has counted for a while; also where nothing was counted at all."""
    if found.sampled_at is None:
        return not found.items
    return (display.current().now - found.sampled_at).total_seconds() > STALE_AFTER
