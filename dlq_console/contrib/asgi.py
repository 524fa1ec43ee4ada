"""How does an ASGI application take over the budget of its callers? Through a middleware; it needs no framework.

app = BudgetMiddleware(app)
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from dlq_console.resilience import budget

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

_HEADER = budget.HEADER.lower().encode()


class BudgetMiddleware:
    """Gives every HTTP request its budget; one that brings no time is answered 504 at once.

    Args:
        app: the application.
    """

    def __init__(self, app: Application) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or pass anything else on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        values = [value.decode("latin-1") for name, value in scope["headers"] if name.lower() == _HEADER]
        seconds = budget.read_header(values)
        if seconds == 0:
            await _answer_too_late(send)
            return
        with budget.init_budget(seconds):
            await self._app(scope, receive, send)


async def _answer_too_late(send: Send) -> None:
    body = b"The caller has no time left for this request."
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 504, "headers": headers})
    await send({"type": "http.response.body", "body": body})
