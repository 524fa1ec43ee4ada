"""The operator's story, in a real browser with real processes: find it, read it, fix it in the ERP, run it again, see it succeed.

`KEEP_SCREENSHOT` names a file to which the story in Portuguese writes the picture that the README shows.
"""

from __future__ import annotations

import os
import random
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from dlq_console.clock import utc_now
from dlq_console.demo import data
from dlq_console.demo.erp import SimulatedErp
from dlq_console.demo.erp_temper import Temper
from dlq_console.runtime import Hub
from dlq_console.settings import read_settings
from dlq_console.store import people, queries
from dlq_console.store.filters import EventFilter
from tests.services.chromium import launch_arguments
from tests.services.process import StartChild, free_port, wait_until

pytestmark = pytest.mark.browser

SEED = 7
PASSWORD = "a long enough password"
PATIENCE_MS = 20_000
SCREENSHOT = os.environ.get("KEEP_SCREENSHOT", "")


@dataclass(frozen=True)
class Words:
    """What the operator looks for on the pages."""

    locale: str
    dead_letters: str
    reprocess: str
    succeeded: str
    refused: str


PORTUGUESE = Words("pt-BR", "Cartas mortas", "Reprocessar", "concluído", "não chegou")
ENGLISH = Words("en-US", "Dead letters", "Reprocess", "done", "did not reach")


@dataclass(frozen=True)
class Workshop:
    """Everything that runs for one story."""

    console: str
    erp: str
    hub: Hub


@pytest.fixture
def workshop(sqlite_url: str, start_child: StartChild) -> Iterator[Workshop]:
    """An ERP, a worker and a console on one database, with a few dead letters of unregistered customers."""
    hub = Hub(read_settings(database_url=sqlite_url))
    people.add_user(hub.store, "maria", PASSWORD, role="operator")
    with SimulatedErp(
        {"filial-sp": Temper(latency=0.01), "filial-rj": Temper(latency=0.01)}, seed=SEED
    ) as erp:
        environment = {
            "DLQ_DATABASE_URL": sqlite_url,
            "DLQ_APP": "dlq_console.demo.handlers:hub",
            "DLQ_SECRET_KEY": "k" * 32,
            "DLQ_DEMO_ERP_URL": erp.url,
            "DLQ_POLL_SECONDS": "0.1",
        }
        port = free_port()
        command = [sys.executable, "-m", "dlq_console"]
        start_child([*command, "worker", "--concurrency", "2"], env=environment)
        serve = start_child([*command, "serve", "--bind", f"127.0.0.1:{port}"], env=environment)
        serve.wait_for_line("Booting worker", 60)
        _send_orders(hub)
        wait_until(lambda: _dead(hub) == 12, 60, "the orders to be refused")
        yield Workshop(f"http://127.0.0.1:{port}", erp.url, hub)
    hub.close()


def _send_orders(hub: Hub) -> None:
    """Twelve orders of customers whom nobody registered, six for each account."""
    chance = random.Random(SEED)
    number = 8841
    for account in ("filial-sp", "filial-rj"):
        unknown = [customer for customer in data.customers(SEED, account) if not customer.registered]
        for place in range(6):
            payload = data.order(chance, unknown[place % len(unknown)], number, utc_now().date())
            hub.enqueue("order.create", account=account, entity_id=str(number), payload=payload)
            number += 1


def _dead(hub: Hub) -> int:
    return queries.count(hub.store, EventFilter(status=("dead",))).number


@pytest.fixture
def browser(chromium_path: Path) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(chromium_path), args=launch_arguments())
        yield browser
        browser.close()


def open_page(browser: Browser, words: Words) -> tuple[BrowserContext, Page]:
    context = browser.new_context(
        locale=words.locale, timezone_id="America/Sao_Paulo", viewport={"width": 1280, "height": 800}
    )
    context.set_default_timeout(PATIENCE_MS)
    expect.set_options(timeout=PATIENCE_MS)
    return context, context.new_page()


def log_in(page: Page, workshop: Workshop) -> None:
    page.goto(f"{workshop.console}/login")
    page.fill("#name", "maria")
    page.fill("#password", PASSWORD)
    page.press("#password", "Enter")
    page.wait_for_url(f"{workshop.console}/")


@pytest.mark.parametrize("words", [PORTUGUESE, ENGLISH], ids=lambda words: words.locale)
def test_an_operator_finds_reads_fixes_reprocesses_and_sees_it_succeed(
    workshop: Workshop, browser: Browser, words: Words
) -> None:
    context, page = open_page(browser, words)
    log_in(page, workshop)

    # Find: from the list of all dead letters to those of one account.
    page.get_by_role("link", name=re.compile(words.dead_letters)).first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(words.dead_letters)
    if SCREENSHOT and words is PORTUGUESE:
        page.screenshot(path=SCREENSHOT)
    page.goto(f"{workshop.console}/dead-letters?kind=order.create&account=filial-sp")
    expect(page.locator("#results tbody tr")).to_have_count(6)

    # Read: what failed and what the ERP said.
    page.locator("#results a", has_text="8841").first.click()
    expect(page.locator("#headline")).to_contain_text("8841")
    expect(page.locator("#headline")).to_contain_text(words.refused)
    said = page.locator("#event-state .said").inner_text()
    code = re.search(r"\[(\w+)\]", said)
    assert code is not None, said

    # Fix: register the customer in the ERP.
    erp = context.new_page()
    erp.goto(f"{workshop.erp}/filial-sp")
    erp.locator(
        "form[action$='/register']", has=erp.locator(f"input[name=code][value='{code[1]}']")
    ).get_by_role("button").click()
    erp.wait_for_url(f"{workshop.erp}/filial-sp?registered={code[1]}")

    # Run it again, and see the truth without reloading.
    page.get_by_role("button", name=words.reprocess, exact=True).click()
    expect(page.locator("#event-state")).to_contain_text(words.succeeded)
    event = workshop.hub.get(int(page.url.rpartition("/")[2]))
    assert event.status == "done"
    assert event.cycle == 1
    context.close()


def test_a_row_that_is_reprocessed_too_early_says_that_it_died_again_with_the_same_error(
    workshop: Workshop, browser: Browser
) -> None:
    context, page = open_page(browser, ENGLISH)
    log_in(page, workshop)
    page.goto(f"{workshop.console}/dead-letters?account=filial-rj")
    row = page.locator("#results tbody tr").first
    row.get_by_role("button", name="Reprocess", exact=True).click()
    expect(row).to_contain_text("same error")
    context.close()
