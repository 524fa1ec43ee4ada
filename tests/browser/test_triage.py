"""The work of an operator in a real browser: find it, read it, fix it, run it again, see what came of it."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from dlq_console.store import people
from tests.browser.site import OpenPage, Site
from tests.web.desk import PASSWORD, REFUSAL

#: What the story shows in each language.
STORY = {
    "en-US": {
        "log in": "Log in",
        "dead letters": "Dead letters",
        "account": "Account",
        "filter": "Filter",
        "headline": "Order 8841 did not reach filial-sp.",
        "said": "The ERP said:",
        "reprocess": "Reprocess",
        "queued": "Order 8841 is queued for filial-sp.",
        "arrived": "Order 8841 reached filial-sp.",
        "succeeded": "Reprocess succeeded.",
        "log out": "Log out",
    },
    "pt-BR": {
        "log in": "Entrar",
        "dead letters": "Cartas mortas",
        "account": "Conta",
        "filter": "Filtrar",
        "headline": "Pedido 8841 não chegou a filial-sp.",
        "said": "O ERP disse:",
        "reprocess": "Reprocessar",
        "queued": "Pedido 8841 está na fila de filial-sp.",
        "arrived": "Pedido 8841 chegou a filial-sp.",
        "succeeded": "O reprocessamento deu certo.",
        "log out": "Sair",
    },
}


@pytest.mark.parametrize("language", list(STORY))
def test_from_the_log_in_to_the_order_that_arrived(site: Site, open_page: OpenPage, language: str) -> None:
    words = STORY[language]
    event_id = site.desk.dead("8841")
    site.desk.dead("8842", account="filial-rj")
    site.desk.person("maria", "operator")
    page = open_page("/dead-letters", name="", language=language)

    page.locator("#name").fill("maria")
    page.locator("#password").fill(PASSWORD)
    page.get_by_role("button", name=words["log in"]).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(words["dead letters"])
    expect(page.locator("tbody tr")).to_have_count(2)

    page.locator("summary", has_text=words["account"]).click()
    page.get_by_role("checkbox", name="filial-sp").check()
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page).to_have_url(f"{site.address}/dead-letters?account=filial-sp")
    page.keyboard.press("Escape")

    page.get_by_role("link", name="8841").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(words["headline"])
    expect(page.locator(".verdict")).to_contain_text(words["said"])
    expect(page.locator(".verdict")).to_contain_text(REFUSAL)

    del site.desk.answers["8841"]  # somebody registers the customer in the ERP
    page.get_by_role("button", name=words["reprocess"], exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(words["queued"])
    expect(page.get_by_role("button", name=words["reprocess"], exact=True)).to_have_count(0)

    site.desk.hub.run(event_id)  # a worker
    expect(page.get_by_role("heading", level=1)).to_have_text(words["arrived"])
    expect(page.get_by_role("status")).to_have_text(words["succeeded"])
    expect(page.locator("#event-history")).to_contain_text("maria")

    page.locator(".bar .menu.to-right summary").click()
    page.get_by_role("button", name=words["log out"]).click()
    expect(page).to_have_url(f"{site.address}/login")
    assert (
        page.evaluate("Object.values(sessionStorage).concat(Object.values(localStorage)).join()").count("<")
        == 0
    )


def test_a_row_follows_its_event_to_the_end_and_keeps_the_focus(site: Site, open_page: OpenPage) -> None:
    first, second = site.desk.dead("1"), site.desk.dead("2")
    page = open_page("/dead-letters")
    row, other = page.locator(f"#row-{first}"), page.locator(f"#row-{second}")
    row.get_by_role("button", name="Reprocess").press("Enter")
    expect(row).to_contain_text("waiting")
    expect(row.get_by_role("button", name="Do not send")).to_be_visible()
    expect(page.locator(f"#e{first}")).to_be_focused()

    del site.desk.answers["1"]
    site.desk.hub.run(first)
    expect(row).to_contain_text("done")
    expect(row).to_contain_text("Reprocess succeeded.")
    assert row.get_attribute("hx-trigger") is None
    expect(page.get_by_role("status")).to_have_text("Reprocess succeeded.")

    other.get_by_role("button", name="Reprocess").click()
    expect(other).to_contain_text("waiting")
    site.desk.hub.run(second)
    expect(other).to_contain_text("It died again: same error.")
    expect(other.get_by_role("button", name="Reprocess")).to_be_visible()


TWO_CLICKS = """buttons => buttons.forEach((button) => button.dispatchEvent(
    new MouseEvent("click", { bubbles: true, cancelable: true, detail: 1, clientX: 700, clientY: 300 })))"""


def test_a_second_click_at_the_same_place_presses_nothing_that_has_come_there_meanwhile(
    site: Site, open_page: OpenPage
) -> None:
    first, second = site.desk.dead("1"), site.desk.dead("2")
    page = open_page("/dead-letters")
    page.wait_for_load_state()
    # As if the first row had gone and the second stood in its place.
    page.locator(f"#row-{first} button, #row-{second} button").evaluate_all(TWO_CLICKS)
    pressed, spared = page.locator(f"#row-{second}"), page.locator(f"#row-{first}")
    expect(pressed.get_by_role("button", name="Do not send")).to_be_visible()
    assert site.desk.hub.get(first).status == "dead"
    # A key has no place and is meant.
    spared.get_by_role("button", name="Reprocess").press("Enter")
    expect(spared.get_by_role("button", name="Do not send")).to_be_visible()


def test_who_is_too_late_reads_who_was_faster_and_sees_the_row_as_it_is(
    site: Site, open_page: OpenPage
) -> None:
    event_id = site.desk.dead("1")
    page = open_page("/dead-letters", expect=("409",))
    site.desk.hub.discard(event_id, actor="joana", note="cancelled")
    row = page.locator(f"#row-{event_id}")
    row.get_by_role("button", name="Reprocess").click()
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("joana discarded it.")
    expect(row).to_contain_text("discarded")
    expect(row.get_by_role("button")).to_have_count(0)
    alert.get_by_role("button", name="Close").click()
    expect(alert).to_be_empty()


def test_who_is_too_late_on_the_page_keeps_the_typed_note(site: Site, open_page: OpenPage) -> None:
    event_id = site.desk.dead("1")
    page = open_page(f"/events/{event_id}", expect=("409",))
    page.locator("summary", has_text="Discard").click()
    page.locator("#discard-note").fill("a long and careful reason")
    site.desk.hub.reprocess(event_id, actor="joana")
    page.get_by_role("button", name="Discard this event").click()
    expect(page.get_by_role("alert")).to_contain_text("joana reprocessed it.")
    expect(page.get_by_role("heading", level=1)).to_have_text("Order 1 is queued for filial-sp.")
    expect(page.locator("#discard-note")).to_have_value("a long and careful reason")


def test_following_never_takes_typed_text_away(site: Site, open_page: OpenPage) -> None:
    event_id = site.desk.add("1")
    page = open_page(f"/events/{event_id}")
    page.locator("summary", has_text="Discard").click()
    page.locator("#discard-note").fill("half a sen")
    site.desk.answers["1"] = TimeoutError("timed out")
    site.desk.hub.run(event_id)
    page.evaluate("document.querySelector('[data-follows]').dispatchEvent(new Event('look'))")
    expect(page.get_by_role("heading", level=1)).to_contain_text("has not reached filial-sp yet")
    expect(page.locator("#event-history")).to_contain_text("timed out")
    expect(page.locator("#discard-note")).to_have_value("half a sen")
    expect(page.locator("#discard-note")).to_be_focused()


def test_a_hidden_page_asks_nothing_and_asks_at_once_when_seen_again(site: Site, open_page: OpenPage) -> None:
    site.desk.change(site.desk.add("1"), status="running")
    page = open_page("/events/1")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/_f/" in request.url else None)
    page.evaluate("Object.defineProperty(document, 'hidden', {get: () => window.unseen, configurable: true})")
    page.evaluate("window.unseen = true")
    page.wait_for_timeout(4500)  # two turns of the clock
    assert asked == []
    page.evaluate("window.unseen = false; document.dispatchEvent(new Event('visibilitychange'))")
    with page.expect_response("**/_f/events/1/state*") as answer:
        pass
    assert answer.value.status == 204


def test_an_ended_session_leads_to_the_log_in_and_back(site: Site, open_page: OpenPage) -> None:
    event_id = site.desk.dead("1")
    page = open_page("/dead-letters?kind=order.create", expect=("401",))
    people.disable_user(site.desk.hub.store, "maria")
    page.locator(f"#row-{event_id}").get_by_role("button", name="Reprocess").click()
    expect(page).to_have_url(f"{site.address}/login?next=/dead-letters%3Fkind%3Dorder.create")
    site.desk.person("joana", "operator")
    page.locator("#name").fill("joana")
    page.locator("#password").fill(PASSWORD)
    page.locator("#password").press("Enter")
    expect(page).to_have_url(f"{site.address}/dead-letters?kind=order.create")
    expect(page.locator("tbody tr")).to_have_count(1)


def test_following_ends_with_the_right_to_look(site: Site, open_page: OpenPage) -> None:
    site.desk.change(site.desk.add("1"), status="running")
    page = open_page("/events/1", expect=("403",))
    page.route("**/_f/events/**", lambda route: route.fulfill(status=403, body=""))
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/_f/" in request.url else None)
    expect(page.get_by_role("alert")).to_contain_text("The console could not do this")
    page.wait_for_timeout(4500)  # two turns of the clock
    assert len(asked) == 1


def test_a_console_that_is_away_is_told_aloud(site: Site, open_page: OpenPage) -> None:
    event_id = site.desk.dead("1")
    page = open_page("/dead-letters", expect=("net::ERR_FAILED", "htmx:sendError"))
    page.route("**/reprocess", lambda route: route.abort())
    page.locator(f"#row-{event_id}").get_by_role("button", name="Reprocess").click()
    expect(page.get_by_role("alert")).to_contain_text(
        "The console could not be reached; nothing was changed."
    )
    expect(page.locator(f"#row-{event_id}").get_by_role("button", name="Reprocess")).to_be_enabled()


def test_back_and_forward_show_whole_pages(site: Site, open_page: OpenPage) -> None:
    for number in range(3):
        site.desk.dead(str(number), account=f"filial-{number}")
    page = open_page("/dead-letters")
    page.get_by_label("Order or other number").fill("2")
    page.get_by_role("button", name="Filter", exact=True).click()
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.locator("#answer")).to_contain_text("1 of 3 dead letters match.")
    page.get_by_role("link", name="Order 2").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Order 2")
    page.go_back()
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.locator("header.bar")).to_be_visible()
    page.go_back()
    expect(page.locator("tbody tr")).to_have_count(3)
    expect(page.locator("header.bar")).to_be_visible()
    stored = page.evaluate("Object.values(sessionStorage).concat(Object.values(localStorage)).join()")
    assert "<" not in stored
    assert "Order" not in stored


def test_without_script_everything_still_works(site: Site, open_page: OpenPage) -> None:
    first = site.desk.dead("8841")
    site.desk.dead("8842", account="filial-rj")
    page = open_page("/dead-letters", script=False)
    page.locator("summary", has_text="Account").click()
    page.get_by_role("checkbox", name="filial-sp").check()
    page.get_by_role("button", name="Filter", exact=True).click()
    expect(page.locator("tbody tr")).to_have_count(1)
    page.get_by_role("link", name="Remove the filter").click()
    expect(page.locator("tbody tr")).to_have_count(2)

    page.locator(f"#row-{first}").get_by_role("button", name="Reprocess").click()
    expect(page).to_have_url(f"{site.address}/events/{first}")
    expect(page.get_by_role("heading", level=1)).to_have_text("Order 8841 is queued for filial-sp.")
    del site.desk.answers["8841"]
    site.desk.hub.run(first)
    page.get_by_role("link", name="Look again").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Order 8841 reached filial-sp.")
    expect(page.locator("#event-history")).to_contain_text("maria reprocessed it.")

    page.get_by_role("link", name="Dead letters").first.click()
    page.get_by_role("link", name="Order 8842").click()
    page.locator("summary", has_text="Discard").click()
    page.locator("#discard-note").fill("cancelled")
    page.get_by_role("button", name="Discard this event").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("was discarded")
    page.goto("/settings/preferences")
    page.get_by_label("Language").select_option("pt_BR")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Preferências")
