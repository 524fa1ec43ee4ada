"""What do the tests in the browser get? Debian's Chromium, the console, and pages that are watched."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright
from playwright.sync_api import expect as expectation

from tests.browser.site import PATIENCE, OpenPage, Site, Watcher
from tests.services.chromium import launch_arguments

expectation.set_options(timeout=PATIENCE)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="module")
def browser(chromium_path: Path) -> Iterator[Browser]:
    """One browser for the tests of a file; each page lives in a context of its own.

    Not one for the whole run: its driver keeps an event loop running in this thread, which other tests may not find.
    """
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path, args=launch_arguments())
        yield browser
        browser.close()


@pytest.fixture
def site(sqlite_url: str, pytestconfig: pytest.Config) -> Iterator[Site]:
    """The console on a database of its own."""
    site = Site(sqlite_url, late=pytestconfig.getoption("slow_line"))
    yield site
    site.close()


@pytest.fixture
def open_page(browser: Browser, site: Site) -> Iterator[OpenPage]:
    """Opens watched pages; the test fails when one complained, broke the policy or asked anybody else."""
    watcher = Watcher(site.address)
    contexts: list[BrowserContext] = []

    def open_(
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
        watcher.expected += expect
        context = browser.new_context(
            base_url=site.address,
            locale=language,
            color_scheme="dark" if theme == "dark" else "light",
            viewport={"width": width, "height": 800},
            java_script_enabled=script,
            reduced_motion="reduce",
        )
        contexts.append(context)
        context.set_default_timeout(PATIENCE)
        if name:
            site.let_in(context, name, role)
        page = context.new_page()
        watcher.watch(page)
        page.goto(path)
        return page

    yield open_
    for context in contexts:
        context.close()
    assert watcher.unexpected() == []
