"""Is a status frame shown by the page that may show it, kept up to date there, and refused to any other?"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, BrowserContext, Frame, Page, expect
from werkzeug.serving import make_server
from werkzeug.wrappers import Request, Response

from dlq_console.health.values import Word
from dlq_console.hub import embed_tokens
from dlq_console.store import embeds
from dlq_console.web.assets import asset_address
from tests.browser.site import PATIENCE, Site
from tests.web.desk import SECRET_KEY
from tests.web.standing import account, blocked, look

SANDBOX = 'sandbox="allow-scripts allow-popups" referrerpolicy="strict-origin"'


class Elsewhere:
    """A page of somebody else on this machine, of another origin than the console."""

    def __init__(self) -> None:
        self.body = ""
        self._server = make_server("127.0.0.1", 0, Request.application(self._answer))
        self.origin = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def _answer(self, _request: Request) -> Response:
        return Response(f"<!doctype html><title>elsewhere</title>{self.body}", mimetype="text/html")

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._thread.join(10)
        self._server.server_close()


@contextmanager
def somewhere() -> Iterator[tuple[Elsewhere, Elsewhere]]:
    """The page that may show the frame, and one that may not."""
    pages = Elsewhere(), Elsewhere()
    try:
        yield pages
    finally:
        for page in pages:
            page.close()


def show(page: Page, elsewhere: Elsewhere, *frames: str) -> list[Frame]:
    """Open the page of somebody else around these frames."""
    elsewhere.body = "".join(frames)
    page.goto(elsewhere.origin)
    page.wait_for_load_state("networkidle")
    return page.main_frame.child_frames


def let_ask(page: Page, number: int) -> None:
    """Let the clock of the browser go on until so many frames have looked again."""
    asked: list[str] = []
    page.on("response", lambda one: asked.append(one.url) if "/embed/" in one.url else None)
    for _ in range(100):
        before = len(asked)
        page.clock.run_for(1_000)
        # What was asked is answered before more time passes than it may take.
        page.wait_for_timeout(20 if len(asked) == before else 300)
        if len(asked) >= number:
            return
    raise AssertionError(f"only {len(asked)} frames have looked again")


def is_refused(frame: Frame) -> bool:
    """Whether the browser put its own page in the place of ours."""
    return frame.url.startswith("chrome-error:")


def open_context(browser: Browser, **more: bool) -> BrowserContext:
    context = browser.new_context(locale="en-US", viewport={"width": 600, "height": 700}, **more)  # type: ignore[arg-type]
    context.set_default_timeout(PATIENCE)
    return context


def test_a_frame_lives_in_the_page_that_may_show_it_and_nothing_else_is_framed_anywhere(
    browser: Browser, site: Site
) -> None:
    with somewhere() as (allowed, third), open_context(browser) as context:
        look(site.desk, account("filial-sp"), blocked())
        accounts = ["filial-sp", "filial-rj"]
        known = embeds.add(
            site.desk.hub.store, "Portal", origins=[allowed.origin], accounts=accounts, detail="figures"
        )
        token = embed_tokens.sign(SECRET_KEY, known.id, known.version)
        address = f"{site.address}/embed/{token}?lang=en&refresh=15"
        with site.app.test_request_context():
            script = f'<script src="{site.address}{asset_address("js/embed-height.js")}"></script>'
        page = context.new_page()
        complaints: list[str] = []
        page.on(
            "console", lambda one: complaints.append(one.text) if one.type in ("error", "warning") else None
        )
        page.clock.install()

        plain = f'<iframe id="plain" src="{address}" height="50" data-dlq-embed></iframe>'
        boxed = f'<iframe id="boxed" src="{address}" height="50" data-dlq-embed {SANDBOX}></iframe>'
        frames = show(
            page, allowed, script, plain, boxed, f'<img src="{site.address}/badge/{token}.svg" alt="x">'
        )
        for frame in frames:
            expect(frame.locator(".frame-state .frame-word")).to_have_text("blocked")
            assert frame.locator(".status-frame").evaluate("one => getComputedStyle(one).display") == "grid"
        assert page.locator("img").evaluate("one => one.naturalWidth") > 50
        for which in ("#plain", "#boxed"):
            expect(page.locator(which)).not_to_have_attribute("height", "50")
            assert 100 < int(page.locator(which).get_attribute("height") or 0) < 400
        # It looks again by itself, also where it has no origin.
        look(site.desk, account("filial-sp"), account("filial-rj", Word.DEGRADED))
        time.sleep(1.1)
        site.app.extensions["dlq_console_embeds"].forget()
        let_ask(page, 2)
        for frame in frames:
            expect(frame.locator(".frame-state .frame-word")).to_have_text("degraded")
        assert complaints == []

        # Another page shows nothing of it, and no page anything that can be clicked.
        assert [is_refused(one) for one in show(page, third, plain, boxed)] == [True, True]
        site.let_in(context)
        event = site.desk.dead("8841")
        pages = [
            f'<iframe src="{site.address}{path}"></iframe>' for path in (f"/events/{event}", "/dead-letters")
        ]
        assert [is_refused(one) for one in show(page, allowed, *pages)] == [True, True]
        assert site.desk.hub.get(event).status == "dead"

        # One that was taken back disappears from the pages where it is open.
        (frame,) = show(page, allowed, boxed)
        expect(frame.locator(".frame-name")).to_be_visible()
        embeds.revoke(site.desk.hub.store, known)
        site.app.extensions["dlq_console_embeds"].forget()
        let_ask(page, 1)
        deadline = time.monotonic() + 10
        while not is_refused(page.main_frame.child_frames[0]) and time.monotonic() < deadline:
            page.wait_for_timeout(100)
        assert is_refused(page.main_frame.child_frames[0])


def test_a_frame_is_read_without_script_and_asks_again_by_itself(browser: Browser, site: Site) -> None:
    look(site.desk, blocked())
    known = embeds.add(site.desk.hub.store, "Portal", origins=[], accounts=["filial-rj"])
    token = embed_tokens.sign(SECRET_KEY, known.id, known.version)
    with open_context(browser, java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(f"{site.address}/embed/{token}?lang=en&refresh=15")
        expect(page.locator(".frame-word")).to_have_text("blocked")
        assert (
            page.locator("noscript meta").count() == 1
            or page.locator("meta[http-equiv=refresh]").count() == 1
        )
