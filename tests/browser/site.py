"""How does a test open the console in a real browser, and what must never happen there?"""

from __future__ import annotations

import threading
from typing import Protocol
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, ConsoleMessage, Page, Route
from werkzeug.serving import BaseWSGIServer, make_server

from dlq_console.app import create_app
from tests.web.desk import Desk
from tests.web.visitor import Visitor

#: Milliseconds that a browser may take for anything.
PATIENCE = 15_000

#: Makes what browsers only whisper loud: violations of the policy, and htmx refusing or failing.
WATCH = """
for (const name of ["securitypolicyviolation", "htmx:evalDisallowedError", "htmx:swapError", "htmx:targetError",
                    "htmx:oobErrorNoTarget", "htmx:onLoadError"]) {
  document.addEventListener(name, (event) => console.error(name, event.violatedDirective ?? "", event.blockedURI ?? ""));
}
"""


class Site:
    """The console on a free port of this machine, in front of a desk."""

    def __init__(self, database_url: str) -> None:
        self.desk = Desk(database_url)
        self.app = create_app(self.desk.hub)
        self._server: BaseWSGIServer = make_server("127.0.0.1", 0, self.app, threaded=True)
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
        page.route("**/*", self._request)

    def unexpected(self) -> list[str]:
        """What nobody asked for."""
        return [one for one in self.complaints if not any(part in one for part in self.expected)]

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.type}: {message.text} {message.location.get('url', '')}")

    def _request(self, route: Route) -> None:
        address = urlsplit(route.request.url)
        if address.netloc == self._host or address.scheme == "data":
            route.continue_()
        else:
            self.complaints.append(f"outside request: {route.request.url}")
            route.abort()
