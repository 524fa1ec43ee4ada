"""What does a program read when something cannot be done? `application/problem+json` with one clear sentence."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from flask import Blueprint, Response
from werkzeug.exceptions import HTTPException, default_exceptions

from dlq_console.errors import (
    ActionNotAllowed,
    DLQError,
    EventNotFound,
    IdempotencyConflict,
    PayloadRefused,
    StoreUnavailable,
    UnknownKind,
)
from dlq_console.store.filters import FilterError
from dlq_console.store.people import NameTaken, PeopleError
from dlq_console.store.views import ViewNameTaken, ViewNotFound, ViewRefused
from dlq_console.web import outages

#: The error classes of the hub and the status with which each is answered.
STATUSES: dict[type[DLQError], int] = {
    FilterError: 400,
    NameTaken: 409,
    PeopleError: 422,
    ViewNotFound: 404,
    ViewNameTaken: 409,
    ViewRefused: 422,
    EventNotFound: 404,
    ActionNotAllowed: 409,
    PayloadRefused: 422,
    IdempotencyConflict: 422,
    UnknownKind: 422,
    StoreUnavailable: 503,
}

_SENTENCES = {
    401: "Send a valid token: Authorization: Bearer <token>.",
    404: "There is nothing at this address.",
    405: "This address takes no such request.",
    413: "The body is larger than 1 MiB; send a reference (an id or a path) instead.",
    500: "This is a fault of the server; it was written to its log.",
}
_CAPITAL = re.compile(r"(?<!^)(?=[A-Z])")


def answer(
    status: int, detail: str, *, type_: str = "about:blank", title: str = "", **members: object
) -> Response:
    """A problem as RFC 9457 describes it; `members` are further fields."""
    body = {"type": type_, "title": title or HTTPStatus(status).phrase, "status": status, "detail": detail}
    response = Response(json.dumps(body | members), status, mimetype="application/problem+json")
    if status == 401:
        response.headers["WWW-Authenticate"] = 'Bearer realm="dlq-console"'
    if status == 503:
        response.headers["Retry-After"] = "5"
    return response


def install(blueprint: Blueprint) -> None:
    """Answer every error of a blueprint as a problem."""
    # One by one: a handler of the application for one status would win over one of the blueprint for all.
    for status in default_exceptions:
        blueprint.register_error_handler(status, _http_error)
    for error_class, status in STATUSES.items():
        blueprint.register_error_handler(error_class, _hub_error(status))


def told(error: HTTPException | DLQError) -> Response:
    """The problem that an error is answered with, for pages that answer programs too."""
    if isinstance(error, HTTPException):
        return _http_error(error)
    return _hub_error(next((status for kind, status in STATUSES.items() if isinstance(error, kind)), 500))(
        error
    )


def _http_error(error: HTTPException) -> Response:
    status = error.code or 500
    detail = _validation(error) or _SENTENCES.get(status) or error.description or HTTPStatus(status).phrase
    response = answer(status, detail)
    allowed = getattr(error, "valid_methods", None)
    if allowed:
        response.headers["Allow"] = ", ".join(sorted(allowed))
    return response


def _validation(error: HTTPException) -> str:
    """The first thing that is wrong with an argument: its name and what to do."""
    messages: Any = getattr(error, "data", {}).get("messages", {})
    path = []
    while isinstance(messages, dict) and messages:
        name, messages = next(iter(messages.items()))
        path.append(str(name))
    if isinstance(messages, list) and messages:
        # The first name is where the argument stands: json, query, path. `_schema` is all of it.
        return f"{'.'.join(name for name in path[1:] if name != '_schema') or 'body'}: {messages[0]}"
    return ""


def _hub_error(status: int) -> Callable[[DLQError], Response]:
    def handle(error: DLQError) -> Response:
        name = _CAPITAL.sub("-", type(error).__name__).lower()
        title = _CAPITAL.sub(" ", type(error).__name__).capitalize()
        members: dict[str, object] = {}
        if isinstance(error, ActionNotAllowed):
            members["event_status"] = error.status
            if error.newer is not None:
                members["newer_event"] = error.newer
        detail = outages.told(error) if isinstance(error, StoreUnavailable) else error.message
        return answer(status, detail, type_=f"urn:dlq-console:{name}", title=title, **members)

    return handle
