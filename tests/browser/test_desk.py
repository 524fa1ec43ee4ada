"""One person's work: takes a dead letter, writes a note, snoozes it and takes that back, and finds all of it in the audit."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from dlq_console.store import desk as marked
from tests.browser.site import OpenPage, Site
from tests.browser.test_access import violations


@pytest.mark.parametrize(
    ("language", "theme", "width", "words"),
    [
        ("en-US", "light", 1366, ("Take it", "Add the note", "Snooze…", "Snooze", "Undo", "snooze")),
        ("pt-BR", "dark", 390, ("Assumir", "Gravar a observação", "Adiar…", "Adiar", "Desfazer", "adiar")),
    ],
)
def test_one_takes_notes_snoozes_and_takes_that_back(
    site: Site, open_page: OpenPage, language: str, theme: str, width: int, words: tuple[str, ...]
) -> None:
    take, write, open_snooze, snooze, undo, snoozed = words
    event_id = site.desk.dead("8841")
    page = open_page("/work", language=language, theme=theme, width=width)
    assert violations(page) == []
    page.get_by_role("button", name=take).click()
    expect(page).to_have_url(f"{site.address}/events/{event_id}#desk")
    desk = page.locator("#desk")
    expect(desk.locator(".undo")).to_be_visible()
    desk.locator("textarea").fill("ligar amanhã")
    desk.get_by_role("button", name=write).click()
    expect(desk.locator(".notes")).to_contain_text("ligar amanhã")
    expect(desk.locator("textarea")).to_have_value("")
    desk.get_by_text(open_snooze, exact=True).click()
    desk.get_by_role("button", name=snooze, exact=True).click()
    expect(desk.locator(".undo")).to_be_visible()
    assert marked.marks(site.desk.hub.store, [event_id])[event_id].snoozed_until is not None
    # The keyboard is where the way back is.
    expect(desk.locator(".undo button")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#event-history")).to_contain_text("maria")
    expect(desk.get_by_role("button", name=undo)).to_be_visible()
    page.wait_for_function(
        "() => document.querySelectorAll('#event-history > li').length >= 6", timeout=15_000
    )
    assert marked.marks(site.desk.hub.store, [event_id])[event_id].snoozed_until is None
    page.goto("/audit?actor=maria")
    expect(page.locator(".list.audit tbody tr")).to_have_count(4)
    expect(page.locator(".list.audit")).to_contain_text(snoozed)
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
