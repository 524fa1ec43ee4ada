"""One wrong payload: an editor corrects it, is told what the kind does not allow, looks at the change, and it arrives."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.site import OpenPage
from tests.browser.stories.cases import Case
from tests.browser.stories.shop import Shop

NUMBER = "7120"
PAYLOAD = {"customer_code": "552", "total": 1240.5, "card": {"password": "hunter2"}}
WORDS = {
    "en-US": {
        "edit": "Correct and send…",
        "payload": "Payload",
        "check": "Check",
        "changes": "What becomes different",
        "save": "Save and send",
        "arrived": "Order 7120 reached {account}.",
        "old": "corrected in another event",
        "newer": "Open the newer event",
        "told": "{name} corrected the payload.",
    },
    "pt-BR": {
        "edit": "Corrigir e enviar…",
        "payload": "Conteúdo",
        "check": "Verificar",
        "changes": "O que muda",
        "save": "Salvar e enviar",
        "arrived": "Pedido 7120 chegou a {account}.",
        "old": "corrigido em outro evento",
        "newer": "Abrir o evento mais novo",
        "told": "{name} corrigiu o conteúdo.",
    },
}


def test_a_wrong_customer_code_is_corrected_and_the_order_arrives(
    shop: Shop, open_page: OpenPage, case: Case
) -> None:
    account, name = f"loja-{case.branch}", f"ana.{case.branch}"
    words = {key: text.format(account=account, name=name) for key, text in WORDS[case.language].items()}
    shop.person(name, "editor", account)
    shop.erp.register(account, "5521")
    event_id = shop.dead("order.create", account, NUMBER, PAYLOAD)
    # What is typed first is no customer code.
    page = case.open(open_page, name, expects=("400",))

    page.goto("/dead-letters")
    page.get_by_role("link", name=NUMBER).click()
    page.get_by_role("link", name=words["edit"]).click()
    field = page.get_by_label(words["payload"], exact=True)
    right = field.input_value().replace('"552"', '"5521"')
    assert "hunter2" not in right
    field.fill(right.replace('"5521"', '"5521 "'))
    page.get_by_role("button", name=words["check"]).click()
    expect(page.locator("#not-saved")).to_contain_text("customer_code")
    field.fill(right)
    page.locator("#edit-note").fill("a digit was missing")
    page.get_by_role("button", name=words["check"]).click()
    changes = page.get_by_role("group", name=words["changes"])
    expect(changes.locator("tbody tr")).to_have_count(1)
    expect(changes.locator("tbody td").nth(1)).to_have_text("552")
    expect(changes.locator("tbody td").nth(2)).to_have_text("5521")
    assert shop.hub.get(event_id).status == "dead", "looking changes nothing"

    page.get_by_role("button", name=words["save"]).click()
    case.follow(page.locator("#event-state"), words["arrived"])
    new = shop.hub.get(int(page.url.rpartition("/")[2]))
    assert new.payload == PAYLOAD | {"customer_code": "5521"}
    page.goto(f"/events/{event_id}")
    expect(page.locator("#event-state")).to_contain_text(words["old"])
    expect(page.locator("#event-history")).to_contain_text(words["told"])
    expect(page.locator("#event-history")).to_contain_text("a digit was missing")
    page.get_by_role("link", name=words["newer"]).click()
    expect(page).to_have_url(f"{shop.address}/events/{new.id}")
