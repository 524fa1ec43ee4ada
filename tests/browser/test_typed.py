"""What somebody has typed when their session ends is in its field again once they are back, whichever form it was."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from dlq_console.store import people
from tests.browser.site import OpenPage, Site
from tests.web.desk import PASSWORD

#: Forms that answer in place: the page, and the field.
IN_PLACE = [
    ("/events/1", "#new-note"),
    ("/events/1", "#tags"),
    ("/events/1", "#discard-note"),
    ("/events/1", "#reprocess-note"),
    ("/events/1", "#event-due"),
    ("/groups/{group}", "#playbook"),
    ("/groups/{group}", "#group-due"),
    ("/rules", "#draft"),
    ("/", "#pause-1-note"),
]
#: Forms that a browser sends by itself.
PLAIN = [
    ("/dead-letters?kind=order.create", "#view-name"),
    ("/events/1", "#reveal-note"),
    ("/health/accounts/filial-sp", "#pause-note"),
    ("/settings/embeds", "#accounts"),
    ("/settings/embeds", "#origins"),
]


def _type(page: Page, place: str, text: str) -> Locator:
    """Fill in a field, wherever it is folded away."""
    page.locator(place).evaluate(
        "field => { const sheet = field.closest('details'); if (sheet) sheet.open = true; }"
    )
    field = page.locator(place)
    field.fill(text)
    return field


def _send(field: Locator) -> None:
    """Press the button of its form."""
    field.evaluate("field => field.form.noValidate = true")
    field.locator("xpath=ancestor::form").locator("button:visible").last.click()


def _end_sessions(site: Site) -> None:
    """End every session, as time does."""
    for user in people.list_users(site.desk.hub.store):
        people.close_all_sessions(site.desk.hub.store, user.person.id)


def _log_in(page: Page, name: str = "maria") -> None:
    page.locator("#name").fill(name)
    page.locator("#password").fill(PASSWORD)
    page.locator("#password").press("Enter")


def _from_the_answer_to_the_log_in(page: Page) -> None:
    expect(page.get_by_role("heading", level=1)).to_have_text("Your session has ended")
    # Any earlier the script has not seen yet what it should keep.
    page.wait_for_load_state()
    page.get_by_role("link", name="Log in").click()


@pytest.mark.parametrize(("path", "place"), IN_PLACE)
def test_what_was_typed_into_a_form_that_answers_in_place_comes_back(
    site: Site, open_page: OpenPage, path: str, place: str
) -> None:
    event = site.desk.hub.get(site.desk.dead("1"))
    page = open_page(path.format(group=event.fingerprint), role="admin", expect=("401",))
    before = page.url
    text = "2031-05-06T07:08" if place.endswith("-due") else "a long and careful text"
    field = _type(page, place, text)
    _end_sessions(site)
    _send(field)
    _log_in(page)
    expect(page).to_have_url(before)
    expect(page.locator(place)).to_have_value(text)
    expect(page.locator(place)).to_be_visible()
    assert page.evaluate("sessionStorage.getItem('dlq-console-typed')") is None


@pytest.mark.parametrize(("path", "place"), PLAIN)
def test_what_was_typed_into_a_plain_form_comes_back(
    site: Site, open_page: OpenPage, path: str, place: str
) -> None:
    site.desk.dead("1", payload={"number": "1", "password": "hidden"})
    page = open_page(path, role="admin", expect=("401",))
    before = page.url
    field = _type(page, place, "a long and careful text")
    page.context.clear_cookies()
    _send(field)
    _from_the_answer_to_the_log_in(page)
    _log_in(page)
    expect(page).to_have_url(before)
    expect(page.locator(place)).to_have_value("a long and careful text")
    expect(page.locator(place)).to_be_visible()


@pytest.mark.parametrize(
    ("action", "place"), [("Discard…", "#note"), ("Tags…", "#add"), ("Tags…", "#remove")]
)
def test_what_was_typed_about_a_selection_comes_back_with_it(
    site: Site, open_page: OpenPage, action: str, place: str
) -> None:
    event_id = site.desk.dead("1")
    page = open_page("/dead-letters?account=filial-sp", expect=("401",))
    page.locator(f"#row-{event_id} input").check()
    page.locator("#pick").get_by_role("button", name=action).click()
    field = _type(page, place, "of the accountant")
    page.context.clear_cookies()
    _send(field)
    _from_the_answer_to_the_log_in(page)
    _log_in(page)
    expect(page).to_have_url(f"{site.address}/dead-letters?account=filial-sp")
    expect(page.locator("#picked")).to_have_text("1 selected")
    page.locator("#pick").get_by_role("button", name=action).click()
    expect(page.locator(place)).to_have_value("of the accountant")


@pytest.mark.parametrize(("place", "plain"), [("#new-note", False), ("#reveal-note", True)])
def test_what_one_person_has_typed_is_not_given_to_the_next(
    site: Site, open_page: OpenPage, place: str, plain: bool
) -> None:
    event_id = site.desk.dead("1", payload={"number": "1", "password": "hidden"})
    page = open_page(f"/events/{event_id}", role="editor", expect=("401",))
    field = _type(page, place, "of maria alone")
    people.disable_user(site.desk.hub.store, "maria")
    _send(field)
    if plain:
        _from_the_answer_to_the_log_in(page)
    site.desk.person("joana", "editor")
    _log_in(page, "joana")
    expect(page).to_have_url(f"{site.address}/events/{event_id}")
    page.wait_for_load_state()
    expect(page.locator(place)).to_have_value("")
    assert page.evaluate("sessionStorage.getItem('dlq-console-typed')") is None


def test_a_session_that_ends_costs_no_typed_text(site: Site, open_page: OpenPage) -> None:
    event_id = site.desk.dead("1")
    page = open_page(f"/events/{event_id}", expect=("401",))
    page.locator("summary", has_text="Discard").click()
    page.locator("#discard-note").fill("a long and careful reason")
    _end_sessions(site)
    page.get_by_role("button", name="Discard this event").click()
    expect(page).to_have_url(f"{site.address}/login?next=/events/{event_id}")
    _log_in(page)
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
