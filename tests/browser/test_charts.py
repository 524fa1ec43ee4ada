"""Charts in a real browser: drawn under the policy, read by keyboard, zoomed, recoloured, kept up to date; and tables."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from playwright.sync_api import Page, expect

from dlq_console.health.series import RANGES
from dlq_console.web import series_seen
from dlq_console.web.chart_subjects import SUBJECTS
from tests.browser.site import OpenPage, Site
from tests.browser.test_access import violations
from tests.web.charted import Reading, reading, series_of

__all__ = ["reading"]

END = datetime(2026, 3, 2, 15, 0, tzinfo=UTC)


def _spoken(page: Page, *keys: str) -> str:
    """What is said aloud after some keys on the first chart."""
    for key in keys:
        page.locator("#chart-lag .plot").press(key)
    return page.locator("#chart-lag [data-spoken]").text_content() or ""


def _first_chart(page: Page) -> str:
    """Every pixel of it."""
    pixels: str = page.evaluate("document.querySelector('#chart-lag canvas').toDataURL()")
    return pixels


def _place(page: Page) -> tuple[float, float, float]:
    """Where the fourth chart is drawn at this moment: its left end, a line through it, and its width."""
    drawing = page.locator("#chart-flow .u-over")
    drawing.scroll_into_view_if_needed()
    box = drawing.bounding_box()
    assert box is not None
    return box["x"], box["y"] + 60, box["width"]


def _until(page: Page, expression: str, before: str = "") -> None:
    """Wait for something; Playwright's own way of waiting in the page evaluates text there, which the policy forbids."""
    for _ in range(100):
        if page.evaluate(expression, before):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"This did not come true: {expression}")


def _look_again(page: Page) -> None:
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")


def test_charts_are_read_zoomed_recoloured_and_kept_up_to_date(
    site: Site, open_page: OpenPage, reading: Reading
) -> None:
    reading.end = END
    page = open_page("/health/lag?range=1h", language="pt-BR")
    expect(page.locator(".charts.drawn canvas")).to_have_count(len(SUBJECTS))

    # With the keyboard, point by point, in the person's zone and language; also where nobody had looked.
    last = series_of(RANGES["1h"], END).columns["lag_p95"][-1]
    assert _spoken(page, "End").startswith("02/03 12:00, 95 de 100 (p95) ")
    assert f"{last:.1f} s".replace(".", ",") in _spoken(page)
    assert _spoken(page, "ArrowLeft").startswith("02/03 11:59, ")
    assert "(p95) –" in _spoken(page, "Home", *["Shift+ArrowRight"] * 2, "ArrowRight")
    assert violations(page) == []
    # The others follow: one cursor for all.
    expect(page.locator("#chart-flow .legend .at")).to_have_text("02/03 11:22")
    page.locator("#search").focus()
    expect(page.locator("#chart-flow .legend .at")).to_be_empty()

    # Drawn a frame around, all charts show that part; a double click brings back the whole.
    left, top, width = _place(page)
    page.mouse.move(left + width * 0.25, top)
    page.mouse.down()
    page.mouse.move(left + width * 0.75, top, steps=4)
    page.mouse.up()
    assert _spoken(page, "Home")[6:11] in ("11:15", "11:16")
    assert _spoken(page, "End")[6:11] in ("11:45", "11:46")
    left, top, width = _place(page)
    page.mouse.dblclick(left + 20, top)
    assert _spoken(page, "Home")[6:11] == "11:01"
    page.mouse.move(0, 0)

    # Another theme, other colours.
    light = _first_chart(page)
    page.emulate_media(color_scheme="dark")
    _until(page, "before => document.querySelector('#chart-lag canvas').toDataURL() !== before", light)
    page.emulate_media(color_scheme="light")

    # Newer points take the place of the oldest, in the chart that is there; the last ones may have grown.
    page.locator("#chart-lag canvas").evaluate("canvas => { canvas.dataset.same = 'yes'; }")
    reading.end = END + timedelta(minutes=2)
    series_seen._keepers.get(site.desk.hub.store).forget()
    with page.expect_response(lambda answer: f"since={END.timestamp() - 600:.0f}" in answer.url):
        _look_again(page)
    assert page.locator("#chart-lag canvas").get_attribute("data-same") == "yes"
    expect(page.locator(".charts [data-age]")).to_have_text("posição de 02/03 12:02:00 -03")
    assert _spoken(page, "End")[6:11] == "12:02"
    assert _spoken(page, "Home")[6:11] == "11:03"
    page.locator("#search").focus()
    expect(page.locator("#chart-lag .legend .at")).to_be_empty()
    now = page.locator("#chart-lag .legend li", has_text="(p95)").locator("b").inner_text()
    expect(page.locator("#caption-lag")).to_contain_text(f"agora {now}")

    # It is as wide as its place.
    page.set_viewport_size({"width": 390, "height": 800})
    _until(page, "() => document.querySelector('#chart-lag .uplot').clientWidth < 390")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_a_chart_that_cannot_be_brought_up_to_date_says_so(
    site: Site, open_page: OpenPage, reading: Reading
) -> None:
    page = open_page("/health/lag?range=1h", expect=("503",))
    expect(page.locator(".charts.drawn")).to_be_visible()
    expect(page.locator(".charts [data-age]")).to_contain_text("as of")
    page.route("**/series.json*", lambda route: route.fulfill(status=503, body=""))
    _look_again(page)
    expect(page.locator(".charts.stale [data-age]")).to_contain_text("not updated since")


def test_numbers_that_nobody_counts_any_more_are_not_current_however_well_the_server_answers(
    site: Site, open_page: OpenPage, reading: Reading
) -> None:
    page = open_page("/health/lag?range=1h")
    expect(page.locator(".charts.drawn")).to_be_visible()
    expect(page.locator(".charts.stale")).to_have_count(0)
    reading.age = 75
    series_seen._keepers.get(site.desk.hub.store).forget()
    _look_again(page)
    expect(page.locator(".charts.stale [data-age]")).to_contain_text("not updated since")


def test_without_script_every_chart_is_a_sentence_and_a_table(open_page: OpenPage, reading: Reading) -> None:
    reading.end = END
    page = open_page("/health/lag?range=1h", script=False)
    figure = page.locator("#chart-lag")
    expect(figure.locator(".plot")).to_be_hidden()
    expect(figure.locator("figcaption")).to_contain_text("largest")
    figure.locator("summary").click()
    expect(figure.locator("tbody tr")).to_have_count(30)
    expect(figure.locator("tbody tr").first).to_be_visible()
