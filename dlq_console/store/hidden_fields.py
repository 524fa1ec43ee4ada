"""May somebody ask for events by a field of the payload that is masked for them?

The answer to such a question tells the value, one guess at a time, so it is as good as showing it. What a kind lists as a
column is meant to be searched for by whoever has the number at hand, and stays.
"""

from __future__ import annotations

from dlq_console.redact.fields import is_masked_path
from dlq_console.store.columns import configured_paths
from dlq_console.store.filters import PAYLOAD, EventFilter, FilterError
from dlq_console.store.people.roles import Permission, Person, may
from dlq_console.store.store import Store


def refuse_hidden(store: Store, flt: EventFilter, person: Person) -> None:
    """Refuse a filter that would let `person` guess what is masked for them.

    Raises:
        FilterError: it asks for a masked field that no column shows, and the person may not reveal it.
    """
    asked = [path for path, _ in flt.payload if is_masked_path(path)]
    if not asked or may(person, Permission.REVEAL):
        return
    columns = configured_paths(store, flt.kind)
    for path in asked:
        if path not in columns:
            raise FilterError(
                f"{PAYLOAD}{path}: this field is masked and no column of its kind, so only who may reveal it can search for it.",
                name=f"{PAYLOAD}{path}",
                cause="hidden",
            )
