"""Do the probes tell a load balancer the truth?"""

from __future__ import annotations

from pathlib import Path

import pytest
from flask import Flask

from dlq_console.app import create_app
from dlq_console.errors import ConfigurationError
from dlq_console.health.alert_reading import READING
from dlq_console.health.spelling import ACCOUNTS
from dlq_console.runtime import Hub
from dlq_console.settings import read_settings
from dlq_console.store import snapshots
from dlq_console.watch import alerts, looking
from dlq_console.web.health_probes import NEVER_RUN, NOT_ALERTING, NOT_RUNNING, SILENT
from tests.web.desk import SECRET_KEY, Desk


def app_on(database_url: str) -> Flask:
    return create_app(Hub(read_settings(database_url=database_url, secret_key=SECRET_KEY)))


def test_a_console_whose_tables_are_in_place_is_ready(app: Flask) -> None:
    client = app.test_client()
    assert (client.get("/healthz").status_code, client.get("/healthz").get_json()) == (200, {"status": "up"})
    answer = client.get("/readyz")
    assert (answer.status_code, answer.get_json()["status"]) == (200, "ready")


def test_a_new_console_is_ready_with_a_warning_until_the_steps_have_run_once(app: Flask, desk: Desk) -> None:
    client = app.test_client()
    desk.hub.clock.advance(3_600)
    answer = client.get("/readyz")
    assert (answer.status_code, answer.get_json()) == (200, {"status": "ready", "warning": NEVER_RUN})
    snapshots.keep(desk.hub.store, ACCOUNTS, {})
    told = client.get("/readyz").get_json()
    assert (told["status"], set(told)) == ("ready", {"status", "snapshot_age_seconds"})


def test_a_console_whose_steps_have_died_says_that_no_alert_can_leave(app: Flask, desk: Desk) -> None:
    snapshots.keep(desk.hub.store, ACCOUNTS, {})
    desk.hub.clock.advance(SILENT - 5)
    assert app.test_client().get("/readyz").status_code == 200
    desk.hub.clock.advance(30)
    answer = app.test_client().get("/readyz")
    told = answer.get_json()
    assert (answer.status_code, told["status"]) == (503, "not ready")
    assert told["reason"].startswith(NOT_RUNNING)
    assert told["snapshot_age_seconds"] > SILENT


def test_a_console_whose_rules_of_alerts_are_not_looked_at_says_that_no_alert_can_leave(
    app: Flask, desk: Desk
) -> None:
    snapshots.keep(desk.hub.store, READING, {})
    desk.hub.clock.advance(SILENT + 30)
    snapshots.keep(desk.hub.store, ACCOUNTS, {})
    answer = app.test_client().get("/readyz")
    assert answer.status_code == 503
    assert answer.get_json()["reason"].startswith(NOT_ALERTING)
    snapshots.keep(desk.hub.store, READING, {})
    assert app.test_client().get("/readyz").status_code == 200


def test_a_wrong_file_of_rules_is_told_without_what_stands_in_it(
    app: Flask, desk: Desk, tmp_path: Path
) -> None:
    file = tmp_path / "alerts.toml"
    file.write_text("nonsense")
    hub = Hub(read_settings(database_url=desk.hub.settings.database_url, alerts=str(file)))
    for seconds in (0, SILENT + 30):
        hub.clock.advance(seconds)
        with pytest.raises(ConfigurationError):
            alerts.check(hub)
    hub.close()
    desk.hub.clock.advance(SILENT + 30)
    looking.look(desk.hub)
    told = app.test_client().get("/readyz")
    assert told.status_code == 503
    assert told.get_json()["reason"].startswith(NOT_ALERTING)
    assert "alerts.toml" not in told.get_data(as_text=True)


def test_a_console_without_tables_is_up_but_not_ready(tmp_path: Path) -> None:
    (tmp_path / "empty.db").touch()
    client = app_on(f"sqlite:///{tmp_path}/empty.db").test_client()
    assert client.get("/healthz").status_code == 200
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.get_json()["reason"].startswith("The database has no tables yet; ")


def test_a_console_whose_database_is_missing_is_not_ready_and_makes_none(tmp_path: Path) -> None:
    answer = app_on(f"sqlite:///{tmp_path}/none.db").test_client().get("/readyz")
    assert answer.status_code == 503
    assert answer.get_json()["reason"] == "There is no database yet; create it with: dlq-console db upgrade"
    assert list(tmp_path.iterdir()) == []


def test_a_console_without_its_database_is_up_but_not_ready_and_keeps_the_password() -> None:
    client = app_on("postgresql+psycopg://user:hidden@127.0.0.1:1/nowhere").test_client()
    assert client.get("/healthz").status_code == 200
    answer = client.get("/readyz")
    assert (answer.status_code, answer.get_json()["reason"]) == (503, "The database cannot be reached.")
