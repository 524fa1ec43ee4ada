"""Which fields of payloads have kinds configured, as columns of lists and for search?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dlq_console.store import kinds
from dlq_console.store.store import Store


def columns(store: Store) -> dict[str, Mapping[str, str]]:
    """The fields that kinds have configured, as workers have published them: kind -> label -> path."""
    return {
        name: kind.policy["columns"]
        for name, kind in kinds.published(store).items()
        if kind.policy.get("columns")
    }


def configured_paths(store: Store, of_kinds: Sequence[str] = ()) -> frozenset[str]:
    """The paths that all of these kinds have configured; without kinds, those that any kind has."""
    known = columns(store)
    if not of_kinds:
        return frozenset(path for labels in known.values() for path in labels.values())
    each = [frozenset(known.get(kind, {}).values()) for kind in of_kinds]
    return frozenset.intersection(*each)
