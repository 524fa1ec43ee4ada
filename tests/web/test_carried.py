"""What stands around an event on its page: others of its record, what was sent before, how it is fixed, where it is in the ERP."""

from __future__ import annotations

import re

from flask import Flask

from dlq_console.hub.policy import Policy
from dlq_console.web.carried import trace_id
from tests.web.desk import REFUSAL, TWO_ATTEMPTS, Desk
from tests.web.visitor import Tags, Visitor, read

SERIAL = Policy(max_attempts=1, order="account")


def _section(page: str, title: str) -> str:
    """The text of the section of that title; empty where there is none."""
    found = re.search(rf"<h2[^>]*>{title}</h2>(.*?)</section>", page, re.DOTALL)
    return read(found[1]) if found else ""


def _page(visitor: Visitor, event_id: int) -> str:
    return visitor.get(f"/events/{event_id}").text


# Others of its record


def test_the_other_events_of_the_same_number_are_named_with_their_state(desk: Desk, maria: Visitor) -> None:
    done = desk.done("8841", version="v1")
    invoice = desk.add("8841", kind="invoice.create")
    desk.done("8841", account="filial-rj")
    desk.done("8842")
    event_id = desk.dead("8841", version="v2")
    page = _page(maria, event_id)
    told = _section(page, "Same number")
    assert re.search(r"queued Invoice 8841 invoice.create .* done Order 8841 order.create version v1", told)
    assert "8842" not in told
    assert page.count(f'href="/events/{done}"') >= 1
    assert f'href="/events/{invoice}"' in page
    assert "filial-rj" not in told
    assert _section(_page(maria, desk.dead("9")), "Same number") == ""


def test_a_number_with_many_events_shows_the_newest_and_a_way_to_all(desk: Desk, maria: Visitor) -> None:
    ids = [desk.done("8841", version=str(number)) for number in range(12)]
    told = _page(maria, desk.dead("8841"))
    assert f'href="/events/{ids[-1]}"' in told
    assert f'href="/events/{ids[0]}"' not in told
    assert "All events of this number" in told


def test_the_head_of_a_lane_names_what_waits_behind_it(desk: Desk, maria: Visitor) -> None:
    head = desk.dead("8841", policy=SERIAL)
    waiting = [desk.add(str(number), policy=SERIAL) for number in (8842, 8843)]
    told = _section(_page(maria, head), "Waits behind it")
    assert told.index("Order 8842") < told.index("Order 8843")
    assert _section(_page(maria, waiting[0]), "Waits behind it") == ""


# What was sent before


def test_the_payload_is_compared_with_the_last_one_of_its_record_that_was_sent(
    desk: Desk, maria: Visitor
) -> None:
    desk.done("8841", version="0", payload={"total": 1})
    sent = desk.done("8841", version="1", payload={"total": 10, "cfop": "5102", "token": "canary-a", "x": 1})
    desk.done("8841", kind="invoice.create", payload={"total": 99})
    event_id = desk.dead(
        "8841", version="2", payload={"total": 12, "discount": None, "token": "canary-b", "x": 1}
    )
    page = _page(maria, event_id)
    told = _section(page, "Compared with the last one that was sent")
    assert f"Event {sent}" in told
    assert "Total changed 10 12" in told
    assert "Cfop removed 5102" in told
    assert "Discount added empty" in told
    assert "Token changed Hidden, because it looks like a secret ••• Hidden" in told
    assert " X " not in told
    assert "canary" not in page


def test_a_payload_that_was_sent_before_as_it_is_says_so(desk: Desk, maria: Visitor) -> None:
    desk.done("8841", version="1", payload={"total": 10})
    told = _section(
        _page(maria, desk.dead("8841", version="2", payload={"total": 10})),
        "Compared with the last one that was sent",
    )
    assert "The two payloads hold the same." in told


def test_nothing_is_compared_where_nothing_was_sent_or_it_is_too_large(desk: Desk, maria: Visitor) -> None:
    title = "Compared with the last one that was sent"
    assert title not in _page(maria, desk.dead("1"))
    sent = desk.done("2", version="1")
    desk.change(sent, payload='{"x":"' + "y" * 1_000_001 + '"}')
    told = _section(_page(maria, desk.dead("2", version="2")), title)
    assert "One of the two payloads is too large to be compared here." in told
    sent = desk.done("3", version="1")
    desk.change(sent, payload="[" + ",".join(["1"] * 10_001) + "]")
    assert "too large to be compared" in _section(_page(maria, desk.dead("3", version="2")), title)


# How it is fixed


def test_the_note_of_its_group_stands_on_every_event_and_outlives_a_retry(desk: Desk, maria: Visitor) -> None:
    event_id, other = desk.dead("1"), desk.dead("2", error=REFUSAL.replace("5521", "5522"))
    fingerprint = str(desk.hub.get(event_id).fingerprint)
    desk.hub.set_playbook(fingerprint, "Register the customer.\nThen reprocess.", actor="joana")
    for one in (event_id, other):
        page = _page(maria, one)
        told = _section(page, "How we fix this")
        assert told.startswith("Register the customer. Then reprocess. joana")
        assert page.index("The ERP said:") < page.index("How we fix this") < page.index("What happened")
        assert f'href="/groups/{fingerprint}"' in page
    desk.hub.reprocess(event_id, actor="maria")
    desk.hub.run(event_id)
    assert "Register the customer." in _section(_page(maria, event_id), "How we fix this")
    assert "How we fix this" not in _page(maria, desk.dead("3", error="Sem estoque."))


# Where it is in the ERP


def test_the_record_is_one_click_away_in_the_erp(desk: Desk, maria: Visitor, app: Flask) -> None:
    pattern = "https://erp.example/{account}/orders/{entity_id}?customer={payload.customer.code}"
    policy = Policy(max_attempts=1, open_url=pattern)
    event_id = desk.dead("88/41", kind="order.linked", policy=policy, payload={"customer": {"code": "a&b"}})
    (link,) = [link for link in Tags(_page(maria, event_id)).named("a") if "erp.example" in link["href"]]
    assert link["href"] == "https://erp.example/filial-sp/orders/88%2F41?customer=a%26b"
    assert link["rel"] == "noopener noreferrer"
    without = desk.dead("2", kind="order.linked", policy=policy, payload={"customer": {}})
    assert "erp.example" not in _page(maria, without)
    assert "Open in the ERP" not in _page(maria, desk.dead("3", policy=TWO_ATTEMPTS))


def test_the_trace_of_an_event_is_told(desk: Desk, maria: Visitor) -> None:
    event_id = desk.dead("1")
    assert " Trace " not in read(_page(maria, event_id))
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    desk.change(event_id, trace_context=f"00-{trace}-00f067aa0ba902b7-01")
    assert f"Trace {trace}" in read(_page(maria, event_id))
    for wrong in (None, "", "x", f"00-{trace}-1-01", f"00-{trace.upper()}-00f067aa0ba902b7-01"):
        assert trace_id(wrong) == ""
