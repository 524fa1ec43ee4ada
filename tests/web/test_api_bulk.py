"""Bulk runs in the API: the same acts as from Python, within what the token may do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from flask.testing import FlaskClient

from dlq_console.hub import bulk_progress
from dlq_console.store.bulk import previews
from dlq_console.web.api import bulk_schemas
from tests.store import filling
from tests.web.desk import Desk
from tests.web.test_api import Program, ci, client, problem, program

__all__ = ["ci", "client"]


@pytest.fixture
def desk(sqlite_url: str) -> Iterator[Desk]:
    """A hub under the test's control; what a run does is tested on both engines with the hub."""
    hub_and_erp = Desk(sqlite_url)
    yield hub_and_erp
    hub_and_erp.hub.close()


WHY = {"action": "reprocess", "note": "customer registered"}
ALL = WHY | {"all": True}


def finish(desk: Desk) -> None:
    """Bring every run to where it stands still."""
    desk.answers.clear()
    while bulk_progress.advance(desk.hub):
        desk.hub.run_due()


def test_a_run_is_tried_started_and_followed_to_its_end(desk: Desk, ci: Program) -> None:
    ids = [desk.dead(str(number)) for number in range(3)]
    body = WHY | {"filter": {"kind": "order.create", "account": ["filial-sp"]}}
    tried = ci.post("/bulk", body | {"dry_run": True})
    assert tried.status_code == 200
    preview = tried.get_json()
    assert (preview["count"], preview["count_capped"], preview["refused"]) == (3, False, {})
    assert [event["id"] for event in preview["sample"]] == ids[::-1]
    started = ci.post("/bulk", body | {"selection_token": preview["selection_token"], "canary": True})
    assert started.status_code == 202
    run_id = started.get_json()["id"]
    assert started.headers["Location"].endswith(f"/api/v1/bulk/{run_id}")
    finish(desk)
    run = ci.get(f"/bulk/{run_id}").get_json()
    told = {
        name: run[name] for name in ("state", "total", "done", "succeeded", "refused", "remaining", "drift")
    }
    assert told == {
        "state": "done",
        "total": 3,
        "done": 3,
        "succeeded": 3,
        "refused": 0,
        "remaining": 0,
        "drift": 0,
    }
    assert (run["stages"], run["filter"]) == ([1, 10, 100], "kind=order.create&account=filial-sp&status=dead")
    items = ci.get(f"/bulk/{run_id}/items?state=succeeded&limit=2").get_json()
    assert [item["event_id"] for item in items["items"]] == ids[:2]
    rest = ci.get(f"/bulk/{run_id}/items?state=succeeded&cursor={items['next_cursor']}").get_json()
    assert ([item["event_id"] for item in rest["items"]], rest["next_cursor"]) == (ids[2:], None)
    assert [run["id"] for run in ci.get("/bulk").get_json()["items"]] == [run_id]


def test_the_items_of_a_run_are_all_of_them_unless_one_state_is_asked_for(desk: Desk, ci: Program) -> None:
    ids = [desk.dead(str(number)) for number in range(4)]
    desk.hub.discard(ids[1], actor="ana", note="double")
    run_id = ci.post("/bulk", WHY | {"ids": ids}).get_json()["id"]
    finish(desk)
    first = ci.get(f"/bulk/{run_id}/items?limit=3").get_json()
    states = [(item["event_id"], item["state"]) for item in first["items"]]
    assert states == [(ids[0], "succeeded"), (ids[1], "refused"), (ids[2], "succeeded")]
    rest = ci.get(f"/bulk/{run_id}/items?cursor={first['next_cursor']}").get_json()
    assert ([item["event_id"] for item in rest["items"]], rest["next_cursor"]) == (ids[3:], None)
    for wrong in ("stat=refused", "payload.total=1", "account=filial-sp"):
        problem(ci.get(f"/bulk/{run_id}/items?{wrong}"), 400)


def test_a_saved_view_is_the_filter_of_a_run(desk: Desk, ci: Program, client: FlaskClient) -> None:
    ids = [desk.dead(str(number)) for number in range(3)]
    view = ci.post("/views", {"name": "One", "filter": "entity=1"}).get_json()["id"]
    for filter_ in ({"view": str(view)}, f"view={view}", {"view": str(view), "kind": "order.create"}):
        tried = ci.post("/bulk", WHY | {"filter": filter_, "dry_run": True}).get_json()
        assert [event["id"] for event in tried["sample"]] == [ids[1]], filter_
    problem(program(desk, client).post("/bulk", WHY | {"filter": {"view": str(view)}}), 404)
    problem(ci.post("/bulk", WHY | {"filter": {"view": "x"}}), 400)


def test_the_audit_says_where_a_run_came_from(desk: Desk, ci: Program) -> None:
    desk.dead("1")
    ci.post("/bulk", WHY | {"filter": "entity=1"})
    with desk.hub.store.read() as connection:
        rows = connection.execute(
            desk.hub.store.statement("SELECT * FROM {audit} WHERE action = 'bulk_start'")
        )
        (row,) = rows.mappings()
    assert (row["actor"], row["filter"], row["bulk_id"], row["note"]) == (
        "token:operator-0", "status=dead&entity=1", 1, "customer registered",
    )  # fmt: skip


def test_a_start_that_is_sent_twice_begins_one_run(desk: Desk, ci: Program) -> None:
    desk.dead("1")
    token = ci.post("/bulk", WHY | {"filter": {}, "dry_run": True}).get_json()["selection_token"]
    body = WHY | {"selection_token": token}
    assert ci.post("/bulk", body).get_json() == ci.post("/bulk", body).get_json()


def test_an_exact_dry_run_counts_all_and_goes_on_with_the_first_one(
    desk: Desk, ci: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(previews, "LOOK", 2)
    monkeypatch.setattr(previews, "CAP", 3)
    for number in range(5):
        desk.dead(str(number))
    tried = ci.post("/bulk", WHY | {"filter": {}, "dry_run": True}).get_json()
    assert (tried["count"], tried["count_capped"], tried["looked"]) == (3, True, 2)
    body = WHY | {"selection_token": tried["selection_token"], "dry_run": True, "exact": True}
    exact = ci.post("/bulk", body).get_json()
    assert (exact["count"], exact["count_capped"], exact["looked"]) == (5, False, 5)
    assert [part["number"] for part in exact["by_kind"]] == [5]
    monkeypatch.setattr(previews, "PATIENCE", 0)
    filling.dead(desk.hub.store, 3_000)
    late = problem(ci.post("/bulk", WHY | {"filter": {}, "dry_run": True, "exact": True}), 422)
    assert "narrow the filter" in late["detail"]


def test_a_run_over_another_number_than_expected_is_a_conflict(desk: Desk, ci: Program) -> None:
    for number in range(3):
        desk.dead(str(number))
    body = WHY | {"filter": {"kind": "order.create"}}
    refused = problem(ci.post("/bulk", body | {"expected_count": 4}), 409)
    assert refused["detail"].startswith("expected_count: there are 3 events, not 4; nothing was begun.")
    for nonsense in (-1, "3", True):
        problem(ci.post("/bulk", body | {"expected_count": nonsense}), 400)
    assert ci.get("/bulk").get_json()["items"] == []
    begun = ci.post("/bulk", body | {"expected_count": 3})
    assert begun.status_code == 202
    assert ci.get(f"/bulk/{begun.get_json()['id']}").get_json()["expected"] == 3


def test_a_run_is_paused_resumed_and_cancelled(desk: Desk, ci: Program) -> None:
    desk.dead("1")
    run_id = ci.post("/bulk", ALL).get_json()["id"]
    assert ci.post(f"/bulk/{run_id}/pause", {"note": "lunch"}).get_json()["state"] == "paused"
    body = problem(ci.post(f"/bulk/{run_id}/pause"), 409)
    assert (body["event_status"], body["detail"]) == (
        "paused",
        f"The bulk run {run_id} is paused; pause is not allowed now.",
    )
    assert ci.post(f"/bulk/{run_id}/resume").get_json()["state"] == "freezing"
    assert ci.post(f"/bulk/{run_id}/cancel").get_json()["state"] == "cancelled"
    problem(ci.post(f"/bulk/{run_id}/resume"), 409)
    assert desk.hub.get(1).status == "dead"


def test_who_may_only_look_sees_runs_and_begins_none(desk: Desk, client: FlaskClient, ci: Program) -> None:
    desk.dead("1")
    run_id = ci.post("/bulk", ALL).get_json()["id"]
    viewer = program(desk, client, "viewer")
    assert viewer.get(f"/bulk/{run_id}").status_code == 200
    problem(viewer.post("/bulk", ALL), 403)
    problem(viewer.post("/bulk", WHY | {"filter": {}, "dry_run": True}), 403)
    problem(viewer.post(f"/bulk/{run_id}/cancel"), 403)


def test_a_token_for_some_accounts_reaches_no_other(desk: Desk, client: FlaskClient, ci: Program) -> None:
    mine, foreign = desk.dead("1", account="filial-sp"), desk.dead("2", account="filial-rj")
    of_all = ci.post("/bulk", WHY | {"filter": {"entity": "none"}}).get_json()["id"]
    some = program(desk, client, accounts=["filial-sp"])
    assert some.post("/bulk", WHY | {"filter": {}, "dry_run": True}).get_json()["count"] == 1
    some.post("/bulk", ALL)
    some.post("/bulk", WHY | {"ids": [foreign]})
    finish(desk)
    assert (desk.hub.get(mine).status, desk.hub.get(foreign).status) == ("done", "dead")
    problem(some.get(f"/bulk/{of_all}"), 404)
    problem(some.get(f"/bulk/{of_all}/items"), 404)
    problem(some.post(f"/bulk/{of_all}/pause"), 404)
    assert of_all not in [run["id"] for run in some.get("/bulk").get_json()["items"]]


@pytest.mark.parametrize("everything", [{}, "", {"status": "dead"}, {"status": ["dead", "done"]}, "kind="])
def test_an_empty_filter_means_every_dead_event_and_their_number_can_be_told(
    desk: Desk, ci: Program, everything: Any
) -> None:
    ids = [desk.dead(str(number)) for number in range(2)]
    body = WHY | {"filter": everything}
    problem(ci.post("/bulk", body | {"expected_count": 3}), 409)
    assert ci.get("/bulk").get_json() == {"items": []}
    token = ci.post("/bulk", body | {"dry_run": True}).get_json()["selection_token"]
    for more in ({}, {"all": True}, {"expected_count": len(ids)}, {"selection_token": token}):
        run_id = ci.post("/bulk", body | more).get_json()["id"]
        desk.hub.bulk.cancel(run_id, actor="ana")


def test_all_needs_no_filter_and_narrows_none(desk: Desk, ci: Program) -> None:
    ids = [desk.dead(str(number)) for number in range(2)]
    for body, reached in ((ALL, 2), (ALL | {"filter": {"entity": "1"}}, 1), (ALL | {"ids": ids[:1]}, 1)):
        tried = ci.post("/bulk", body | {"dry_run": True}).get_json()
        assert tried["count"] == reached


@pytest.mark.parametrize(
    ("body", "status", "sentence"),
    [
        ({"action": "delete", "filter": {}}, 400, "action: "),
        ({"action": "reprocess"}, 422, "ids: choose 1 to 1,000 events"),
        ({"action": "reprocess", "filter": {"knd": "x"}}, 400, "knd: there is no such filter"),
        ({"action": "reprocess", "filter": {"cursor": "x"}}, 400, "cursor: there is no such filter"),
        ({"action": "reprocess", "filter": {"kind": 5}}, 400, "filter.kind: write text"),
        ({"action": "reprocess", "filter": [1]}, 400, "filter: write an object"),
        ({"action": "reprocess", "filter": {"status": "done"}}, 422, "status: a bulk run acts upon dead events"),
        ({"action": "reprocess", "filter": {}, "ids": [1]}, 422, "filter: give a filter or ids"),
        ({"action": "reprocess", "filter": {"q": "x" * 1_000_000}}, 400, "q: 1,000,000 characters"),
        ({"action": "discard", "all": True}, 422, "note: say why"),
        ({"action": "reprocess", "all": True, "canary": "yes"}, 422, "canary: "),
        ({"action": "reprocess", "filter": {}, "window": "many"}, 400, "window: "),
        ({"action": "reprocess", "filter": {}, "selection_token": "x"}, 422, "selection_token: "),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused_in_one_sentence(
    desk: Desk, ci: Program, body: dict[str, Any], status: int, sentence: str
) -> None:
    desk.dead("1")
    assert problem(ci.post("/bulk", body), status)["detail"].startswith(sentence)
    assert ci.get("/bulk").get_json() == {"items": []}


def test_answers_have_the_fields_that_are_described(desk: Desk, ci: Program) -> None:
    desk.dead("1")
    preview = ci.post("/bulk", WHY | {"filter": {}, "dry_run": True}).get_json()
    assert set(preview) == set(bulk_schemas.PreviewSchema().fields)
    assert set(preview["by_kind"][0]) == set(bulk_schemas.PartSchema().fields)
    run_id = ci.post("/bulk", ALL).get_json()["id"]
    bulk_progress.advance(desk.hub)
    assert set(ci.get(f"/bulk/{run_id}").get_json()) == set(bulk_schemas.BulkRunSchema().fields)
    (item,) = ci.get(f"/bulk/{run_id}/items?state=waiting").get_json()["items"]
    assert set(item) == set(bulk_schemas.BulkItemSchema().fields)


def test_a_state_that_is_none_and_a_run_that_is_not_there_are_told(ci: Program) -> None:
    problem(ci.get("/bulk/7"), 404)
    problem(ci.get("/bulk/99999999999999999999"), 404)
    problem(ci.get("/bulk/7/items?state=lost"), 400)


def test_a_run_takes_the_arguments_of_its_action(desk: Desk, ci: Program) -> None:
    desk.person("ana", "operator")
    ids = [desk.dead(str(number)) for number in range(3)]
    desk.hub.assign(ids[0], "ana", actor="ana")
    desk.person("joana", "operator")
    body = {
        "action": "assign",
        "all": True,
        "arguments": {"to": "joana", "due": "2030-03-01T12:00:00-03:00"},
    }
    assert ci.post("/bulk", body | {"dry_run": True}).get_json()["refused"] == {"assigned": 1}
    run_id = ci.post("/bulk", body).get_json()["id"]
    finish(desk)
    run = ci.get(f"/bulk/{run_id}").get_json()
    assert (run["succeeded"], run["refused"]) == (2, 1)
    assert run["arguments"] == {"to": "joana", "due": "2030-03-01T12:00:00-03:00", "reassign": False}
    refused = ci.post("/bulk", body | {"arguments": {"to": "nobody-here"}})
    assert (refused.status_code, "no user nobody-here" in refused.get_json()["detail"]) == (422, True)
