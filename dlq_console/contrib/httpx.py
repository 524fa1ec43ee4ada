"""How does an httpx client keep to the budget of the request it works for? Through a transport, sync or async.

    client = httpx.Client(transport=BudgetTransport())

Each call is told how much time it has, its time limits are cut to that, and the trace goes with it.
"""

from __future__ import annotations

import httpx

from dlq_console.resilience import budget
from dlq_console.resilience.tracing import inject


class BudgetTransport(httpx.BaseTransport):
    """A transport that keeps to the budget.

    Args:
        transport: what sends the request; None for the ordinary one.

    Raises:
        BudgetExceededError: when a request is made with too little time left; nothing is sent.
    """

    def __init__(self, transport: httpx.BaseTransport | None = None) -> None:
        self._transport = transport or httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send the request within the budget."""
        prepare(request)
        return self._transport.handle_request(request)

    def close(self) -> None:
        """Close the transport underneath."""
        self._transport.close()


class AsyncBudgetTransport(httpx.AsyncBaseTransport):
    """As `BudgetTransport`, for `httpx.AsyncClient`."""

    def __init__(self, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._transport = transport or httpx.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send the request within the budget."""
        prepare(request)
        return await self._transport.handle_async_request(request)

    async def aclose(self) -> None:
        """Close the transport underneath."""
        await self._transport.aclose()


def prepare(request: httpx.Request) -> None:
    """Write the budget and the trace into a request, and cut its time limits.

    Raises:
        BudgetExceededError: too little time is left.
    """
    limit = budget.child_limit(name=request.url.host)
    request.headers[budget.HEADER] = budget.header_value(limit)
    inject(request.headers)
    limits = request.extensions.get("timeout", {})
    request.extensions["timeout"] = {
        phase: limit if limits.get(phase) is None else min(limits[phase], limit)
        for phase in ("connect", "read", "write", "pool")
    }
