"""Calls of which nobody knows whether they had their effect, in the API: the same as on the command line."""

from __future__ import annotations

import pytest
from flask.testing import FlaskClient

from dlq_console.resilience import IdempotentCalls
from dlq_console.resilience.calls import Replay
from dlq_console.web.api import node_schemas
from tests.web.desk import Desk
from tests.web.test_api import Program, ci, client, problem, program

__all__ = ["ci", "client"]


def leave_doubt(desk: Desk, key: str = "k") -> IdempotentCalls:
    """A call of unknown outcome."""
    calls = IdempotentCalls("book", desk.hub.state)

    def times_out() -> None:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        calls.run(key, "f", times_out, about="order=8841")
    return calls


def test_calls_of_unknown_outcome_are_listed_and_decided(desk: Desk, ci: Program) -> None:
    assert ci.get("/nodes").get_json() == {"items": []}
    calls = leave_doubt(desk)
    (item,) = ci.get("/nodes").get_json()["items"]
    assert (item["key"], item["node"], item["about"], item["error"]) == (
        "k",
        "book",
        "order=8841",
        "TimeoutError",
    )
    assert item["since"].endswith("Z")
    assert set(node_schemas.NodeSchema().fields) == set(item)
    decided = ci.post(
        "/nodes/decide", {"key": "k", "applied": True, "note": "Seen", "result": {"total": 1.5}}
    )
    assert decided.get_json() == {"key": "k", "node": "book", "about": "order=8841", "outcome": "applied"}
    assert set(node_schemas.DecidedSchema().fields) == set(decided.get_json())
    assert ci.get("/nodes").get_json() == {"items": []}
    assert calls.run("k", "f", lambda: "twice") == Replay({"total": 1.5})
    body = problem(ci.post("/nodes/decide", {"key": "k", "applied": False}), 404)
    assert body["detail"].startswith("No call k waits for a decision")


def test_a_decision_about_a_doubt_is_not_taken_for_one_about_a_later_doubt(desk: Desk, ci: Program) -> None:
    leave_doubt(desk)
    decision = {"key": "k", "applied": False, "doubt": ci.get("/nodes").get_json()["items"][0]["doubt"]}
    assert ci.post("/nodes/decide", decision).status_code == 200
    calls = leave_doubt(desk)
    body = problem(ci.post("/nodes/decide", decision), 409)
    assert (body["event_status"], body["detail"].endswith("look at the other side once more.")) == (
        "unknown",
        True,
    )
    decision = {"key": "k", "applied": True, "doubt": ci.get("/nodes").get_json()["items"][0]["doubt"]}
    assert ci.post("/nodes/decide", decision).status_code == 200
    assert calls.run("k", "f", lambda: "twice") == Replay(None)


def test_a_decision_is_that_of_the_token(desk: Desk, ci: Program) -> None:
    leave_doubt(desk)
    ci.post("/nodes/decide", {"key": "k", "applied": False, "note": "Not there"})
    with desk.hub.store.read() as connection:
        rows = connection.execute(desk.hub.store.tables.audit.select()).all()
    (row,) = [each for each in rows if each.action == "decide_node"]
    assert (row.actor, row.note) == ("token:operator-0", "Not there")


def test_a_call_that_is_being_made_is_not_decided(desk: Desk, ci: Program) -> None:
    def during() -> None:
        body = problem(ci.post("/nodes/decide", {"key": "k", "applied": False}), 409)
        assert body["event_status"] == "running"

    IdempotentCalls("book", desk.hub.state).run("k", "f", during)


@pytest.mark.parametrize(
    "body",
    [
        None,
        {},
        {"key": "k"},
        {"applied": True},
        {"key": "k", "applied": "perhaps"},
        {"key": 7, "applied": True},
        {"key": "k", "applied": True, "note": "x" * 2001},
        {"key": "k", "applied": True, "doubt": 7},
        {"key": "k", "applied": True, "more": 1},
    ],
)
def test_a_decision_that_is_none_is_refused(desk: Desk, ci: Program, body: object) -> None:
    leave_doubt(desk)
    problem(ci.post("/nodes/decide", body), 400)
    assert len(ci.get("/nodes").get_json()["items"]) == 1


def test_a_result_of_what_was_not_applied_is_refused(desk: Desk, ci: Program) -> None:
    leave_doubt(desk)
    problem(ci.post("/nodes/decide", {"key": "k", "applied": False, "result": 1}), 422)


def test_who_may_only_look_decides_nothing_and_who_sees_some_accounts_sees_none(
    desk: Desk, client: FlaskClient
) -> None:
    leave_doubt(desk)
    looker = program(desk, client, "viewer")
    assert len(looker.get("/nodes").get_json()["items"]) == 1
    problem(looker.post("/nodes/decide", {"key": "k", "applied": True}), 403)
    some = program(desk, client, "admin", accounts=["filial-sp"])
    assert some.get("/nodes").get_json() == {"items": []}
    problem(some.post("/nodes/decide", {"key": "k", "applied": True}), 403)
