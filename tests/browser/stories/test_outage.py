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

#: How many fail, and of these how many the ERP answers before it hangs; behind the canary in any case.
Size = tuple[int, int]
LARGE, SMALL = (3_000, 2_000), (250, 130)
WINDOW = 100
CAUSE = "Rejeição: certificado digital do emitente vencido."
WORDS = {
    "en-US": {
        "groups": "Groups",
        "all": "Reprocess all {letters}…",
        "about": "You are about to reprocess {letters} dead letters",
        "begin": "Reprocess {letters} dead letters",
        "stopped": "1 of 1 died again",
        "hangs": "100 are under way, as many as may be at once.",
        "paused": "{name} has paused it; nothing more is let go.",
        "over": "{others} succeeded",
    },
    "pt-BR": {
        "groups": "Grupos",
        "all": "Reprocessar todas as {letters}…",
        "about": "Você vai reprocessar {letters} cartas mortas",
        "begin": "Reprocessar {letters} cartas mortas",
        "stopped": "1 de 1 morreu de novo",
        "hangs": "100 estão em andamento, tantas quantas podem de uma vez.",
        "paused": "{name} pausou; nada mais é liberado.",
        "over": "deram certo: {others}",
    },
}
#: What stands between three figures and the next.
THOUSANDS = {"en-US": ",", "pt-BR": "."}


def _outage(shop: Shop, account: str, letters: int) -> None:
    """Nothing that was sent while the certificate was out of date has been taken."""
    shop.erp.suspend(account)
    shop.hub.enqueue_many(
        [
            NewEvent(
                kind="invoice.create", account=account, entity_id=str(number), payload={"number": number}
            )
            for number in range(1, letters + 1)
        ]
    )
    dead = EventFilter(account=(account,), status=("dead",))
    wait_until(
        lambda: queries.count(shop.hub.store, dead).number == letters, 2 * SOON, "all invoices to be refused"
    )
    # The worker does so every 15 seconds.
    groups.sample(shop.hub.store)


def _legend(page: Page) -> list[str]:
    """How many have succeeded, died again of the same, of another error, were refused, and are to go."""
    return page.locator(".bulk-legend dd").all_inner_texts()


@pytest.mark.timeout(300)
# All of it is told once in each language, and once with script and without; what is left tells a shorter one.
@pytest.mark.parametrize(
    ("case", "size"),
    list(zip(CASES, (LARGE, SMALL, LARGE, SMALL), strict=True)),
    ids=["en-US-script", "pt-BR-script", "pt-BR-plain", "en-US-plain"],
)
def test_many_letters_of_one_cause_are_tried_paused_and_arrive(
    shop: Shop, open_page: OpenPage, case: Case, size: Size
) -> None:
    letters, answered = size
    account, name = f"fabrica-{case.branch}", f"joana.{case.branch}"
    numbers = {"letters": letters, "others": letters - 1, "answered": answered - 1}
    shown = {key: f"{number:,}".replace(",", THOUSANDS[case.language]) for key, number in numbers.items()}
    words = {key: text.format(name=name, **shown) for key, text in WORDS[case.language].items()}
    shop.person(name, "operator", account)
    _outage(shop, account, letters)
    page = case.open(open_page, name)

    case.turn_to(page, words["groups"])
    page.get_by_role("link", name=CAUSE).click()
    page.get_by_role("button", name=words["all"]).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(words["about"])
    expect(page.locator("[name=canary]")).to_be_checked()
    page.locator("[name=note]").fill("the certificate was renewed")
    page.locator("[name=typed]").fill(shown["letters"])
    page.get_by_role("button", name=words["begin"]).click()

    # It was not: the first of them dies again, and no other is touched.
    standing, resume = page.locator("#standing"), page.locator("#resume-run")
    case.follow(standing, words["stopped"])
    assert _legend(page) == ["0", "1", "0", "0", shown["others"]]

    shop.erp.renew(account)
    shop.erp.hang(account, above=answered)
    resume.click()
    # All that are answered, but the first of them.
    case.follow(page.locator(".bulk-legend"), shown["answered"])
    case.follow(standing, words["hangs"])
    page.locator("#pause-run").click()
    expect(standing).to_contain_text(words["paused"])
    shop.erp.answer(account)
    run_id = int(page.url.rpartition("/")[2])
    wait_until(lambda: shop.hub.bulk.get(run_id).released == 0, SOON, "those under way to end")
    assert shop.hub.bulk.get(run_id).remaining == letters - answered - WINDOW
    page.reload()
    resume.click()
    case.follow(standing, words["over"])
    expect(page.locator("#bulk-acts button")).to_have_count(0)
    dead = EventFilter(account=(account,), status=("dead",))
    assert queries.count(shop.hub.store, dead).number == 1
