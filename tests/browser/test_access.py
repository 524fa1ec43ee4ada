"""Everybody can use it: by keyboard, on a phone, in the dark, in print, with a screen reader."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Page, expect

from dlq_console.errors import TransientError
from dlq_console.hub.policy import Policy
from dlq_console.store import groups
from tests.browser import album_scenes
from tests.browser.site import OpenPage, Site
from tests.web.refusals import refusal

#: The rules of WCAG 2.2, levels A and AA.
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


@cache
def _axe() -> str:
    return (Path(__file__).parent / "vendor" / "axe.min.js").read_text()


def violations(page: Page) -> list[str]:
    """What breaks a rule on a page as it stands, in the other theme and in its own."""
    page.evaluate(_axe())
    is_dark = page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    found = []
    for theme in THEMES if is_dark else reversed(THEMES):
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        told: dict[str, Any] = page.evaluate("rules => axe.run({runOnly: rules})", RULES)
        found += [
            f"{theme}, {one['id']}: {node['html'][:160]}"
            for one in told["violations"]
            for node in one["nodes"]
        ]
    return found


def _with_surroundings(site: Site) -> int:
    """A dead letter that has everything beside it: a success to compare with, others of its number, some that wait."""
    desk, lane = (
        site.desk,
        Policy(max_attempts=1, order="account", open_url="https://erp.example/{entity_id}"),
    )
    desk.done("7", kind="stock.move", policy=lane, version="1", payload={"total": 10, "cpf": "1"})
    event_id = desk.dead("7", kind="stock.move", policy=lane, version="2", payload={"total": 12, "cpf": "2"})
    desk.add("7", kind="stock.move", policy=lane, version="3")
    desk.hub.set_playbook(str(desk.hub.get(event_id).fingerprint), "Ligar para o contador.", actor="joana")
    return event_id


def _fill(site: Site) -> list[str]:
    desk = site.desk
    dead = desk.dead(
        "1", payload={"lines": [{"sku": "A", "quantity": 1}], "token": "x", "deep": {"er": {"still": None}}}
    )
    failed = desk.failed("2", error=TransientError("fora do ar"))
    again = desk.dead("3", kind="invoice.create", error="O total difere da soma dos itens.")
    desk.hub.reprocess(again, actor="joana", note="tentar de novo")
    desk.hub.run(again)
    done = desk.done("4", kind="customer.upsert", account="filial-rj")
    desk.hub.pause_account("filial-ce", actor="joana", note="inventário até as 15h")
    desk.hub.force_breaker("filial-pe", "open", actor="joana", note="manutenção")
    waiting = desk.add("5", account="filial-ce")
    unknown = desk.dead("6", error=refusal(200, {"mensagem": "perfil fiscal ausente"}), account="filial-rj")
    desk.person("joana", "operator")
    desk.hub.assign(unknown, "joana", actor="joana")
    desk.hub.tag(unknown, ["urgente"], actor="joana")
    desk.hub.add_note(unknown, "liguei para o contador", actor="joana")
    beside = _with_surroundings(site)
    album_scenes.alerts(desk)
    events = [f"/events/{event_id}" for event_id in (dead, failed, again, done, waiting, unknown, beside)]
    groups.sample(desk.hub.store)
    causes = ["/groups", "/groups?q=cliente", f"/groups/{desk.hub.get(dead).fingerprint}"]
    lists = [
        "/",
        "/dead-letters",
        "/dead-letters?kind=order.create&q=cliente",
        "/dead-letters?entity=9",
        "/events",
    ]
    return [
        *lists,
        *causes,
        *events,
        "/rules",
        "/views",
        "/search?q=none",
        "/search?q=7",
        f"/events/{beside}/edit",
        "/work",
        "/audit",
        "/alerts",
        "/alerts?rule=oldest_due",
        f"/rules?event={unknown}",
        "/settings/preferences",
        "/events?since=4h&entity=none",
    ]


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("language", "width"), [("en-US", 1280), ("pt-BR", 360)])
def test_no_page_breaks_a_rule_of_access(site: Site, open_page: OpenPage, language: str, width: int) -> None:
    paths = _fill(site)
    page = open_page(paths[0], role="editor", language=language, width=width, expect=("404", "400"))
    for path in [*paths, "/nothing-here", "/dead-letters?status=x"]:
        page.goto(path)
        # Everything that opens is open, so that its contents are judged as well.
        page.evaluate(
            "document.querySelectorAll('details').forEach((one) => { one.open = !one.closest('.bar, tr'); })"
        )
        assert (path, violations(page)) == (path, [])
    page.locator(".bar details.menu summary").last.click()
    assert violations(page) == []
    page.context.clear_cookies()
    page.goto("/login")
    assert violations(page) == []


@pytest.mark.parametrize("language", ["en-US", "pt-BR"])
def test_nothing_scrolls_sideways_on_a_small_phone(site: Site, open_page: OpenPage, language: str) -> None:
    site.desk.dead("9" * 60, kind="k" * 60, account="a" * 60, error="x" * 400, payload={"f" * 80: "v" * 400})
    page = open_page("/", role="editor", language=language, width=320, expect=("404",))
    for path in [*_fill(site), "/events/1", "/nothing-here"]:
        page.goto(path)
        page.evaluate(
            "document.querySelectorAll('details:not(.menu)').forEach((one) => { one.open = true; })"
        )
        assert (path, page.evaluate("document.documentElement.scrollWidth")) == (path, 320)


def test_what_opens_on_a_phone_stays_on_the_screen(site: Site, open_page: OpenPage) -> None:
    site.desk.dead("1")
    page = open_page("/", width=320)
    for path in ("/dead-letters", "/events", "/events/1"):
        page.goto(path)
        for menu in page.locator("details.menu:visible").all():
            menu.locator("> summary").click()
            box = menu.locator("> .sheet").bounding_box()
            assert box is not None
            assert (path, box["x"] >= 0, box["x"] + box["width"] <= 320) == (path, True, True), box
            page.keyboard.press("Escape")


def test_text_at_twice_its_size_still_fits(site: Site, open_page: OpenPage) -> None:
    page = open_page("/", role="editor", width=640)
    for path in _fill(site):
        page.goto(path)
        page.evaluate("document.documentElement.style.fontSize = '200%'")
        assert (path, page.evaluate("document.documentElement.scrollWidth")) == (path, 640)


def test_on_a_phone_the_pages_are_behind_a_menu_button(site: Site, open_page: OpenPage) -> None:
    site.desk.dead("1")
    for script in (True, False):
        page = open_page("/", name=f"maria{script}", width=360, script=script)
        expect(page.locator("nav.side")).to_be_hidden()
        page.locator("summary", has_text="Menu").click()
        page.get_by_role("link", name="Dead letters 1").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Dead letters")
        # Measured any earlier, the page may still be without its styles.
        page.wait_for_load_state()
        button = page.get_by_role("button", name="Reprocess", exact=True)
        box = button.bounding_box()
        assert box is not None
        assert box["height"] >= 36


def test_the_whole_work_is_done_by_keyboard(site: Site, open_page: OpenPage) -> None:
    event_id = site.desk.dead("1")
    site.desk.dead("2", account="filial-rj")
    page = open_page("/dead-letters")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    expect(page.get_by_role("link", name="Skip to the content")).to_be_in_viewport()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Cliente não cadastrado para o código […].")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.locator("summary", has_text="Kind")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.get_by_role("checkbox", name="filial-sp")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("summary", has_text="Account")).to_be_focused()
    page.get_by_role("link", name="Order 1").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Order 1 did not reach filial-sp.")
    # Pressed any earlier, the form is sent as a plain one: a new page, with nothing that was in focus before.
    page.wait_for_load_state()
    page.get_by_role("button", name="Reprocess", exact=True).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("is queued")
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    assert site.desk.hub.get(event_id).status == "pending"


def test_whatever_has_the_focus_shows_it(site: Site, open_page: OpenPage) -> None:
    site.desk.dead("1")
    page = open_page("/dead-letters")
    names = set()
    for _ in range(25):
        page.keyboard.press("Tab")
        name, style, width = page.evaluate(
            """() => { const one = document.activeElement, css = getComputedStyle(one);
                return [one.tagName, css.outlineStyle, parseFloat(css.outlineWidth)]; }"""
        )
        if name == "BODY":
            break
        names.add(name)
        assert (style, width >= 2) == ("solid", True), name
    assert {"A", "SUMMARY", "INPUT", "BUTTON"} <= names


def test_colours_follow_the_system_until_the_person_chooses(site: Site, open_page: OpenPage) -> None:
    page = open_page("/settings/preferences", theme="dark")
    expect(page.locator("body")).to_have_css("background-color", "rgb(20, 22, 27)")
    page.get_by_label("Colours").select_option("light")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    expect(page.locator("body")).to_have_css("background-color", "rgb(250, 249, 247)")


def test_a_printed_list_has_its_rows_and_nothing_to_click(site: Site, open_page: OpenPage) -> None:
    site.desk.dead("1")
    page = open_page("/dead-letters?account=filial-sp")
    page.locator("tbody input").check()
    page.emulate_media(media="print")
    expect(page.locator("tbody tr")).to_be_visible()
    for hidden in ("nav.side", ".filter", ".chips", ".live", ".selection", "tbody button", "tbody input"):
        assert page.locator(hidden).count(), hidden
        expect(page.locator(hidden).first).to_be_hidden()
    head = page.locator(".print-only")
    expect(head).to_contain_text("as of")
    expect(head).to_contain_text("-03 · printed by maria · Account: filial-sp")


@pytest.mark.parametrize("system", ["light", "dark"])
def test_what_is_printed_is_dark_on_white_whatever_theme_was_chosen(
    site: Site, open_page: OpenPage, system: str
) -> None:
    event_id = site.desk.dead("8841", payload={"number": "8841"})
    page = open_page("/settings/preferences", theme=system)
    page.get_by_label("Colours").select_option("dark")
    page.get_by_role("button", name="Save").click()
    page.goto(f"/events/{event_id}")
    ink = "getComputedStyle(document.body).color"
    assert page.evaluate(ink) == "rgb(232, 233, 236)"
    page.emulate_media(media="print")
    assert page.evaluate(ink) == "rgb(29, 33, 41)"


def test_states_are_told_apart_without_colours(site: Site, open_page: OpenPage) -> None:
    _fill(site)
    page = open_page("/events")
    page.emulate_media(forced_colors="active")
    shapes = {
        tuple(pair)
        for pair in page.evaluate(
            "[...document.querySelectorAll('td .state')].map((one) => [one.textContent, one.querySelector('svg').innerHTML])"
        )
    }
    words = {word for word, _ in shapes}
    assert words == {"done", "dead letter", "will retry", "queued", "blocked behind"}
    assert len({shape for _, shape in shapes}) == len(words) == len(shapes)


def test_only_one_menu_is_open_at_a_time(site: Site, open_page: OpenPage) -> None:
    site.desk.dead("1")
    page = open_page("/dead-letters")
    page.locator("summary", has_text="Kind").click()
    page.locator("summary", has_text="Account").click()
    expect(page.locator("details.menu[open]")).to_have_count(1)
    page.get_by_role("heading", level=1).click()
    expect(page.locator("details.menu[open]")).to_have_count(0)
