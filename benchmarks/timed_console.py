"""The console as `dlq-console serve` runs it, in front of which every answer says what it cost inside the process.

Run as `python -m benchmarks.timed_console HOST:PORT PROCESSES` with the settings of the console. Every answer carries
`Server-Timing: app;dur=..., cpu;dur=...`: milliseconds from the moment the request was read until the whole answer was
built, waiting for other threads and processes included, and the part of them in which this request was computing; and
`X-Statements`: how many statements it sent to the database.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from sqlalchemy import Engine, event

from dlq_console.app import create_app
from dlq_console.cli.server import serve_app
from dlq_console.runtime import Hub

_request = threading.local()


class Timed:
    """Wraps a WSGI application."""

    def __init__(self, inner: Callable[..., Iterable[bytes]]) -> None:
        self._inner = inner

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        answered: list[Any] = []
        _request.statements = 0
        began, computed = time.perf_counter(), time.thread_time()
        parts = self._inner(environ, lambda status, headers, error=None: answered.extend((status, headers)))
        body = b"".join(parts)
        took, computing = time.perf_counter() - began, time.thread_time() - computed
        if hasattr(parts, "close"):
            parts.close()
        status, headers = answered
        timing = f"app;dur={took * 1000:.3f}, cpu;dur={computing * 1000:.3f}"
        start_response(
            status, [*headers, ("Server-Timing", timing), ("X-Statements", str(_request.statements))]
        )
        return [body]


@event.listens_for(Engine, "before_cursor_execute")
def _count(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
    # Beginning a read on SQLite is a call within the process that answers nothing.
    if statement != "BEGIN":
        _request.statements = getattr(_request, "statements", 0) + 1


def main() -> None:
    """Serve until told to stop."""
    bind, processes = sys.argv[1:]
    hub = Hub()
    app = create_app(hub)
    # Flask's documented way to wrap an application; the type checker sees a method.
    app.wsgi_app = Timed(app.wsgi_app)  # type: ignore[method-assign]
    serve_app(app, bind=bind, workers=int(processes))


if __name__ == "__main__":
    main()
