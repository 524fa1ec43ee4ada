"""When was a circuit of an account open, within a span? From the transitions that were written down."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Row

from dlq_console.store.events import read_time
from dlq_console.store.store import Store

#: Circuits of one account, and transitions of each, that are read at most, the newest; more would be a wall of colour.
MOST_CIRCUITS, MOST = 20, 200

CIRCUITS = f"SELECT type, name, kind FROM {{scope}} WHERE account = :account ORDER BY type, name LIMIT {MOST_CIRCUITS}"
TRANSITIONS = f"""
SELECT at, before, after FROM {{scope_change}}
WHERE type = :type AND name = :name AND at >= :first_at ORDER BY generation DESC LIMIT {MOST}
"""
_TOLD = ("open", "half_open")


@dataclass(frozen=True, slots=True)
class CircuitSpan:
    """A time in which a circuit let nothing or only probes through.

    Attributes:
        state: `open` or `half_open`.
        kind: of the circuit that one kind has of its own; None of the account's.
        end: None where it lasts, or as far as anybody has written down.
    """

    state: str
    kind: str | None
    start: datetime
    end: datetime | None


def circuit_spans(store: Store, account: str, since: datetime) -> tuple[CircuitSpan, ...]:
    """Every such time of an account's circuits from `since` on, the oldest first; one that began before begins there.

    Only what has changed since then is known: a circuit that has been open for all of the time is none of these.
    """
    found: list[CircuitSpan] = []
    with store.read() as connection:
        circuits = connection.execute(store.statement(CIRCUITS), {"account": account}).all()
        for circuit in circuits:
            named = {"type": circuit.type, "name": circuit.name, "first_at": since}
            rows = connection.execute(store.statement(TRANSITIONS), named).all()
            found += _spans(circuit.kind, [(read_time(row.at), row) for row in reversed(rows)], since)
    return tuple(sorted(found, key=lambda span: span.start))


def _spans(
    kind: str | None, moves: list[tuple[datetime | None, Row[Any]]], since: datetime
) -> Iterator[CircuitSpan]:
    state, start = "", since
    for at, row in moves:
        if at is None:
            continue
        before = state or row.before
        # A person's decision about a circuit is a transition that changes nothing of its state.
        if row.after == before:
            state = before
            continue
        if before in _TOLD:
            yield CircuitSpan(before, kind, start, at)
        state, start = row.after, at
    if state in _TOLD:
        yield CircuitSpan(state, kind, start, None)
