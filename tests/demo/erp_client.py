"""How do the tests talk to the simulated ERP: plain HTTP, one connection a call."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

from dlq_console.demo.erp_temper import Temper

#: An account whose only trait is that it answers at once.
PLAIN = Temper(latency=0)

#: Ends every wait for an answer, in seconds; far more than an answer takes.
PATIENCE = 30.0


@dataclass(frozen=True)
class Reply:
    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> dict[str, Any]:
        body = json.loads(self.text)
        assert isinstance(body, dict)
        return body


def eventually(holds: Callable[[], bool]) -> None:
    """Wait until something holds, at most PATIENCE seconds."""
    give_up = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < give_up, "it never came to hold"
        time.sleep(0.005)


class SettableClock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def call(
    url: str,
    method: str,
    path: str,
    body: str | bytes = "",
    headers: dict[str, str] | None = None,
    patience: float = PATIENCE,
) -> Reply:
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=patience)
    try:
        encoded = body.encode() if isinstance(body, str) else body
        connection.request(method, path, encoded, headers or {})
        response = connection.getresponse()
        return Reply(response.status, dict(response.getheaders()), response.read().decode())
    finally:
        connection.close()


def send(
    url: str,
    resource: str = "stock-moves",
    key: str = "key-1",
    *,
    account: str = "plain",
    patience: float = PATIENCE,
    **body: Any,
) -> Reply:
    """Send a record; without further words it is a stock move that every account takes."""
    record = {"integration_code": key, "quantity": 1} | body
    return call(url, "POST", f"/{account}/{resource}", json.dumps(record), {"X-Effect-Key": key}, patience)


def submit(url: str, path: str, **fields: str) -> Reply:
    """Send a form as a browser does, from a page of the same site."""
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Origin": url}
    return call(url, "POST", path, urlencode(fields), headers)
