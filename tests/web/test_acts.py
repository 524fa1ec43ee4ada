"""Reprocess and discard: as a plain form, as htmx, by the wrong person, too late, and ten times at once."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from flask import Flask

from dlq_console.app import create_app
from dlq_console.store import queries
from tests.web.desk import REFUSAL, Desk
from tests.web.visitor import Tags, Visitor, path_of, read


def _seen(visitor: Visitor, event_id: int) -> str:
    found = re.search(r'name="seen" value="(\d+)"', visitor.get(f"/events/{event_id}").text)
    assert found is not None
    return found[1]


def test_without_script_the_form_leads_to_the_event(desk: Desk, maria: Visitor) -> None:
    event_id = desk.dead("8841")
    answer = maria.post(
        f"/events/{event_id}/reprocess", note="customer 5521 registered", seen=_seen(maria, event_id)
    )
    assert (answer.status_code, path_of(answer)) == (303, f"/events/{event_id}")
    event = desk.hub.get(event_id)
    assert (event.status, event.cycle) == ("pending", 1)
    (entry,) = queries.audit(desk.hub.store, event_id)
    assert (entry.actor, entry.action, entry.note) == ("maria", "reprocess", "customer 5521 registered")
    text = read(maria.get(f"/events/{event_id}").text)
    assert "Order 8841 is queued for filial-sp." in text
    assert "maria reprocessed it." in text


def test_the_form_of_the_list_works_without_script_too(desk: Desk, maria: Visitor) -> None:
    event_id = desk.dead("8841")
    tags = Tags(maria.get("/dead-letters").text)
    (button,) = [one for one in tags.named("button") if one.get("formaction", "").endswith("/reprocess")]
    form = next(form for form in tags.named("form") if form.get("id") == button["form"])
    assert form["method"] == "post"
    answer = maria.post(button["formaction"], **{button["name"]: button["value"]}, view="row")
    assert answer.status_code == 303
    assert desk.hub.get(event_id).status == "pending"


def test_the_row_is_replaced_by_its_truth_until_the_end(desk: Desk, maria: Visitor) -> None:
    event_id = desk.dead("8841")
    answer = maria.htmx(f"/events/{event_id}/reprocess", view="row", seen=_seen(maria, event_id))
    assert answer.status_code == 200
    assert answer.text.lstrip().startswith(
        f'<tr id="row-{event_id}" data-follows hx-get="/_f/events/{event_id}/row'
    )
    assert "waiting" in read(answer.text)  # nobody works here
    assert "<form" not in answer.text
    (row,) = Tags(answer.text).named("tr")
    assert maria.glance(row["hx-get"]).status_code == 204

    del desk.answers["8841"]
    desk.hub.run(event_id)
    answer = maria.glance(row["hx-get"])
    assert answer.status_code == 200
    assert "hx-trigger" not in answer.text
    assert "done Order 8841 order.create filial-sp" in read(answer.text)
    assert "Reprocess succeeded." in read(answer.text)
    assert json.loads(answer.headers["HX-Trigger"]) == {"announce": {"text": "Reprocess succeeded."}}


def test_a_row_that_died_again_says_how_and_offers_another_try(desk: Desk, maria: Visitor) -> None:
    event_id = desk.dead("8841")
    desk.hub.reprocess(event_id, actor="maria")
    desk.hub.run(event_id)
    page = maria.glance(f"/_f/events/{event_id}/row").text
    assert "It died again: same error." in read(page)
    assert f'action="/events/{event_id}/reprocess"' in page
    assert "hx-trigger" not in page

    desk.answers["8841"] = RuntimeError("something else")
    desk.hub.reprocess(event_id, actor="maria")
    desk.hub.run(event_id)
    assert "It died again: a different error." in read(maria.glance(f"/_f/events/{event_id}/row").text)
    maria.language = "pt-BR"
    assert "Morreu de novo: outro erro." in read(maria.get(f"/events/{event_id}").text)


def test_the_page_follows_the_state_and_leaves_the_forms_alone(desk: Desk, maria: Visitor) -> None:
    event_id = desk.dead("8841")
    answer = maria.htmx(f"/events/{event_id}/reprocess", page=f"/events/{event_id}")
    ids = {tag.get("id") for _, tag in Tags(answer.text).found}
    assert {"event-state", "event-history", "event-actions"} <= ids
    (state,) = [tag for tag in Tags(answer.text).named("div") if tag.get("id") == "event-state"]
    assert maria.glance(state["hx-get"]).status_code == 204
    followed = answer.text[answer.text.index('id="event-state"') : answer.text.index('id="event-history"')]
    assert "<form" not in followed
    assert "<input" not in followed


def test_an_event_that_waits_long_is_asked_for_less_often(desk: Desk, maria: Visitor) -> None:
    assert 'hx-trigger="every 10s, look"' in maria.get(f"/events/{desk.failed('1')}").text
    desk.change(desk.add("2"), status="running")
    assert 'hx-trigger="every 2s, look"' in maria.get("/events/2").text


def test_of_ten_clicks_at_once_one_is_done_and_all_lead_to_it(app: Flask, desk: Desk, maria: Visitor) -> None:
    event_id = desk.dead("8841")
    seen = _seen(maria, event_id)
    with maria.client.session_transaction() as session:
        cookie = dict(session)

    def click(number: int) -> int:
        visitor = Visitor(app)
        with visitor.client.session_transaction() as session:
            session.update(cookie)
        visitor.token = maria.token
        htmx = visitor.htmx if number % 2 else visitor.post
        return htmx(f"/events/{event_id}/reprocess", seen=seen if number % 3 else "", view="row").status_code

    with ThreadPoolExecutor(10) as pool:
        statuses = sorted(pool.map(click, range(10)))
    assert statuses == [200] * 5 + [303] * 5
    assert desk.hub.get(event_id).cycle == 1
    assert len(queries.audit(desk.hub.store, event_id)) == 1


def test_too_late_is_told_with_who_was_faster_and_how_it_stands(desk: Desk, maria: Visitor) -> None:
    event_id = desk.dead("8841")
    seen = _seen(maria, event_id)
    desk.hub.reprocess(event_id, actor="joana")
    del desk.answers["8841"]
    desk.hub.run(event_id)
    answer = maria.post(f"/events/{event_id}/reprocess", seen=seen, note="typed in vain?")
    assert answer.status_code == 409
    text = read(answer.text)
    assert "This is not possible any more" in text
    assert re.search(r"joana reprocessed it\. \(\d\d:\d\d:\d\d\) The event is now: done\.", text)
    assert "typed in vain?</textarea>" in answer.text
    assert f'href="/events/{event_id}"' in answer.text


def test_too_late_in_a_row_tells_and_shows_the_row_as_it_is(desk: Desk, maria: Visitor) -> None:
    event_id = desk.dead("8841")
    seen = _seen(maria, event_id)
    desk.hub.discard(event_id, actor="joana", note="cancelled")
    answer = maria.htmx(f"/events/{event_id}/reprocess", view="row", seen=seen)
    assert answer.status_code == 409
    assert answer.headers["HX-Retarget"] == "#problem"
    assert "joana discarded it." in read(answer.text)
    template = answer.text.partition("<template>")[2]
    assert f'<tr id="row-{event_id}" hx-swap-oob="true">' in template
    assert "discarded" in read(template)


def test_a_click_on_an_old_page_does_not_run_what_died_since(desk: Desk, maria: Visitor) -> None:
    event_id = desk.dead("8841")
    seen = _seen(maria, event_id)
    desk.hub.reprocess(event_id, actor="joana")
    desk.hub.run(event_id)
    assert desk.hub.get(event_id).status == "dead"
    assert maria.post(f"/events/{event_id}/reprocess", seen=seen).status_code == 409
    assert desk.hub.get(event_id).status == "dead"


@pytest.mark.parametrize("seen", ["-1", "abc", "9" * 40, "1 OR 1=1"])
def test_a_forged_sight_is_refused(desk: Desk, maria: Visitor, seen: str) -> None:
    event_id = desk.dead("8841")
    assert maria.post(f"/events/{event_id}/reprocess", seen=seen).status_code == 400
    assert desk.hub.get(event_id).status == "dead"


def test_discarding_needs_a_reason_and_keeps_it(desk: Desk, maria: Visitor) -> None:
    event_id = desk.dead("8841")
    for empty in ("", "  \n ", "\u00a0"):
        answer = maria.post(f"/events/{event_id}/discard", note=empty, seen=_seen(maria, event_id))
        assert answer.status_code == 400
        assert "Say why: it is kept with the act. Blanks alone are no reason." in read(answer.text)
    assert desk.hub.get(event_id).status == "dead"
    assert maria.post(f"/events/{event_id}/discard", note="order was cancelled").status_code == 303
    text = read(maria.get(f"/events/{event_id}").text)
    assert "maria discarded it." in text
    assert "order was cancelled" in text
    assert desk.hub.get(event_id).status == "discarded"


def test_a_note_that_is_too_long_is_refused_with_a_sentence(desk: Desk, maria: Visitor) -> None:
    event_id = desk.dead("8841")
    answer = maria.post(f"/events/{event_id}/reprocess", note="x" * 2001)
    assert answer.status_code == 400
    assert "The note is longer than 2,000 characters; shorten it." in read(answer.text)
    assert desk.hub.get(event_id).status == "dead"


def test_who_may_not_act_is_told_so_and_changes_nothing(desk: Desk, vera: Visitor) -> None:
    event_id = desk.dead("8841")
    for act in ("reprocess", "discard"):
        answer = vera.post(f"/events/{event_id}/{act}", note="please")
        assert answer.status_code == 403
        assert "Your role does not allow it" in read(answer.text)
        fragment = vera.htmx(f"/events/{event_id}/{act}", note="please")
        assert (fragment.status_code, fragment.headers["HX-Retarget"]) == (403, "#problem")
        assert "<html" not in fragment.text
    assert desk.hub.get(event_id).status == "dead"
    assert queries.audit(desk.hub.store, event_id) == ()


def test_acts_are_never_done_by_opening_an_address(desk: Desk, maria: Visitor) -> None:
    event_id = desk.dead("8841")
    for act in ("reprocess", "discard"):
        answer = maria.get(f"/events/{event_id}/{act}")
        assert answer.status_code == 405
        assert "Open the page and use its buttons." in read(answer.text)
    assert desk.hub.get(event_id).status == "dead"


def test_a_click_never_waits_for_a_broker(desk: Desk, database_url: str) -> None:
    event_id = desk.dead("8841")
    # Nothing listens at this address: whoever asked it would fail or wait.
    other = Desk(database_url, broker_url="redis://127.0.0.1:1/0")
    visitor = Visitor(create_app(other.hub)).enter(desk, "maria", "operator")
    assert visitor.post(f"/events/{event_id}/reprocess").status_code == 303
    assert desk.hub.get(event_id).status == "pending"
    other.hub.close()


def test_the_error_is_gone_from_the_row_of_a_running_event(desk: Desk, maria: Visitor) -> None:
    event_id = desk.dead("8841")
    answer = maria.htmx(f"/events/{event_id}/reprocess", view="row")
    assert REFUSAL not in read(answer.text).partition("filial-sp")[0]
    assert f">{REFUSAL}<" not in answer.text
