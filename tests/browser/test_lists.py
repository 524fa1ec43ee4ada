"""The lists in a real browser: keys, a selection that outlives its page, news that move no row."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.site import OpenPage, Site
from tests.web.desk import PASSWORD


def _selected(page: Page) -> list[str]:
    """The ids that the form of the selection would send."""
    sent: list[str] = page.evaluate(
        """() => new Promise((resolve) => {
            const form = document.getElementById("pick");
            form.addEventListener("submit", (event) => {
                event.preventDefault();
                setTimeout(() => {
                    const data = new FormData(form);
                    resolve([...data.getAll("event"), ...data.get("events").split(",").filter(Boolean)]);
                });
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
    expect(page.locator("#picked")).to_have_text("50 selected, 49 on other pages")
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


def _look(page: Page, action: str) -> None:
    """Press one of the buttons of the selection, and see what would be done."""
    page.locator("#pick").get_by_role("button", name=action).click()
    expect(page.get_by_role("link", name="Back to the list")).to_be_visible()


def _log_in(page: Page, name: str) -> None:
    page.locator("#name").fill(name)
    page.locator("#password").fill(PASSWORD)
    page.locator("#password").press("Enter")
    page.wait_for_url("**/dead-letters*")
    page.wait_for_load_state()  # with its scripts, which say what is selected


def test_a_selection_is_there_again_after_a_look_at_what_would_be_done(
    site: Site, open_page: OpenPage
) -> None:
    ids = [str(site.desk.dead(str(number))) for number in range(55)]
    page = open_page("/dead-letters")
    page.get_by_role("link", name="Older").click()
    expect(page.locator("tbody tr")).to_have_count(5)
    page.locator(f"#row-{ids[0]} input").check()
    page.get_by_role("link", name="Newer").click()
    expect(page.locator("tbody tr")).to_have_count(50)
    page.locator(f"#row-{ids[-1]} input").check()
    _look(page, "Discard…")
    expect(page.get_by_role("heading", level=1)).to_contain_text("2")
    page.go_back()
    expect(page.locator("#picked")).to_have_text("2 selected, 1 on other pages")
    page.reload()
    expect(page.locator("#picked")).to_have_text("2 selected, 1 on other pages")
    expect(page.locator(f"#row-{ids[-1]} input")).to_be_checked()
    assert sorted(_selected(page), key=int) == [ids[0], ids[-1]]

    # Another filter has a selection of its own; the order of the list is no filter.
    page.goto("/dead-letters?account=filial-sp")
    expect(page.locator("#pick")).to_be_hidden()
    page.locator(f"#row-{ids[-2]} input").check()
    page.goto("/dead-letters?sort=oldest")
    expect(page.locator("#picked")).to_have_text("2 selected, 1 on other pages")
    expect(page.locator(f"#row-{ids[0]} input")).to_be_checked()
    _look(page, "Discard…")
    page.get_by_role("link", name="Cancel").click()
    expect(page.locator("#picked")).to_have_text("2 selected, 1 on other pages")

    _look(page, "Discard…")
    page.locator("#note").fill("ordered twice")
    page.locator("#begin").click()
    expect(page).to_have_url(re.compile("/bulk/1$"))
    # Any earlier the script has not seen yet that it is over.
    page.wait_for_load_state()
    page.goto("/dead-letters")
    expect(page.locator("tbody tr")).to_have_count(50)
    expect(page.locator("#pick")).to_be_hidden()
    page.goto("/dead-letters?account=filial-sp")
    expect(page.locator("#picked")).to_have_text("1 selected")


def test_a_selection_is_forgotten_once_it_is_assigned_tagged_or_snoozed(
    site: Site, open_page: OpenPage
) -> None:
    event_id = site.desk.dead("1")
    page = open_page("/dead-letters")
    page.locator(f"#row-{event_id} input").check()
    _look(page, "Tags…")
    page.locator("#add").fill("customs")
    page.get_by_role("button", name="Tag 1 event").click()
    expect(page.locator(".undo")).to_contain_text("1 event is changed")
    expect(page.locator("#pick")).to_be_hidden()


def test_a_selection_belongs_to_whoever_made_it(site: Site, open_page: OpenPage) -> None:
    event_id = site.desk.dead("1")
    site.desk.person("joana", "operator")
    page = open_page("/dead-letters")
    row = page.locator(f"#row-{event_id} input")
    row.check()
    page.context.clear_cookies()
    page.goto("/dead-letters")
    _log_in(page, "maria")
    expect(row).to_be_checked()  # a session that has ended is no reason to begin anew

    page.context.clear_cookies()
    page.goto("/dead-letters")
    _log_in(page, "joana")
    expect(row).not_to_be_checked()
    page.context.clear_cookies()
    page.goto("/dead-letters")
    _log_in(page, "maria")
    expect(row).not_to_be_checked()

    row.check()
    # As where the browser does not empty the storage by itself, which it does on HTTPS only.
    page.route("**/logout", lambda route: route.fulfill(status=303, headers={"Location": "/login"}))
    page.locator(".bar .menu.to-right summary").click()
    page.get_by_role("button", name="Log out").click()
    page.goto("/dead-letters")
    expect(row).not_to_be_checked()


@pytest.mark.parametrize("box", ["#row-1 input", "#pick-page"])
def test_what_is_ticked_before_the_scripts_have_come_stays_ticked(
    site: Site, open_page: OpenPage, box: str
) -> None:
    assert site.desk.dead("1") == 1
    page = open_page("/dead-letters")
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/js/selection.js", hold)
    page.reload(wait_until="commit")
    page.locator(box).check()
    assert held
    held[0].continue_()
    page.unroute("**/js/selection.js", hold)
    expect(page.locator(box)).to_be_checked()
    expect(page.locator("#picked")).to_have_text("1 selected")
    page.reload()
    expect(page.locator("#row-1 input")).to_be_checked()


def test_no_more_rows_can_be_selected_than_may_be_sent(site: Site, open_page: OpenPage) -> None:
    event_id = site.desk.dead("1")
    page = open_page("/dead-letters")
    page.evaluate(
        """() => {
            const ids = Array.from({length: 1000}, (_, number) => String(1000 + number));
            const lists = [[document.getElementById("pick").dataset.key, ids]];
            sessionStorage.setItem("dlq-console-picked", JSON.stringify({person: "maria", lists}));
        }"""
    )
    page.reload()
    page.locator(f"#row-{event_id} input").click()
    expect(page.locator(f"#row-{event_id} input")).not_to_be_checked()
    expect(page.locator("#picked")).to_contain_text("1,000 selected, 1,000 on other pages, which is the most")
    assert len(_selected(page)) == 1000


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


@pytest.mark.parametrize("script", [True, False])
def test_back_leads_to_what_a_form_was_answered_with(site: Site, open_page: OpenPage, script: bool) -> None:
    event_id = site.desk.dead("1")
    page = open_page("/dead-letters", script=script, role="editor")
    page.locator("tbody input[name=event]").check()
    page.locator("#pick button[value=reprocess]").click()
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_have_text("You are about to reprocess 1 dead letter")
    page.goto(f"/events/{event_id}/edit")
    page.locator("#payload").fill('{"number": "2"}')
    page.get_by_role("button", name="Check").click()
    expect(heading).to_have_text("Correct Order 1")
    page.goto("/")
    page.go_back()
    expect(heading).to_have_text("Correct Order 1")
    page.go_back()
    page.go_back()
    expect(heading).to_have_text("You are about to reprocess 1 dead letter")
