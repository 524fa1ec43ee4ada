"""Which application do the tests of forks load before the fork? One whose parent has used everything that a fork could break.

`gunicorn --preload tests.workers.preloaded:application`: each request puts an event in, runs it in its process and answers
with the id of that process.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from typing import Any

from dlq_console import Enqueued, Event, Hub

hub = Hub()


@hub.handler("order.create")
async def create_order(_event: Event) -> dict[str, Any]:
    return {"pid": os.getpid()}


def enqueue(entity_id: str) -> Enqueued:
    return hub.enqueue("order.create", account="filial-sp", entity_id=entity_id, payload={"of": entity_id})


# Connections, what is known of kinds, and the event loop of async handlers with its thread.
assert hub.run(enqueue("before the fork").id).result == {"pid": os.getpid()}
# A thread of the parent that the children do not have.
threading.Thread(target=threading.Event().wait, daemon=True).start()


def application(
    environ: dict[str, Any], start_response: Callable[[str, list[tuple[str, str]]], object]
) -> Iterable[bytes]:
    event = hub.run(enqueue(environ["PATH_INFO"]).id)
    start_response("200 OK" if event.status == "done" else "500 Not run", [("Content-Type", "text/plain")])
    return [str((event.result or {}).get("pid")).encode()]
