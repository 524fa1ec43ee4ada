"""Which event does a number belong to? Straight from a business number to its events, by indexes alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from unicodedata import category, normalize

from dlq_console.store.columns import configured_paths
from dlq_console.store.cursors import MAX_ID
from dlq_console.store.filters import MAX_LENGTH
from dlq_console.store.internal import NOT_INTERNAL
from dlq_console.store.queries.routes import ANY, Accounts, prepared
from dlq_console.store.store import Store

#: Most events in one answer.
MAX_HITS = 50
#: Characters; no number or key is longer.
MAX_WANTED = 1_000
#: Events that are looked at for each way of being found; some may be of accounts that may not be seen.
LOOKED_AT = 200
#: Configured fields that are looked into.
MAX_PATHS = 40


@dataclass(frozen=True, slots=True)
class Hit:
    """An event that was found, and by what: `id`, `entity_id`, `idempotency_key`, or the path of a configured field."""

    event_id: int
    path: str


def find(store: Store, text: str, *, accounts: Accounts = None, limit: int = MAX_HITS) -> list[Hit]:
    """The events that a text names, newest first; each once, by the first way in which it was found.

    Args:
        store: the store.
        text: as somebody typed or pasted it; spaces and `#` around it are left away.
        accounts: what the person may see.
        limit: most events.
    """
    wanted = number_of(text)
    if not wanted or accounts == () or len(wanted) > MAX_WANTED or _is_odd(wanted):
        return []
    template, parameters = _search(store, wanted)
    visible = ANY if accounts is None else "e.account IN :visible_list"
    if accounts is not None:
        parameters["visible_list"] = list(accounts)
    template = f"""
SELECT found.event_id, found.path FROM ({template}) AS found JOIN {{event}} e ON e.id = found.event_id
WHERE {visible} AND e.{NOT_INTERNAL} ORDER BY found.event_id DESC, found.place
"""
    with store.read() as connection:
        rows = connection.execute(prepared(store, template, parameters), parameters).all()
    hits: dict[int, Hit] = {}
    for row in rows:
        hits.setdefault(row.event_id, Hit(row.event_id, row.path))
    return list(hits.values())[:limit]


def number_of(text: str) -> str:
    """The number itself of what somebody typed or pasted: without spaces and `#` around it."""
    return normalize("NFC", text).strip().strip("#").strip()


def spellings_of(text: str) -> tuple[str, ...]:
    """As it was typed, in capitals and in small letters: people often type a code in the other case."""
    return tuple(dict.fromkeys(normalize("NFC", one) for one in (text, text.upper(), text.lower())))


def _is_odd(text: str) -> bool:
    """Whether it holds what no engine can compare."""
    return any(category(character) in ("Cc", "Cs") for character in text)


def _search(store: Store, wanted: str) -> tuple[str, dict[str, Any]]:
    """SQL that yields `event_id`, `path` and the `place` of each way, and its parameters."""
    parameters: dict[str, Any] = {"wanted": wanted}
    spellings = spellings_of(wanted)
    parameters |= {f"spelling_{n}": spelling for n, spelling in enumerate(spellings)}
    number = [
        ("'entity_id'", "id", f"{{event}} WHERE entity_id = :spelling_{n}", "entity_id DESC, id DESC")
        for n in range(len(spellings))
    ]
    ways = [
        *number,
        ("'idempotency_key'", "id", "{event} WHERE idempotency_key = :wanted", "idempotency_key, id"),
    ]
    if wanted.isascii() and wanted.isdecimal() and 0 < int(wanted) <= MAX_ID:
        ways.insert(0, ("'id'", "id", "{event} WHERE id = :wanted_id", "id"))
        parameters["wanted_id"] = int(wanted)
    if len(wanted) <= MAX_LENGTH:
        for place, path in enumerate(sorted(configured_paths(store))[:MAX_PATHS]):
            parameters[f"path_{place}"] = path
            ways += [
                (
                    f"CAST(:path_{place} AS text)",
                    "event_id",
                    f"{{event_field}} WHERE value = :spelling_{n} AND path = :path_{place}",
                    "value DESC, path DESC, event_id DESC",
                )
                for n in range(len(spellings))
            ]
    parts = [
        f"SELECT * FROM (SELECT {id_} AS event_id, {path} AS path, {place} AS place FROM {rows} "
        f"ORDER BY {order} LIMIT {LOOKED_AT}) AS way_{place}"
        for place, (path, id_, rows, order) in enumerate(ways)
    ]
    return " UNION ALL ".join(parts), parameters
