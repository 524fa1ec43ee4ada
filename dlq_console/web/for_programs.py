"""How do pages answer programs too? With JSON to whoever asks for it, with the session of a person or a bearer token."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flask import Response, g, request
from werkzeug.exceptions import HTTPException

from dlq_console.errors import DLQError
from dlq_console.store.people import Permission, Person
from dlq_console.web.api import problems
from dlq_console.web.api.access import demand, require_token
from dlq_console.web.api.representation import to_text
from dlq_console.web.auth import load_person


def wants_json() -> bool:
    """Whether this request is that of a program: it has a token, or would rather have JSON than a page.

    Whoever says nothing of the kind is a person where somebody is logged in, and else a program that forgot its token.
    """
    if "Authorization" in request.headers:
        return True
    accepted = request.accept_mimetypes
    page, json = accepted["text/html"], accepted["application/json"]
    return json > page if page != json else page == 0 and load_person() is None


def answered(read: Callable[[Person], dict[str, Any]]) -> Response:
    """What `read` says to whoever asks, as JSON; what is wrong as a problem.

    Args:
        read: of somebody who may look, what they may see.
    """
    try:
        _require_somebody()
        response = Response(to_text(read(demand(Permission.VIEW))), mimetype="application/json")
    except (HTTPException, DLQError) as error:
        response = problems.told(error)
    response.vary.update(("Accept", "Authorization", "Cookie"))
    return response


def _require_somebody() -> None:
    """A person of the console or a program with a token, else 401."""
    known = None if "Authorization" in request.headers else load_person()
    if known is None:
        require_token()
    else:
        g.caller = known
