"""The desk for programs: the same rules as on the pages, and refusals that programs can read."""

from __future__ import annotations

from datetime import timedelta

from flask import Flask

from dlq_console.clock import utc_now
from dlq_console.store import groups, queries
from tests.web.desk import Desk
from tests.web.test_api import program


def test_a_program_assigns_tags_notes_and_snoozes_and_reads_it_back(desk: Desk, app: Flask) -> None:
    desk.person("joana", "operator")
    ci = program(desk, app.test_client())
    event_id = desk.dead("8841")
    until = (utc_now() + timedelta(hours=1)).replace(microsecond=0)
    path = f"/events/{event_id}"
    assert ci.post(f"{path}/assign", {"to": "joana", "due": "2030-03-01T08:00-03:00"}).status_code == 200
    assert ci.post(f"{path}/tag", {"tags": ["Urgent", "erp"]}).status_code == 200
    for _ in range(2):
        assert ci.post(f"{path}/notes", {"text": "called"}, Idempotency_Key="n1").status_code == 200
    assert ci.post(f"{path}/snooze", {"until": until.isoformat()}).status_code == 200
    event = ci.get(path).json
    assert event is not None
    known = {name: event[name] for name in ("assignee", "assignment_due", "tags")}
    assert known == {"assignee": "joana", "assignment_due": "2030-03-01T11:00:00Z", "tags": ["erp", "urgent"]}
    assert event["snoozed_until"] == until.isoformat().replace("+00:00", "Z")
    assert [note["text"] for note in event["notes"]] == ["called"]
    assert event["due_at"] != known["assignment_due"]
    acts = {act["action"]: (act["via"], "address" in act) for act in event["audit"]}
    assert acts == dict.fromkeys(("assign", "tag", "note", "snooze"), ("api", False))
    assert queries.audit(desk.hub.store, event_id)[0].address == "127.0.0.1"
    assert ci.post(f"{path}/snooze", {"until": None}).json["snoozed_until"] is None  # type: ignore[index]  # JSON


def test_what_cannot_be_done_is_refused_in_one_sentence(desk: Desk, app: Flask) -> None:
    ci, rio = program(desk, app.test_client()), program(desk, app.test_client(), accounts=["filial-rj"])
    viewer = program(desk, app.test_client(), "viewer")
    dead, done = desk.dead("1"), desk.done("2")
    soon = (utc_now() + timedelta(hours=1)).isoformat()
    for path, body, status, words in (
        (f"/events/{dead}/assign", {"to": "nobody"}, 422, "no user nobody"),
        (f"/events/{dead}/assign", {}, 400, "to"),
        (f"/events/{dead}/tag", {"tags": "urgent"}, 400, "tags"),
        (f"/events/{dead}/tag", {"tags": ["a,b"]}, 422, "comma"),
        (f"/events/{dead}/tag", {"tags": [str(number) for number in range(21)]}, 422, "at most 20"),
        (f"/events/{dead}/notes", {"text": " "}, 422, "empty"),
        (f"/events/{dead}/notes", {"text": "x" * 4_001}, 422, "4,001 characters"),
        (f"/events/{dead}/snooze", {"until": "2020-01-01T00:00Z"}, 422, "ahead"),
        (f"/events/{dead}/snooze", {"until": "2020-01-01T00:00"}, 400, "zone"),
        (f"/events/{done}/snooze", {"until": soon}, 409, "done"),
        ("/events/999/assign", {"to": None}, 404, "no event 999"),
        ("/groups/f1-unknown/note", {"text": "x"}, 404, "no group"),
    ):
        answer = ci.post(path, body)
        assert (answer.status_code, answer.mimetype) == (status, "application/problem+json"), path
        assert words in answer.json["detail"]  # type: ignore[index]  # JSON
    assert rio.post(f"/events/{dead}/notes", {"text": "x"}).status_code == 404
    assert viewer.post(f"/events/{dead}/notes", {"text": "x"}).status_code == 403


def test_a_program_writes_down_how_a_cause_is_fixed_and_who_sees_to_it(desk: Desk, app: Flask) -> None:
    desk.person("joana", "operator")
    ci = program(desk, app.test_client())
    fingerprint = desk.hub.get(desk.dead("1")).fingerprint
    groups.sample(desk.hub.store)
    ci.post(f"/groups/{fingerprint}/note", {"text": "Register the customer."})
    marks = ci.post(f"/groups/{fingerprint}/assign", {"to": "joana"}).json
    assert marks is not None
    assert (marks["playbook"], marks["assignee"]) == ("Register the customer.", "joana")
    assert marks["playbook_by"].startswith("token:")
