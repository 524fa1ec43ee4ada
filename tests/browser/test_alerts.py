"""The page of alerts as people leave it open: it follows, what somebody types stays, rules are snoozed, channels are tried."""

from __future__ import annotations

import pytest
from playwright.sync_api import Route, expect

from dlq_console.clock import utc_now
from dlq_console.store.queries import alerts as told
from dlq_console.web import pulse
from dlq_console.web.follow import SLOW
from tests.browser.site import OpenPage, Site
from tests.web import alerted


@pytest.fixture
def site(site: Site, monkeypatch: pytest.MonkeyPatch) -> Site:
    """A console whose rules were looked at, and whose pages ask often."""
    monkeypatch.setattr(pulse, "EVERY", 0.4)
    alerted.look(site.desk)
    return site


def test_a_notice_comes_and_goes_without_a_reload_and_no_word_that_somebody_types_is_lost(
    site: Site, open_page: OpenPage
) -> None:
    store = site.desk.hub.store
    page = open_page("/alerts")
    expect(page.locator("#answer")).to_have_text("No alert is open.")
    page.get_by_text("Snooze a rule…").click()
    note = page.get_by_label("Why? (required)")
    note.fill("inventory un")
    (notice,) = alerted.find(store, "dead_letters", "filial-sp", value=13)
    expect(page.locator(".notices")).to_contain_text("filial-sp has 13 dead letters.")
    expect(page.locator("#news")).to_contain_text("1 alert is open")
    expect(page.locator("#fresh")).to_contain_text("live")
    expect(note).to_be_focused()
    expect(note).to_have_value("inventory un")
    # Whoever is in the list keeps it as it is.
    page.get_by_role("link", name="filial-sp has 13 dead letters.").focus()
    alerted.close(store, notice)
    expect(page.locator("#fresh")).to_contain_text("newer figures wait until you leave")
    expect(page.get_by_role("link", name="filial-sp has 13 dead letters.")).to_be_focused()
    note.focus()
    expect(page.locator("#answer")).to_have_text("No alert is open.")
    expect(page.locator("#history")).to_be_visible()
    expect(note).to_have_value("inventory un")


@pytest.mark.parametrize("script", [True, False])
def test_a_rule_is_snoozed_from_its_notice_and_told_of_again(
    site: Site, open_page: OpenPage, script: bool
) -> None:
    store = site.desk.hub.store
    alerted.find(store, "dead_letters", "filial-sp", value=13)
    page = open_page("/alerts", script=script)
    page.locator(".notices").get_by_role("link", name="Snooze dead_letters…").click()
    expect(page.get_by_label("Rule", exact=True)).to_have_value("dead_letters")
    page.get_by_label("For how long?").select_option(label="for four hours")
    page.get_by_label("Why? (required)").fill("inventory until noon")
    page.get_by_role("button", name="Snooze", exact=True).click()
    expect(page.locator(".notices .snoozed")).to_contain_text("by maria: inventory until noon")
    hours = (told.snoozes(store)["dead_letters"].until - utc_now()).total_seconds() / 3600
    assert 3.9 < hours <= 4
    page.get_by_role("button", name="End the snooze of dead_letters").click()
    expect(page.locator(".snoozed")).to_have_count(0)
    assert told.snoozes(store) == {}


def test_what_asks_by_itself_does_not_fade_while_it_waits(site: Site, open_page: OpenPage) -> None:
    page = open_page("/alerts")
    held: list[Route] = []
    page.route("**/_f/alerts/channels*", lambda route: held.append(route))  # noqa: PLW0108 - Playwright takes functions only
    page.locator(".channels > li", has_text="webhook").get_by_role("button").click()
    asking = page.locator("#channels.htmx-request")
    expect(asking).to_be_visible()
    buttons = asking.locator("button:not(:disabled)")
    expect(buttons).not_to_have_count(0)
    assert {one.evaluate("one => getComputedStyle(one).opacity") for one in buttons.all()} == {"1"}
    assert held


def test_a_trial_is_sent_and_followed_in_place(site: Site, open_page: OpenPage) -> None:
    page = open_page("/alerts")
    webhook = page.locator(".channels > li", has_text="webhook")
    expect(webhook).to_contain_text("never tried")
    webhook.get_by_role("button").click()
    expect(webhook).to_contain_text("on its way")
    alerted.bring(site.desk)
    expect(webhook).to_contain_text("will be tried again")
    expect(webhook).to_contain_text("The webhook cannot be reached: nobody listens there.")
    events = site.desk.hub.store.tables.event
    with site.desk.hub.store.write() as connection:
        connection.execute(
            events.update().values(status="done", result='{"told":true}', finished_at=utc_now())
        )
    # What has failed once is asked about at the slow pace.
    expect(webhook.locator(".state")).to_have_text("sent", timeout=1_000 * SLOW + 5_000)
    assert page.locator("#channels").get_attribute("hx-get") is None
    expect(page.locator(".channels > li", has_text="mail")).to_contain_text("never tried")


def test_a_trial_can_be_sent_without_script(site: Site, open_page: OpenPage) -> None:
    page = open_page("/alerts", script=False)
    page.get_by_role("button", name="Send a trial message to mail").click()
    expect(page.locator(".channels > li", has_text="mail")).to_contain_text("on its way")
    alerted.bring(site.desk)
    page.get_by_role("link", name="Look again").click()
    expect(page.locator(".channels > li", has_text="mail")).to_contain_text(
        "The mail server cannot be reached"
    )
