"""The lists in a real browser: keys, a selection that outlives its page, news that move no row, text that is not lost."""

from __future__ import annotations

from playwright.sync_api import Page, Route, expect

from dlq_console.store import people
from tests.browser.site import OpenPage, Site
from tests.web.desk import PASSWORD


def _selected(page: Page) -> list[str]:
    """The ids that the form of the selection would send."""
    sent: list[str] = page.evaluate(
        """() => new Promise((resolve) => {
            const form = document.getElementById("pick");
            form.addEventListener("submit", (event) => {
                event.preventDefault();
                setTimeout(() => resolve(new FormData(form).getAll("event")));
            }, {once: true, capture: true});
            form.requestSubmit();
        })"""
    )
    return sent


def test_a_list_is_worked_through_with_single_keys(site: Site, open_page: OpenPage) -> None:
    first, second, third = (site.desk.dead(str(number)) for number in range(3))
    page = open_page("/dead-letters")
    page.keyboard.press("j")
    expect(page.locator(f"#e{third}")).to_be_focused()
    page.keyboard.press("j")
    expect(page.locator(f"#e{second}")).to_be_focused()
    page.keyboard.press("x")
    expect(page.locator("#picked")).to_have_text("1 selected")
    page.keyboard.press("k")
    page.keyboard.press("r")
    expect(page.locator(f"#row-{third}")).to_contain_text("waiting")
    expect(page.locator(f"#e{third}")).to_be_focused()
    page.locator(f"#row-{third}").get_by_role("button", name="Do not send").press("Enter")
    expect(page.locator(f"#row-{third}")).to_contain_text("dead letter")
    expect(page.locator(f"#e{third}")).to_be_focused()
    expect(page.locator(f"#row-{second} input")).to_be_checked()

    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type("jx?")  # no shortcuts while somebody writes
    expect(page.get_by_role("searchbox")).to_have_value("jx?")
    page.get_by_role("searchbox").blur()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("reprocess it")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.locator(f"#e{first}").focus()
    page.keyboard.press("o")
    expect(page).to_have_url(f"{site.address}/events/{first}")


def test_a_selection_outlives_its_page_and_says_what_it_holds(site: Site, open_page: OpenPage) -> None:
    ids = [str(site.desk.dead(str(number))) for number in range(55)]
    page = open_page("/dead-letters")
    expect(page.locator("#pick")).to_be_hidden()
    page.locator("#pick-page").check()
    expect(page.locator("#picked")).to_have_text("50 selected")
    page.locator(f"#row-{ids[-1]} input").uncheck()
    assert page.locator("#pick-page").evaluate("box => box.indeterminate") is True
    page.get_by_role("link", name="Older").click()
    expect(page.locator("tbody tr")).to_have_count(5)
    page.locator(f"#row-{ids[0]} input").check()
    expect(page.locator("#picked")).to_have_text("50 selected (49 on other pages)")
    assert sorted(_selected(page), key=int) == [ids[0], *ids[5:-1]]
    page.get_by_role("link", name="Newer").click()
    expect(page.locator(f"#row-{ids[-1]} input")).not_to_be_checked()
    expect(page.locator(f"#row-{ids[-2]} input")).to_be_checked()

    page.get_by_label("All 55 matching").check()
    expect(page.locator("#picked")).to_have_text("All that match are selected")
    assert _selected(page) == []
    page.locator("#pick").get_by_role("button", name="Clear").click()
    expect(page.locator("#pick")).to_be_hidden()
    expect(page.locator("#pick-page")).to_be_focused()


def test_news_wait_until_they_are_asked_for_and_can_be_paused(site: Site, open_page: OpenPage) -> None:
    site.desk.dead("1")
    page = open_page("/dead-letters")
    top = page.locator("tbody tr").first.bounding_box()
    look = "document.getElementById('news-bar').dispatchEvent(new Event('look'))"
    site.desk.dead("2")
    page.get_by_label("Pause").check()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.evaluate(look)
    page.reload()
    expect(page.get_by_label("Pause")).to_be_checked()
    assert not [url for url in asked if "/new?" in url]

    site.desk.dead("3")
    with page.expect_response("**/dead-letters/new?*"):
        page.get_by_label("Pause").uncheck()
    expect(page.get_by_role("link", name="1 new, show")).to_be_visible()
    expect(page.locator("tbody tr")).to_have_count(2)
    assert page.locator("tbody tr").first.bounding_box() == top
    page.get_by_role("link", name="1 new, show").click()
    expect(page.locator("tbody tr")).to_have_count(3)
    expect(page.locator("#news-bar")).to_have_text("")
    expect(page).to_have_url(f"{site.address}/dead-letters")


def test_a_session_that_ends_costs_no_typed_text(site: Site, open_page: OpenPage) -> None:
    event_id = site.desk.dead("1")
    page = open_page(f"/events/{event_id}", expect=("401",))
    page.locator("summary", has_text="Discard").click()
    page.locator("#discard-note").fill("a long and careful reason")
    people.disable_user(site.desk.hub.store, "maria")
    page.get_by_role("button", name="Discard this event").click()
    expect(page).to_have_url(f"{site.address}/login?next=/events/{event_id}")
    site.desk.person("joana", "operator")
    page.locator("#name").fill("joana")
    page.locator("#password").fill(PASSWORD)
    page.locator("#password").press("Enter")
    expect(page).to_have_url(f"{site.address}/events/{event_id}")
    expect(page.locator("#discard-note")).to_have_value("a long and careful reason")
    expect(page.locator("#discard-note")).to_be_visible()
    page.get_by_role("button", name="Discard this event").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("was discarded")
    assert site.desk.hub.get(event_id).status == "discarded"


def test_a_session_that_ends_costs_no_typed_payload(site: Site, open_page: OpenPage) -> None:
    event_id = site.desk.dead("1", payload={"number": "1"})
    page = open_page(f"/events/{event_id}/edit", role="editor", expect=("401",))
    page.locator("#payload").fill('{"number": "typed"}')
    page.locator("#edit-note").fill("of the accountant")
    page.context.clear_cookies()
    page.get_by_role("button", name="Check").click()
    expect(page.locator("#typed-note")).to_have_value("of the accountant")
    # Any earlier the script has not seen yet what it should keep.
    page.wait_for_load_state()
    page.get_by_role("link", name="Log in").click()
    page.locator("#name").fill("maria")
    page.locator("#password").fill(PASSWORD)
    page.locator("#password").press("Enter")
    expect(page).to_have_url(f"{site.address}/events/{event_id}/edit")
    expect(page.locator("#payload")).to_have_value('{"number": "typed"}')
    expect(page.locator("#edit-note")).to_have_value("of the accountant")


def test_an_answer_that_comes_late_never_replaces_a_newer_one(site: Site, open_page: OpenPage) -> None:
    site.desk.dead("1", account="filial-sp")
    site.desk.dead("2", account="filial-rj")
    page = open_page("/dead-letters")
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/_f/dead-letters?*entity=1*", hold)
    field = page.get_by_label("Order or other number")
    field.fill("1")
    field.press("Enter")
    page.wait_for_function("document.querySelector('.filter').classList.contains('htmx-request')")
    field.fill("2")
    field.press("Enter")
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.locator("tbody tr")).to_contain_text("filial-rj")
    assert held
    expect(page).to_have_url(f"{site.address}/dead-letters?entity=2")
