"""How does a Flask application take over the budget of its callers, and refuse in time?

    init_app(app)

A request that brings no time is answered 504 at once; a service that is open or full is answered 503 with Retry-After.
"""

from __future__ import annotations

import math

from flask import Flask, Response, g, request

from dlq_console.resilience import budget
from dlq_console.resilience.errors import BudgetExceededError, BulkheadTimeoutError, Refusal


def init_app(app: Flask) -> None:
    """Give every request of the application its budget, and its refusals their status."""
    app.before_request(_begin)
    app.teardown_request(_end)
    app.register_error_handler(Refusal, _refused)


def _begin() -> None:
    seconds = budget.read_header(request.headers.getlist(budget.HEADER))
    g.dlq_console_budget = budget.init_budget(seconds)
    if seconds == 0:
        raise BudgetExceededError("The caller has no time left for this request.")


def _end(_error: BaseException | None) -> None:
    begun = g.pop("dlq_console_budget", None)
    if begun is not None:
        begun.end()


def _refused(error: Refusal) -> Response:
    timed_out = isinstance(error, (BudgetExceededError, BulkheadTimeoutError))
    answer = Response(error.message, status=504 if timed_out else 503, mimetype="text/plain")
    if error.retry_after is not None and not timed_out:
        answer.headers["Retry-After"] = str(max(1, math.ceil(error.retry_after)))
    return answer
