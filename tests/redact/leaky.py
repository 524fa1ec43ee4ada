"""What a worker of the canary test runs: handlers that let secrets escape in every way that handlers know."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, NoReturn

import httpx

from dlq_console import Event, Hub, OutcomeUnknown, PermanentError, Policy, RateLimited, TransientError

hub = Hub()
logger = logging.getLogger("leaky")

ONCE = Policy(max_attempts=1)


def _said(event: Event) -> str:
    """What the ERP says back: everything it was sent."""
    return f"refused: {event.payload_json} for Authorization: Bearer {event.payload['access_token']}"


def _answer(event: Event) -> httpx.Response:
    secret = event.payload["access_token"]
    request = httpx.Request(
        "POST",
        f"https://user:{secret}@erp.example/v1/orders?access_token={secret}&page=1",
        headers={"Authorization": f"Bearer {secret}", "Cookie": f"session={secret}"},
    )
    return httpx.Response(
        422,
        request=request,
        headers={"Set-Cookie": f"id={secret}"},
        json={"message": "refused", "app_secret": secret},
    )


def permanent(event: Event) -> NoReturn:
    raise PermanentError(_said(event))


def transient(event: Event) -> NoReturn:
    raise TransientError(_said(event))


def limited(event: Event) -> NoReturn:
    raise RateLimited(1, message=_said(event))


def unknown_outcome(event: Event) -> NoReturn:
    raise OutcomeUnknown(_said(event))


def chained(event: Event) -> NoReturn:
    try:
        raise ConnectionError(f"cannot reach redis://:{event.payload['access_token']}@127.0.0.1:6379/0")
    except ConnectionError as error:
        raise ValueError(f"senha={event.payload['access_token']}") from error


def http_error(event: Event) -> NoReturn:
    response = _answer(event)
    try:
        response.raise_for_status()
    except httpx.HTTPStatusError as error:
        raise PermanentError(
            f"{error}: {response.text} {dict(response.headers)} {dict(response.request.headers)}"
        ) from error
    raise AssertionError("the answer is an error")


def plain_http_error(event: Event) -> NoReturn:
    _answer(event).raise_for_status()
    raise AssertionError("the answer is an error")


def logs(event: Event) -> NoReturn:
    try:
        permanent(event)
    except PermanentError:
        logger.exception("sent %s", event.payload_json)
        raise


def leaves(event: Event) -> NoReturn:
    raise SystemExit(_said(event))


def result(event: Event) -> dict[str, Any]:
    logger.info("sent %r", event.payload)
    return {"document": "D-1", "access_token": event.payload["access_token"]}


HANDLERS: tuple[Callable[[Event], Any], ...] = (
    permanent, transient, limited, unknown_outcome, chained, http_error, plain_http_error, logs, leaves, result,
)  # fmt: skip
for handler in HANDLERS:
    hub.handler(f"leak.{handler.__name__}", policy=ONCE)(handler)
