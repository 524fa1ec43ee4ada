"""One outage: three thousand dead letters of one cause; a canary that dies, a repair, a pause, and all of them arrive."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from dlq_console import NewEvent
from dlq_console.store import groups, queries
from dlq_console.store.filters import EventFilter
from tests.browser.site import OpenPage
from tests.browser.stories.cases import CASES, Case
from tests.browser.stories.shop import SOON, Shop
from tests.services.process import wait_until

LETTERS = 3_000
#: Of these the ERP answers no more than this before it hangs.
ANSWERED = 2_000
WINDOW = 100
CAUSE = "Rejeição: certificado digital do emitente vencido."
WORDS = {
    "en-US": {
        "number": "3,000",
        "to go": "2,999",
        "groups": "Groups",
        "all": "Reprocess all 3,000…",
        "about": "You are about to reprocess 3,000 dead letters",
        "begin": "Reprocess 3,000 dead letters",
        "stopped": "1 of 1 died again",
        "answered": "1,999",
        "hangs": "100 are under way, as many as may be at once.",
        "paused": "{name} has paused it; nothing more is let go.",
        "over": "2,999 succeeded",
    },
    "pt-BR": {
        "number": "3.000",
        "to go": "2.999",
        "groups": "Grupos",
        "all": "Reprocessar todas as 3.000…",
        "about": "Você vai reprocessar 3.000 cartas mortas",
        "begin": "Reprocessar 3.000 cartas mortas",
        "stopped": "1 de 1 morreu de novo",
        "answered": "1.999",
        "hangs": "100 estão em andamento, tantas quantas podem de uma vez.",
        "paused": "{name} pausou; nada mais é liberado.",
        "over": "deram certo: 2.999",
    },
}


def _outage(shop: Shop, account: str) -> None:
    """Nothing that was sent while the certificate was out of date has been taken."""
    shop.erp.suspend(account)
    shop.hub.enqueue_many(
        [
            NewEvent(
                kind="invoice.create", account=account, entity_id=str(number), payload={"number": number}
            )
            for number in range(1, LETTERS + 1)
        ]
    )
    dead = EventFilter(account=(account,), status=("dead",))
    wait_until(
        lambda: queries.count(shop.hub.store, dead).number == LETTERS, 2 * SOON, "all invoices to be refused"
    )
    # The worker does so every 15 seconds.
    groups.sample(shop.hub.store)


def _legend(page: Page) -> list[str]:
    """How many have succeeded, died again of the same, of another error, were refused, and are to go."""
    return page.locator(".bulk-legend dd").all_inner_texts()


@pytest.mark.timeout(300)
# The other one would tell the same once more, with three thousand letters more.
@pytest.mark.parametrize("case", [CASES[0], CASES[2]], ids=["en-US-script", "pt-BR-plain"])
def test_three_thousand_letters_of_one_cause_are_tried_paused_and_arrive(
    shop: Shop, open_page: OpenPage, case: Case
) -> None:
    account, name = f"fabrica-{case.branch}", f"joana.{case.branch}"
    words = {key: text.format(name=name) for key, text in WORDS[case.language].items()}
    shop.person(name, "operator", account)
    _outage(shop, account)
    page = case.open(open_page, name)

    page.locator("nav.side").get_by_role("link", name=words["groups"]).click()
    page.get_by_role("link", name=CAUSE).click()
    page.get_by_role("button", name=words["all"]).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(words["about"])
    expect(page.locator("[name=canary]")).to_be_checked()
    page.locator("[name=note]").fill("the certificate was renewed")
    page.locator("[name=typed]").fill(words["number"])
    page.get_by_role("button", name=words["begin"]).click()

    # It was not: the first of them dies again, and no other is touched.
    standing, resume = page.locator("#standing"), page.locator("#resume-run")
    case.follow(standing, words["stopped"])
    assert _legend(page) == ["0", "1", "0", "0", words["to go"]]

    shop.erp.renew(account)
    shop.erp.hang(account, above=ANSWERED)
    resume.click()
    # All that are answered, but the first of them.
    case.follow(page.locator(".bulk-legend"), words["answered"])
    case.follow(standing, words["hangs"])
    page.locator("#pause-run").click()
    expect(standing).to_contain_text(words["paused"])
    shop.erp.answer(account)
    run_id = int(page.url.rpartition("/")[2])
    wait_until(lambda: shop.hub.bulk.get(run_id).released == 0, SOON, "those under way to end")
    assert shop.hub.bulk.get(run_id).remaining == LETTERS - ANSWERED - WINDOW
    page.reload()
    resume.click()
    case.follow(standing, words["over"])
    expect(page.locator("#bulk-acts button")).to_have_count(0)
    dead = EventFilter(account=(account,), status=("dead",))
    assert queries.count(shop.hub.store, dead).number == 1
