"""Working as a team from the pages: assign, tag, note, snooze and the way back; with script and without."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta

from flask import Flask

from dlq_console.clock import utc_now
from dlq_console.store import desk as marked
from dlq_console.store import groups, queries
from tests.web.desk import Desk
from tests.web.visitor import Tags, Visitor, path_of, read

VERBS = ("assign", "tag", "notes", "snooze")


def _marks(desk: Desk, event_id: int) -> marked.Marks:
    return marked.marks(desk.hub.store, [event_id])[event_id]


def _undo(html: str) -> tuple[str, dict[str, str]]:
    """The form that takes the last act back: its address and its fields."""
    (part,) = re.findall(r'<form class="undo".*?</form>', html, re.DOTALL)
    tags = Tags(part)
    fields = {field["name"]: field["value"] for field in tags.named("input")}
    return tags.named("form")[0]["action"], {
        name: value for name, value in fields.items() if name != "csrf_token"
    }


def _token_of_note(visitor: Visitor, event_id: int) -> str:
    found = re.search(r'name="form" value="([^"]+)"', visitor.get(f"/events/{event_id}").text)
    assert found is not None
    return found[1]


def test_without_script_assigning_leads_to_the_event_with_the_way_back(desk: Desk, maria: Visitor) -> None:
    desk.person("joana", "operator")
    event_id = desk.dead("8841")
    answer = maria.post(f"/events/{event_id}/assign", to="joana", due="2030-03-01T08:00", seen="")
    assert (answer.status_code, path_of(answer)) == (303, f"/events/{event_id}#desk")
    marks = _marks(desk, event_id)
    # The field of a browser knows no zone; it is that of the page.
    assert (marks.assignee, marks.due_at) == ("joana", datetime(2030, 3, 1, 11, 0, tzinfo=UTC))
    page = maria.get(f"/events/{event_id}").text
    assert "Assigned to joana." in read(page)
    assert "maria assigned it to joana, due 1 Mar 2030 08:00." in read(page)
    address, fields = _undo(page)
    assert maria.post(address, **fields).status_code == 303
    assert _marks(desk, event_id) == marked.NO_MARKS
    assert '<form class="undo"' in maria.get(f"/events/{event_id}").text, (
        "what was taken back can be done again"
    )
    assert '<form class="undo"' not in maria.get(f"/events/{event_id}").text, "and is offered once"


def test_with_script_the_desk_and_the_history_are_replaced_and_the_news_is_told(
    desk: Desk, maria: Visitor
) -> None:
    event_id = desk.dead("8841")
    maria.get(f"/events/{event_id}")
    answer = maria.htmx(f"/events/{event_id}/assign", to="maria", seen="", page=f"/events/{event_id}")
    assert answer.status_code == 200
    assert 'id="desk"' in answer.text
    assert 'id="event-history" hx-swap-oob="true"' in answer.text
    assert "maria took it." in read(answer.text)
    assert json.loads(answer.headers["HX-Trigger"])["announce"]["text"] == "Assigned to maria."


def test_two_who_take_the_same_event_are_told_apart(desk: Desk, maria: Visitor, app: Flask) -> None:
    joana = Visitor(app).enter(desk, "joana", "operator")
    event_id = desk.dead("8841")
    for visitor in (maria, joana):
        visitor.get(f"/events/{event_id}")
    maria.htmx(f"/events/{event_id}/assign", to="maria", seen="")
    answer = joana.htmx(f"/events/{event_id}/assign", to="joana", seen="")
    assert answer.status_code == 409
    assert "Somebody else has assigned it since you saw it" in read(answer.text)
    assert 'id="desk" ' in answer.text
    assert "maria" in read(answer.text)
    plain = joana.post(f"/events/{event_id}/assign", to="joana", seen="")
    assert plain.status_code == 409
    assert f'<a href="/events/{event_id}#desk">Order 8841</a>' in plain.text
    assert _marks(desk, event_id).assignee == "maria"
    assert len(queries.audit(desk.hub.store, event_id)) == 1


def test_tags_are_changed_undone_and_lead_to_the_events_that_have_them(desk: Desk, maria: Visitor) -> None:
    event_id = desk.dead("8841")
    maria.get(f"/events/{event_id}")
    answer = maria.htmx(f"/events/{event_id}/tag", tags="Urgent, call back", seen="")
    assert _marks(desk, event_id).tags == ("call back", "urgent")
    assert {"/events?tag=urgent", "/events?tag=call+back"} <= {
        a.get("href") for a in Tags(answer.text).named("a")
    }
    address, fields = _undo(answer.text)
    desk.hub.tag(event_id, ["urgent", "call back", "from joana"], actor="joana")
    maria.htmx(address, **fields)
    assert _marks(desk, event_id).tags == ("from joana",)


def test_a_snooze_hides_until_a_moment_and_can_be_taken_back(desk: Desk, maria: Visitor) -> None:
    event_id = desk.dead("8841")
    until = (utc_now() + timedelta(hours=4)).isoformat()
    maria.get(f"/events/{event_id}")
    answer = maria.htmx(f"/events/{event_id}/snooze", until=until)
    assert "Snoozed until" in read(answer.text)
    assert "Order 8841" not in read(maria.get("/dead-letters").text)
    address, fields = _undo(answer.text)
    maria.htmx(address, **fields)
    assert "Order 8841" in read(maria.get("/dead-letters").text)


def test_a_snooze_until_no_such_moment_is_refused(desk: Desk, maria: Visitor) -> None:
    event_id = desk.dead("8841")
    maria.get(f"/events/{event_id}")
    for until in ("2020-01-01T00:00", "2999-01-01T00:00Z", "soon", "9999-12-31T23:59-12:00"):
        assert maria.post(f"/events/{event_id}/snooze", until=until).status_code == 400, until
    assert _marks(desk, event_id) == marked.NO_MARKS


def test_what_is_done_is_not_snoozed(desk: Desk, maria: Visitor) -> None:
    event_id = desk.done("8841")
    maria.get(f"/events/{event_id}")
    until = (utc_now() + timedelta(hours=4)).isoformat()
    answer = maria.htmx(f"/events/{event_id}/snooze", until=until)
    assert answer.status_code == 409
    assert "Only a dead letter can be snoozed" in read(answer.text)


def test_a_note_that_is_sent_twice_is_written_once_and_without_secrets(desk: Desk, maria: Visitor) -> None:
    event_id = desk.dead("8841")
    form = _token_of_note(maria, event_id)
    note = "called them\npassword=hunter2 \u202e<b>x</b>".replace("\u202e", "")
    for _ in range(2):
        assert maria.post(f"/events/{event_id}/notes", note=note, form=form).status_code == 303
    (kept,) = marked.notes(desk.hub.store, event_id)
    assert "hunter2" not in kept.text
    page = maria.get(f"/events/{event_id}").text
    assert "maria wrote a note." in read(page)
    assert "&lt;b&gt;x&lt;/b&gt;" in page
    assert "<b>x</b>" not in page


def test_a_note_that_cannot_be_kept_is_refused_and_not_lost(desk: Desk, maria: Visitor) -> None:
    event_id = desk.dead("8841")
    form = _token_of_note(maria, event_id)
    for note in ("", "   ", "x" * 4_001, "turned \u202e around"):
        answer = maria.post(f"/events/{event_id}/notes", note=note, form=form)
        assert answer.status_code == 400, note
        assert note.strip()[:6] in answer.text
    assert not marked.notes(desk.hub.store, event_id)


def test_who_only_looks_has_no_forms_and_may_not_send_them(desk: Desk, vera: Visitor) -> None:
    event_id = desk.dead("8841")
    page = vera.get(f"/events/{event_id}").text
    for verb in VERBS:
        assert f"/events/{event_id}/{verb}" not in page
        assert vera.post(f"/events/{event_id}/{verb}", note="x").status_code == 403, verb


def test_an_event_of_an_account_that_may_not_be_seen_is_not_there(desk: Desk, app: Flask) -> None:
    rui = Visitor(app).enter(desk, "rui", "operator", ["filial-rj"])
    event_id = desk.dead("8841")
    for verb in VERBS:
        assert rui.post(f"/events/{event_id}/{verb}", note="x").status_code == 404, verb


def test_who_does_not_see_the_account_cannot_be_assigned(desk: Desk, maria: Visitor) -> None:
    desk.person("rui", "operator", ["filial-rj"])
    event_id = desk.dead("8841")
    assert ">rui</option>" not in maria.get(f"/events/{event_id}").text
    answer = maria.post(f"/events/{event_id}/assign", to="rui", seen="")
    assert answer.status_code == 400
    assert "may not see the account filial-sp" in read(answer.text)


def test_a_playbook_is_written_by_one_at_a_time_and_shown_with_each_event(desk: Desk, maria: Visitor) -> None:
    first, second = desk.dead("1"), desk.dead("2")
    groups.sample(desk.hub.store)
    fingerprint = desk.hub.get(first).fingerprint
    assert desk.hub.get(second).fingerprint == fingerprint
    maria.get(f"/groups/{fingerprint}")
    assert (
        maria.post(f"/groups/{fingerprint}/note", note="Register the customer.", seen="").status_code == 303
    )
    assert "Register the customer." in read(maria.get(f"/groups/{fingerprint}").text)
    late = maria.post(f"/groups/{fingerprint}/note", note="Never mind.", seen="")
    assert late.status_code == 409
    assert "Never mind." in late.text, "what was typed is not lost"
    assert f'<a href="/groups/{fingerprint}#group-desk">Look at the cause</a>' in late.text
    desk.answers.clear()
    desk.hub.reprocess(first, actor="maria")
    desk.hub.run(first)
    for event_id in (first, second):
        assert "Register the customer." in read(maria.get(f"/events/{event_id}").text) or event_id == first
    assert maria.post(f"/groups/{fingerprint}/assign", to="maria", seen="").status_code == 303
    assert "Assigned to maria." in read(maria.get(f"/groups/{fingerprint}").text)
    assert maria.post("/groups/f1-unknown/assign", to="maria", seen="").status_code == 404


def test_a_session_that_has_ended_keeps_the_typed_note(desk: Desk, maria: Visitor, app: Flask) -> None:
    event_id = desk.dead("8841")
    maria.get(f"/events/{event_id}")
    maria.client.delete_cookie("dlq_console")
    answer = maria.post(f"/events/{event_id}/notes", note="called them", form="x")
    assert answer.status_code == 401
    assert "called them" in answer.text


def test_nobody_gets_something_to_do_by_a_time_that_has_passed(desk: Desk, maria: Visitor) -> None:
    event_id = desk.dead()
    answer = maria.post(f"/events/{event_id}/assign", to="maria", due="2020-03-01T08:00", seen="")
    assert answer.status_code == 400
    assert marked.marks(desk.hub.store, [event_id])[event_id].assignee is None


def test_whoever_only_looks_is_not_offered_and_not_taken(desk: Desk, maria: Visitor) -> None:
    desk.person("vitor", "viewer")
    event_id = desk.dead()
    assert "vitor" not in maria.get(f"/events/{event_id}").text
    assert maria.post(f"/events/{event_id}/assign", to="vitor", seen="").status_code == 400
