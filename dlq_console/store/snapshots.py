"""What did a step read last for the pages to show? Rows that changed are written, so that a viewer never causes a reading.

A reading is a set of named values, such as the circuits of services. Its own row, which has no name, says when it was
taken and, where what it reads from is away, why there is nothing newer.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from dlq_console.store.canonical import LARGEST_PAYLOAD, encode_payload
from dlq_console.store.events import read_time
from dlq_console.store.store import Store

KNOWN = "SELECT name, value FROM {snapshot} WHERE reading = :reading AND name <> ''"
READ = "SELECT name, value, changed_at, {now} AS now FROM {snapshot} WHERE reading = :reading ORDER BY name"
#: Two readings as they are kept, at one moment.
BOTH = (
    "SELECT reading, name, value, changed_at, {now} AS now FROM {snapshot} WHERE reading IN (:first, :second)"
)
KEEP = """
INSERT INTO {snapshot} (reading, name, value, changed_at) VALUES (:reading, :name, :value, {now})
ON CONFLICT (reading, name) DO UPDATE SET value = excluded.value, changed_at = excluded.changed_at
"""
#: A reading is taken every two seconds; after so many without one it is not shown as current.
STALE_AFTER = 10.0
#: The reading as such: only its time changes, unless nothing could be read.
TAKEN = KEEP
NOT_TAKEN = """
INSERT INTO {snapshot} (reading, name, value, changed_at) VALUES (:reading, '', :value, {now})
ON CONFLICT (reading, name) DO UPDATE SET value = excluded.value
"""
TAKEN_AT = "SELECT changed_at, {now} AS now FROM {snapshot} WHERE reading = :reading AND name = ''"
DROP = "DELETE FROM {snapshot} WHERE reading = :reading AND name = :name"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A reading as it was taken last.

    Attributes:
        values: by name.
        taken_at: when it could last be taken; None: never.
        age: seconds since then.
        away: why nothing newer could be read; None where it could.
        changed_at: when each value was written last, by name.
    """

    values: Mapping[str, Any]
    taken_at: datetime | None = None
    age: float = math.inf
    away: str | None = None
    changed_at: Mapping[str, datetime] = field(default_factory=dict)

    @property
    def is_stale(self) -> bool:
        """Whether more has probably changed than is shown."""
        return self.away is not None or self.age > STALE_AFTER


NOTHING = Snapshot({})


@dataclass(frozen=True, slots=True)
class Texts:
    """A reading as it is kept, for who reads it often and parses only what has changed.

    Attributes:
        values: JSON texts by name.
        changed_at: when any of them changed last; None where there is none.
        taken_at: when it could last be taken; None: never.
        age: seconds since then.
    """

    values: Mapping[str, str]
    changed_at: datetime | None = None
    taken_at: datetime | None = None
    age: float = math.inf


def keep(
    store: Store, reading: str, values: Mapping[str, Any], *, former: Mapping[str, Any] | None = None
) -> int:
    """Write down a reading; returns how many values have changed since the one before.

    Args:
        store: the store.
        reading: its name.
        values: by name; others that were known are gone.
        former: what was known when this reading began: what was mended since then, see `mend`, is left as it is.
    """
    texts = _texts_of(values)
    with store.write() as connection:
        rows = connection.execute(store.statement(KNOWN), {"reading": reading}).all()
        known: dict[str, str] = {row.name: row.value for row in rows}
        changed = sorted(name for name, text in texts.items() if known.get(name) != text)
        gone = [name for name in known if name not in texts]
        if former is not None:
            changed = [name for name in changed if not _is_newer(known.get(name), name, former)]
            gone = [name for name in gone if not _is_newer(known[name], name, former)]
        if changed:
            connection.execute(
                store.statement(KEEP),
                [{"reading": reading, "name": name, "value": texts[name]} for name in changed],
            )
        if gone:
            connection.execute(store.statement(DROP), [{"reading": reading, "name": name} for name in gone])
        connection.execute(store.statement(TAKEN), {"reading": reading, "name": "", "value": "null"})
    return len(changed) + len(gone)


def mend(store: Store, reading: str, values: Mapping[str, Any]) -> None:
    """Write some values of a reading anew, which becomes no younger by that."""
    texts = _texts_of(values)
    if texts:
        # In the order in which `keep` locks them.
        rows = [{"reading": reading, "name": name, "value": text} for name, text in sorted(texts.items())]
        with store.write() as connection:
            connection.execute(store.statement(KEEP), rows)


def _texts_of(values: Mapping[str, Any]) -> dict[str, str]:
    return {
        name: encode_payload(value, max_bytes=LARGEST_PAYLOAD, name=name) for name, value in values.items()
    }


def _is_newer(text: str | None, name: str, former: Mapping[str, Any]) -> bool:
    """Whether a value was written after `former` had been read."""
    return text is not None and (name not in former or json.loads(text) != former[name])


def keep_away(store: Store, reading: str, why: str) -> None:
    """Write down that nothing can be read now: what was read last stands, with its age."""
    with store.write() as connection:
        connection.execute(store.statement(NOT_TAKEN), {"reading": reading, "value": json.dumps(why)})


def look(store: Store, reading: str) -> Snapshot:
    """The reading as it was taken last."""
    with store.read() as connection:
        rows = connection.execute(store.statement(READ), {"reading": reading}).all()
    values = {row.name: json.loads(row.value) for row in rows}
    if "" not in values:
        return NOTHING
    away = values.pop("")
    (own,) = [row for row in rows if not row.name]
    taken_at, now = read_time(own.changed_at), read_time(own.now)
    assert taken_at is not None  # noqa: S101 - for the type checker; both columns are never empty
    assert now is not None  # noqa: S101 - as above
    changed = {row.name: at for row in rows if row.name and (at := read_time(row.changed_at))}
    return Snapshot(values, taken_at, (now - taken_at).total_seconds(), away, changed)


def age(store: Store, reading: str) -> float | None:
    """Seconds since a reading was taken last; None: never. Costs one row, however many values it has."""
    taken = taken_last(store, reading)
    return taken.age if taken.taken_at else None


def taken_last(store: Store, reading: str) -> Snapshot:
    """When a reading was taken last, without its values: one row, however many there are."""
    with store.read() as connection:
        row = connection.execute(store.statement(TAKEN_AT), {"reading": reading}).first()
    taken_at, now = (read_time(row.changed_at), read_time(row.now)) if row else (None, None)
    return Snapshot({}, taken_at, (now - taken_at).total_seconds()) if now and taken_at else NOTHING


def both(store: Store, first: str, second: str) -> tuple[Texts, Texts]:
    """Two readings as they were taken last, by one statement."""
    with store.read() as connection:
        rows = connection.execute(store.statement(BOTH), {"first": first, "second": second}).all()
    return _texts(rows, first), _texts(rows, second)


def _texts(rows: Sequence[Any], reading: str) -> Texts:
    values: dict[str, str] = {}
    taken = changed = told_now = None
    # One pass over plain values: there may be thousands, every second.
    for of, name, value, changed_at, now in rows:
        if of != reading:
            continue
        if name:
            values[name] = value
            changed = changed_at if changed is None or changed_at > changed else changed
        else:
            taken, told_now = changed_at, now
    if taken is None:
        return Texts({})
    taken_at, moment = read_time(taken), read_time(told_now)
    assert taken_at is not None  # noqa: S101 - for the type checker; both columns are never empty
    assert moment is not None  # noqa: S101 - as above
    return Texts(values, read_time(changed), taken_at, (moment - taken_at).total_seconds())
