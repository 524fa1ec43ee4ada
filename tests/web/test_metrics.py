"""Does `/metrics` tell what the snapshots say, to whom it may, and nothing that is stale?"""

from __future__ import annotations

import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import event

from dlq_console.health import spelling
from dlq_console.health.values import AccountHealth, Counts, Health, Why, Word
from dlq_console.hub import services
from dlq_console.store import examining, people, rollups, snapshots, totals
from dlq_console.store.people import Role
from dlq_console.web import health_seen, scraping
from tests.web.desk import Desk

#: The contract: exactly these.
NAMES = {
    "dlq_console_lag_seconds",
    "dlq_console_queue_depth",
    "dlq_console_oldest_due_seconds",
    "dlq_console_dead_letters",
    "dlq_console_events",
    "dlq_console_breaker_state",
    "dlq_console_bulkhead_in_use",
    "dlq_console_bulkhead_max",
    "dlq_console_snapshot_age_seconds",
}
DOCUMENTS = Path(__file__).parents[2] / "docs" / "reference"
HOSTILE = 'filial "norte"\n\\ção'


def _keep(desk: Desk, *accounts: AccountHealth) -> None:
    """Write down a state of accounts as the step does, just now."""
    store = desk.hub.store
    health = Health(accounts=accounts)
    snapshots.keep(store, spelling.ACCOUNTS, spelling.account_values(health))
    snapshots.keep(store, spelling.WORKERS, {})


def _account(desk: Desk, name: str, **more: Any) -> AccountHealth:
    now = examining.now(desk.hub.store)
    counts = Counts(due=3, scheduled=2, running=1, dead=4, oldest_due_at=now - timedelta(seconds=90))
    values: dict[str, Any] = {
        "word": Word.OK,
        "since": now,
        "why": Why.FINE,
        "counts": counts,
        "slots": 4,
    } | more
    return AccountHealth(account=name, **values)


def _scraped(app: Flask, **headers: str) -> dict[str, Metric]:
    dashed = {name.replace("_", "-"): value for name, value in headers.items()}
    answer = app.test_client().get("/metrics", headers=dashed)
    assert answer.status_code == 200, answer.text
    assert answer.content_type.startswith("text/plain; version=")
    return {family.name: family for family in text_string_to_metric_families(answer.text)}


def _values(family: Metric, **labels: str) -> list[float]:
    return [sample.value for sample in family.samples if labels.items() <= sample.labels.items()]


@pytest.fixture(autouse=True)
def _nothing_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health_seen, "FRESH_FOR", 0.0)
    monkeypatch.setattr(scraping, "KEPT_FOR", 0.0)


def test_the_names_are_those_of_the_contract(app: Flask) -> None:
    assert set(_scraped(app)) == NAMES


def test_figures_of_accounts_are_those_of_the_snapshot(app: Flask, desk: Desk) -> None:
    _keep(desk, _account(desk, "filial-sp"), _account(desk, "filial-rj", circuit="open", slots=None))
    found = _scraped(app)
    assert _values(found["dlq_console_queue_depth"], account="filial-sp", state="due") == [3]
    assert _values(found["dlq_console_dead_letters"], account="filial-sp") == [4]
    assert 89 < _values(found["dlq_console_oldest_due_seconds"], account="filial-sp")[0] < 95
    assert _values(found["dlq_console_breaker_state"], name="filial-sp") == [0]
    assert _values(found["dlq_console_breaker_state"], name="filial-rj") == [2]
    assert _values(found["dlq_console_bulkhead_in_use"], name="filial-sp") == [1]
    assert _values(found["dlq_console_bulkhead_max"], name="filial-sp") == [4]
    assert _values(found["dlq_console_bulkhead_max"], name="filial-rj") == []
    (age,) = _values(found["dlq_console_snapshot_age_seconds"])
    assert 0 <= age < 5


def test_what_waits_behind_a_closed_door_is_not_late(app: Flask, desk: Desk) -> None:
    long_ago = examining.now(desk.hub.store) - timedelta(hours=2)
    _keep(desk, _account(desk, "filial-sp", counts=Counts(paused=22, oldest_due_at=long_ago)))
    found = _scraped(app)
    assert _values(found["dlq_console_oldest_due_seconds"], account="filial-sp") == [0]
    assert _values(found["dlq_console_queue_depth"], account="filial-sp", state="paused") == [22]


def test_lag_and_events_are_sums_that_only_grow(app: Flask, desk: Desk) -> None:
    desk.done("1")
    desk.dead("2")
    _keep(desk, _account(desk, "filial-sp"))
    for _ in range(3):
        # However often the last minutes are made anew, nothing is counted twice.
        rollups.roll_up(desk.hub.store)
        totals.add_up(desk.hub.store)
    before = _scraped(app)
    events = before["dlq_console_events"]
    assert [_values(events, account="filial-sp", outcome=one)[0] for one in ("arrived", "done", "dead")] == [
        2,
        1,
        1,
    ]
    lag = before["dlq_console_lag_seconds"]
    assert [s.value for s in lag.samples if s.name.endswith("_count")] == [2]
    assert [s.value for s in lag.samples if s.labels.get("le") == "+Inf"] == [2]
    # Long after those minutes cannot change any more.
    desk.hub.clock.advance(3 * 3600)
    desk.done("3")
    rollups.roll_up(desk.hub.store)
    totals.add_up(desk.hub.store)
    _keep(desk, _account(desk, "filial-sp"))
    assert _values(_scraped(app)["dlq_console_events"], account="filial-sp", outcome="done") == [2]


def test_services_are_told_by_the_names_that_lists_show(app: Flask, desk: Desk) -> None:
    _keep(desk, _account(desk, "filial-sp"))
    snapshots.keep(desk.hub.store, services.BREAKERS, {"payment_api": {"state": "half_open"}})
    snapshots.keep(desk.hub.store, services.BULKHEADS, {"filial-sp": {"in_use": 2, "max": 9}})
    found = _scraped(app)
    assert _values(found["dlq_console_breaker_state"], name="payment_api") == [1]
    assert _values(found["dlq_console_bulkhead_max"], name="service:filial-sp") == [9]


def test_figures_of_an_account_that_is_called_like_a_service_are_its_own(app: Flask, desk: Desk) -> None:
    _keep(desk, _account(desk, "service:erp"), _account(desk, "erp"))
    snapshots.keep(desk.hub.store, services.BREAKERS, {"erp": {"state": "open"}})
    found = _scraped(app)["dlq_console_breaker_state"]
    names = ("erp", "service:erp", "account:service:erp")
    assert [len(_values(found, name=name)) for name in names] == [1, 1, 1]
    assert _values(found, name="service:erp") == [2]


def test_stale_figures_are_left_out_and_the_age_is_there(app: Flask, desk: Desk) -> None:
    _keep(desk, _account(desk, "filial-sp"))
    snapshots.keep(desk.hub.store, services.BREAKERS, {"payment_api": {"state": "open"}})
    desk.hub.clock.advance(60)
    found = _scraped(app)
    assert set(found) == NAMES
    samples = [sample for family in found.values() for sample in family.samples]
    assert [sample.name for sample in samples] == ["dlq_console_snapshot_age_seconds"]
    assert samples[0].value >= 60


def test_age_of_what_was_never_read_is_infinite(app: Flask) -> None:
    assert _values(_scraped(app)["dlq_console_snapshot_age_seconds"]) == [float("inf")]


def test_names_with_quotes_and_line_ends_stay_labels(app: Flask, desk: Desk) -> None:
    _keep(desk, _account(desk, HOSTILE))
    assert _values(_scraped(app)["dlq_console_dead_letters"], account=HOSTILE) == [4]


def test_thousands_of_accounts_are_told_together_beyond_the_first(
    app: Flask, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    _keep(desk, *(_account(desk, f"account-{number:04}") for number in range(5_000)))
    found = _scraped(app)
    dead = found["dlq_console_dead_letters"]
    assert len(dead.samples) == scraping.MOST_ACCOUNTS + 1
    assert _values(dead, account=scraping.OTHERS) == [4 * (5_000 - scraping.MOST_ACCOUNTS)]
    assert 89 < _values(found["dlq_console_oldest_due_seconds"], account=scraping.OTHERS)[0] < 120
    assert sum(len(family.samples) for family in found.values()) < 12 * scraping.MOST_ACCOUNTS


def test_scrapes_ask_the_database_no_more_often_than_once(
    app: Flask, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health_seen, "FRESH_FOR", 60.0)
    monkeypatch.setattr(scraping, "KEPT_FOR", 60.0)
    _keep(desk, _account(desk, "filial-sp"))
    statements: list[str] = []
    for engine in (desk.hub.store.engines.read(), desk.hub.store.engines.write()):
        event.listen(engine, "before_cursor_execute", lambda *told: statements.append(told[2]))
    _scraped(app)
    # A connection is also told how to work when it is opened.
    once = len([statement for statement in statements if "SELECT" in statement])
    for _ in range(20):
        _scraped(app)
    assert once == 4
    assert len([statement for statement in statements if "SELECT" in statement]) == once


@pytest.mark.parametrize(
    ("address", "headers"),
    [("192.0.2.7", {}), ("127.0.0.1", {"X-Forwarded-For": "127.0.0.1"}), ("::ffff:192.0.2.7", {}), ("", {})],
    ids=["elsewhere", "through a proxy on this machine", "mapped", "unknown"],
)
def test_whoever_is_not_on_this_machine_needs_a_token(
    app: Flask, desk: Desk, address: str, headers: dict[str, str]
) -> None:
    client = app.test_client()
    where = {"REMOTE_ADDR": address}
    assert client.get("/metrics", environ_overrides=where, headers=headers).status_code == 401
    wrong = headers | {"Authorization": "Bearer nobody"}
    assert client.get("/metrics", environ_overrides=where, headers=wrong).status_code == 401
    token = people.add_token(desk.hub.store, "prometheus", role=Role.VIEWER, actor="test")
    right = headers | {"Authorization": f"Bearer {token}"}
    assert client.get("/metrics", environ_overrides=where, headers=right).status_code == 200


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "127.8.0.1", "::ffff:127.0.0.1"])
def test_programs_on_this_machine_need_none(app: Flask, address: str) -> None:
    answer = app.test_client().get("/metrics", environ_overrides={"REMOTE_ADDR": address})
    assert answer.status_code == 200


def test_token_of_some_accounts_sees_no_other(app: Flask, desk: Desk) -> None:
    _keep(desk, _account(desk, "filial-sp"), _account(desk, "filial-rj"))
    snapshots.keep(desk.hub.store, services.BREAKERS, {"payment_api": {"state": "open"}})
    token = people.add_token(
        desk.hub.store, "prometheus", role=Role.VIEWER, actor="test", accounts=("filial-sp",)
    )
    answer = app.test_client().get(
        "/metrics",
        environ_overrides={"REMOTE_ADDR": "192.0.2.7"},
        headers={"Authorization": f"Bearer {token}"},
    )
    assert "filial-sp" in answer.text
    assert "filial-rj" not in answer.text
    assert "payment_api" not in answer.text


def test_database_that_is_away_leaves_the_age(
    app: Flask, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    _keep(desk, _account(desk, "filial-sp"))
    _scraped(app)
    file = Path(str(desk.hub.store.engines.read().url.database))
    desk.hub.close()
    file.rename(file.with_suffix(".away"))
    try:
        (age,) = _values(_scraped(app)["dlq_console_snapshot_age_seconds"])
    finally:
        file.with_suffix(".away").rename(file)
    assert 0 <= age < 10


def test_every_metric_that_dashboard_and_rules_name_is_exported(app: Flask, desk: Desk) -> None:
    desk.done("1")
    rollups.roll_up(desk.hub.store)
    totals.add_up(desk.hub.store)
    _keep(desk, _account(desk, "filial-sp"))
    exported = {
        sample.name: set(sample.labels) for family in _scraped(app).values() for sample in family.samples
    }
    dashboard = (DOCUMENTS / "grafana-dashboard.json").read_text()
    assert json.loads(dashboard)["panels"]
    for text in (
        dashboard,
        (DOCUMENTS / "alert-rules.yml").read_text(),
        (DOCUMENTS / "metrics.md").read_text(),
    ):
        named = set(re.findall(r"\bdlq_console_\w+\b", text)) - {"dlq_console_lag_seconds"}
        assert named
        assert named <= set(exported)
