"""Fixing a dead letter in a real browser: correct its payload, think better of a click, ask the ERP."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from dlq_console.hub.policy import Policy
from tests.browser.site import OpenPage, Site

WORDS = {
    "en-US": {
        "edit": "Correct and send…",
        "payload": "Payload",
        "check": "Check",
        "changes": "What becomes different",
        "again": "Change it again",
        "save": "Save and send",
        "queued": "Order 8841 is queued for filial-sp.",
    },
    "pt-BR": {
        "edit": "Corrigir e enviar…",
        "payload": "Conteúdo",
        "check": "Verificar",
        "changes": "O que muda",
        "again": "Mudar de novo",
        "save": "Salvar e enviar",
        "queued": "Pedido 8841 está na fila de filial-sp.",
    },
}


@pytest.mark.parametrize(("language", "script"), [("en-US", True), ("pt-BR", False)])
def test_a_wrong_payload_is_corrected_and_sent(
    site: Site, open_page: OpenPage, language: str, script: bool
) -> None:
    words = WORDS[language]
    event_id = site.desk.dead("8841", payload={"number": "8841", "customer": 0, "password": "hunter2"})
    # What is typed is no JSON at first.
    page = open_page(f"/events/{event_id}", role="editor", language=language, script=script, expect=("400",))
    page.get_by_role("link", name=words["edit"]).click()
    field = page.get_by_label(words["payload"], exact=True)
    typed = field.input_value().replace('"customer": 0', '"customer": ')
    field.fill(typed)
    page.get_by_role("button", name=words["check"]).click()
    expect(page.locator("#not-saved")).to_contain_text("JSON")
    expect(field).to_have_value(typed)
    expect(field).to_be_focused()
    field.fill(typed.replace('"customer": ', '"customer": 5521'))
    page.get_by_role("button", name=words["check"]).click()
    changes = page.get_by_role("group", name=words["changes"])
    expect(changes.locator("tbody tr")).to_have_count(1)
    expect(changes).to_contain_text("5521")
    page.get_by_role("button", name=words["again"]).click()
    page.get_by_role("button", name=words["check"]).click()
    page.get_by_role("button", name=words["save"]).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(words["queued"])
    new = site.desk.hub.get(event_id + 1)
    assert new.payload == {"number": "8841", "customer": 5521, "password": "hunter2"}
    assert "hunter2" not in page.content()


def test_a_row_that_may_not_be_sent_any_more_says_so_and_loses_its_button(
    site: Site, open_page: OpenPage
) -> None:
    desk = site.desk
    old = desk.dead("P-1", kind="price.set", policy=Policy(replay_policy="latest_wins"), version="1")
    desk.answers.clear()
    desk.done("P-1", kind="price.set", version="2")
    page = open_page("/dead-letters", expect=("409",))
    row = page.locator(f"#row-{old}")
    row.get_by_role("button", name="Reprocess").click()
    expect(row).to_contain_text("A newer event of the same number has been sent already.")
    expect(row.get_by_role("button")).to_have_count(0)
    row.get_by_role("link", name="Why not?").click()
    expect(page.locator("#event-state")).to_contain_text("Nothing of this kind is sent after a newer one")


@pytest.mark.parametrize("script", [True, False])
def test_what_was_corrected_is_seen_from_the_audit(site: Site, open_page: OpenPage, script: bool) -> None:
    event_id = site.desk.dead("8841", payload={"number": "8841", "customer": 0})
    site.desk.hub.edit(event_id, {"number": "8841", "customer": 7}, actor="edna")
    page = open_page("/audit", role="admin", script=script)
    page.get_by_role("link", name="payload changed").first.click()
    table = page.get_by_role("group", name="What became different")
    expect(table).to_be_in_viewport()
    expect(table).to_contain_text("Customer changed 0 7", use_inner_text=True)


def test_a_click_is_thought_better_of_and_the_erp_is_asked(site: Site, open_page: OpenPage) -> None:
    site.desk.hub.precheck("order.create")(lambda event: "likely")
    # Longer than a slow browser takes to find the button.
    site.desk.hub.settings = site.desk.hub.settings.model_copy(update={"send_delay_seconds": 60.0})
    event_id = site.desk.dead("8841")
    page = open_page(f"/events/{event_id}")
    page.get_by_role("button", name="Reprocess", exact=True).click()
    count = page.locator("#countdown")
    expect(count).to_contain_text("Will be sent in")
    first = count.inner_text()
    expect(count).not_to_have_text(first)
    page.get_by_role("button", name="Do not send").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Order 8841 did not reach filial-sp.")
    expect(page.locator("#event-history")).to_contain_text("maria cancelled the sending.")
    assert site.desk.hub.get(event_id).status == "dead"

    page.get_by_role("button", name="Would it pass now?").click()
    answer = page.locator("#precheck-answer")
    expect(answer).to_contain_text("The ERP is being asked…")
    assert site.desk.hub.run_due() == 1  # a worker
    expect(answer).to_contain_text("The ERP says: likely to pass now.")
