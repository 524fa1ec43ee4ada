"""Can programs keep filters under a name, use them, and see the lists that people see?"""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from dlq_console.store import people
from tests.web.desk import Desk


class Program:
    """A program that calls the API with a token."""

    def __init__(self, app: Flask, desk: Desk, name: str, role: str) -> None:
        self._client = app.test_client()
        token = people.add_token(desk.hub.store, name, role=role)
        self._headers = {"Authorization": f"Bearer {token}"}

    def get(self, path: str) -> TestResponse:
        return self._client.get(f"/api/v1{path}", headers=self._headers)

    def post(self, path: str, **body: Any) -> TestResponse:
        return self._client.post(f"/api/v1{path}", json=body, headers=self._headers)

    def put(self, path: str, **body: Any) -> TestResponse:
        return self._client.put(f"/api/v1{path}", json=body, headers=self._headers)

    def delete(self, path: str) -> TestResponse:
        return self._client.delete(f"/api/v1{path}", headers=self._headers)


@pytest.fixture
def ci(app: Flask, desk: Desk) -> Program:
    return Program(app, desk, "ci", "operator")


def test_a_view_is_kept_listed_changed_and_forgotten(ci: Program, desk: Desk) -> None:
    desk.dead("8841")
    desk.dead("8842")
    made = ci.post("/views", name="Tax", filter="entity=8841", shared=True)
    assert made.status_code == 200, made.text
    view = made.get_json()
    expected = {
        "name": "Tax",
        "owner": "token:ci",
        "shared": True,
        "page": "dead-letters",
        "filter": "entity=8841",
    }
    assert view == expected | {"id": view["id"], "count": 1, "count_capped": False}
    assert ci.get("/views").get_json() == {"items": [view]}
    changed = ci.put(
        f"/views/{view['id']}", name="Taxes", filter={"entity": "8842", "kind": ["order.create"]}
    )
    assert changed.get_json()["filter"] == "kind=order.create&entity=8842"
    assert not changed.get_json()["shared"]
    assert ci.delete(f"/views/{view['id']}").status_code == 204
    assert ci.get("/views").get_json() == {"items": []}
    assert ci.delete(f"/views/{view['id']}").status_code == 404


def test_the_list_of_a_view_can_be_read_and_narrowed(ci: Program, desk: Desk) -> None:
    first, second = desk.dead("8841"), desk.dead("8842")
    desk.done("8843")
    view = ci.post("/views", name="Letters", filter="").get_json()["id"]
    items = ci.get(f"/events?view={view}").get_json()["items"]
    assert [item["id"] for item in items] == [second, first]
    narrowed = ci.get(f"/events?view={view}&entity=8841").get_json()
    assert [item["id"] for item in narrowed["items"]] == [first]
    assert ci.get("/events?view=999").status_code == 404


def test_what_is_wrong_with_a_view_is_told_in_a_sentence(ci: Program) -> None:
    assert ci.post("/views", name="Tax", filter="q=tax").status_code == 200
    for status, detail, fields in (
        (409, "You have a view of this name already", {"name": "Tax", "filter": ""}),
        (400, "acount: there is no such filter", {"name": "x", "filter": "acount=a"}),
        (400, "filter: write an object", {"name": "x", "filter": 7}),
        (400, "filter.kind: write text", {"name": "x", "filter": {"kind": 7}}),
        (422, "name: write 1 to 80", {"name": "", "filter": ""}),
        (422, "page: choose one of", {"name": "x", "filter": "", "page": "groups"}),
    ):
        answer = ci.post("/views", **fields)
        assert (answer.status_code, answer.get_json()["detail"][: len(detail)]) == (status, detail)


def test_a_program_that_only_looks_shares_nothing(app: Flask, desk: Desk) -> None:
    looker = Program(app, desk, "looker", "viewer")
    assert looker.post("/views", name="Mine", filter="").status_code == 200
    refused = looker.post("/views", name="For all", filter="", shared=True)
    assert (refused.status_code, refused.get_json()["detail"]) == (403, "The role viewer may not share_view.")


@pytest.mark.parametrize(
    ("query", "places"),
    [
        ("class=permanent", [1, 0]),
        ("class=auth", []),
        ("attempts=1", [1, 0]),
        ("attempts=2%2B", []),
        ("payload.number=8841", [0]),
        ("payload.number=8841&payload.customer.city=Santos", [0]),
        ("payload.number=8841&payload.customer.city=Bauru", []),
        ("sort=oldest", [0, 1]),
        ("at=2026-01-01T00:00Z", []),
        ("assignee=-", [1, 0]),
        ("assignee=maria", []),
        ("tag=tax", []),
        ("snoozed=only", []),
    ],
)
def test_a_list_takes_every_filter(ci: Program, desk: Desk, query: str, places: list[int]) -> None:
    payloads: list[dict[str, Any]] = [{"number": "8841", "customer": {"city": "Santos"}}, {"number": "8842"}]
    ids = [desk.dead(str(payload["number"]), payload=payload) for payload in payloads]
    answer = ci.get(f"/events?status=dead&{query}").get_json()
    assert [item["id"] for item in answer["items"]] == [ids[place] for place in places]
    assert (answer["count"], answer["count_capped"]) == (len(places), False)
