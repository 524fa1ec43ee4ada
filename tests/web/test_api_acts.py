"""The API corrects, restores, cancels and asks, with the same guards as the pages."""

from __future__ import annotations

import json

import pytest
from flask import Flask
from flask.testing import FlaskClient

from dlq_console.redact import MASK
from tests.web.desk import Desk
from tests.web.test_api import Program, problem, program


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    return app.test_client()


@pytest.fixture
def editor(desk: Desk, client: FlaskClient) -> Program:
    return program(desk, client, "editor")


def test_a_payload_is_corrected_with_every_digit_and_nothing_hidden_lost(desk: Desk, editor: Program) -> None:
    event_id = desk.dead("8841", payload={"number": 1, "password": "hunter2"})
    body = f'{{"payload": {{"number": 12345678901234567890.10, "password": "{MASK}"}}, "note": "corrected"}}'
    answer = editor.post_text(f"/events/{event_id}/edit", body.encode())
    assert answer.status_code == 202, answer.text
    new = answer.get_json()
    assert answer.headers["Location"] == f"/api/v1/events/{new['id']}"
    assert (new["parent_id"], new["payload"]["password"], new["status"]) == (event_id, MASK, "pending")
    assert desk.hub.get(new["id"]).payload_json == ('{"number":12345678901234567890.10,"password":"hunter2"}')
    old = editor.get(f"/events/{event_id}").get_json()
    assert (old["status"], old["reason"], old["superseded_by"]) == ("discarded", "edited", new["id"])
    refused = problem(editor.post(f"/events/{event_id}/edit", {"payload": {}}), 409)
    assert refused["event_status"] == "discarded"


def test_a_payload_that_cannot_be_saved_is_unprocessable(desk: Desk, editor: Program) -> None:
    event_id = desk.dead("8841")
    for payload in ({"number": "8841"}, {"note": MASK}):
        problem(editor.post(f"/events/{event_id}/edit", {"payload": payload}), 422)
    problem(editor.post(f"/events/{event_id}/edit", {}), 400)
    assert desk.hub.get(event_id).status == "dead"


def test_a_discard_and_a_reprocess_are_taken_back(desk: Desk, editor: Program) -> None:
    event_id = desk.dead("8841")
    for act, body, back in (
        ("discard", {"note": "cancelled"}, "restore"),
        ("reprocess", {"after": 60}, "cancel-send"),
    ):
        problem(editor.post(f"/events/{event_id}/{back}"), 409)
        assert editor.post(f"/events/{event_id}/{act}", body).status_code == 202
        answer = editor.post(f"/events/{event_id}/{back}", {"note": "not this one"})
        assert (answer.status_code, answer.get_json()["status"]) == (202, "dead")
        assert answer.get_json()["audit"][0]["note"] == "not this one"


def test_a_precheck_is_a_job_whose_result_has_the_answer(desk: Desk, editor: Program) -> None:
    event_id = desk.dead("8841")
    problem(editor.post(f"/events/{event_id}/precheck"), 409)
    desk.hub.precheck("order.create")(lambda event: "unchanged")
    answer = editor.post(f"/events/{event_id}/precheck")
    assert answer.status_code == 202
    job = json.loads(answer.text)["job"]
    assert answer.headers["Location"] == f"/api/v1/events/{job}"
    desk.hub.run_due()
    assert editor.get(f"/events/{job}").get_json()["result"] == {"answer": "unchanged"}
    assert job not in [event["id"] for event in editor.get("/events").get_json()["items"]]


def test_roles_and_accounts_are_kept_to(desk: Desk, client: FlaskClient) -> None:
    event_id = desk.dead("8841")
    problem(program(desk, client, "operator").post(f"/events/{event_id}/edit", {"payload": {"n": 1}}), 403)
    stranger = program(desk, client, "editor", accounts=["filial-rj"])
    for act in ("edit", "restore", "cancel-send", "precheck"):
        body = {"payload": {"n": 1}} if act == "edit" else None
        problem(program(desk, client, "viewer").post(f"/events/{event_id}/{act}", body), 403)
        problem(stranger.post(f"/events/{event_id}/{act}", body), 404)
    assert desk.hub.get(event_id).status == "dead"


def test_nobody_puts_in_what_the_hub_keeps_for_itself(editor: Program) -> None:
    new = {
        "kind": "dlq.precheck",
        "account": "filial-sp",
        "entity_id": "1",
        "payload": {"event": 1, "epoch": 1},
    }
    assert "names that begin with dlq." in problem(editor.post("/events", new), 422)["detail"]
