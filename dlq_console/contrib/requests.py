"""How does a requests session keep to the budget of the request it works for? Through an adapter.

    session.mount("https://", BudgetAdapter())

Each call is told how much time it has, its time limit is cut to that, and the trace goes with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter

from dlq_console.resilience import budget
from dlq_console.resilience.tracing import inject


class BudgetAdapter(HTTPAdapter):
    """An adapter that keeps to the budget.

    Raises:
        BudgetExceededError: when a request is made with too little time left; nothing is sent.
    """

    def send(
        self,
        request: requests.PreparedRequest,
        stream: bool = False,
        timeout: Any = None,
        verify: bool | str = True,
        cert: Any = None,
        proxies: Mapping[str, str] | None = None,
    ) -> requests.Response:
        """Send the request within the budget."""
        limit = budget.child_limit(name=urlsplit(request.url or "").hostname or "")
        request.headers[budget.HEADER] = budget.header_value(limit)
        inject(request.headers)
        return super().send(request, stream, _cut(timeout, limit), verify, cert, proxies)


def _cut(timeout: Any, limit: float) -> Any:
    """The time limit of a request as its caller gave it, nowhere longer than the budget."""
    if timeout is None:
        return limit
    if isinstance(timeout, tuple):
        connect, read = timeout
        return _cut(connect, limit), _cut(read, limit)
    if isinstance(timeout, (int, float)):
        return min(timeout, limit)
    # urllib3's own object, which holds both.
    return _cut(timeout.connect_timeout, limit), _cut(timeout.read_timeout, limit)
