"""How does a test open the console in a real browser, and what must never happen there?"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, ConsoleMessage, Page, Request
from werkzeug.serving import BaseWSGIServer, make_server

from dlq_console.app import create_app
from tests.web.desk import Desk
from tests.web.visitor import Visitor

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

#: Milliseconds that a browser may take for anything.
PATIENCE = 25_000

#: Makes what browsers only whisper loud: violations of the policy, and htmx refusing or failing.
WATCH = """
for (const name of ["securitypolicyviolation", "htmx:evalDisallowedError", "htmx:swapError", "htmx:targetError",
                    "htmx:oobErrorNoTarget", "htmx:onLoadError"]) {
  document.addEventListener(name, (event) => console.error(name, event.violatedDirective ?? "", event.blockedURI ?? ""));
}
"""


class SlowLine:
    """As over a bad line: scripts, and what they ask for, come late. What depends on their haste fails then."""

    def __init__(self, app: WSGIApplication, seconds: float) -> None:
        self._app = app
        self._seconds = seconds

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if environ["PATH_INFO"].endswith(".js") or "HTTP_HX_REQUEST" in environ:
            time.sleep(self._seconds)
        return self._app(environ, start_response)


class Site:
    """The console on a free port of this machine, in front of a desk."""

    def __init__(self, database_url: str, *, late: float = 0.0) -> None:
        self.desk = Desk(database_url)
        self.app = create_app(self.desk.hub)
        served = SlowLine(self.app.wsgi_app, late) if late else self.app
        self._server: BaseWSGIServer = make_server("127.0.0.1", 0, served, threaded=True)
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def let_in(self, context: BrowserContext, name: str = "maria", role: str = "operator") -> None:
        """Log the browser in as a new person."""
        visitor = Visitor(self.app).enter(self.desk, name, role)
        cookie = visitor.client.get_cookie("dlq_console")
        assert cookie is not None
        context.add_cookies([{"name": "dlq_console", "value": cookie.value, "url": self.address}])

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._thread.join(10)
        self._server.server_close()
        self.desk.hub.close()


class OpenPage(Protocol):
    """Opens a page in a browser context of its own; a logged-in operator unless `name` is empty."""

    def __call__(
        self,
        path: str = "/",
        *,
        name: str = "maria",
        role: str = "operator",
        language: str = "en-US",
        theme: str = "light",
        width: int = 1280,
        script: bool = True,
        expect: tuple[str, ...] = (),
    ) -> Page:
        """`expect` are parts of browser complaints that belong to the test."""


class Watcher:
    """Notes everything that a page of ours must not cause."""

    def __init__(self, origin: str) -> None:
        self._host = urlsplit(origin).netloc
        self.complaints: list[str] = []
        # A page that is left breaks off what it was asking, and htmx writes that down.
        self.expected = ["htmx:afterRequest", "htmx:sendAbort"]

    def watch(self, page: Page) -> None:
        """From now on."""
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.complaints.append(f"script error: {error}"))
        page.add_init_script(WATCH)
        page.on("request", self._request)

    def unexpected(self) -> list[str]:
        """What nobody asked for."""
        return [one for one in self.complaints if not any(part in one for part in self.expected)]

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.type}: {message.text} {message.location.get('url', '')}")

    def _request(self, request: Request) -> None:
        # Listened to rather than intercepted: what is intercepted has no cache, and each request takes a way round.
        address = urlsplit(request.url)
        if address.netloc != self._host and address.scheme != "data":
            self.complaints.append(f"outside request: {request.url}")
