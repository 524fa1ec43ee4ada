"""Accounts and circuits in the API: the same figures as the command line, and the same acts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from dlq_console.errors import RateLimited
from dlq_console.web.api import door_schemas
from tests.cli.running import CommandLine
from tests.web.desk import Desk
from tests.web.test_api import Program, ci, client, problem, program

__all__ = ["ci", "client"]


def test_accounts_tell_their_work_and_what_keeps_them_closed(desk: Desk, ci: Program) -> None:
    desk.answers["1"] = RateLimited(900, message="Limite atingido")
    desk.hub.run(desk.add("1", account="filial-sp"))
    desk.dead("2", account="filial-rj")
    rj, sp = ci.get("/accounts").get_json()["items"]
    assert (rj["account"], rj["cause"], rj["dead"]) == ("filial-rj", None, 1)
    assert (sp["account"], sp["cause"], sp["reason"], sp["due"]) == (
        "filial-sp",
        "provider",
        "Limite atingido",
        1,
    )
    assert sp["until"].endswith("Z")
    assert set(door_schemas.AccountSchema().fields) == set(sp)


def test_an_account_is_paused_and_resumed(desk: Desk, ci: Program) -> None:
    until = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    answer = ci.post("/accounts/filial-sp/pause", {"note": "Inventory", "until": until})
    assert answer.status_code == 200
    paused = answer.get_json()
    assert (paused["account"], paused["cause"], paused["reason"]) == ("filial-sp", "pause", "Inventory")
    assert desk.hub.get(desk.add("1")).waiting_by == "token:operator-0"
    assert ci.post("/accounts/filial-sp/resume").get_json()["cause"] is None
    body = problem(ci.post("/accounts/filial-sp/resume"), 409)
    assert body["detail"] == "The account filial-sp is neither paused nor closed by its provider."


def test_an_account_with_a_slash_in_its_name_is_reached(desk: Desk, ci: Program) -> None:
    assert ci.post("/accounts/sp%2F1/pause").get_json()["account"] == "sp/1"
    assert ci.post("/accounts/sp%2F1/resume").get_json()["cause"] is None


def test_breakers_are_forced_and_reset(desk: Desk, ci: Program) -> None:
    assert ci.get("/breakers").get_json() == {}
    forced = ci.post("/breakers/filial-sp/force-open", {"note": "Repair", "seconds": 600}).get_json()
    assert (forced["state"], forced["computed"]) == ("open", "closed")
    assert forced["override"]["actor"] == "token:operator-0"
    assert set(door_schemas.BreakerSchema().fields) == set(forced)
    assert set(door_schemas.OverrideSchema().fields) == set(forced["override"])
    assert set(door_schemas.TransitionSchema().fields) == set(forced["history"][0])
    assert ci.get("/breakers").get_json() == {"filial-sp": forced}
    assert ci.post("/breakers/filial-sp/force-closed").get_json()["override"]["position"] == "forced_closed"
    assert ci.post("/breakers/filial-sp/reset").get_json()["override"] is None
    problem(ci.post("/breakers/nobody/reset"), 404)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/accounts/filial-sp/pause", {"until": "tomorrow"}),
        ("/accounts/filial-sp/pause", {"note": "x" * 2001}),
        ("/accounts/filial-sp/pause", {"minutes": 5}),
        ("/breakers/filial-sp/force-open", {"seconds": 0}),
        ("/breakers/filial-sp/force-open", {"seconds": 1e12}),
    ],
)
def test_an_argument_beyond_its_limits_is_refused(desk: Desk, ci: Program, path: str, body: object) -> None:
    problem(ci.post(path, body), 400)
    assert ci.get("/breakers").get_json() == {}
    assert ci.get("/accounts").get_json() == {"items": []}


def test_the_command_line_prints_what_the_api_answers(desk: Desk, ci: Program, tmp_path: Path) -> None:
    line = CommandLine({"DLQ_DATABASE_URL": desk.hub.settings.database_url}, tmp_path)
    desk.hub.force_breaker("filial-sp", "open", actor="joana", note="Repair")
    desk.dead("1", account="filial-rj")
    for command in ("accounts", "breakers"):
        assert line.succeed(command, "list", "--json").json == ci.get(f"/{command}").get_json()


def test_a_token_that_may_only_look_may_only_look(desk: Desk, client: FlaskClient) -> None:
    viewer = program(desk, client, "viewer")
    assert viewer.get("/accounts").status_code == viewer.get("/breakers").status_code == 200
    for path in (
        "/accounts/filial-sp/pause",
        "/accounts/filial-sp/resume",
        "/breakers/filial-sp/force-open",
        "/breakers/filial-sp/force-closed",
        "/breakers/filial-sp/reset",
    ):
        problem(viewer.post(path), 403)
    assert viewer.get("/breakers").get_json() == {}


def test_a_token_sees_and_touches_its_own_accounts_only(desk: Desk, client: FlaskClient) -> None:
    for account in ("filial-sp", "filial-rj"):
        desk.hub.force_breaker(account, "open", actor="joana", note="Repair")
        desk.dead(account, account=f"other-{account}")
    limited = program(desk, client, "operator", ["filial-sp"])
    assert [item["account"] for item in limited.get("/accounts").get_json()["items"]] == ["filial-sp"]
    assert set(limited.get("/breakers").get_json()) == {"filial-sp"}
    for path in (
        "/accounts/filial-rj/pause",
        "/breakers/filial-rj/reset",
        "/breakers/filial-rj%2Forder.create/force-open",
    ):
        problem(limited.post(path), 403)
