"""One event in the browser: what is masked is revealed by keyboard, and without script."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.site import OpenPage, Site
from tests.browser.test_access import violations

PAYLOAD = {"number": "8841", "customer": {"name": "Padaria", "cpf": "111.222.333-96"}}


def test_a_masked_field_is_revealed_by_keyboard_and_hidden_again(site: Site, open_page: OpenPage) -> None:
    event_id = site.desk.dead("8841", payload=PAYLOAD)
    page = open_page(f"/events/{event_id}", role="editor")
    expect(page.get_by_label("Why? (required; the audit keeps it)")).to_be_hidden()
    page.get_by_role("link", name="reveal", exact=True).press("Enter")
    reason = page.get_by_label("Why? (required; the audit keeps it)")
    expect(reason).to_be_visible()
    reason.fill("the customer asked")
    reason.press("Enter")
    expect(page.get_by_text("111.222.333-96")).to_be_visible()
    expect(page.locator("#event-history")).to_contain_text(
        "maria looked at what is hidden: payload/customer/cpf"
    )
    assert violations(page) == []
    page.goto(f"/events/{event_id}")
    expect(page.get_by_text("111.222.333-96")).to_have_count(0)


def test_a_masked_field_is_revealed_without_script(site: Site, open_page: OpenPage) -> None:
    event_id = site.desk.dead("8841", payload=PAYLOAD)
    page = open_page(f"/events/{event_id}", role="editor", language="pt-BR", width=390, script=False)
    page.get_by_text("Revelar o que está oculto…").click()
    page.get_by_label("Por quê? (obrigatório; fica na auditoria)").fill("o cliente pediu")
    page.get_by_role("button", name="Revelar este campo").click()
    expect(page.get_by_text("111.222.333-96")).to_be_visible()
