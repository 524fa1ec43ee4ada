"""Where does this request come from? Told to whatever it does, for the audit; never written to a log."""

from __future__ import annotations

from flask import Flask, g, request

from dlq_console.hub.origins import Origin, Via, current

#: Under which addresses programs ask.
_API = "/api/"


def install(app: Flask) -> None:
    """Name the door and the client of every request, as the trusted proxies tell it."""
    app.before_request(_begin)
    app.teardown_request(_end)


def _begin() -> None:
    via = Via.API if request.path.startswith(_API) else Via.CONSOLE
    g.origin = current.set(Origin(via, request.remote_addr))


def _end(_error: BaseException | None) -> None:
    token = g.pop("origin", None)
    if token is not None:
        current.reset(token)
