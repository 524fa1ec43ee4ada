"""How does one parameter hold any number of ids? As a JSON list: one statement for all lengths, prepared once."""

from __future__ import annotations

import json
from collections.abc import Iterable

from dlq_console.store.store import Store


def ids_sql(store: Store, name: str) -> str:
    """SQL for the rows of a parameter that holds ids; see `as_ids`."""
    if store.sqlite:
        return f"(SELECT value FROM json_each(:{name}))"
    return f"(SELECT CAST(j AS bigint) FROM jsonb_array_elements_text(CAST(:{name} AS jsonb)) AS j)"


def as_ids(event_ids: Iterable[int]) -> str:
    """The value of such a parameter."""
    return json.dumps([*event_ids])
