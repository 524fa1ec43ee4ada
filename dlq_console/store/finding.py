"""Which event does a number belong to? Straight from a business number to its events, by indexes alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from unicodedata import category, normalize

from dlq_console.store.amounts import spellings_of_amount
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
#: The ways by fields come after those by what an event is called.
AFTER_ALL_OTHERS = 100


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
    spellings = spellings_of(wanted)
    parameters: dict[str, Any] = {"wanted": wanted}
    parameters |= {f"spelling_{n}": spelling for n, spelling in enumerate(spellings)}
    ways = [
        *(
            ("entity_id", f"{{event}} WHERE entity_id = :spelling_{n}", "entity_id DESC, id DESC")
            for n in range(len(spellings))
        ),
        ("idempotency_key", "{event} WHERE idempotency_key = :wanted", "idempotency_key, id"),
    ]
    if wanted.isascii() and wanted.isdecimal() and 0 < int(wanted) <= MAX_ID:
        ways.insert(0, ("id", "{event} WHERE id = :wanted_id", "id"))
        parameters["wanted_id"] = int(wanted)
    parts = [
        f"SELECT * FROM (SELECT id AS event_id, '{path}' AS path, {place} AS place FROM {rows} "
        f"ORDER BY {order} LIMIT {LOOKED_AT}) AS way_{place}"
        for place, (path, rows, order) in enumerate(ways)
    ]
    paths = sorted(configured_paths(store))[:MAX_PATHS] if len(wanted) <= MAX_LENGTH else []
    if paths:
        # Amounts stand in payloads alone: an event is called by none.
        values = list(dict.fromkeys([*spellings, *spellings_of_amount(wanted)]))
        in_fields, of_fields = (_in_fields_sqlite if store.sqlite else _in_fields_postgres)(paths, values)
        parts.append(in_fields)
        parameters |= of_fields
    return " UNION ALL ".join(parts), parameters


def _in_fields_sqlite(paths: list[str], values: list[str]) -> tuple[str, dict[str, Any]]:
    parts = [
        f"SELECT * FROM (SELECT event_id, CAST(:path_{p} AS text), {AFTER_ALL_OTHERS + p} "
        f"{_in_a_field(f':value_{v}', f':path_{p}')}) AS field_{p}_{v}"
        for p in range(len(paths))
        for v in range(len(values))
    ]
    parameters = {f"path_{p}": path for p, path in enumerate(paths)}
    return " UNION ALL ".join(parts), parameters | {f"value_{v}": value for v, value in enumerate(values)}


def _in_fields_postgres(paths: list[str], values: list[str]) -> tuple[str, dict[str, Any]]:
    """The same walks, said once: PostgreSQL would take longer to plan each of them than to do it."""
    part = f"""
SELECT walk.event_id, paths.path, CAST({AFTER_ALL_OTHERS} + paths.place AS integer)
FROM unnest(CAST(:paths AS text[])) WITH ORDINALITY AS paths(path, place)
CROSS JOIN unnest(CAST(:spellings AS text[])) AS spellings(value)
CROSS JOIN LATERAL (SELECT event_id {_in_a_field("spellings.value", "paths.path")}) AS walk
"""
    return part, {"paths": paths, "spellings": values}


def _in_a_field(value: str, path: str) -> str:
    """SQL from FROM on for the events with a value in a field; in the order of the index, so that every engine walks it."""
    return (
        f"FROM {{event_field}} f WHERE f.value = {value} AND f.path = {path} "
        f"ORDER BY f.value DESC, f.path DESC, f.event_id DESC LIMIT {LOOKED_AT}"
    )
