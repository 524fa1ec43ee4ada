"""Pictures of every page, for whoever judges how the console looks: both languages, both themes, a desk and a phone.

They are kept in `.screenshots/`, which the next run overwrites.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from flask import Flask
from playwright.sync_api import Page, expect
from werkzeug.exceptions import NotFound

from dlq_console.watch.doctor import keep_examined
from tests.browser import album_scenes
from tests.browser.album_scenes import Morning
from tests.browser.site import OpenPage, Site
from tests.services.process import PROJECT_ROOT
from tests.web import health_written
from tests.web.charted import Reading, reading

#: Charts show numbers that were made by hand.
__all__ = ["reading"]

FOLDER = PROJECT_ROOT / ".screenshots"

#: Addresses that are no pages: parts of pages, files, what programs ask for, and those that only send the browser on.
NO_PAGES = re.compile(
    r"/_f/|/api/|/static/|/badge/|/export/|/healthz|/readyz|/metrics$|/health/doctor/found$|.*\.(csv|json)$|.*/reveal$|/bulk/preview$"
)
#: Pictures of refusals, each with the status that it comes with.
REFUSED = {"not-found": 404, "frame-not-available": 404, "filter-refused": 400}
#: A desk and a phone.
WIDTHS, HEIGHT = (1366, 390), 800


class Album:
    """Takes the pictures of one language, and knows of which pages there are some."""

    def __init__(self, app: Flask, page: Page, folder: Path) -> None:
        self._addresses = app.url_map.bind("")
        self._page = page
        self._folder = folder
        self.endpoints: set[str] = set()

    def turn_to(self, name: str, path: str) -> None:
        """The pictures of a page that has an address."""
        answer = self._page.goto(path)
        assert answer is not None
        assert (name, answer.status) == (name, REFUSED.get(name, 200))
        self.keep(name)

    def keep(self, name: str) -> None:
        """The pictures of the page as it stands, in both widths and themes."""
        expect(self._page.locator("h1")).to_have_count(1)
        for width in WIDTHS:
            self._page.set_viewport_size({"width": width, "height": HEIGHT})
            sideways = self._page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
            assert (name, width, sideways <= 0) == (name, width, True), sideways
            light, dark = (self._take(f"{name}-{width}-{theme}.png", theme) for theme in ("light", "dark"))
            assert light != dark, f"{name} looks the same in both themes"
        try:
            self.endpoints.add(self._addresses.match(self._page.evaluate("location.pathname"))[0])
        except NotFound:
            assert name == "not-found"

    def _take(self, file: str, theme: Literal["light", "dark"]) -> bytes:
        self._page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        return self._page.screenshot(path=self._folder / file, full_page=True)


def pages_of(app: Flask) -> set[str]:
    """The endpoints of everything that a person sees as a page."""
    return {
        rule.endpoint
        for rule in app.url_map.iter_rules()
        if "GET" in (rule.methods or ()) and not NO_PAGES.match(str(rule))
    }


@pytest.mark.timeout(300)
@pytest.mark.parametrize("language", ["pt-BR", "en-US"])
def test_every_page_has_its_picture(site: Site, open_page: OpenPage, reading: Reading, language: str) -> None:
    folder = FOLDER / language
    folder.mkdir(parents=True, exist_ok=True)
    page = open_page(
        "/dead-letters",
        name=album_scenes.WHO,
        role="admin",
        language=language,
        width=WIDTHS[0],
        expect=("404", "400"),
    )
    album = Album(site.app, page, folder)
    album.keep("dead-letters-none-ever")
    album.turn_to("bulk-runs-none", "/bulk")
    morning = album_scenes.fill(site.desk)
    album_scenes.circuits(site.desk)
    for name, path in _addresses(site, morning):
        album.turn_to(name, path)
    _correct(album, page, morning)
    _many(album, page, site)
    page.context.clear_cookies()
    album.turn_to("log-in", "/login")
    assert pages_of(site.app) - album.endpoints == set(), "these have no picture"
    print(f"The pictures are in {folder}.")  # noqa: T201 - where to look


def _addresses(site: Site, morning: Morning) -> Iterator[tuple[str, str]]:
    """The name of each picture, and where the page is."""
    yield "overview", "/"
    yield "dead-letters", "/dead-letters"
    yield "dead-letters-filtered", "/dead-letters?kind=order.create&account=filial-sp"
    yield "dead-letters-no-match", "/dead-letters?entity=1"
    yield "filter-refused", "/dead-letters?status=x"
    yield "events", "/events"
    for name in Morning.__slots__:
        yield f"event-{name}", f"/events/{getattr(morning, name)}"
    yield "groups", "/groups"
    yield "group", f"/groups/{site.desk.hub.get(morning.refused).fingerprint}"
    yield "search", "/search?q=P-0031"
    yield "search-nothing", "/search?q=none"
    yield "work", "/work"
    yield "audit", "/audit"
    yield "rules", f"/rules?event={morning.unknown}"
    health_written.stand(site.desk.hub.store, *health_written.of_every_kind())
    yield "health", "/health"
    yield "health-account", "/health/accounts/filial-rj"
    # A name that cannot stand in a path has the same page.
    yield "health-account-named", "/health/accounts?account=filial-rj"
    yield "overview-seen", "/"
    yield "lag", "/health/lag"
    yield "lag-account", "/health/lag?account=filial-sp&range=1h"
    yield "breakers", "/health/breakers"
    yield "breaker", "/health/breakers/one?name=filial-rj"
    yield "breaker-held", "/health/breakers/one?name=filial-pe"
    yield "bulkheads", "/health/bulkheads"
    yield "workers", "/health/workers"
    yield "alerts-none", "/alerts"
    album_scenes.alerts(site.desk)
    yield "alerts", "/alerts"
    yield "alerts-snooze", "/alerts?rule=oldest_due"
    keep_examined(site.desk.hub)
    yield "doctor", "/health/doctor"
    yield "preferences", "/settings/preferences"
    address = album_scenes.frames(site.desk)
    yield "frames", "/settings/embeds"
    yield "frame", f"{address}?lang=pt-BR"
    yield "frame-english", f"{address}?lang=en"
    yield "frame-not-available", "/embed/x"
    yield "not-found", "/nothing-here"


def _correct(album: Album, page: Page, morning: Morning) -> None:
    """Both steps of a correction."""
    album.turn_to("edit", f"/events/{morning.again}/edit")
    field = page.locator("#payload")
    field.fill(field.input_value().replace('"number": "5012"', '"number": "5013"'))
    page.locator("button[value=check]").click()
    expect(page.locator("button[value=save]")).to_be_visible()
    album.keep("edit-checked")


def _many(album: Album, page: Page, site: Site) -> None:
    """A view that is kept, what is looked at before many are sent, and how they fare."""
    page.goto("/dead-letters?account=filial-sp")
    page.locator("#view-name").evaluate("field => { field.closest('details').open = true; }")
    page.locator("#view-name").fill("Filial SP")
    page.locator("#view-name").press("Enter")
    expect(page.locator("#views a[aria-current=true]")).to_be_visible()
    album.turn_to("views", "/views")
    for action in ("assign", "reprocess"):
        page.goto("/dead-letters?account=filial-sp")
        page.set_viewport_size({"width": WIDTHS[0], "height": HEIGHT})
        page.locator("tbody input[name=event]").first.check()
        page.locator("#pick-all").check()
        page.locator(f"#pick button[value={action}]").click()
        expect(page.locator(".bulk-form")).to_be_visible()
        album.keep(f"bulk-{action}")
    for name, run_id in album_scenes.runs(site.desk):
        album.turn_to(f"bulk-{name}", f"/bulk/{run_id}")
    album.turn_to("bulk-runs", "/bulk")
