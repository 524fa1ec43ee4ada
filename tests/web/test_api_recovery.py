"""Parked items of recovery queues, in the API: the same as on the command line."""

from __future__ import annotations

from typing import Any

import pytest
from flask.testing import FlaskClient

from dlq_console import QueueGuard, RecoveryConsumer, RetryConfig
from dlq_console.web.api import recovery_schemas
from tests.web.desk import Desk
from tests.web.test_api import Program, ci, client, problem, program

__all__ = ["ci", "client"]


def fails(_item: Any) -> None:
    """What no item survives."""
    raise TimeoutError


def parked(desk: Desk, *items: Any) -> QueueGuard:
    """A queue whose items have failed too often."""
    queue = QueueGuard(desk.hub.state, "recovery", on_full=print)
    for item in items:
        assert queue.safe_enqueue(item)
    RecoveryConsumer(desk.hub.state, "recovery", fails, retry=RetryConfig(max_attempts=1)).run_once()
    return queue


def test_parked_items_are_listed_resumed_and_discarded(desk: Desk, ci: Program) -> None:
    assert ci.get("/recovery").get_json() == {"items": []}
    queue = parked(desk, {"thread": 1}, {"thread": 2})
    items = ci.get("/recovery").get_json()["items"]
    known = {item["item"]["thread"]: item["id"] for item in items}
    assert {(item["queue"], item["error"], item["attempts"]) for item in items} == {
        ("recovery", "TimeoutError", 1)
    }
    assert all(set(recovery_schemas.ParkedItemSchema().fields) == set(item) for item in items)
    resumed = ci.post("/recovery/resume", {"id": known[1], "note": "Their service is back"}).get_json()
    assert resumed == {"id": known[1], "queue": "recovery", "item": {"thread": 1}, "outcome": "resumed"}
    assert set(recovery_schemas.ParkedDecidedSchema().fields) == set(resumed)
    assert ci.post("/recovery/discard", {"id": known[2]}).get_json()["outcome"] == "discarded"
    assert ci.get("/recovery").get_json() == {"items": []}
    assert (queue.stats()["size"], queue.stats()["parked"]) == (1, 0)
    body = problem(ci.post("/recovery/resume", {"id": known[1]}), 404)
    assert body["detail"].startswith(f"No item {known[1]} is parked")


def test_a_decision_is_that_of_the_token(desk: Desk, ci: Program) -> None:
    parked(desk, "thread-1")
    (item,) = ci.get("/recovery").get_json()["items"]
    ci.post("/recovery/discard", {"id": item["id"], "note": "Booked by hand"})
    with desk.hub.store.read() as connection:
        rows = connection.execute(desk.hub.store.tables.audit.select()).all()
    (row,) = [each for each in rows if each.action == "discard_item"]
    assert (row.subject, row.note) == (f"recovery:recovery {item['id']}", "Booked by hand")
    assert row.actor


@pytest.mark.parametrize(
    "body", [None, {}, {"id": 7}, {"id": "x", "note": "x" * 2001}, {"id": "x", "more": 1}]
)
def test_a_decision_that_is_none_is_refused(desk: Desk, ci: Program, body: object) -> None:
    parked(desk, "thread-1")
    for act in ("resume", "discard"):
        problem(ci.post(f"/recovery/{act}", body), 400)
    assert len(ci.get("/recovery").get_json()["items"]) == 1


def test_who_may_only_look_decides_nothing_and_who_sees_some_accounts_sees_none(
    desk: Desk, client: FlaskClient
) -> None:
    parked(desk, "thread-1")
    looker = program(desk, client, "viewer")
    (item,) = looker.get("/recovery").get_json()["items"]
    some = program(desk, client, "admin", accounts=["filial-sp"])
    assert some.get("/recovery").get_json() == {"items": []}
    for asking in (looker, some):
        problem(asking.post("/recovery/discard", {"id": item["id"]}), 403)
    assert len(looker.get("/recovery").get_json()["items"]) == 1
