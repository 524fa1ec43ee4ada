"""Alerts in the API: the same notices, rules, snoozes and trials as on the page and the command line."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from dlq_console.clock import utc_now
from dlq_console.store.queries import alerts as told
from dlq_console.web.api import alert_schemas
from tests.cli.running import CommandLine
from tests.web import alerted
from tests.web.desk import Desk
from tests.web.test_api import Program, ci, client, problem, program

__all__ = ["ci", "client"]


def later(**span: float) -> str:
    return (utc_now() + timedelta(**span)).isoformat()


def test_open_notices_say_what_where_and_how_they_were_told(desk: Desk, ci: Program) -> None:
    alerted.look(desk)
    alerted.find(desk.hub.store, "dead_letters", "filial-sp", value=13)
    alerted.bring(desk)
    document = ci.get("/alerts").get_json()
    (one,) = document["items"]
    assert document["next_cursor"] is None
    assert set(one) == set(alert_schemas.NoticeSchema().fields)
    assert (one["rule"], one["account"], one["value"], one["unit"]) == (
        "dead_letters",
        "filial-sp",
        13,
        "events",
    )
    assert one["sentence"] == "filial-sp has 13 dead letters."
    assert one["path"] == "/dead-letters?account=filial-sp"
    assert one["closed_at"] is None
    (delivery,) = one["deliveries"]
    assert set(delivery) == set(alert_schemas.DeliverySchema().fields)
    assert (delivery["channel"], delivery["told_at"], delivery["is_over"]) == ("webhook", None, False)
    assert delivery["error"] == "The webhook cannot be reached: nobody listens there."
    assert ci.get("/alerts?state=closed").get_json() == {"items": [], "next_cursor": None}


@pytest.mark.parametrize("state", ["open", "closed"])
def test_both_lists_are_walked_with_a_cursor(desk: Desk, ci: Program, state: str) -> None:
    store = desk.hub.store
    names = [f"filial-{number:02}" for number in range(7)]
    for number, one in enumerate(alerted.find(store, "dead_letters", *names)):
        if state == "closed":
            alerted.close(store, one, began=timedelta(hours=3, minutes=number // 2))
    found: list[str] = []
    cursor = ""
    while True:
        document = ci.get(f"/alerts?state={state}&limit=3&cursor={cursor}").get_json()
        assert len(document["items"]) <= 3
        found += [one["subject"] for one in document["items"]]
        cursor = document["next_cursor"]
        if cursor is None:
            break
    assert sorted(found) == names


def test_a_cursor_of_the_other_list_is_refused(desk: Desk, ci: Program) -> None:
    store = desk.hub.store
    alerted.find(store, "dead_letters", "a", "b", "c")
    cursor = ci.get("/alerts?limit=1").get_json()["next_cursor"]
    problem(ci.get(f"/alerts?state=closed&cursor={cursor}"), 400)


@pytest.mark.parametrize("query", ["state=some", "limit=0", "limit=201", "cursor=x", "account=filial-sp"])
def test_what_the_list_does_not_know_is_refused(ci: Program, query: str) -> None:
    problem(ci.get(f"/alerts?{query}"), 400)


def test_rules_are_listed_snoozed_and_told_of_again(desk: Desk, ci: Program) -> None:
    assert ci.get("/alerts/rules").get_json() == {
        "items": [],
        "source": None,
        "looked_at": None,
        "wrong": None,
    }
    alerted.look(desk)
    alerted.find(desk.hub.store, "lag_p95", "filial-sp")
    document = ci.get("/alerts/rules").get_json()
    assert set(document) == set(alert_schemas.AlertRulesSchema().fields)
    rule = next(one for one in document["items"] if one["name"] == "lag_p95")
    assert set(rule) == set(alert_schemas.AlertRuleSchema().fields)
    assert (rule["over"], rule["for_minutes"], rule["unit"], rule["snooze"]) == (300, 10, "seconds", None)
    assert rule["to"] == ["webhook", "mail"]
    answer = ci.post("/alerts/rules/lag_p95/snooze", {"until": later(hours=2), "note": "inventory"})
    assert answer.status_code == 200, answer.text
    snooze = answer.get_json()["snooze"]
    assert set(snooze) == set(alert_schemas.StandingSnoozeSchema().fields)
    assert (snooze["actor"], snooze["note"]) == ("token:operator-0", "inventory")
    (notice,) = ci.get("/alerts").get_json()["items"]
    assert notice["snoozed_until"] == snooze["until"]
    assert ci.post("/alerts/rules/lag_p95/unsnooze").get_json()["snooze"] is None
    body = problem(ci.post("/alerts/rules/lag_p95/unsnooze"), 404)
    assert body["detail"] == 'The alert "lag_p95" is not snoozed.'


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"note": "x"}, 400),
        ({"until": "tomorrow", "note": "x"}, 400),
        ({"until": "2030-01-01T00:00:00", "note": "x"}, 400),
        ({"until": later(hours=1)}, 400),
        ({"until": later(hours=1), "note": "x" * 501}, 400),
        ({"until": later(hours=1), "note": "x", "hours": 3}, 400),
        ({"until": later(hours=1), "note": "  "}, 422),
        ({"until": later(hours=-1), "note": "x"}, 422),
        ({"until": later(days=91), "note": "x"}, 422),
        ({"until": "9999-12-31T23:59:59Z", "note": "x"}, 422),
    ],
)
def test_a_snooze_without_a_time_ahead_or_a_reason_is_refused(
    desk: Desk, ci: Program, body: object, status: int
) -> None:
    alerted.look(desk)
    problem(ci.post("/alerts/rules/lag_p95/snooze", body), status)
    assert told.snoozes(desk.hub.store) == {}


def test_a_rule_whose_name_has_a_slash_is_reached_and_an_unknown_one_is_not(
    desk: Desk, ci: Program, tmp_path: Path
) -> None:
    file = tmp_path / "alerts.toml"
    file.write_text('[[rule]]\nname = "orders / late"\nwhen = "lag_p95"\n')
    alerted.look(desk, alerts=str(file))
    body = {"until": later(hours=1), "note": "x"}
    assert ci.post("/alerts/rules/orders%20%2F%20late/snooze", body).get_json()["name"] == "orders / late"
    problem(ci.post("/alerts/rules/nothing/snooze", body), 404)
    assert ci.get("/alerts/rules").get_json()["source"] == str(file)


def test_channels_are_listed_and_tried(desk: Desk, ci: Program) -> None:
    problem(ci.post("/alerts/test"), 404)
    alerted.look(desk)
    webhook, mail = ci.get("/alerts/channels").get_json()["items"]
    assert webhook == {"name": "webhook", "where": "http://127.0.0.1:9/•••", "last_test": None}
    answer = ci.post("/alerts/test", {"channel": "mail"})
    assert (answer.status_code, answer.get_json()) == (202, {"channels": ["mail"]})
    assert ci.post("/alerts/test").get_json() == {"channels": ["webhook", "mail"]}
    alerted.bring(desk)
    _, mail = ci.get("/alerts/channels").get_json()["items"]
    assert set(mail["last_test"]) == set(alert_schemas.AlertTrialSchema().fields)
    assert mail["last_test"]["error"] == "The mail server cannot be reached: nobody listens there."
    problem(ci.post("/alerts/test", {"channel": "pager"}), 404)


def test_a_token_for_some_accounts_sees_theirs_alone_and_changes_nothing(
    desk: Desk, client: FlaskClient
) -> None:
    alerted.look(desk)
    alerted.find(desk.hub.store, "dead_letters", "filial-sp", "filial-rj")
    alerted.find(desk.hub.store, "recovery_queue", "orders", own=False)
    some = program(desk, client, "admin", ["filial-sp"])
    assert [one["subject"] for one in some.get("/alerts").get_json()["items"]] == ["filial-sp"]
    assert some.get("/alerts/channels").get_json()["items"][0] == {
        "name": "webhook",
        "where": None,
        "last_test": None,
    }
    problem(some.post("/alerts/rules/lag_p95/snooze", {"until": later(hours=1), "note": "x"}), 403)
    problem(some.post("/alerts/rules/lag_p95/unsnooze"), 403)
    problem(some.post("/alerts/test"), 403)


def test_a_viewer_reads_and_changes_nothing(desk: Desk, client: FlaskClient) -> None:
    alerted.look(desk)
    reader = program(desk, client, "viewer")
    for path in ("/alerts", "/alerts/rules", "/alerts/channels"):
        assert reader.get(path).status_code == 200
    body = problem(reader.post("/alerts/test"), 403)
    assert body["detail"] == "The role viewer may not test_alert."
    problem(reader.post("/alerts/rules/lag_p95/snooze", {"until": later(hours=1), "note": "x"}), 403)


def test_the_command_line_lists_the_same_and_ends_a_snooze(desk: Desk, ci: Program, tmp_path: Path) -> None:
    store = desk.hub.store
    alerted.look(desk)
    alerted.close(store, *alerted.find(store, "in_doubt", "filial-sp", value=2))
    alerted.find(store, "dead_letters", "filial-sp")
    line = CommandLine({"DLQ_DATABASE_URL": desk.hub.settings.database_url}, tmp_path)
    assert line.succeed("alerts", "list", "--json").json == ci.get("/alerts?limit=200").get_json()
    assert line.succeed("alerts", "history", "--json").json == ci.get("/alerts?state=closed").get_json()
    printed = line.succeed("alerts", "history").output
    assert "2 h" in printed
    assert "It was not known whether 2 events of filial-sp were applied." in printed
    line.succeed("alerts", "snooze", "lag_p95", "--hours", "3", "--note", "inventory")
    assert "told of lag_p95 again" in line.succeed("alerts", "unsnooze", "lag_p95").output
    assert told.snoozes(store) == {}
    refused = line("alerts", "unsnooze", "lag_p95")
    assert (refused.status, refused.sentence) == (1, 'The alert "lag_p95" is not snoozed.')


def test_the_history_of_the_command_line_goes_on_behind_its_cursor(desk: Desk, tmp_path: Path) -> None:
    store = desk.hub.store
    names = [f"filial-{number:02}" for number in range(53)]
    for number, one in enumerate(alerted.find(store, "dead_letters", *names)):
        alerted.close(store, one, began=timedelta(hours=3, minutes=number))
    line = CommandLine({"DLQ_DATABASE_URL": desk.hub.settings.database_url}, tmp_path)
    first = line.succeed("alerts", "history").output
    assert "filial-49" in first
    assert "filial-50" not in first
    cursor = first.splitlines()[-1].rpartition(" ")[2]
    assert "filial-52" in line.succeed("alerts", "history", "--cursor", cursor).output
