"""Taking back on the page: the seconds in which a reprocess can be cancelled, restore, a time to send, and prechecks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta

import pytest
from flask import Flask

from dlq_console.app import create_app
from dlq_console.clock import utc_now
from dlq_console.store import people, queries
from dlq_console.web.prechecking import PATIENCE
from tests.web.desk import Desk
from tests.web.visitor import Tags, Visitor, path_of, read


@pytest.fixture
def desk(database_url: str) -> Iterator[Desk]:
    """A hub whose console gives five seconds to cancel."""
    hub_and_erp = Desk(database_url, send_delay_seconds=5)
    yield hub_and_erp
    hub_and_erp.hub.close()


def _ids(page: str) -> set[str]:
    return {tag["id"] for _, tag in Tags(page).found if "id" in tag}


def test_a_reprocess_can_be_cancelled_without_script_as_long_as_it_has_not_started(
    desk: Desk, maria: Visitor
) -> None:
    event_id = desk.dead("8841")
    before = desk.hub.get(event_id)
    maria.get(f"/events/{event_id}")
    assert maria.post(f"/events/{event_id}/reprocess").status_code == 303
    assert desk.hub.run(event_id).status == "pending", "it was sent at once"
    page = maria.get(f"/events/{event_id}").text
    assert re.search(r"Will be sent in [1-5] s\.", read(page))
    assert {"cancel-send", "countdown"} <= _ids(page)
    assert "reprocess" not in _ids(page)
    answer = maria.post(f"/events/{event_id}/cancel-send", seen=str(desk.hub.get(event_id).lease_epoch))
    assert (answer.status_code, path_of(answer)) == (303, f"/events/{event_id}")
    back = desk.hub.get(event_id)
    assert (back.status, back.finished_at) == ("dead", before.finished_at)
    text = read(maria.get(f"/events/{event_id}").text)
    assert "maria cancelled the sending." in text
    assert "maria reprocessed it." in text


def test_the_countdown_is_the_only_part_that_is_asked_for_each_second(desk: Desk, maria: Visitor) -> None:
    event_id = desk.dead("8841")
    answer = maria.htmx(f"/events/{event_id}/reprocess", page=f"/events/{event_id}")
    (span,) = [tag for tag in Tags(answer.text).named("span") if tag.get("id") == "countdown"]
    assert span["hx-trigger"] == "every 1s, look"
    counted = maria.glance(span["hx-get"])
    assert re.search(r"Will be sent in [1-5] s\.", read(counted.text))
    assert "<button" not in counted.text
    desk.hub.clock.advance(10)
    desk.hub.run(event_id)
    over = maria.glance(span["hx-get"]).text
    assert read(over) == ""
    assert "hx-get" not in over


def test_a_reprocess_in_a_list_is_cancelled_in_its_row(desk: Desk, maria: Visitor) -> None:
    event_id = desk.dead("8841")
    maria.get("/dead-letters")
    row = maria.htmx(f"/events/{event_id}/reprocess", view="row").text
    (button,) = Tags(row).named("button")
    assert button["formaction"] == f"/events/{event_id}/cancel-send"
    answer = maria.htmx(button["formaction"], view="row", seen=button["value"])
    assert answer.status_code == 200
    assert f'formaction="/events/{event_id}/reprocess"' in answer.text
    assert desk.hub.get(event_id).status == "dead"


@pytest.mark.parametrize("path", ["/dead-letters", "/events"])
def test_a_row_whose_sending_was_cancelled_has_the_time_that_the_list_gives_it(
    desk: Desk, maria: Visitor, path: str
) -> None:
    event_id = desk.dead("8841")
    two_hours, one_hour = (utc_now() - timedelta(hours=hours) for hours in (2, 1))
    desk.change(event_id, created_at=two_hours, finished_at=one_hour)
    before = maria.get(path).text
    common = before.partition('<form id="act"')[2].partition("</form>")[0]
    fields = {tag["name"]: tag["value"] for tag in Tags(common).named("input")}
    row = maria.htmx(f"/events/{event_id}/reprocess", page=path, **fields).text
    (button,) = Tags(row).named("button")
    back = maria.htmx(button["formaction"], page=path, **fields, seen=button["value"]).text
    assert _when(back) == _when(before)
    if path == "/events":
        assert _when(row) == _when(before), "it came in when it did"


def _when(page: str) -> str:
    (title,) = re.findall(r'<td class="w-when"><span title="([^"]+)"', page)
    return str(title)


def test_too_late_to_cancel_says_so(desk: Desk, maria: Visitor) -> None:
    event_id = desk.dead("8841")
    maria.htmx(f"/events/{event_id}/reprocess")
    seen = str(desk.hub.get(event_id).lease_epoch)
    desk.hub.clock.advance(10)
    desk.hub.run(event_id)
    answer = maria.htmx(f"/events/{event_id}/cancel-send", seen=seen)
    assert answer.status_code == 409
    assert "The event is now: dead letter." in read(answer.text)


def test_a_reprocess_at_a_time_is_in_the_zone_of_the_person(desk: Desk, maria: Visitor) -> None:
    event_id = desk.dead("8841")
    maria.post("/settings/preferences", timezone="America/Manaus")
    at = (utc_now() + timedelta(hours=20)).replace(second=0, microsecond=0)
    local = at - timedelta(hours=4)
    assert maria.post(f"/events/{event_id}/reprocess", at=f"{local:%Y-%m-%dT%H:%M}").status_code == 303
    event = desk.hub.get(event_id)
    assert event.next_run_at == event.due_at == at, "not a second earlier"
    page = maria.get(f"/events/{event_id}").text
    assert f"Will be sent at {local.day} " in read(page)
    (span,) = [tag for tag in Tags(page).named("span") if tag.get("id") == "countdown"]
    assert "hx-get" not in span


@pytest.mark.parametrize("at", ["2020-01-01T10:00", "soon", "2999-01-01T10:00", "0001-01-01T00:00"])
def test_a_time_that_is_not_ahead_is_refused_and_the_note_is_kept(
    desk: Desk, maria: Visitor, at: str
) -> None:
    event_id = desk.dead("8841")
    maria.get(f"/events/{event_id}")
    answer = maria.post(f"/events/{event_id}/reprocess", at=at, note="typed before")
    assert answer.status_code == 400
    assert "typed before</textarea>" in answer.text
    assert desk.hub.get(event_id).status == "dead"


def test_a_discard_is_taken_back(desk: Desk, maria: Visitor) -> None:
    event_id = desk.dead("8841")
    maria.get(f"/events/{event_id}")
    maria.post(f"/events/{event_id}/discard", note="cancelled")
    page = maria.get(f"/events/{event_id}").text
    assert "restore" in _ids(page)
    seen = str(desk.hub.get(event_id).lease_epoch)
    assert maria.htmx(f"/events/{event_id}/restore", seen=seen).status_code == 200
    assert desk.hub.get(event_id).status == "dead"
    assert "maria took the discard back." in read(maria.get(f"/events/{event_id}").text)
    assert maria.htmx(f"/events/{event_id}/restore", seen=seen).status_code == 200, "sent twice, done once"
    assert [act.action for act in queries.audit(desk.hub.store, event_id)] == ["restore", "discard"]


def test_a_discard_is_not_taken_back_once_its_lane_went_on_and_the_page_says_why(
    desk: Desk, maria: Visitor
) -> None:
    first = desk.add("1", ordering_key="8841")
    second = desk.add("2", ordering_key="8841")
    desk.hub.discard(first, actor="joana")
    desk.hub.run(second)
    maria.language = "pt-BR"
    maria.get(f"/events/{first}")
    answer = maria.post(f"/events/{first}/restore")
    assert answer.status_code == 409
    assert "Um evento posterior da mesma sequência já começou" in read(answer.text)


def test_what_an_edit_has_replaced_leads_to_the_other_and_is_not_restored(desk: Desk, maria: Visitor) -> None:
    event_id = desk.dead("8841")
    new = desk.hub.edit(event_id, {"number": 2}, actor="joana")
    page = maria.get(f"/events/{event_id}").text
    assert "restore" not in _ids(page)
    assert f'href="/events/{new.id}"' in page
    assert "The event that holds its corrected payload took its place." in read(page)
    assert maria.post(f"/events/{event_id}/restore").status_code == 409


def test_who_may_only_look_is_offered_none_of_it(app: Flask, desk: Desk, vera: Visitor) -> None:
    desk.hub.precheck("order.create")(lambda event: "likely")
    event_id = desk.dead("8841")
    for act in ("restore", "cancel-send", "precheck", "edit"):
        assert vera.post(f"/events/{event_id}/{act}").status_code == 403
    assert vera.get(f"/events/{event_id}/edit").status_code == 403
    assert not {"edit", "precheck", "restore", "cancel-send"} & _ids(vera.get(f"/events/{event_id}").text)
    assert queries.audit(desk.hub.store, event_id) == ()


def test_the_erp_is_asked_by_a_worker_and_the_page_tells_its_answer(desk: Desk, maria: Visitor) -> None:
    desk.hub.precheck("order.create")(lambda event: "likely")
    event_id = desk.dead("8841")
    assert "Would it pass now?" in read(maria.get(f"/events/{event_id}").text)
    answer = maria.htmx(f"/events/{event_id}/precheck")
    assert answer.status_code == 200
    (said,) = [tag for tag in Tags(answer.text).named("p") if tag.get("id") == "precheck-answer"]
    assert "The ERP is being asked…" in read(maria.glance(said["hx-get"]).text)
    desk.hub.run_due()
    told = maria.glance(said["hx-get"]).text
    assert "The ERP says: likely to pass now." in read(told)
    assert "Ask the ERP again" in read(told), "the question comes back with the answer"
    assert "hx-get" not in told
    page = read(maria.get(f"/events/{event_id}").text)
    assert "Ask the ERP again" in page
    assert "maria asked the ERP whether it would pass now." in page


def test_without_script_the_answer_is_a_look_away(desk: Desk, maria: Visitor) -> None:
    desk.hub.precheck("order.create")(lambda event: "gone")
    event_id = desk.dead("8841")
    maria.get(f"/events/{event_id}")
    answer = maria.post(f"/events/{event_id}/precheck")
    assert (answer.status_code, path_of(answer)) == (303, f"/events/{event_id}#precheck")
    assert "Look again" in read(maria.get(f"/events/{event_id}").text)
    desk.hub.run_due()
    maria.language = "pt-BR"
    assert "O ERP diz: o registro não existe mais lá." in read(maria.get(f"/events/{event_id}").text)


def test_a_page_does_not_ask_for_an_answer_for_ever(desk: Desk, maria: Visitor) -> None:
    desk.hub.precheck("order.create")(lambda event: "gone")
    event_id = desk.dead("8841")
    job = desk.hub.ask_precheck(event_id, actor="maria")
    desk.change(job, created_at=utc_now() - timedelta(seconds=PATIENCE + 1))
    page = maria.get(f"/events/{event_id}").text
    assert "The ERP has not been asked yet" in read(page)
    (said,) = [tag for tag in Tags(page).named("p") if tag.get("id") == "precheck-answer"]
    assert "hx-get" not in said


def test_what_a_person_may_not_see_is_not_asked_about(app: Flask, desk: Desk) -> None:
    desk.hub.precheck("order.create")(lambda event: "gone")
    event_id = desk.dead("8841")
    stranger = Visitor(app).enter(desk, "rita", "editor", ["filial-rj"])
    for act in ("restore", "cancel-send", "precheck", "edit"):
        assert stranger.post(f"/events/{event_id}/{act}").status_code == 404
    assert stranger.get(f"/_f/events/{event_id}/precheck").status_code == 404


def test_every_act_upon_an_event_needs_a_permission_of_its_name() -> None:
    from dlq_console.store.states import Action

    for action in Action:
        assert people.PERMISSIONS[people.Permission(action)] is not people.Role.VIEWER


def test_the_time_to_cancel_is_a_setting(database_url: str) -> None:
    at_once = Desk(database_url, send_delay_seconds=0)
    visitor = Visitor(create_app(at_once.hub)).enter(at_once, "maria", "operator")
    event_id = at_once.dead("8841")
    visitor.post(f"/events/{event_id}/reprocess")
    del at_once.answers["8841"]
    assert at_once.hub.run(event_id).status == "done"
    at_once.hub.close()
