"""Which handlers do the workers of the storm load? One call to the ERP each, with the effect key of the run.

Workers find them by DLQ_APP=tests.chaos.app:hub.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import os
from typing import Any
from urllib.parse import urlsplit

from dlq_console import (
    Event,
    Hub,
    OutcomeUnknown,
    PermanentError,
    Policy,
    RateLimited,
    Run,
    TransientError,
)
from dlq_console.resilience.breaker.config import CircuitBreakerConfig
from tests.chaos.documents import KINDS

#: Seconds that a handler waits for an answer of the ERP.
PATIENCE = 0.7
#: Where the ERP is; its address outlives its crashes.
ERP = urlsplit(os.environ["CHAOS_ERP_URL"]).netloc

#: The ERP is healthy again soon, and all have to end soon after that (seconds).
CIRCUIT = CircuitBreakerConfig(recovery_timeout=1.0)

hub = Hub()


def call(event: Event, run: Run) -> dict[str, Any]:
    """Hand the document to the ERP and say what its answer means."""
    body = json.dumps({"entity": event.entity_id, "refused": event.payload["refused"]})
    connection = http.client.HTTPConnection(ERP, timeout=min(PATIENCE, run.remaining() + 0.1))
    try:
        connection.request("POST", f"/{event.account}", body, {"X-Effect-Key": run.effect_key})
        response = connection.getresponse()
        return _understood(response.status, json.loads(response.read()))
    except http.client.HTTPException as error:
        raise ConnectionError("The answer of the ERP broke off.") from error
    finally:
        connection.close()


def _understood(status: int, said: dict[str, Any]) -> dict[str, Any]:
    match status:
        case 200:
            return said
        case 422:
            raise PermanentError("The ERP does not know this document yet; register it there.")
        case 429:
            raise RateLimited(1)
        case 500:
            raise OutcomeUnknown("The ERP broke while it had the document.")
    raise TransientError(f"The ERP answered {status}.")


def checked(event: Event, run: Run) -> dict[str, Any]:
    """As `call`, for an effect that must not be sent by a run that has lost its event."""
    run.check()
    return call(event, run)


async def waiting(event: Event, run: Run) -> dict[str, Any]:
    """As `call`, in the event loop of the worker."""
    return await asyncio.to_thread(call, event, run)


HANDLERS = {"stock.move": checked, "customer.update": waiting}

for kind, (order, stops) in KINDS.items():
    # Few attempts where events have a key of their own, so that some use them up; waits that a test can afford.
    policy = Policy(
        max_attempts=3 if order == "key" else 5,
        base_delay=0.2,
        max_delay=1,
        timeout=5,
        order=order,
        on_dead=None if order == "none" else "block" if stops else "skip",
        breaker=CIRCUIT,
    )
    hub.handler(kind, policy=policy)(HANDLERS.get(kind, call))
