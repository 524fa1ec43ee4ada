"""The demo itself, seen through an open page: a circuit closes its door, tries, and opens it again.

Its two minutes of waiting are cut short in the database; everything else is as it is: processes, ERP, polls.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from dlq_console.clock import utc_now
from dlq_console.demo.data import SEED
from dlq_console.demo.producers import Producer
from dlq_console.runtime import Hub
from dlq_console.settings import read_settings
from dlq_console.store import doors
from dlq_console.store.doors import Door
from dlq_console.store.queries.circuits import account_moves
from dlq_console.store.scope_names import account_scope
from dlq_console.web import pulse
from tests.demo.erp_client import call
from tests.services.process import Child, StartChild, free_port, wait_until

#: One that has no other traffic, so that every failure of it is of this test.
ACCOUNT = "filial-ce"
#: Seconds: one poll, at most 15 percent late, and two more.
ONE_POLL = pulse.EVERY * 1.15 + 2
#: How long the ERP takes over the probe: longer than a poll, shorter than the patience of the demo's handlers.
SLOWLY = 7.0


@dataclass(frozen=True, slots=True)
class Running:
    """The demo as it runs."""

    child: Child
    console: str
    erp: str
    login: str
    password: str
    hub: Hub
    producer: Producer

    def order(self, number: int) -> None:
        """So many orders that the ERP would take."""
        for _ in range(number):
            event = self.producer.order(ACCOUNT, registered=True)
            self.hub.enqueue(
                event.kind, account=ACCOUNT, entity_id=event.entity_id, payload=event.payload, origin="test"
            )

    def script(self, order: str) -> None:
        """Tell the ERP how the account shall behave."""
        reply = call(self.erp, "POST", "/_control", f'{{"account": "{ACCOUNT}", {order}}}')
        assert reply.status == 200, reply.text


@pytest.fixture
def demo(start_child: StartChild, tmp_path: Path) -> Iterator[Running]:
    folder, port = tmp_path / "demo", free_port()
    arguments = [sys.executable, "-m", "dlq_console", "demo", "--port", str(port), "--data", str(folder)]
    child = start_child([*arguments, "--rate", "0.2"])
    child.wait_for_line("Ctrl-C stops everything", 60)
    said = child.output()
    erp = re.search(r"Simulated ERP\s+(\S+)", said)
    login = re.search(r"log in as\s+(demo-operator)\s+password (\S+)", said)
    assert erp is not None
    assert login is not None
    hub = Hub(read_settings(database_url=f"sqlite:///{folder}/demo.db"))
    producer = Producer(SEED, (ACCOUNT,), first_number=700_000)
    yield Running(child, f"http://127.0.0.1:{port}", erp[1], login[1], login[2], hub, producer)
    hub.close()


def _log_in(page: Page, demo: Running) -> None:
    page.goto(f"{demo.console}/login")
    page.fill("#name", demo.login)
    page.fill("#password", demo.password)
    page.press("#password", "Enter")
    page.wait_for_url(f"{demo.console}/")


def _moved(demo: Running, after: str) -> datetime:
    """When the circuit came to stand so last, by the database; waits for it."""

    def found() -> datetime | None:
        return next((one.at for one in account_moves(demo.hub.store, ACCOUNT) if one.after == after), None)

    moment = wait_until(found, 40, f"the circuit to be {after}")
    assert moment is not None
    return moment


def _try_soon(demo: Running) -> None:
    """Let the two minutes that the circuit is open be over in a second."""

    def act(door: Door, now: float) -> Door:
        return replace(door, circuit=replace(door.circuit, open_until=now + 1))

    store = demo.hub.store
    store.transact(lambda connection: doors.change(store, connection, account_scope(ACCOUNT), act))


def test_a_circuit_of_the_demo_is_seen_closed_open_half_open_and_closed_again(
    demo: Running, browser: Browser, capsys: pytest.CaptureFixture[str]
) -> None:
    context = browser.new_context(locale="en-US", viewport={"width": 1366, "height": 768})
    context.set_default_timeout(30_000)
    page = context.new_page()
    _log_in(page, demo)
    page.goto(f"{demo.console}/health/breakers?q={ACCOUNT}")
    page.wait_for_load_state()
    loads: list[str] = []
    page.on("load", lambda opened: loads.append(opened.url))
    row = page.locator(".circuits tbody tr", has_text=ACCOUNT)
    word, until = row.locator("td.w-word"), row.locator("td.w-until")

    demo.script('"temper": {}, "outage": true')
    demo.order(1)
    expect(word).to_contain_text("circuit closed (normal)", timeout=15_000)
    expect(row.locator("td.w-figure").first).to_contain_text("/5")

    demo.order(5)
    opened = _moved(demo, "open")
    expect(word).to_contain_text("circuit open (blocking calls)", timeout=20_000)
    took = [(utc_now() - opened).total_seconds()]
    expect(until).to_contain_text("probe at")
    expect(row.locator("td.w-why")).to_contain_text("5 failures in a row")

    demo.script(f'"outage": false, "temper": {{"latency": {SLOWLY}}}')
    _try_soon(demo)
    tried = _moved(demo, "half_open")
    expect(word).to_contain_text("half-open", timeout=20_000)
    took.append((utc_now() - tried).total_seconds())
    expect(until).to_contain_text("1 probe under way")

    closed = _moved(demo, "closed")
    expect(word).to_contain_text("circuit closed (normal)", timeout=20_000)
    took.append((utc_now() - closed).total_seconds())
    with capsys.disabled():
        told = ", ".join(f"{seconds:.1f} s" for seconds in took)
        print(f"\nopen, half-open and closed were on the page after {told} (rule: {ONE_POLL:.2f} s)")  # noqa: T201
    assert max(took) <= ONE_POLL
    assert closed - opened < timedelta(seconds=60)
    assert loads == [], "everything came through the page's own polls"

    page.goto(f"{demo.console}/health/breakers/one?name={ACCOUNT}")
    log = page.locator(".timeline li")
    expect(log).to_have_count(3)
    for place, change in enumerate(
        (
            "circuit half-open → circuit closed",
            "circuit open → circuit half-open",
            "circuit closed → circuit open",
        )
    ):
        expect(log.nth(place)).to_contain_text(change)
    context.close()
