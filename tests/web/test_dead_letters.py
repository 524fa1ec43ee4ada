"""The list of dead letters and that of all events: filters, counts, pages, and what stands there when nothing does."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, urlsplit

from sqlalchemy import event as sqlalchemy_event

from dlq_console.errors import TransientError
from dlq_console.hub.policy import Policy
from dlq_console.store.queries import Count
from dlq_console.web.lists import PAGE_SIZE
from tests.web.desk import Desk
from tests.web.visitor import Tags, Visitor, read

ROW = re.compile(r'<tr id="row-(\d+)"')


def _ids(html: str) -> list[int]:
    return [int(number) for number in ROW.findall(html)]


def _link(html: str, rel: str) -> str:
    return next(link["href"] for link in Tags(html).named("a") if link.get("rel") == rel)


def _some(desk: Desk) -> dict[str, int]:
    once = Policy(max_attempts=1)
    return {
        "sp order": desk.dead("1", account="filial-sp"),
        "rj order": desk.dead("2", account="filial-rj"),
        "sp invoice": desk.dead("3", kind="invoice.create", account="filial-sp", error="O total difere."),
        "exhausted": desk.dead("4", kind="stock.move", policy=once, error=TransientError("fora do ar")),
    }


FILTERS: dict[str, set[str]] = {
    "": {"sp order", "rj order", "sp invoice", "exhausted"},
    "kind=order.create": {"sp order", "rj order"},
    "kind=order.create&kind=stock.move": {"sp order", "rj order", "exhausted"},
    "kind=order.create&account=filial-sp": {"sp order"},
    "reason=exhausted": {"exhausted"},
    "q=CADASTRADO": {"sp order", "rj order"},
    "entity=3": {"sp invoice"},
    "since=1h": {"sp order", "rj order", "sp invoice", "exhausted"},
    "kind=&account=&q=&entity=&reason=": {"sp order", "rj order", "sp invoice", "exhausted"},
    "kind=no.such": set(),
    "to=2020-01-01T00:00Z": set(),
}


def test_a_filter_shows_what_it_says(desk: Desk, maria: Visitor) -> None:
    events = _some(desk)
    for query, expected in FILTERS.items():
        for path in ("/dead-letters", "/_f/dead-letters", "/events"):
            shown = set(_ids(maria.get(f"{path}?{query}").text))
            assert (path, query, shown) == (path, query, {events[name] for name in expected})


def test_every_active_filter_is_seen_and_can_be_removed_alone(desk: Desk, maria: Visitor) -> None:
    _some(desk)
    query = "kind=order.create&kind=stock.move&account=filial-sp&reason=permanent&entity=1&q=cliente&since=4h"
    page = maria.get(f"/dead-letters?{query}")
    removals = [
        link["href"]
        for link in Tags(page.text).named("a")
        if link.get("aria-label", "").startswith("Remove the filter")
    ]
    asked = set(parse_qsl(query))
    left_out = [asked - set(parse_qsl(urlsplit(address).query)) for address in removals]
    assert sorted(map(sorted, left_out)) == sorted([pair] for pair in asked)
    assert all(maria.get(address).status_code == 200 for address in removals)
    assert "Reason: refused for good ×" in read(page.text)


def test_the_form_shows_the_filter_and_keeps_what_it_has_no_field_for(desk: Desk, maria: Visitor) -> None:
    _some(desk)
    page = maria.get(
        "/dead-letters?kind=order.create&kind=gone.kind&q=cliente&entity=1&since=4h&status=dead"
    ).text
    inputs = Tags(page).named("input")
    checked = {(field["name"], field["value"]) for field in inputs if "checked" in field}
    assert checked == {("kind", "order.create"), ("kind", "gone.kind")}
    texts = {
        field["name"]: field["value"] for field in inputs if field.get("name") in ("q", "since", "status")
    }
    assert texts == {"q": "cliente", "since": "4h", "status": "dead"}


def test_the_sentence_counts_what_matches_and_names_the_biggest_cause(desk: Desk, maria: Visitor) -> None:
    _some(desk)
    assert (
        "4 dead letters. Biggest cause: “ Cliente não cadastrado para o código […]. ” (2, several accounts)"
        in read(maria.get("/dead-letters").text)
    )
    assert "2 of 4 dead letters match. Biggest cause: “ Cliente não" in read(
        maria.get("/dead-letters?kind=order.create").text
    )
    assert "1 of 4 dead letters match." in read(maria.get("/dead-letters?entity=1").text)
    maria.language = "pt-BR"
    assert "4 cartas mortas. Maior causa:" in read(maria.get("/dead-letters").text)


def test_a_count_beyond_the_cap_says_so(app_display: None) -> None:
    from dlq_console.web.display import current

    assert current().count(Count(10_000, capped=True)) == "10.000+"


def test_the_pager_walks_to_the_end_and_back_without_a_gap_or_a_repeat(desk: Desk, maria: Visitor) -> None:
    expected = sorted((desk.dead(str(number)) for number in range(PAGE_SIZE * 2 + 5)), reverse=True)
    pages = [maria.get("/dead-letters?kind=order.create").text]
    while 'rel="next"' in pages[-1]:
        pages.append(maria.get(_link(pages[-1], "next").replace("&amp;", "&")).text)
    assert [len(_ids(page)) for page in pages] == [PAGE_SIZE, PAGE_SIZE, 5]
    assert [number for page in pages for number in _ids(page)] == expected
    back = maria.get(_link(pages[2], "prev")).text
    assert _ids(back) == _ids(pages[1])
    assert _ids(maria.get(_link(back, "prev")).text) == _ids(pages[0])
    assert 'rel="prev"' not in pages[0]


def test_every_address_of_a_fragment_opens_as_a_page_too(desk: Desk, maria: Visitor) -> None:
    _some(desk)
    for fragment, page in (("/_f/dead-letters", "/dead-letters"), ("/_f/events", "/events")):
        answer = maria.glance(f"{fragment}?kind=order.create&account=&q=")
        pushed = answer.headers["HX-Push-Url"]
        assert pushed == f"{page}?kind=order.create"
        assert "<html" not in answer.text
        assert 'id="answer" hx-swap-oob="true"' in answer.text
        whole = maria.get(pushed).text
        assert "<html" in whole
        assert _ids(whole) == _ids(answer.text)


def test_nothing_ever_and_all_cleared_and_no_match_are_told_apart(desk: Desk, maria: Visitor) -> None:
    assert "No event has come in yet." in read(maria.get("/dead-letters").text)
    assert "No event has come in yet." in read(maria.get("/events").text)
    desk.done("1")
    assert "No dead letter. Everything is up to date." in read(maria.get("/dead-letters").text)
    desk.dead("2")
    page = maria.get("/dead-letters?entity=9").text
    assert "No dead letter matches this filter. There is 1 dead letter in all. Clear the filter" in read(page)
    page = maria.get("/events?entity=9").text
    assert "No event matches this filter. Clear the filter" in read(page)
    maria.language = "pt-BR"
    desk.hub.discard(2, actor="maria", note="duplicado")
    assert "Nenhuma carta morta. Tudo em dia." in read(maria.get("/dead-letters").text)


NONSENSE = (
    "status=finished",
    "reason=because",
    "since=yesterday",
    "from=2026-01-01",
    "from=%FF",
    "cursor=!!!",
    "cursor=" + "A" * 5000,
    "q=" + "x" * 5000,
    "q=%00",
    "kind=%ED%A0%80%00",
    "&".join(["kind=a"] * 500),
    "entity=a&entity=b",
)


def test_what_cannot_be_understood_is_a_400_with_a_sentence(maria: Visitor) -> None:
    for query in NONSENSE:
        for path in ("/dead-letters", "/events", "/_f/dead-letters", "/_f/events"):
            answer = maria.get(f"{path}?{query}")
            assert (answer.status_code, path, query) == (400, path, query)
            told = "cannot be understood"
            assert told in read(answer.text)
            assert 'lang="en"' not in answer.text.partition("<main")[2], "no sentence of the store"
    fragment = maria.glance(f"/_f/dead-letters?{NONSENSE[0]}")
    assert (fragment.status_code, fragment.headers["HX-Retarget"]) == (400, "#problem")
    assert "<html" not in fragment.text


def test_a_cursor_of_another_list_is_refused(desk: Desk, maria: Visitor) -> None:
    for number in range(PAGE_SIZE + 1):
        desk.dead(str(number))
    cursor = _link(maria.get("/dead-letters").text, "next").partition("?")[2]
    assert maria.get(f"/events?{cursor}").status_code == 400


def test_a_huge_address_is_answered(maria: Visitor) -> None:
    assert maria.get("/dead-letters?" + "unknown=x&" * 20_000).status_code in (200, 400, 414)


def test_the_dead_letter_page_takes_few_statements(desk: Desk, maria: Visitor) -> None:
    _some(desk)
    maria.get("/dead-letters")
    statements: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_rest: object) -> None:
        if not statement.startswith(("BEGIN", "SELECT 1\n")):
            statements.append(statement)

    engines = desk.hub.store.engines
    for engine in {engines.read(), engines.write()}:
        sqlalchemy_event.listen(engine, "before_cursor_execute", note)
    assert maria.get("/dead-letters?kind=order.create&account=filial-sp").status_code == 200
    # Who asks; four for the list and its figures; what stands beside the rows; two for the views of whoever asks, and
    # one for what is on their desk.
    assert len(statements) <= 9, statements


def test_the_search_field_finds_an_order_in_any_state(desk: Desk, maria: Visitor) -> None:
    done, dead = desk.done("7001"), desk.dead("7001", kind="invoice.create")
    desk.dead("7002")
    form = next(form for form in Tags(maria.get("/").text).named("form") if form.get("role") == "search")
    assert set(_ids(maria.get(f"{form['action']}?q=7001").text)) == {done, dead}
