"""One stale replay: while somebody looks at a price that was refused, a newer one is sent; theirs must not undo it."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.site import OpenPage
from tests.browser.stories.cases import Case
from tests.browser.stories.shop import Shop

PRODUCT = "P-0031"
WORDS = {
    "en-US": {
        "reprocess": "Reprocess",
        "refused": "A newer event of the same number has been sent already.",
        "advice": "Nothing of this kind is sent after a newer one: discard this one.",
        "newer": "Open the newer event",
        "discard": "Discard…",
        "confirm": "Discard this event",
        "told": "{name} discarded it.",
    },
    "pt-BR": {
        "reprocess": "Reprocessar",
        "refused": "Um evento mais novo do mesmo número já foi enviado.",
        "advice": "Nada deste tipo é enviado depois de um mais novo: descarte este.",
        "newer": "Abrir o evento mais novo",
        "discard": "Descartar…",
        "confirm": "Descartar este evento",
        "told": "{name} descartou.",
    },
}


def test_a_price_that_was_overtaken_is_not_sent_again_and_is_put_aside(
    shop: Shop, open_page: OpenPage, case: Case
) -> None:
    account, name = f"atacado-{case.branch}", f"rita.{case.branch}"
    words = {key: text.format(name=name) for key, text in WORDS[case.language].items()}
    shop.person(name, "operator", account)
    shop.erp.block(account, PRODUCT)
    old = shop.dead("price.set", account, PRODUCT, {"price": "18.90"}, version="1")
    page = case.open(open_page, name, expects=("409",))
    page.goto(f"/events/{old}")
    reprocess = page.get_by_role("button", name=words["reprocess"], exact=True)
    expect(reprocess).to_be_visible()

    shop.erp.unblock(account, PRODUCT)
    new = shop.send("price.set", account, PRODUCT, {"price": "19.90"}, version="2")
    shop.ended(new, "done")
    reprocess.click()
    expect(page.get_by_text(words["refused"]).first).to_be_visible()
    assert shop.hub.get(old).status == "dead"

    # The page as it is now says the same, and offers what is left to do.
    page.goto(f"/events/{old}")
    expect(page.locator("#event-state")).to_contain_text(f"{words['refused']} {words['advice']}")
    expect(reprocess).to_have_count(0)
    page.get_by_role("link", name=words["newer"]).click()
    expect(page).to_have_url(f"{shop.address}/events/{new}")
    page.go_back()
    page.locator("#event-actions summary", has_text=words["discard"]).click()
    page.locator("#discard-note").fill("19.90 holds since today")
    page.get_by_role("button", name=words["confirm"]).click()
    expect(page.locator("#event-history")).to_contain_text(words["told"])
    assert [shop.hub.get(event_id).status for event_id in (old, new)] == ["discarded", "done"]
