"""The health page as people leave it open: it follows a circuit, says how old it is, and never pretends."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Page, expect

from dlq_console.health.values import AccountHealth, Closing, Counts, Drain, Why, Word
from dlq_console.web import pulse
from tests.browser.site import OpenPage, Site
from tests.web.health_written import account, blocked, nobody_looked_for, stand

#: Milliseconds: one poll (at most 15 percent late), and two seconds.
ONE_POLL = 5_750 + 2_000


def _circuit(state: str) -> AccountHealth:
    fine = account("filial-sp", since=datetime.now(UTC) - timedelta(minutes=5))
    if state == "closed":
        return fine
    if state == "half_open":
        return replace(fine, word=Word.DEGRADED, why=Why.PROBING, circuit=state)
    closing = Closing(cause="circuit", until=datetime.now(UTC) + timedelta(minutes=2))
    return replace(
        fine, word=Word.DOWN, why=Why.CIRCUIT, closing=closing, circuit=state, counts=Counts(paused=9)
    )


def test_a_circuit_is_seen_to_open_to_be_tried_and_to_close(site: Site, open_page: OpenPage) -> None:
    stand(site.desk.hub.store, _circuit("closed"))
    page = open_page("/health")
    cell = page.locator(".standings tbody td.w-word")
    expect(cell).to_contain_text("ok")
    for state, word, why in (
        ("open", "down", "Its circuit is open (blocking calls); next try at"),
        ("half_open", "degraded", "Its circuit is half-open"),
        ("closed", "ok", "Nothing waits longer than it should."),
    ):
        stand(site.desk.hub.store, _circuit(state))
        expect(cell).to_contain_text(word, timeout=ONE_POLL)
        expect(page.locator(".standings tbody td.w-why")).to_contain_text(why)
        expect(page.locator("#news")).to_contain_text("Every account is well." if word == "ok" else word)
        expect(page.locator("#fresh")).to_contain_text("live")
    sideways = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    assert sideways <= 0


def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pulse, "EVERY", 0.4)


def test_nobody_who_looks_and_no_connection_are_told_apart(
    site: Site, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    _quick(monkeypatch)
    store = site.desk.hub.store
    stand(store, blocked("filial-rj"))
    page = open_page("/health", expect=("Failed to load resource", "htmx:responseError", "503"))
    fresh, region = page.locator("#fresh"), page.locator("#health")
    expect(fresh).to_contain_text("live")
    nobody_looked_for(store, 12)
    expect(fresh).to_contain_text("nobody has looked for 1")
    expect(page.locator("#answer")).to_contain_text("Not known since")
    expect(region).to_have_class("pulse-lost")
    stand(store, blocked("filial-rj"))
    expect(fresh).to_contain_text("live")
    page.route("**/_f/health*", lambda route: route.fulfill(status=503, headers={"Retry-After": "1"}))
    expect(fresh).to_contain_text("No connection to the console.")
    expect(page.locator("#problem")).to_be_empty()
    expect(page.locator("#answer")).to_contain_text("Behind: 212 events wait")


def test_nothing_is_swapped_that_has_not_changed_or_that_somebody_is_in_and_a_pause_is_kept(
    site: Site, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    _quick(monkeypatch)
    store = site.desk.hub.store
    stand(store, account("filial-sp"))
    page = open_page("/health")
    _poll(page)
    page.evaluate("document.querySelector('#answer').dataset.mark = '1'")
    _poll(page)
    _poll(page)
    assert page.locator("#answer").get_attribute("data-mark") == "1", "it was put in place again"
    page.locator(".standings tbody a").first.focus()
    stand(store, blocked("filial-sp"))
    expect(page.locator("#fresh")).to_contain_text("newer figures wait until you leave")
    expect(page.locator(".standings tbody a").first).to_be_focused()
    page.locator(".health-tools input[name=q]").focus()
    expect(page.locator(".standings tbody td.w-word")).to_contain_text("blocked")
    page.get_by_label("Pause").check()
    stand(store, account("filial-sp"))
    expect(page.locator("#fresh")).to_contain_text("paused")
    page.reload()
    expect(page.get_by_label("Pause")).to_be_checked()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.wait_for_timeout(1_200)
    assert asked == []


def test_without_an_answer_nobody_is_called_away(
    site: Site, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    _quick(monkeypatch)
    monkeypatch.setattr(pulse.Pulse.__init__, "__defaults__", (6.0,))
    stand(site.desk.hub.store, blocked("filial-rj"))
    page = open_page("/health", expect=("htmx:timeout",))
    fresh, mark = page.locator("#fresh"), page.locator(".side .places .state")
    expect(mark).to_have_css("filter", "none")
    expect(page.locator("#health .words")).to_have_css("filter", "none")
    page.route("**/_f/health*", lambda _route: None)
    expect(fresh).to_contain_text("waiting for newer figures", timeout=10_000)
    expect(page.locator("#health")).to_contain_class("pulse-lost")
    expect(mark).to_have_css("filter", "grayscale(1)")
    expect(page.locator("#health .words")).to_have_css("filter", "grayscale(1)")
    expect(fresh).to_contain_text("No connection to the console.", timeout=15_000)


def test_the_page_of_an_account_follows_its_doors_and_leaves_alone_who_is_at_work_there(
    site: Site, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    _quick(monkeypatch)
    hub = site.desk.hub
    site.desk.add("1", account="filial-rj")
    stand(hub.store, account("filial-rj"))
    page = open_page("/health/accounts/filial-rj")
    doors, acts = page.locator("#account-doors"), page.locator("#account-acts")
    expect(doors.locator("section")).to_have_count(0)
    acts.locator("summary").click()
    note = acts.get_by_label("Note")
    note.fill("contagem até as 15h")
    hub.pause_account("filial-rj", actor="joana", note="inventário")
    stand(hub.store, blocked("filial-rj"))
    expect(page.locator("#fresh")).to_contain_text("newer figures wait until you leave")
    expect(note).to_be_focused()
    # Whoever turns away has the doors as they are, and what was typed.
    page.locator("h1").click()
    expect(doors).to_contain_text("inventário")
    expect(doors.get_by_role("button", name="Resume")).to_be_visible()
    expect(page.locator("#account-past")).to_contain_text("joana")
    assert note.input_value() == "contagem até as 15h"
    acts.locator("summary").click()
    note.fill("")
    page.locator("h1").click()
    expect(acts.locator("summary")).to_have_count(0)
    hub.resume_account("filial-rj", actor="joana")
    expect(doors.locator("section")).to_have_count(0)
    expect(acts.locator("summary")).to_be_visible()


def test_what_is_paused_is_grey_once_it_is_old(
    site: Site, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pulse.Pulse.__init__, "__defaults__", (2.0,))
    stand(site.desk.hub.store, account("filial-sp"))
    page = open_page("/health")
    page.get_by_label("Pause").check()
    expect(page.locator("#fresh")).to_contain_text("paused")
    expect(page.locator("#health")).to_have_class("pulse-lost")


@pytest.mark.parametrize("language", ["en-US", "pt-BR"])
def test_worst_account_cause_and_end_are_seen_without_scrolling_with_twelve_accounts_in_trouble(
    site: Site, open_page: OpenPage, language: str
) -> None:
    now = datetime.now(UTC)
    worst = account(
        "filial-" + 100 * "x", Word.DOWN, Why.CIRCUIT,
        closing=Closing(cause="circuit", until=now + timedelta(minutes=2)),
        counts=Counts(paused=900, dead=4, oldest_due_at=now - timedelta(hours=2)),
        drain=Drain(bound="door"), circuit="open",
    )  # fmt: skip
    others = [blocked(f"filial-{number:02}") for number in range(6)]
    dead = Counts(due=1, dead=1, oldest_due_at=now)
    others += [
        account(f"filial-{number:02}", Word.DEGRADED, Why.DEAD_LETTERS, counts=dead)
        for number in range(6, 11)
    ]
    stand(site.desk.hub.store, *others, account("fine"), worst)
    page = open_page("/health", language=language, width=1366)
    page.set_viewport_size({"width": 1366, "height": 768})
    page.wait_for_load_state()
    answer = page.locator("#answer")
    told = "Worst is {}, down: Its circuit" if language == "en-US" else "A pior é {}, parada: O circuito"
    expect(answer).to_contain_text(told.format(worst.account))
    first = page.locator(".standings tbody tr").first
    expect(first).to_contain_text("down" if language == "en-US" else "parada")
    ends = first.locator("td.w-drains")
    expect(ends).to_contain_text("after the try at" if language == "en-US" else "após a tentativa das")
    assert ends.evaluate("cell => cell.scrollWidth <= cell.clientWidth"), "its words fit into the column"
    for part in (answer, first, ends, first.locator("td.w-why"), first.locator("td.w-dead")):
        box = part.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 1366
        assert box["y"] + box["height"] <= 768
    seen = [
        row
        for row in page.locator(".standings tbody tr").all()
        if (box := row.bounding_box()) and box["y"] + box["height"] <= 768
    ]
    assert len(seen) >= 8, "and most of the others"


def _poll(page: Page) -> None:
    with page.expect_response("**/_f/health*"):
        pass
    page.wait_for_timeout(100)
