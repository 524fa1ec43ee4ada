"""A bulk run in a real browser: looked at, begun, followed without a reload, paused; and all of it without script."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from dlq_console.hub import bulk_progress
from dlq_console.hub.bulk import Bulk
from dlq_console.store.bulk import previews
from dlq_console.store.filters import EventFilter
from dlq_console.web import bulk as web_bulk
from dlq_console.web import bulk_preview
from tests.browser.site import OpenPage, Site
from tests.browser.test_access import violations
from tests.store.filling import fill

LOOK = "document.getElementById('bulk-progress').dispatchEvent(new Event('look'))"


def _fill(site: Site) -> None:
    for number in range(12):
        site.desk.dead(str(number), account=("filial-sp", "filial-rj")[number % 2])


def _many(site: Site, monkeypatch: pytest.MonkeyPatch, number: int = 130) -> None:
    """More dead letters than a first look counts."""
    monkeypatch.setattr(previews, "LOOK", 40)
    monkeypatch.setattr(previews, "CAP", 120)
    fill(
        site.desk.hub.store,
        [{"status": "dead", "account": ("filial-sp", "filial-rj")[one % 2]} for one in range(number)],
    )


def _preview(page: Page) -> None:
    page.locator("tbody input[name=event]").first.check()
    page.locator("#pick-all").check()
    page.locator("#pick button[value=discard]").click()


def _no_sideways(page: Page, width: int) -> None:
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_a_style_that_a_tool_has_set_does_not_break_the_policy_when_parts_are_replaced(
    site: Site, open_page: OpenPage
) -> None:
    _fill(site)
    run_id = site.desk.hub.bulk.start("reprocess", EventFilter(), actor="maria", note="registered")
    page = open_page(f"/bulk/{run_id}")
    page.locator("#cancel-run").wait_for()
    # As an extension, or whatever takes pictures, does with the fields of any page.
    page.evaluate("for (const one of document.querySelectorAll('main [id]')) one.style.caretColor = 'red'")
    with page.expect_response("**/pause"):
        page.locator("#pause-run").press("Enter")
    expect(page.locator("#resume-run")).to_be_visible()
    expect(page.locator("#standing")).to_contain_text("maria")


@pytest.mark.parametrize(("language", "theme", "width"), [("en-US", "light", 1280), ("pt-BR", "dark", 360)])
def test_a_run_is_begun_followed_and_stopped_in_place(
    site: Site, open_page: OpenPage, language: str, theme: str, width: int
) -> None:
    _fill(site)
    page = open_page("/dead-letters", language=language, theme=theme, width=width)
    page.locator("tbody input[name=event]").first.check()
    page.locator("#pick-all").check()
    page.locator("#pick button[value=reprocess]").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("12")
    page.locator("details.fold").evaluate("one => { one.open = true; }")
    assert violations(page) == []
    _no_sideways(page, width)
    assert site.desk.hub.bulk.listed() == []

    page.locator("#note").fill("registered")
    page.locator("#begin").click()
    expect(page).to_have_url(f"{site.address}/bulk/1")
    assert violations(page) == []
    _no_sideways(page, width)
    site.desk.answers.clear()
    bulk_progress.advance(site.desk.hub)
    bulk_progress.advance(site.desk.hub)
    site.desk.hub.run_due(limit=5)
    bulk_progress.advance(site.desk.hub)
    expect(page.locator(".bulk-legend dd").first).to_have_text("5")  # it looks by itself

    page.locator("#pause-run").press("Enter")
    expect(page.locator("#resume-run")).to_be_visible()
    expect(page.locator("#standing")).to_contain_text("maria")
    assert violations(page) == []
    page.locator("#cancel-run").click()
    page.locator("#cancel-note").fill("half a thought")
    # What somebody writes stays, although the run goes on elsewhere meanwhile.
    site.desk.hub.bulk.resume(1, actor="joana")
    with page.expect_response("**/_f/bulk/1?*"):
        page.evaluate(LOOK)
    expect(page.locator("#cancel-note")).to_have_value("half a thought")
    page.locator("#cancel-note").fill("")
    page.keyboard.press("Escape")

    site.desk.hub.run_due(limit=100)
    bulk_progress.advance(site.desk.hub)
    expect(page.locator(".bulk-legend dd").first).to_have_text("12")
    expect(page.locator("#bulk-acts button:visible")).to_have_count(0)
    expect(page.locator("[data-follows]")).to_have_count(0)
    for path in ("/bulk/1", "/bulk/1?items=succeeded", "/bulk"):
        page.goto(path)
        assert (path, violations(page)) == (path, [])
        _no_sideways(page, width)


def test_a_run_is_begun_and_cancelled_without_script(site: Site, open_page: OpenPage) -> None:
    _fill(site)
    page = open_page("/dead-letters", script=False, expect=("422",))
    page.locator("tbody input[name=event]").first.check()
    page.locator("tbody input[name=event]").nth(1).check()
    page.locator("#pick button[value=discard]").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("You are about to discard 2 dead letters")
    page.locator("#note").fill(" ")
    page.locator("#begin").click()
    expect(page.locator("#note-hint")).to_contain_text("Say why")
    page.locator("#note").fill("sent by hand")
    page.locator("#begin").click()
    expect(page).to_have_url(f"{site.address}/bulk/1")
    expect(page.get_by_role("link", name="Look again").first).to_be_visible()
    page.locator("#cancel-run").click()
    page.get_by_role("button", name="Cancel the run").click()
    expect(page.locator("#standing")).to_contain_text("maria has cancelled it; 2 were not let go")
    assert site.desk.hub.bulk.get(1).state == "cancelled"


@pytest.mark.parametrize(("language", "theme", "width"), [("en-US", "light", 1280), ("pt-BR", "dark", 360)])
def test_a_large_selection_is_counted_to_the_end_while_somebody_writes_why(
    site: Site,
    open_page: OpenPage,
    monkeypatch: pytest.MonkeyPatch,
    language: str,
    theme: str,
    width: int,
) -> None:
    _many(site, monkeypatch)
    may_count = threading.Event()
    look = bulk_preview.look

    def patient(*selection: Any, exact: bool = False, token: str | None = None) -> Any:
        if exact:
            may_count.wait(10)
        return look(*selection, exact=exact, token=token)

    monkeypatch.setattr(bulk_preview, "look", patient)
    page = open_page("/dead-letters", language=language, theme=theme, width=width)
    _preview(page)
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_contain_text("120+")
    page.locator("#note").type("ordered ")
    may_count.set()
    expect(heading).to_contain_text("130")
    page.locator("#note").type("twice")
    expect(page.locator("#note")).to_have_value("ordered twice")
    expect(page.locator("#begin")).to_contain_text("130")
    expect(page.locator("#preview-figures dd").first).to_have_text("130")
    assert violations(page) == []
    _no_sideways(page, width)
    page.locator("#typed").fill("130")
    page.locator("#begin").click()
    expect(page).to_have_url(f"{site.address}/bulk/1")
    run = site.desk.hub.bulk.get(1)
    assert (run.expected, run.note) == (130, "ordered twice")


def test_without_script_a_large_selection_is_counted_to_the_end_by_a_button(
    site: Site, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    _many(site, monkeypatch)
    page = open_page("/dead-letters", script=False)
    _preview(page)
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_contain_text("120+")
    page.locator("button[name=exact]").click()
    expect(heading).to_contain_text("130")
    # Enter in a field begins the run; it never counts once more.
    page.locator("#note").fill("ordered twice")
    page.locator("#typed").fill("130")
    page.locator("#typed").press("Enter")
    expect(page).to_have_url(f"{site.address}/bulk/1")


def test_the_answer_to_a_button_is_not_parted_by_a_look_that_is_answered_before_it(
    site: Site, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fill(site)
    run_id = site.desk.hub.bulk.start("reprocess", EventFilter(), actor="maria", note="registered")
    bulk_progress.advance(site.desk.hub)
    page = open_page(f"/bulk/{run_id}")
    page.locator("#pause-run").wait_for()
    bulk_progress.advance(site.desk.hub)  # so that a look has something to bring
    looked, pause, fragment = threading.Event(), Bulk.pause, web_bulk._fragment

    def patient_pause(*args: Any, **values: Any) -> Any:
        looked.wait(1)
        return pause(*args, **values)

    def seen_fragment(run: Any, *, buttons: bool) -> Any:
        answer = fragment(run, buttons=buttons)
        looked.set()
        return answer

    monkeypatch.setattr(Bulk, "pause", patient_pause)
    monkeypatch.setattr(web_bulk, "_fragment", seen_fragment)
    with page.expect_request("**/pause"):
        page.locator("#pause-run").press("Enter")
    page.evaluate(LOOK)
    expect(page.locator("#resume-run")).to_be_visible()
    told = page.evaluate("document.getElementById('standing').innerText")
    assert "maria has paused it" in told, told


def test_the_button_is_that_of_the_state_also_for_somebody_who_writes_why_to_cancel(
    site: Site, open_page: OpenPage
) -> None:
    _fill(site)
    run_id = site.desk.hub.bulk.start("reprocess", EventFilter(), actor="maria", note="registered")
    bulk_progress.advance(site.desk.hub)
    page = open_page(f"/bulk/{run_id}")
    page.locator("#cancel-run").click()
    page.locator("#cancel-note").fill("half a thought")
    site.desk.hub.bulk.pause(run_id, actor="joana")
    with page.expect_response("**/_f/bulk/1?*"):
        page.evaluate(LOOK)
    expect(page.locator("#standing")).to_contain_text("joana has paused it")
    expect(page.locator("#resume-run")).to_be_visible()
    expect(page.locator("#pause-run")).to_have_count(0)
    expect(page.locator("#cancel-note")).to_have_value("half a thought")
    expect(page.locator("#cancel-note")).to_be_focused()


@pytest.mark.parametrize("closes", ["page", "browser"])
def test_a_run_goes_on_when_the_page_is_closed_and_whoever_comes_back_finds_it_where_it_is(
    site: Site, open_page: OpenPage, closes: str
) -> None:
    _fill(site)
    hub = site.desk.hub
    page = open_page("/dead-letters")
    page.locator("tbody input[name=event]").first.check()
    page.locator("#pick-all").check()
    page.locator("#pick button[value=reprocess]").click()
    page.locator("#note").fill("registered")
    page.locator("details.fold").evaluate("one => { one.open = true; }")
    page.locator("[name=window]").fill("5")
    page.locator("#begin").click()
    expect(page).to_have_url(f"{site.address}/bulk/1")
    site.desk.answers.clear()
    _bring_on(site, 5)
    expect(page.locator(".bulk-legend dd").first).to_have_text("5")

    if closes == "page":
        page.close()
    else:
        page.context.close()
    _bring_on(site, 10)
    back = open_page("/", name="joana")
    back.goto("/bulk")
    back.locator("a[href='/bulk/1']").click()
    expect(back.locator(".bulk-legend dd").first).to_have_text("10")
    _bring_on(site, 12)
    expect(back.locator("#standing")).to_contain_text("12 dead letters have come to an end; 12 succeeded.")
    assert [run.total for run in hub.bulk.listed()] == [12]  # nothing has begun it once more
    items = hub.bulk.items(1, "succeeded").items
    assert len({item.event_id for item in items}) == 12
    assert {hub.get(item.event_id).cycle for item in items} == {1}
    assert {hub.get(item.event_id).total_attempts for item in items} == {2}


def _bring_on(site: Site, ended: int) -> None:
    """What the workers do meanwhile, until so many have come to an end."""
    while site.desk.hub.bulk.get(1).done < ended:
        bulk_progress.advance(site.desk.hub)
        site.desk.hub.run_due(limit=100)
