"""The lists as people use them all day: boxes and their bar, fields of payloads, order, moments, news, weight."""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal
from urllib.parse import parse_qsl, urlsplit

import pytest
from flask import Flask

from dlq_console.clock import utc_now
from dlq_console.hub.policy import Policy
from tests.web.desk import Desk
from tests.web.visitor import Tags, Visitor, read

ROW = re.compile(r'<tr id="row-(\d+)"')
WITH_FIELDS = Policy(max_attempts=1, columns={"Customer": "customer.code", "Total": "total"})
#: Largest page of 50 rows, in bytes.
LARGEST_PAGE = 60_000


def _ids(html: str) -> list[int]:
    return [int(number) for number in ROW.findall(html)]


def _order(desk: Desk, number: int, *, kind: str = "order.create") -> int:
    payload = {"customer": {"code": f"C{5500 + number}"}, "total": f"{number},50"}
    return desk.dead(str(number), kind=kind, payload=payload, policy=WITH_FIELDS)


def _inputs(html: str, **wanted: str) -> list[dict[str, str]]:
    return [one for one in Tags(html).named("input") if wanted.items() <= one.items()]


def test_numbers_of_the_payload_are_written_as_here_and_codes_as_they_are(desk: Desk, maria: Visitor) -> None:
    policy = Policy(max_attempts=1, columns={"Code": "code", "Total": "total"})
    payload = {"code": "005521", "total": Decimal("1920.00")}
    event_id = desk.dead("1", payload=payload, policy=policy)
    desk.hub.publish_kinds("worker")
    desk.hub.assign(event_id, "maria", actor="maria")
    maria.language = "pt-BR"
    page = maria.get("/dead-letters?kind=order.create").text
    assert '<td class="w-field">005521<td class="w-field numeric">1.920,00<td' in page
    assert 'class="w-field one-line numeric" title="Total"' in page
    # Whoever has it is never what is cut.
    assert "<small>com maria · Code 005521 · Total 1.920,00</small>" in maria.get("/dead-letters").text
    maria.language = "en"
    assert "Total 1,920.00" in read(maria.get("/dead-letters").text)


def test_fields_that_any_kind_has_named_are_offered_in_the_sheet(desk: Desk, maria: Visitor) -> None:
    _order(desk, 1)
    _order(desk, 2, kind="order.change")
    desk.hub.publish_kinds("worker")
    offered = [
        (one["value"], one["label"])
        for one in Tags(maria.get("/dead-letters").text).named("option")
        if "label" in one
    ]
    assert offered == [("customer.code", "Customer"), ("total", "Total")]
    page = maria.get("/dead-letters?kind=order.create").text
    assert not [one for one in Tags(page).named("option") if "label" in one]


def test_a_row_can_be_selected_by_whoever_may_act_upon_many(
    desk: Desk, maria: Visitor, vera: Visitor
) -> None:
    ids = [desk.dead("1"), desk.dead("2")]
    page = maria.get("/dead-letters?kind=order.create").text
    boxes = _inputs(page, name="event")
    assert [box["value"] for box in boxes] == [str(ids[1]), str(ids[0])]
    (form,) = [form for form in Tags(page).named("form") if form.get("id") == boxes[0]["form"]]
    assert (form["method"], form["action"]) == ("post", "/bulk/preview")
    seen = vera.get("/dead-letters").text
    assert _ids(seen) == _ids(page)
    assert "/bulk/preview" not in seen
    assert not _inputs(seen, name="event")


def test_the_bar_of_a_selection_carries_the_filter_and_says_how_many_match(
    desk: Desk, maria: Visitor
) -> None:
    desk.dead("1")
    desk.dead("2", kind="invoice.create")
    page = maria.get("/dead-letters?kind=order.create&since=4h").text
    bar = page[page.index('id="pick"') : page.index("</form>", page.index('id="pick"'))]
    fields = {one["name"]: one["value"] for one in _inputs(bar, type="hidden")}
    assert fields.items() >= {("kind", "order.create"), ("since", "4h"), ("list", "dead-letters")}
    assert "All 1 matching" in read(bar)
    actions = [button["value"] for button in Tags(bar).named("button") if button.get("name") == "action"]
    assert actions == ["reprocess", "discard", "assign", "tag", "snooze"]


def test_fields_of_the_payload_are_columns_in_a_list_of_one_kind_and_words_in_any_other(
    desk: Desk, maria: Visitor
) -> None:
    event_id = _order(desk, 1)
    desk.dead("2", kind="invoice.create")
    alone = maria.get("/dead-letters?kind=order.create").text
    assert [head for head in Tags(alone).named("th") if head.get("title") in ("Customer", "Total")]
    assert '<td class="w-field">C5501<td class="w-field">1,50<td' in alone
    mixed = maria.get("/dead-letters").text
    assert "Customer C5501 · Total 1,50" in read(mixed)
    assert "w-field" not in mixed
    assert event_id in _ids(mixed)


def test_a_row_that_is_swapped_fits_in_among_the_others(desk: Desk, maria: Visitor) -> None:
    event_id = _order(desk, 1)
    page = maria.get("/dead-letters?kind=order.create").text
    form = page[page.index('id="act"') : page.index("</form>", page.index('id="act"'))]
    hidden = {one["name"]: one["value"] for one in _inputs(form, type="hidden")}
    swapped = maria.htmx(f"/events/{event_id}/reprocess", **(hidden | {"seen": "1"})).text
    before = page[page.index('<tr id="row-') :].split("</tr>")[0]
    assert len(Tags(swapped).named("td")) == len(Tags(before).named("td"))
    (row,) = Tags(swapped).named("tr")
    desk.hub.clock.advance(10)  # the time in which it can still be cancelled
    desk.hub.run(event_id)
    later = maria.glance(row["hx-get"]).text
    assert len(Tags(later).named("td")) == len(Tags(before).named("td"))
    assert _inputs(later, name="event", form="pick")


def test_a_list_is_turned_around_by_the_head_of_its_times(desk: Desk, maria: Visitor) -> None:
    ids = [desk.dead(str(number)) for number in range(3)]
    newest = maria.get("/dead-letters?kind=order.create").text
    (head,) = [head for head in Tags(newest).named("th") if "aria-sort" in head]
    assert (_ids(newest), head["aria-sort"]) == (ids[::-1], "descending")
    (link,) = [link for link in Tags(newest).named("a") if link.get("title") == "Oldest first"]
    oldest = maria.get(link["href"]).text
    (head,) = [head for head in Tags(oldest).named("th") if "aria-sort" in head]
    assert (_ids(oldest), head["aria-sort"]) == (ids, "ascending")
    assert "Active filters" in oldest


def test_a_time_without_a_zone_is_one_of_the_persons_own(desk: Desk, maria: Visitor) -> None:
    desk.change(desk.dead("1"), finished_at=utc_now() - timedelta(days=2))
    maria.post("/settings/preferences", timezone="America/Noronha", keys_asked="1", keys="1")
    page = maria.get("/dead-letters?to=2026-03-01T08:00").text
    assert "Until: 1 Mar 2026 08:00:00 -02" in read(page)
    (field,) = _inputs(page, name="to", type="datetime-local")
    assert field["value"] == "2026-03-01T08:00"
    assert maria.get("/dead-letters?to=2026-02-31T08:00").status_code == 400


def test_a_link_to_this_moment_shows_what_was_there_then(desk: Desk, maria: Visitor) -> None:
    first = desk.dead("1")
    page = maria.get("/dead-letters?kind=order.create").text
    (link,) = [link["href"] for link in Tags(page).named("a") if "at=" in link.get("href", "")]
    assert dict(parse_qsl(urlsplit(link).query))["kind"] == "order.create"
    desk.dead("2")
    pinned = maria.get(link).text
    assert _ids(pinned) == [first]
    assert "As it was at:" in read(pinned)
    assert "news-bar" not in pinned


def test_what_is_snoozed_is_left_out_and_told(desk: Desk, maria: Visitor) -> None:
    shown, put_aside = desk.dead("1"), desk.dead("2")
    desk.hub.snooze(put_aside, utc_now() + timedelta(days=1), actor="maria")
    page = maria.get("/dead-letters")
    assert _ids(page.text) == [shown]
    assert "1 dead letter." in read(page.text)
    assert "1 snoozed one is not shown" in read(page.text)
    only = maria.get("/dead-letters?snoozed=only").text
    assert _ids(only) == [put_aside]
    assert "snoozed until" in read(only)
    desk.hub.snooze(shown, utc_now() + timedelta(days=1), actor="maria")
    assert "Every dead letter is snoozed." in read(maria.get("/dead-letters").text)


def test_a_row_says_who_has_it_and_what_it_is_tagged(desk: Desk, maria: Visitor) -> None:
    event_id = desk.dead("1")
    desk.hub.assign(event_id, "maria", actor="maria")
    desk.hub.tag(event_id, ["a", "b", "c", "d"], actor="maria")
    assert "with maria · #a · #b · #c · +1" in read(maria.get("/dead-letters").text)
    assert _ids(maria.get("/dead-letters?assignee=maria&tag=b").text) == [event_id]
    assert _ids(maria.get("/dead-letters?assignee=-").text) == []


def test_any_field_of_the_payload_is_asked_for_by_its_path(desk: Desk, maria: Visitor) -> None:
    wanted = desk.dead("1", payload={"items": [{"sku": "A-1"}]})
    desk.dead("2", payload={"items": [{"sku": "B-2"}]})
    answer = maria.glance("/_f/dead-letters?payload_path=items.0.sku&payload_value=A-1")
    assert _ids(answer.text) == [wanted]
    assert answer.headers["HX-Push-Url"] == "/dead-letters?payload.items.0.sku=A-1"
    assert "items.0.sku: A-1" in read(answer.text)
    assert maria.get("/dead-letters?payload_path=a..b&payload_value=1").status_code == 400


def _news(visitor: Visitor, path: str) -> str:
    page = visitor.get(path).text
    return next(one["hx-get"] for one in Tags(page).named("p") if one.get("id") == "news-bar")


@pytest.mark.parametrize("path", ["/dead-letters", "/events"])
def test_new_events_are_counted_and_no_row_moves(desk: Desk, maria: Visitor, path: str) -> None:
    desk.dead("1")
    address = _news(maria, f"{path}?kind=order.create")
    assert maria.glance(address).status_code == 204
    desk.dead("2")
    desk.dead("3", kind="invoice.create")
    answer = maria.glance(address).text
    assert "1 new, show" in read(answer)
    assert "<tr" not in answer
    (bar,) = Tags(answer).named("p")
    assert maria.glance(bar["hx-get"]).status_code == 204
    (link,) = Tags(answer).named("a")
    assert link["href"] == f"{path}?kind=order.create"
    assert len(_ids(maria.get(link["href"]).text)) == 2


def test_an_empty_list_hears_of_its_first_event(desk: Desk, maria: Visitor) -> None:
    address = _news(maria, "/dead-letters")
    desk.dead("1")
    assert "1 new, show" in read(maria.glance(address).text)


@pytest.mark.parametrize("query", ["sort=oldest", "to=2030-01-01T00:00Z", "at=2030-01-01T00:00Z"])
def test_a_list_above_which_nothing_new_can_stand_asks_nothing(
    desk: Desk, maria: Visitor, query: str
) -> None:
    desk.dead("1")
    assert "news-bar" not in maria.get(f"/dead-letters?{query}").text


def test_news_of_accounts_that_may_not_be_seen_are_no_news(app: Flask, desk: Desk) -> None:
    desk.dead("1", account="filial-sp")
    rita = Visitor(app).enter(desk, "rita", "operator", accounts=["filial-sp"])
    address = _news(rita, "/dead-letters")
    desk.dead("2", account="filial-rj")
    assert rita.glance(address).status_code == 204


def test_a_watch_without_its_moment_is_refused(maria: Visitor) -> None:
    assert maria.get("/_f/dead-letters/new").status_code == 400


def test_a_filter_of_a_million_characters_is_refused_with_a_sentence(maria: Visitor) -> None:
    for name in ("q", "entity", "tag", "payload.a", "payload_value"):
        path = "payload_path=a&" if name == "payload_value" else ""
        answer = maria.get(f"/dead-letters?{path}{name}={'x' * 1_000_000}")
        assert answer.status_code == 400, name
        assert "what was written is longer than 200 characters; shorten it." in read(answer.text), name
        assert len(answer.data) < LARGEST_PAGE, name


@pytest.mark.parametrize(
    ("path", "list_"),
    [
        ("/dead-letters?acount=filial-rj", "/dead-letters"),
        ("/events?limit=3", "/events"),
        ("/_f/dead-letters?knd=a", "/dead-letters"),
        ("/_f/events?payload=1", "/events"),
        ("/_f/events/new?after=2026-03-01T08:00Z&seen=0&acount=a", "/events"),
        ("/groups?view=1&acount=filial-rj", "/groups"),
        ("/export/dead-letters.csv?acount=filial-rj", "/dead-letters"),
        ("/export/events.json?acount=filial-rj", "/events"),
        ("/audit?account=filial-rj&acter=maria", "/audit"),
        ("/audit.csv?acter=maria", "/audit"),
    ],
)
def test_a_filter_that_does_not_exist_is_refused_and_leads_back_to_the_list(
    desk: Desk, maria: Visitor, path: str, list_: str
) -> None:
    desk.dead("8841")
    answer = maria.get(path)
    assert answer.status_code == 400
    assert "There is no filter “" in read(answer.text)
    assert "8841" not in answer.text
    assert f'<a href="{list_}">Clear the filter</a>' in answer.text


@pytest.mark.parametrize("path", ["/bulk/preview", "/bulk", "/bulk/desk", "/views"])
def test_a_form_with_a_filter_that_does_not_exist_does_nothing(desk: Desk, maria: Visitor, path: str) -> None:
    desk.dead("8841")
    maria.get("/events")
    form = {"list": "events", "page": "events", "all": "1", "view_name": "x", "acount": "filial-rj"}
    answer = maria.post(path, action="tag" if path == "/bulk/desk" else "discard", note="x", add="a", **form)
    assert answer.status_code == 400
    assert "There is no filter “" in read(answer.text)
    assert '<a href="/events">Clear the filter</a>' in answer.text
    assert desk.hub.bulk.listed() == []


@pytest.mark.parametrize("path", ["/dead-letters", "/events", "/dead-letters?kind=order.create"])
def test_a_page_of_fifty_rows_is_light(desk: Desk, maria: Visitor, path: str) -> None:
    for number in range(51):
        event_id = _order(desk, number)
        if number % 5 == 0:
            desk.hub.assign(event_id, "maria", actor="maria")
            desk.hub.tag(event_id, ["urgent", "customer"], actor="maria")
    maria.language = "pt-BR"
    answer = maria.get(path)
    assert len(_ids(answer.text)) == 50
    assert len(answer.data) < LARGEST_PAGE


def test_an_error_of_a_megabyte_does_not_weigh_on_the_list(desk: Desk, maria: Visitor) -> None:
    desk.dead("1", error="Erro <b>" + "x" * 1_000_000)
    answer = maria.get("/dead-letters")
    assert len(answer.data) < LARGEST_PAGE / 3
    assert "<b>x" not in answer.text


def test_single_keys_can_be_switched_off(desk: Desk, maria: Visitor) -> None:
    assert 'data-keys="off"' not in maria.get("/dead-letters").text
    maria.post("/settings/preferences", keys_asked="1")
    assert 'data-keys="off"' in maria.get("/dead-letters").text
    assert not _inputs(maria.get("/settings/preferences").text, name="keys", checked="")
    maria.post("/settings/preferences", theme="dark")  # says nothing about keys
    assert 'data-keys="off"' in maria.get("/dead-letters").text
    maria.post("/settings/preferences", keys_asked="1", keys="1")
    assert 'data-keys="off"' not in maria.get("/dead-letters").text


@pytest.mark.parametrize("half", ["payload_path=items.0.sku", "payload_value=A-1"])
def test_half_a_condition_on_the_payload_is_refused_and_not_left_out(maria: Visitor, half: str) -> None:
    answer = maria.get(f"/dead-letters?{half}")
    assert answer.status_code == 400
    assert "fill in both, or neither" in answer.text


def test_a_list_is_turned_around_where_its_table_has_no_head_too(desk: Desk, maria: Visitor) -> None:
    assert 'id="turn"' not in maria.get("/dead-letters").text
    desk.dead("1")
    for page in ("/dead-letters", "/events"):
        (turn,) = [
            tag
            for tag in Tags(maria.get(f"{page}?kind=order.create").text).named("a")
            if tag.get("id") == "turn"
        ]
        assert turn["href"] == f"{page}?kind=order.create&sort=oldest"
        (back,) = [tag for tag in Tags(maria.get(turn["href"]).text).named("a") if tag.get("id") == "turn"]
        assert back["href"] == f"{page}?kind=order.create"
