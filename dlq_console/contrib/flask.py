"""How does a Flask application take over the budget of its callers, and refuse in time?

    init_app(app)

A request that brings no time is answered 504 at once; a service that is open or full is answered 503 with Retry-After.
A body that is streamed has what is left of the same budget, for each of its pieces.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from flask import Flask, Response, g, request

from dlq_console.resilience import budget
from dlq_console.resilience.budget import Budget
from dlq_console.resilience.errors import BudgetExceededError, BulkheadTimeoutError, Refusal

AnyResponse = TypeVar("AnyResponse", bound=Response)


def init_app(app: Flask) -> None:
    """Give every request of the application its budget, and its refusals their status."""
    app.before_request(_begin)
    app.after_request(_carry_on)
    app.teardown_request(_end)
    app.register_error_handler(Refusal, _refused)


def _begin() -> None:
    seconds = budget.read_header(request.headers.getlist(budget.HEADER))
    g.dlq_console_budget = budget.init_budget(seconds)
    if seconds == 0:
        raise BudgetExceededError("The caller has no time left for this request.")


def _carry_on(answer: AnyResponse) -> AnyResponse:
    """A streamed body is made when the request is over: give it the budget of the request.

    Not by leaving that set until the response is closed: the server goes on to others meanwhile, and may close it in
    another thread.
    """
    begun = g.get("dlq_console_budget")
    if begun is not None and answer.is_streamed and not answer.direct_passthrough:
        answer.response = _Body(answer.response, begun)
    return answer


class _Body(Iterator[Any]):
    """The pieces of a body, each made within a budget."""

    def __init__(self, pieces: Iterable[Any], begun: Budget) -> None:
        self._pieces = pieces
        self._iterator = iter(pieces)
        self._begun = begun

    def __next__(self) -> Any:
        with budget.init_budget(self._begun.remaining()):
            return next(self._iterator)

    def close(self) -> None:
        """Close the pieces, where they can be."""
        close = getattr(self._pieces, "close", None)
        if close is not None:
            close()


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
