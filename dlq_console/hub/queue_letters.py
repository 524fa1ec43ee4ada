"""What becomes of the item that a full recovery queue refuses? A dead letter, kept before its caller is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from dlq_console.errors import PayloadRefused
from dlq_console.hub.enqueue import NewEvent
from dlq_console.hub.entrance import Entrance
from dlq_console.hub.failures import failure
from dlq_console.resilience.backpressure import identified
from dlq_console.store.fingerprints import fingerprint
from dlq_console.store.ingest import Intention
from dlq_console.store.keys import MAX_ENTITY_ID, check_text
from dlq_console.store.refused import dead_letter
from dlq_console.store.store import Store

_ORIGIN = "recovery queue"


def letters(store: Store, entrance: Entrance, kind: str, account: str) -> Callable[[Any], None]:
    """What makes a dead letter of each item: the `on_full` of a queue."""

    def on_full(item: Any) -> None:
        make = partial(_event, entrance, kind, account, item)
        cause = failure("QueueFull", "It found no room in its recovery queue.")
        cause = replace(cause, fingerprint=fingerprint(cause.type, cause.message, kind=kind))
        dead_letter(store, make, cause)

    return on_full


def _event(entrance: Entrance, kind: str, account: str, item: Any, version: str | None) -> Intention:
    new = NewEvent(kind=kind, account=account, entity_id=_number(item), payload=item, version=version)
    return entrance.check(new, _ORIGIN)


def _number(item: Any) -> str:
    """How people call the item: by itself where it is a short text or a number, else by a part of its digest."""
    if isinstance(item, (str, int)) and not isinstance(item, bool):
        try:
            return check_text(str(item), "item", max_length=MAX_ENTITY_ID)
        except PayloadRefused:
            pass  # a text that nobody could read; its digest stands for it
    return identified(item)[0][:32]
