"""How does a door say that it is the one by which somebody acts? Around what it serves."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dlq_console.store.origins import Origin, Via, current

__all__ = ["Origin", "Via", "acting", "current"]


@contextmanager
def acting(via: Via, address: str | None = None) -> Iterator[None]:
    """Inside the block every act is written down as coming from there.

    Args:
        via: the door.
        address: of the client, where there is one.
    """
    token = current.set(Origin(via, address))
    try:
        yield
    finally:
        current.reset(token)
