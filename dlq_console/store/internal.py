"""Which events are the hub's own? Small jobs that workers run like any other event, and that no list of people's work shows."""

from __future__ import annotations

from dlq_console.errors import PayloadRefused
from dlq_console.store.keys import MAX_KIND, check_text

#: With what the names of such kinds begin; nobody else may use one.
PREFIX = "dlq."
#: Asks the outside system whether a dead event would pass now.
PRECHECK = f"{PREFIX}precheck"
#: SQL: a condition on rows of events that leaves them out. As an equation, so that it costs next to nothing.
NOT_INTERNAL = f"kind <> '{PRECHECK}'"


def check_kind_name(kind: object) -> str:
    """The name of a kind as it is stored.

    Raises:
        PayloadRefused: it is no name, or one of the hub's own.
    """
    name = check_text(kind, "kind", max_length=MAX_KIND)
    if name.startswith(PREFIX):
        raise PayloadRefused(
            f"kind: names that begin with {PREFIX} are kept for the hub itself; choose another."
        )
    return name
