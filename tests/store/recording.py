"""Which statements does a piece of code send? Recorded as the driver gets them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import event

from dlq_console.store.store import Store

#: A statement and its parameters, as the driver takes them.
Sent = tuple[str, Any]


@contextmanager
def recording(store: Store) -> Iterator[list[Sent]]:
    """Fills a list with what is sent inside the block; what begins a transaction is left out."""
    sent: list[Sent] = []

    def note(
        _connection: object,
        _cursor: object,
        statement: str,
        parameters: object,
        _context: object,
        _many: bool,
    ) -> None:
        if not statement.startswith("BEGIN"):
            sent.append((statement, parameters))

    engines = {store.engines.read(), store.engines.write()}
    for engine in engines:
        event.listen(engine, "before_cursor_execute", note)
    try:
        yield sent
    finally:
        for engine in engines:
            event.remove(engine, "before_cursor_execute", note)
