"""One order: somebody asks for it by its number; it is found, read, fixed in the ERP, sent again, and it arrives."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.site import OpenPage
from tests.browser.stories.cases import Case
from tests.browser.stories.shop import Shop

NUMBER = "8841"
SAID = "Cliente não cadastrado para o código [5521]."
WORDS = {
    "en-US": {
        "failed": "Order 8841 did not reach {account}.",
        "why": "The ERP said:",
        "note": "With a note",
        "reprocess": "Reprocess with this note",
        "arrived": "Order 8841 reached {account}.",
        "told": "{name} reprocessed it.",
        "nothing": "No dead letter. Everything is up to date.",
    },
    "pt-BR": {
        "failed": "Pedido 8841 não chegou a {account}.",
        "why": "O ERP disse:",
        "note": "Com observação",
        "reprocess": "Reprocessar com esta observação",
        "arrived": "Pedido 8841 chegou a {account}.",
        "told": "{name} reprocessou.",
        "nothing": "Nenhuma carta morta. Tudo em dia.",
    },
}


def test_an_order_is_found_by_its_number_fixed_and_arrives(
    shop: Shop, open_page: OpenPage, case: Case
) -> None:
    account, name = f"filial-{case.branch}", f"maria.{case.branch}"
    words = {key: text.format(account=account, name=name) for key, text in WORDS[case.language].items()}
    shop.person(name, "operator", account)
    event_id = shop.dead("order.create", account, NUMBER, {"customer_code": "5521"})
    page = case.open(open_page, name)

    page.get_by_role("searchbox").fill(NUMBER)
    page.get_by_role("searchbox").press("Enter")
    expect(page).to_have_url(f"{shop.address}/events/{event_id}")
    expect(page.get_by_role("heading", level=1)).to_have_text(words["failed"])
    expect(page.locator("#event-state")).to_contain_text(words["why"])
    expect(page.locator("#event-state .said")).to_have_text(SAID)

    shop.erp.register(account, "5521")
    page.locator("#event-actions summary", has_text=words["note"]).click()
    page.locator("#reprocess-note").fill("customer 5521 registered")
    page.get_by_role("button", name=words["reprocess"]).click()
    case.follow(page.locator("#event-state"), words["arrived"])
    history = page.locator("#event-history")
    expect(history).to_contain_text(words["told"])
    expect(history).to_contain_text("customer 5521 registered")
    assert shop.hub.get(event_id).result == {"document": f"P-{NUMBER}"}

    page.goto("/dead-letters")
    expect(page.locator("main")).to_contain_text(words["nothing"])
