"""Does the JSON API do what the pages do, for programs, and say no in a form that programs can read?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from dlq_console.app import create_app
from dlq_console.errors import TransientError
from dlq_console.hub.policy import Policy
from dlq_console.runtime import Hub
from dlq_console.settings import read_settings
from dlq_console.store import kinds, people
from dlq_console.web.api import representation, schemas
from dlq_console.web.api.kinds import KindSchema
from tests.web.desk import REFUSAL, SECRET_KEY, Desk

NEW = {"kind": "order.create", "account": "filial-sp", "entity_id": "8841", "payload": {"number": 8841}}


class Program:
    """A program that calls the API with a token."""

    def __init__(self, client: FlaskClient, token: str) -> None:
        self._client = client
        self._headers = {"Authorization": f"Bearer {token}"}

    def get(self, path: str) -> TestResponse:
        return self._client.get(f"/api/v1{path}", headers=self._headers)

    def post(self, path: str, body: Any = None, **headers: str) -> TestResponse:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self._client.post(f"/api/v1{path}", json=body, headers=self._headers | named)

    def post_text(self, path: str, body: str | bytes, content_type: str = "application/json") -> TestResponse:
        return self._client.post(
            f"/api/v1{path}", data=body, content_type=content_type, headers=self._headers
        )


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    return app.test_client()


def program(
    desk: Desk, client: FlaskClient, role: str = "operator", accounts: list[str] | None = None
) -> Program:
    name = f"{role}-{len(people.list_tokens(desk.hub.store))}"
    return Program(client, people.add_token(desk.hub.store, name, role=role, accounts=accounts))


@pytest.fixture
def ci(desk: Desk, client: FlaskClient) -> Program:
    """A program that may do what an operator may."""
    return program(desk, client)


def problem(response: TestResponse, status: int) -> dict[str, Any]:
    assert response.status_code == status, response.text
    assert response.content_type == "application/problem+json"
    body: dict[str, Any] = json.loads(response.text)
    assert {"type", "title", "status", "detail"} <= set(body)
    assert body["status"] == status
    assert body["detail"].endswith(".")
    return body


# Who is asking


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer "},
        {"Authorization": "Bearer wrong"},
        {"Authorization": "Basic dXNlcjpwYXNz"},
        {"Authorization": "\x00"},
    ],
)
def test_without_a_valid_token_nothing_is_answered(client: FlaskClient, headers: dict[str, str]) -> None:
    for path in ("/events", "/events/1", "/events?status=nonsense"):
        response = client.get(f"/api/v1{path}", headers=headers)
        problem(response, 401)
        assert response.headers["WWW-Authenticate"].startswith("Bearer")


def test_a_revoked_token_is_worth_nothing(desk: Desk, client: FlaskClient) -> None:
    token = people.add_token(desk.hub.store, "old", role="admin")
    people.revoke_token(desk.hub.store, "old")
    problem(Program(client, token).get("/events"), 401)


def test_the_cookie_of_a_person_is_no_token(desk: Desk, client: FlaskClient) -> None:
    session = people.open_session(desk.hub.store, desk.person("pia", "admin"))
    problem(Program(client, session).get("/events"), 401)


def test_a_role_that_may_only_look_changes_nothing(desk: Desk, client: FlaskClient) -> None:
    event_id = desk.dead()
    looker = program(desk, client, "viewer")
    assert looker.get(f"/events/{event_id}").status_code == 200
    for path, body in (
        ("/events", NEW),
        (f"/events/{event_id}/reprocess", {}),
        (f"/events/{event_id}/discard", {"note": "x"}),
    ):
        assert "viewer" in problem(looker.post(path, body), 403)["detail"]
    assert desk.hub.get(event_id).status == "dead"


def test_a_program_sees_and_touches_its_own_accounts_only(desk: Desk, client: FlaskClient) -> None:
    own, foreign = desk.dead("1", account="filial-sp"), desk.dead("2", account="filial-rj")
    here = program(desk, client, accounts=["filial-sp"])
    listed = here.get("/events").get_json()
    assert ([item["id"] for item in listed["items"]], listed["count"]) == ([own], 1)
    problem(here.get(f"/events/{foreign}"), 404)
    problem(here.post(f"/events/{foreign}/reprocess"), 404)
    problem(here.post(f"/events/{foreign}/discard", {"note": "x"}), 404)
    assert "filial-rj" in problem(here.post("/events", NEW | {"account": " filial-rj"}), 403)["detail"]
    assert here.post("/events", NEW).status_code == 202


def test_a_key_that_another_account_has_used_is_refused_without_a_word_about_it(
    desk: Desk, ci: Program, client: FlaskClient
) -> None:
    key, here = {"Idempotency_Key": "shop/1"}, program(desk, client, accounts=["filial-sp"])
    elsewhere = NEW | {"account": "filial-rj"}
    assert ci.post("/events", elsewhere, **key).status_code == 202
    refused = problem(here.post("/events", NEW, **key), 422)
    assert refused["detail"].startswith("Idempotency-Key: it cannot be used for this event")
    assert "account" not in refused["detail"]
    own = problem(here.post("/events", NEW | {"entity_id": "another"}, **key), 422)
    assert own == refused
    assert "account, kind, number" in problem(ci.post("/events", NEW, **key), 422)["detail"]


# Reading


def test_a_list_has_what_a_program_needs_to_go_on(desk: Desk, ci: Program) -> None:
    made = [desk.dead(str(number)) for number in range(5)]
    first = ci.get("/events?status=dead&limit=3").get_json()
    assert [item["id"] for item in first["items"]] == made[:1:-1]
    assert (first["count"], first["count_capped"], first["previous_cursor"]) == (5, False, None)
    second = ci.get(f"/events?status=dead&limit=3&cursor={first['next_cursor']}").get_json()
    assert [item["id"] for item in second["items"]] == made[1::-1]
    assert second["next_cursor"] is None


def test_a_list_shows_no_payload(desk: Desk, ci: Program) -> None:
    desk.dead(payload={"secret-of-the-house": 1})
    answer = ci.get("/events")
    assert "secret-of-the-house" not in answer.text
    assert {"payload", "result"}.isdisjoint(answer.get_json()["items"][0])


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("kind=order.create&kind=stock.move", 2),
        ("kind=order.create&account=filial-sp", 1),
        ("q=CADASTRADO", 3),
        ("entity=2", 1),
        ("reason=permanent", 3),
        ("since=1h", 3),
        ("to=2020-01-01T00:00Z", 0),
        ("kind=nobody.has.this", 0),
    ],
)
def test_the_filter_is_that_of_the_pages(desk: Desk, ci: Program, query: str, expected: int) -> None:
    for number, kind in enumerate(("order.create", "invoice.create", "stock.move")):
        desk.dead(str(number), kind=kind)
    found = ci.get(f"/events?{query}").get_json()
    assert (len(found["items"]), found["count"]) == (expected, expected)


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("status=broken", "status"),
        ("reason=because", "reason"),
        ("since=soon", "since"),
        ("from=2026-03-01T08:00", "from"),
        ("cursor=nonsense", "cursor"),
        ("limit=0", "limit"),
        ("limit=201", "limit"),
        ("limit=many", "limit"),
        ("q=a%00b", "q"),
        ("entity=1&entity=2", "entity"),
        (f"q={'x' * 201}", "q"),
        ("&".join(f"kind={number}" for number in range(30)), "kind"),
    ],
)
def test_a_malformed_filter_is_refused_by_the_name_of_the_parameter(
    ci: Program, query: str, name: str
) -> None:
    assert problem(ci.get(f"/events?{query}"), 400)["detail"].startswith(f"{name}: ")


def test_one_event_comes_with_payload_attempts_and_audit(desk: Desk, ci: Program) -> None:
    event_id = desk.dead(payload={"price": 10.5, "api_key": "very-secret"})
    desk.hub.reprocess(event_id, actor="maria", note="customer registered")
    event = ci.get(f"/events/{event_id}").get_json()
    assert event["payload"] == {"price": 10.5, "api_key": "•••"}
    assert (event["status"], event["cycle"], event["attempt_count"], event["total_attempts"]) == (
        "pending",
        1,
        0,
        1,
    )
    (attempt,) = event["attempts"]
    assert (attempt["outcome"], attempt["error"]) == ("dead", REFUSAL)
    assert [(entry["actor"], entry["action"], entry["note"]) for entry in event["audit"]] == [
        ("maria", "reprocess", "customer registered")
    ]
    assert event["created_at"].endswith("Z")
    assert event["waiting_for"] == "no_worker"


def test_numbers_keep_their_digits_both_ways(desk: Desk, ci: Program) -> None:
    exact = (
        '{"kind":"order.create","account":"sp","entity_id":"1","payload":{"rate":0.1000000000000000000001}}'
    )
    made = ci.post_text("/events", exact)
    assert made.status_code == 202
    assert '"payload":{"rate":0.1000000000000000000001}' in ci.get(f"/events/{made.get_json()['id']}").text


@pytest.mark.parametrize(
    "path", ["/events/404", "/events/99999999999999999999999999", "/events/404/reprocess"]
)
def test_an_event_that_does_not_exist_is_not_found(ci: Program, path: str) -> None:
    response = ci.post(path) if path.endswith("reprocess") else ci.get(path)
    assert problem(response, 404)["type"] == "urn:dlq-console:event-not-found"


# Putting in


def test_a_new_event_is_accepted_and_its_address_is_told(desk: Desk, ci: Program) -> None:
    response = ci.post("/events", NEW)
    assert response.status_code == 202
    made = response.get_json()
    assert made == {"id": made["id"], "status": "pending", "created": True}
    assert response.headers["Location"] == f"/api/v1/events/{made['id']}"
    event = desk.hub.get(made["id"])
    assert (event.payload, event.origin) == ({"number": 8841}, "token:operator-0")


def test_a_repeat_finds_the_event_that_exists(desk: Desk, ci: Program) -> None:
    event_id = desk.dead("8841", payload={"number": 8841})
    response = ci.post("/events", NEW)
    assert response.status_code == 200
    assert response.get_json() == {"id": event_id, "status": "dead", "created": False}
    assert response.headers["Location"] == f"/api/v1/events/{event_id}"
    assert desk.hub.get(event_id).duplicates == 1


def test_a_key_of_its_own_stands_for_one_payload(ci: Program) -> None:
    first = ci.post("/events", NEW, Idempotency_Key="order-8841")
    again = ci.post("/events", NEW, Idempotency_Key="order-8841")
    assert (first.status_code, again.status_code) == (202, 200)
    assert again.get_json()["id"] == first.get_json()["id"]
    other = ci.post("/events", NEW | {"payload": {"number": 1}}, Idempotency_Key="order-8841")
    assert problem(other, 422)["type"] == "urn:dlq-console:idempotency-conflict"


def test_a_kind_is_refused_once_workers_have_published_theirs(desk: Desk, client: FlaskClient) -> None:
    desk.add()
    desk.hub.publish_kinds("worker-1")
    here = program(desk, client)
    refused = problem(here.post("/events", NEW | {"kind": "order.crate"}), 422)
    assert refused["type"] == "urn:dlq-console:unknown-kind"
    assert "order.create" in refused["detail"]


def test_an_event_may_wait_and_expire(desk: Desk, ci: Program) -> None:
    times = {"run_at": "2030-01-01T08:00:00-03:00", "expires_at": "2030-01-02T00:00:00Z"}
    event = desk.hub.get(ci.post("/events", NEW | times).get_json()["id"])
    assert event.next_run_at.isoformat() == "2030-01-01T11:00:00+00:00"
    assert event.expires_at is not None
    assert event.expires_at.isoformat() == "2030-01-02T00:00:00+00:00"


@pytest.mark.parametrize(
    ("change", "detail"),
    [
        ({"kind": None}, "kind: "),
        ({"account": 5}, "account: "),
        ({"run_at": "2030-01-01T08:00:00"}, "run_at: write a time with its zone, such as 2026-"),
        ({"run_at": "soon"}, "run_at: write a time with its zone, such as 2026-"),
        ({"expires_at": 5}, "expires_at: write a time with its zone, such as 2026-"),
        ({"colour": "red"}, "colour: Unknown field."),
    ],
)
def test_a_malformed_event_is_refused_by_the_name_of_the_field(
    ci: Program, change: dict[str, Any], detail: str
) -> None:
    assert problem(ci.post("/events", NEW | change), 400)["detail"].startswith(detail)


@pytest.mark.parametrize("name", ["kind", "account", "entity_id", "payload"])
def test_an_event_without_a_field_that_it_needs_is_refused(ci: Program, name: str) -> None:
    body = {key: value for key, value in NEW.items() if key != name}
    assert problem(ci.post("/events", body), 400)["detail"] == f"{name}: Missing data for required field."


@pytest.mark.parametrize(
    ("change", "detail"),
    [
        ({"payload": {"text": "a\0b"}}, "payload.text: "),
        ({"kind": "  "}, "kind: "),
        ({"entity_id": "x" * 300}, "entity_id: "),
        ({"payload": "x" * 300_000}, "payload: "),
    ],
)
def test_what_cannot_be_stored_is_refused(ci: Program, change: dict[str, Any], detail: str) -> None:
    refused = problem(ci.post("/events", NEW | change), 422)
    assert refused["detail"].startswith(detail)


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ("{", "body: this is not JSON: "),
        ("", "body: it is empty; send a JSON object with kind, account, entity_id, payload."),
        ("[]", "body: send one JSON object, {...}."),
        ('"text"', "body: send one JSON object, {...}."),
        ("null", "body: send one JSON object, {...}."),
        ('{"a":NaN}', "body: NaN and infinity are not JSON; "),
        ('{"a":1,"a":2}', 'body: an object has the key "a" twice; keep one of them.'),
        ("[" * 100_000, "body: "),
        ('{"a":' + "9" * 5_000 + "}", "body: a number has more than 400 digits "),
        (b"\xff\xfe", "body: this is not UTF-8."),
    ],
    ids=["cut", "empty", "list", "text", "null", "NaN", "twice", "deep", "long number", "no UTF-8"],
)
def test_a_body_that_is_no_json_object_is_refused(ci: Program, body: str | bytes, detail: str) -> None:
    assert problem(ci.post_text("/events", body), 400)["detail"].startswith(detail)


def test_a_body_of_another_type_is_refused(ci: Program) -> None:
    assert "application/json" in problem(ci.post_text("/events", "kind=x", "text/plain"), 415)["detail"]


def test_a_body_over_1_mib_is_refused(ci: Program) -> None:
    assert "1 MiB" in problem(ci.post("/events", NEW | {"payload": "x" * 1_100_000}), 413)["detail"]


# Acting


def test_reprocess_lets_a_dead_event_run_again(desk: Desk, ci: Program) -> None:
    event_id = desk.dead()
    response = ci.post(f"/events/{event_id}/reprocess", {"note": "customer registered"})
    assert response.status_code == 202
    event = response.get_json()
    assert (event["status"], event["audit"][0]["actor"], event["audit"][0]["note"]) == (
        "pending",
        "token:operator-0",
        "customer registered",
    )
    desk.answers.clear()
    assert desk.hub.run(event_id).status == "done"


def test_reprocess_needs_no_body_and_may_be_put_off(desk: Desk, ci: Program) -> None:
    at_once, later = desk.dead("1"), desk.dead("2")
    assert ci.post(f"/events/{at_once}/reprocess").status_code == 202
    assert ci.post(f"/events/{later}/reprocess", {"after": 600}).get_json()["waiting_for"] == "time"
    assert "after" in problem(ci.post(f"/events/{later}/reprocess", {"after": -1}), 400)["detail"]


@pytest.mark.parametrize("status", ["pending", "failed", "done"])
def test_reprocess_of_an_event_that_is_not_dead_is_refused_with_its_status(
    desk: Desk, ci: Program, status: str
) -> None:
    make = {
        "pending": desk.add,
        "failed": lambda: desk.failed(error=TransientError("busy")),
        "done": desk.done,
    }
    event_id = make[status]()
    refused = problem(ci.post(f"/events/{event_id}/reprocess"), 409)
    assert refused["event_status"] == status
    assert status in refused["detail"]
    assert desk.hub.get(event_id).status == status


def test_discard_needs_a_reason_and_keeps_it(desk: Desk, ci: Program) -> None:
    event_id = desk.dead()
    empty = problem(ci.post(f"/events/{event_id}/discard"), 400)
    assert empty["detail"] == "body: it is empty; send a JSON object with note."
    for body in ({}, {"note": ""}, {"note": "  "}, {"note": None}):
        assert problem(ci.post(f"/events/{event_id}/discard", body), 400)["detail"].startswith("note: ")
    response = ci.post(f"/events/{event_id}/discard", {"note": "cancelled by the customer"})
    assert (response.status_code, response.get_json()["status"]) == (202, "discarded")
    assert response.get_json()["audit"][0]["note"] == "cancelled by the customer"
    assert (
        problem(ci.post(f"/events/{event_id}/discard", {"note": "again"}), 409)["event_status"] == "discarded"
    )


# The house


def test_an_address_that_leads_nowhere_is_a_problem_and_no_page(client: FlaskClient, ci: Program) -> None:
    for path in ("/nothing", "/events/", "/events/abc", "/events/1/explode"):
        problem(ci.get(path), 404)


def test_a_request_of_another_kind_names_those_that_work(ci: Program, client: FlaskClient) -> None:
    response = client.delete("/api/v1/events")
    problem(response, 405)
    assert response.headers["Allow"] == "GET, POST"
    problem(client.get("/api/v1/events/1/reprocess"), 405)


def test_a_database_that_is_away_is_told_and_no_secret_with_it() -> None:
    nowhere = read_settings(
        database_url="postgresql+psycopg://user:hidden@127.0.0.1:1/x", secret_key=SECRET_KEY
    )
    response = Program(create_app(Hub(nowhere)).test_client(), "dlq_any").get("/events")
    problem(response, 503)
    assert response.headers["Retry-After"] == "5"
    assert "hidden" not in response.text


def test_where_the_database_is_stands_in_the_log_and_in_no_answer(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for place, address in (
        ("127.0.0.1:1", "postgresql+psycopg://nobody@127.0.0.1:1/the-books"),
        (str(tmp_path), f"sqlite:///{tmp_path}/nothing/the-books.db"),
    ):
        nowhere = create_app(Hub(read_settings(database_url=address, secret_key=SECRET_KEY))).test_client()
        for path in ("/api/v1/events", "/api/v1/kinds", "/health/breakers"):
            answer = nowhere.get(path, headers={"Authorization": "Bearer dlq_any"})
            assert problem(answer, 503)["detail"] == "The database cannot be reached; nothing was changed."
            assert place in caplog.text
            caplog.clear()


def test_a_database_without_tables_is_told_without_its_place(tmp_path: Path) -> None:
    (tmp_path / "the-books.db").touch()
    empty = Hub(read_settings(database_url=f"sqlite:///{tmp_path}/the-books.db", secret_key=SECRET_KEY))
    answer = problem(Program(create_app(empty).test_client(), "dlq_any").get("/events"), 503)
    assert "dlq-console db upgrade" in answer["detail"]
    assert "the-books" not in answer["detail"]
    empty.close()


def test_the_kinds_are_those_that_workers_have_published(desk: Desk, ci: Program) -> None:
    assert ci.get("/kinds").get_json() == {"items": []}
    policy = Policy(
        max_attempts=4, timeout=20, order="key", columns={"Total": "order.total"}, schema={"type": "object"}
    )
    desk.hub.handler("order.create", policy=policy)(lambda _event: None)
    desk.hub.handler("invoice.create")(lambda _event: None)
    desk.hub.precheck("order.create")(lambda _event: "likely")
    kinds.publish(desk.hub.store, desk.hub.registry.kinds(), "worker-1")
    desk.hub.after_fork()  # what it has read about kinds is believed for some seconds
    invoice, order = ci.get("/kinds").get_json()["items"]
    told = {name: order[name] for name in ("name", "max_attempts", "timeout", "order", "precheck", "columns")}
    assert told == {
        "name": "order.create",
        "max_attempts": 4,
        "timeout": 20,
        "order": "key",
        "precheck": True,
        "columns": [{"label": "Total", "path": "order.total"}],
    }
    assert order["schema"] == {"type": "object"}
    assert (invoice["name"], invoice["precheck"], invoice["columns"]) == ("invoice.create", False, [])
    assert set(order) == set(KindSchema().fields)


MASKED = {"customer": {"cpf": "52998224725", "name": "Ana"}, "list": [{"cnpj": "1"}]}


def test_nobody_guesses_a_masked_field_who_may_not_see_it(
    desk: Desk, client: FlaskClient, ci: Program
) -> None:
    event_id = desk.dead(payload=MASKED)
    editor = program(desk, client, "editor")
    for path in ("customer.cpf=52998224725", "list.0.cnpj=1"):
        said = problem(ci.get(f"/events?payload.{path}"), 400)["detail"]
        assert said.startswith(f"payload.{path.partition('=')[0]}: this field is masked")
        problem(ci.get(f"/groups?payload.{path}"), 400)
        name, _, value = path.partition("=")
        guess = {"action": "reprocess", "note": "x", "dry_run": True, "filter": {f"payload.{name}": value}}
        problem(ci.post("/bulk", guess), 400)
        problem(ci.post("/views", {"name": "Guess", "filter": f"payload.{path}"}), 400)
        assert [one["id"] for one in editor.get(f"/events?payload.{path}").get_json()["items"]] == [event_id]
    assert [one["id"] for one in ci.get("/events?payload.customer.name=Ana").get_json()["items"]] == [
        event_id
    ]


def test_no_object_is_guessed_as_a_whole(desk: Desk, ci: Program) -> None:
    desk.dead(payload={"customer": {"cpf": "52998224725"}, "text": "{1}"})
    for whole in ('{"cpf":"52998224725"}', '{"cpf": "52998224725"}'):
        assert ci.get(f"/events?payload.customer={quote(whole)}").get_json()["items"] == []
    assert ci.get("/events?payload.text={1}").get_json()["count"] == 1


def test_a_masked_field_that_is_a_column_is_found_by_whoever_has_the_number(desk: Desk, ci: Program) -> None:
    policy = Policy(max_attempts=1, columns={"CPF": "customer.cpf"})
    event_id = desk.dead(payload=MASKED, policy=policy)
    kinds.publish(desk.hub.store, desk.hub.registry.kinds(), "worker-1")
    found = ci.get("/events?kind=order.create&payload.customer.cpf=52998224725").get_json()["items"]
    assert [one["id"] for one in found] == [event_id]
    problem(ci.get("/events?kind=invoice.create&payload.customer.cpf=52998224725"), 400)


def test_the_description_names_every_call_and_every_field(
    desk: Desk, client: FlaskClient, ci: Program
) -> None:
    described = client.get("/api/v1/openapi.json").get_json()
    calls = {
        (path, method)
        for path, item in described["paths"].items()
        for method in item
        if method != "parameters"
    }
    assert calls == {
        ("/api/v1/events", "get"),
        ("/api/v1/workers", "get"),
        ("/api/v1/alerts", "get"),
        ("/api/v1/alerts/rules", "get"),
        ("/api/v1/alerts/rules/{rule}/snooze", "post"),
        ("/api/v1/alerts/rules/{rule}/unsnooze", "post"),
        ("/api/v1/alerts/channels", "get"),
        ("/api/v1/alerts/test", "post"),
        ("/api/v1/events", "post"),
        ("/api/v1/events/{event_id}", "get"),
        ("/api/v1/events/{event_id}/reprocess", "post"),
        ("/api/v1/events/{event_id}/discard", "post"),
        ("/api/v1/events/{event_id}/restore", "post"),
        ("/api/v1/events/{event_id}/cancel-send", "post"),
        ("/api/v1/events/{event_id}/edit", "post"),
        ("/api/v1/events/{event_id}/precheck", "post"),
        ("/api/v1/events/{event_id}/assign", "post"),
        ("/api/v1/events/{event_id}/tag", "post"),
        ("/api/v1/events/{event_id}/notes", "post"),
        ("/api/v1/events/{event_id}/snooze", "post"),
        ("/api/v1/groups/{fingerprint}/assign", "post"),
        ("/api/v1/groups/{fingerprint}/note", "post"),
        ("/api/v1/groups", "get"),
        ("/api/v1/kinds", "get"),
        ("/api/v1/bulk", "get"),
        ("/api/v1/bulk", "post"),
        ("/api/v1/bulk/{run_id}", "get"),
        ("/api/v1/bulk/{run_id}/items", "get"),
        ("/api/v1/bulk/{run_id}/pause", "post"),
        ("/api/v1/bulk/{run_id}/resume", "post"),
        ("/api/v1/bulk/{run_id}/cancel", "post"),
        ("/api/v1/views", "get"),
        ("/api/v1/views", "post"),
        ("/api/v1/views/{view_id}", "put"),
        ("/api/v1/views/{view_id}", "delete"),
        ("/api/v1/accounts", "get"),
        ("/api/v1/accounts/{account}/pause", "post"),
        ("/api/v1/accounts/{account}/resume", "post"),
        ("/api/v1/breakers", "get"),
        ("/api/v1/bulkheads", "get"),
        ("/api/v1/health", "get"),
        ("/api/v1/lag", "get"),
        ("/api/v1/breakers/{name}/force-open", "post"),
        ("/api/v1/breakers/{name}/force-closed", "post"),
        ("/api/v1/breakers/{name}/reset", "post"),
        ("/api/v1/embeds", "get"),
        ("/api/v1/embeds", "post"),
        ("/api/v1/embeds/{embed_id}/{act}", "post"),
        ("/api/v1/nodes", "get"),
        ("/api/v1/nodes/decide", "post"),
        ("/api/v1/recovery", "get"),
        ("/api/v1/recovery/resume", "post"),
        ("/api/v1/recovery/discard", "post"),
    }
    assert described["components"]["securitySchemes"] == {"token": {"type": "http", "scheme": "bearer"}}
    event_id = desk.dead()
    desk.hub.reprocess(event_id)
    event, page = ci.get(f"/events/{event_id}").get_json(), ci.get("/events").get_json()
    for schema, answer in (
        (schemas.PageSchema, page),
        (schemas.EventSummarySchema, page["items"][0]),
        (schemas.EventSchema, event),
        (schemas.AttemptSchema, event["attempts"][0]),
        (schemas.AuditSchema, event["audit"][0]),
    ):
        assert set(schema().fields) == set(answer)


def test_a_payload_as_deep_as_can_be_stored_is_shown() -> None:
    payload: Any = "bottom"
    for _ in range(100):
        payload = [payload]
    text = representation.to_text({"payload": payload})
    assert text.startswith('{"payload":[[[[')


@pytest.mark.parametrize("name", ["acount", "attempt", "payload", "page"])
def test_a_filter_that_does_not_exist_is_refused_and_not_ignored(ci: Program, name: str) -> None:
    answer = ci.get(f"/events?{name}=1")
    assert answer.status_code == 400
    assert answer.get_json()["detail"].startswith(f"{name}: there is no such filter; use one of account, ")
