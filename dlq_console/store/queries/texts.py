"""Does this database have an index of the texts of errors? Only where PostgreSQL could be given its extension for it."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from dlq_console.store.store import Store

#: An index is made, or not made, when the tables are; so whoever has asked once need not ask again.
_known: WeakKeyDictionary[Store, bool] = WeakKeyDictionary()

_INDEX = "SELECT to_regclass(:name) IS NOT NULL"


def has_text_index(store: Store) -> bool:
    """Whether dead events can be found by a text in their error."""
    if store.sqlite:
        return False
    if store not in _known:
        with store.read() as connection:
            name = f"{store.tables.event.name}_dead_text_ix"
            _known[store] = bool(connection.execute(store.statement(_INDEX), {"name": name}).scalar())
    return _known[store]
