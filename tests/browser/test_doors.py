"""Accounts are paused and resumed, and rules tried, without leaving the page."""

from __future__ import annotations

from playwright.sync_api import expect

from dlq_console.store import queries
from tests.browser.site import OpenPage, Site


def test_an_account_is_paused_and_resumed_in_place(site: Site, open_page: OpenPage) -> None:
    site.desk.dead("1")
    page = open_page("/")
    page.get_by_text("Pause…").click()
    page.get_by_label("Note (optional)").fill("Inventory")
    page.get_by_label("For how long?").select_option("60")
    page.get_by_role("button", name="Pause", exact=True).click()
    expect(page.locator("table.doors")).to_contain_text("Inventory")
    expect(page.locator("#answer")).to_contain_text("filial-sp is closed until")
    expect(page.locator("#news")).to_have_text("filial-sp is paused.")
    page.get_by_role("button", name="Resume filial-sp").click()
    expect(page.locator("table.doors")).to_have_count(0)
    assert queries.closed_doors(site.desk.hub.store) == ()


def test_an_account_is_resumed_from_the_page_of_an_event_that_waits_for_it(
    site: Site, open_page: OpenPage
) -> None:
    site.desk.hub.pause_account("filial-sp", actor="joana", note="Inventory")
    page = open_page(f"/events/{site.desk.add('1')}")
    expect(page.locator("#event-state")).to_contain_text("account paused by joana until a person resumes it")
    page.get_by_role("button", name="Resume account").click()
    expect(page.locator("#event-state")).to_contain_text("no worker serves this account")
    expect(page.get_by_role("button", name="Resume account")).to_have_count(0)


def test_a_rule_is_tried_in_place_and_stays_in_its_field(site: Site, open_page: OpenPage) -> None:
    event_id = site.desk.dead("1", error=KeyError("cfop"))
    page = open_page(f"/events/{event_id}")
    page.get_by_role("link", name="Make a rule from this error").click()
    draft = page.locator("#draft").input_value()
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#preview")).to_contain_text("It matches 1 of them and decides 1")
    assert page.locator("#draft").input_value() == draft
    assert page.url.endswith(f"/rules?event={event_id}")
