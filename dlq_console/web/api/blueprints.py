"""What do all parts of the API have in common? Who asks is known first, no digit of a body is lost, and answers look alike.

How large a body may be is the application's business: `security.BODY_LIMIT`.
"""

from __future__ import annotations

from typing import Any

from flask import Response
from flask_smorest import Blueprint

from dlq_console.web.api import problems
from dlq_console.web.api.access import require_token
from dlq_console.web.api.bodies import ExactParser
from dlq_console.web.api.described import ProblemSchema
from dlq_console.web.api.representation import Document, to_text

PREFIX = "/api/v1"
#: How an answer that says no is described, whatever its status.
PROBLEM: dict[str, Any] = {"schema": ProblemSchema, "content_type": "application/problem+json"}


class ApiBlueprint(Blueprint):
    """A blueprint whose JSON bodies lose no digit."""

    ARGUMENTS_PARSER = ExactParser()


def api_blueprint(name: str, import_name: str, description: str) -> ApiBlueprint:
    """A part of the API, for programs with a token."""
    made = ApiBlueprint(name, import_name, url_prefix=PREFIX, description=description)
    problems.install(made)
    made.before_request(require_token)
    return made


def json_answer(document: Document, status: int = 200) -> Response:
    """A document as the body of an answer."""
    return Response(to_text(document), status, mimetype="application/json")
