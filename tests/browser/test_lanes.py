"""The story of a stopped lane, in a real browser: see what stands in the way, let the rest go on."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from dlq_console.hub.policy import Policy
from tests.browser.site import OpenPage, Site

SERIAL = Policy(max_attempts=1, order="account")


def test_a_person_goes_from_a_waiting_event_to_its_head_and_lets_the_lane_go_on(
    site: Site, open_page: OpenPage
) -> None:
    site.desk.dead("8841", policy=SERIAL)
    waiting = site.desk.add("8842", policy=SERIAL)
    page = open_page(f"/events/{waiting}")
    expect(page.locator("#event-state")).to_contain_text("Its lane has stopped: Order 8841")
    page.get_by_role("link", name="Open that event").click()
    expect(page.locator("#event-state")).to_contain_text("1 event of its lane waits behind it.")
    page.wait_for_load_state()
    page.locator("summary", has_text="Let the lane go on").click()
    page.get_by_label("Why? (optional)").fill("entered by hand")
    page.get_by_role("button", name="Let the lane go on").click()
    expect(page.locator("#event-history")).to_contain_text("maria let its lane go on without it.")
    expect(page.locator("#event-actions")).not_to_contain_text(re.compile("lane go on"))
    assert site.desk.hub.get(waiting).status == "pending"
