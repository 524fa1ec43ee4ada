"""From a business number straight to its event, or to the few that it may be."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest
from flask import Flask

from dlq_console.hub.policy import Policy
from dlq_console.web.search import MOST_NUMBERS
from tests.web.desk import Desk
from tests.web.visitor import Tags, Visitor, path_of, read

ROW = re.compile(r'<tr id="row-(\d+)"')
WITH_CUSTOMER = Policy(max_attempts=1, columns={"Customer": "customer.code"})


def _order(desk: Desk, entity: str, customer: str, **more: str) -> int:
    payload = {"customer": {"code": customer}}
    return desk.dead(entity, payload=payload, policy=WITH_CUSTOMER, **more)


def test_one_hit_leads_straight_to_its_event(desk: Desk, maria: Visitor) -> None:
    event_id = _order(desk, "8841", "C-5521")
    key = desk.hub.get(event_id).idempotency_key
    desk.hub.publish_kinds("worker")
    for text in ("8841", " #8841 ", "C-5521", "c-5521", str(event_id), key):
        answer = maria.client.get("/search", query_string={"q": text})
        assert (text, answer.status_code) == (text, 303)
        assert path_of(answer) == f"/events/{event_id}"


def test_several_hits_are_listed_with_where_they_were_found(desk: Desk, maria: Visitor) -> None:
    by_number = _order(desk, "5521", "C-1")
    by_customer = _order(desk, "7000", "5521")
    desk.hub.publish_kinds("worker")
    page = maria.get("/search?q=5521").text
    assert ROW.findall(page) == [str(by_customer), str(by_number)]
    assert "2 events with “5521”." in read(page)
    assert "found in: number" in read(page)
    assert "found in: Customer" in read(page)
    assert 'value="5521"' in page


def test_what_a_search_found_is_one_click_from_the_list_where_it_is_acted_upon(
    desk: Desk, maria: Visitor
) -> None:
    ids = [_order(desk, "1", "C-5521"), _order(desk, "2", "C-5521")]
    _order(desk, "3", "C-1")
    desk.hub.publish_kinds("worker")
    found = maria.get("/search?q=c-5521").text
    (link,) = [one["href"] for one in Tags(found).named("a") if "payload." in one.get("href", "")]
    assert "All with Customer c-5521, as a list" in read(found)
    assert sorted(map(int, ROW.findall(maria.get(link).text))) == ids
    same_number = desk.dead("1", kind="invoice.create")
    (link,) = [
        one["href"]
        for one in Tags(maria.get("/search?q=1").text).named("a")
        if "entity=" in one.get("href", "")
    ]
    assert sorted(map(int, ROW.findall(maria.get(link).text))) == [ids[0], same_number]


def test_a_number_in_the_other_case_leads_to_its_event_and_to_the_list_of_it(
    desk: Desk, maria: Visitor
) -> None:
    first = desk.dead("AB-77")
    assert path_of(maria.client.get("/search?q=ab-77")) == f"/events/{first}"
    second = desk.dead("AB-77", kind="invoice.create")
    (link,) = [
        one["href"]
        for one in Tags(maria.get("/search?q=ab-77").text).named("a")
        if "entity=" in one.get("href", "")
    ]
    assert sorted(map(int, ROW.findall(maria.get(link).text))) == [first, second]


def test_no_hit_is_a_sentence_and_a_way_to_the_errors(desk: Desk, maria: Visitor) -> None:
    desk.dead("1")
    page = maria.get("/search?q=nobody").text
    assert "No event has “nobody” as its number or in a field that is searched." in read(page)
    assert "/dead-letters?q=nobody" in [link.get("href") for link in Tags(page).named("a")]
    assert "the whole of it" in read(maria.get("/search").text)
    maria.language = "pt-BR"
    assert "Nenhum evento tem “nobody”" in read(maria.get("/search?q=nobody").text)


@pytest.mark.parametrize("text", ["order 8819", "Pedido 8819", "  pedido   #8819 "])
def test_a_number_with_the_word_that_lists_put_before_it_leads_to_its_event(
    desk: Desk, maria: Visitor, text: str
) -> None:
    event_id = desk.dead("8819")
    answer = maria.client.get("/search", query_string={"q": text})
    assert (answer.status_code, path_of(answer)) == (303, f"/events/{event_id}")


def test_the_last_word_is_looked_for_only_where_all_that_was_typed_finds_nothing(
    desk: Desk, maria: Visitor
) -> None:
    whole, last = desk.dead("order 8819"), desk.dead("8819")
    assert path_of(maria.client.get("/search?q=order 8819")) == f"/events/{whole}"
    other = desk.dead("8819", kind="invoice.create")
    page = maria.get("/search?q=invoice 8819").text
    assert ROW.findall(page) == [str(other), str(last)]
    assert "2 events with “8819”." in read(page)
    assert "/events?entity=8819" in [link.get("href") for link in Tags(page).named("a")]
    assert 'value="invoice 8819"' in page
    assert "No event has “invoice 8820”" in read(maria.get("/search?q=invoice 8820").text)


def test_every_number_that_was_typed_is_looked_for_and_none_is_dropped_in_silence(
    desk: Desk, maria: Visitor
) -> None:
    first, second = desk.dead("8819"), desk.dead("8820")
    page = maria.get("/search?q=8819 8820").text
    assert ROW.findall(page) == [str(second), str(first)]
    assert "2 events with “8819”, “8820”." in read(page)
    links = [link.get("href") for link in Tags(page).named("a")]
    assert {"/events?entity=8819", "/events?entity=8820"} <= set(links)
    assert ROW.findall(maria.get("/search?q=8819, 8820;").text) == [str(second), str(first)]
    page = maria.get("/search?q=8819 pedido 8821").text
    assert ROW.findall(page) == [str(first)], "no jump to the one that was found"
    assert "1 event with “8819”. No event has “8821” as its number" in read(page)
    page = read(maria.get("/search?q=8821 8822").text)
    assert "No event has “8821”, “8822” as its number" in page
    maria.language = "pt-BR"
    assert "1 evento com “8819”. Nenhum evento tem “8821”" in read(maria.get("/search?q=8819 8821").text)


def test_two_numbers_of_one_event_lead_to_it(desk: Desk, maria: Visitor) -> None:
    event_id = _order(desk, "8841", "C-5521")
    desk.hub.publish_kinds("worker")
    assert path_of(maria.client.get("/search?q=8841 C-5521")) == f"/events/{event_id}"


def test_more_numbers_than_are_looked_for_are_said_to_be_left_out(desk: Desk, maria: Visitor) -> None:
    ids = [desk.dead(f"N-{number}") for number in range(MOST_NUMBERS + 1)]
    asked = [f"N-{number}" for number in range(MOST_NUMBERS)]
    page = maria.get(f"/search?q={'+'.join(asked)}")
    assert len(ROW.findall(page.text)) == MOST_NUMBERS
    assert "numbers were looked for" not in read(page.text)
    page = maria.get(f"/search?q={'+'.join(asked)}+N-{MOST_NUMBERS}")
    assert ROW.findall(page.text) == [str(one) for one in ids[-2::-1]]
    assert "Only the first 10 numbers were looked for." in read(page.text)


@pytest.mark.parametrize("text", ["957,60", "R$ 957,60", "R$\u00a0957,60", "Total 957,60", "957.60"])
def test_an_amount_is_found_as_a_page_shows_it(desk: Desk, maria: Visitor, text: str) -> None:
    policy = Policy(max_attempts=1, columns={"Total": "total"})
    first = desk.dead("1", payload={"total": Decimal("957.60")}, policy=policy)
    desk.hub.publish_kinds("worker")
    assert path_of(maria.client.get("/search", query_string={"q": text})) == f"/events/{first}"
    second = desk.dead("2", payload={"total": Decimal("957.6")}, policy=policy)
    maria.language = "pt-BR"
    found = maria.client.get("/search", query_string={"q": text})
    assert sorted(map(int, ROW.findall(found.text))) == [first, second]
    (link,) = {one["href"] for one in Tags(found.text).named("a") if "payload." in one.get("href", "")}
    listed = maria.get(link).text
    assert sorted(map(int, ROW.findall(listed))) == [first, second]
    assert "957,60" in listed


def test_nobody_finds_what_they_may_not_see(app: Flask, desk: Desk) -> None:
    desk.dead("8841", account="filial-rj")
    rita = Visitor(app).enter(desk, "rita", "operator", accounts=["filial-sp"])
    assert "No event has “8841”" in read(rita.get("/search?q=8841").text)


@pytest.mark.parametrize("text", ["\x00", "x" * 1_000_000, "<script>", "%", "'", "\ud800", "\uff19\uff19"])
def test_whatever_is_typed_gets_a_page(maria: Visitor, text: str) -> None:
    address = {"q": text.encode("utf-8", "surrogatepass")}
    answer = maria.client.get("/search", query_string=address)
    assert answer.status_code == 200
    assert "<script>" not in answer.text
    assert len(answer.data) < 20_000
