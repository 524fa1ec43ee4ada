"""A filter that is not taken, in a real browser: its field is marked where it stands, and nothing typed is lost."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.site import OpenPage, Site


@pytest.mark.parametrize("path", ["/dead-letters", "/events"])
def test_a_field_is_marked_until_it_is_taken(site: Site, open_page: OpenPage, path: str) -> None:
    site.desk.dead("1")
    page = open_page(f"{path}?account=filial-sp", language="pt-BR", expect=("400",))
    page.get_by_text("+ filtro", exact=True).click()
    field, tag = page.get_by_role("textbox", name="Tentativas"), page.get_by_role("textbox", name="Etiqueta")
    field.fill("abc")
    field.press("Tab")
    expect(page.locator("#problem")).to_contain_text("Tentativas: escreva um número")
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_have_attribute("aria-describedby", "problem")
    expect(field).to_have_value("abc")
    expect(tag).not_to_have_attribute("aria-invalid", "true")
    field.fill("1+")
    field.press("Tab")
    expect(page.locator("#problem")).to_be_empty()
    expect(field).to_have_attribute("aria-invalid", "false")
    expect(page.locator("tbody tr")).to_have_count(1)
    assert "attempts=1%2B" in page.url
    assert "account=filial-sp" in page.url


@pytest.mark.parametrize("script", [True, False])
def test_a_page_with_a_field_that_was_not_taken_is_put_right_on_it(
    site: Site, open_page: OpenPage, script: bool
) -> None:
    site.desk.dead("1")
    site.desk.dead("2", account="filial-rj")
    page = open_page("/dead-letters?account=filial-sp&attempts=abc", script=script, expect=("400",))
    field = page.get_by_role("textbox", name="Attempts")
    expect(field).to_be_visible()
    expect(field).to_be_focused()
    expect(page.get_by_role("alert").first).to_contain_text("Attempts: write one number")
    field.fill("1")
    field.press("Enter")
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.locator("#wrong-1")).to_have_count(0)
    expect(page.locator('[aria-invalid="true"]')).to_have_count(0)
    assert "account=filial-sp" in page.url


def test_a_name_that_is_taken_leads_back_to_the_dialog(site: Site, open_page: OpenPage) -> None:
    site.desk.dead("1")
    page = open_page("/dead-letters?account=filial-sp", expect=("409",))
    for name in ("mine", "mine", "yours"):
        field = page.locator("#view-name")
        if not field.is_visible():
            page.locator("summary", has_text="Save view").click()
        field.fill(name)
        page.locator("form", has=field).get_by_role("button", name="Save view").click()
        page.wait_for_load_state()
        if name == "mine" and page.url.endswith("/views"):
            expect(field).to_be_focused()
            expect(field).to_have_value("mine")
            expect(page.locator("#view-refused")).to_be_visible()
            expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.get_by_role("link", name="yours")).to_be_visible()
    assert page.url.endswith("/dead-letters?account=filial-sp")
