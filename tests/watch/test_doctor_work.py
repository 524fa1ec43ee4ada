"""Does the doctor see work that is not done, kinds that are run badly, and settings that are unsafe?"""

from __future__ import annotations

import json
import re
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from dlq_console import Event, Hub, Policy
from dlq_console.errors import PermanentError
from dlq_console.health.findings import ASKED, DOCTOR, FOUND, Finding, Level, visible
from dlq_console.store import examining, leases, presence, snapshots
from dlq_console.watch import doctor
from dlq_console.watch.doctor import examine, settings_checks
from dlq_console.watch.doctor.checks import Check
from dlq_console.watch.doctor.patient import Patient
from dlq_console.web.finding_words import WORDS, in_english
from tests.watch.examined import found, hub_on

HOUR = 3600


def _nothing(_event: Event) -> None:
    return


def _refuse(_event: Event) -> None:
    raise PermanentError("no")


def _add(
    hub: Hub, entity: str = "1", *, kind: str = "order.read", account: str = "filial-sp", **more: Any
) -> int:
    return hub.enqueue(kind, account=account, entity_id=entity, payload=more.pop("payload", {}), **more).id


def _handle(hub: Hub, kind: str = "order.read", **policy: Any) -> None:
    hub.handler(kind, policy=Policy(**({"writes": False} | policy)))(_nothing)
    hub.publish_kinds("test")


def _insert(hub: Hub, table: str, **values: Any) -> None:
    with hub.store.write() as connection:
        connection.execute(getattr(hub.store.tables, table).insert().values(**values))


def _change(hub: Hub, table: str, name: str, **values: Any) -> None:
    changed = getattr(hub.store.tables, table)
    with hub.store.write() as connection:
        connection.execute(changed.update().where(changed.c.name == name).values(**values))


def test_new_installation_on_any_engine_is_well(database_url: str) -> None:
    hub = hub_on(database_url)
    assert found(hub) == {}
    hub.close()


def test_due_events_without_any_worker_are_a_fault(database_url: str) -> None:
    hub = hub_on(database_url)
    _add(hub)
    assert found(hub) == {}
    hub.clock.advance(HOUR)
    finding = found(hub)["no_worker"]
    assert (finding.level, finding.accounts) == (Level.FAULT, ("filial-sp",))
    hub.close()


def test_account_that_no_living_worker_serves_is_named(hub: Hub) -> None:
    _handle(hub)
    for account in ("filial-sp", "filial-rj", "filial-ce"):
        _add(hub, account=account)
    hub.pause_account("filial-ce", actor="maria")
    hub.clock.advance(HOUR)
    presence.announce(hub.store, "one", mode="table", slots=4, accounts=["filial-sp"])
    finding = found(hub)["accounts_unserved"]
    assert finding.accounts == ("filial-rj",)
    assert visible([finding], ("filial-sp",)) == ()
    presence.announce(hub.store, "all", mode="table", slots=4)
    assert "accounts_unserved" not in found(hub)


def test_workers_of_different_versions_are_told(hub: Hub) -> None:
    presence.announce(hub.store, "one", mode="table", slots=4)
    assert found(hub) == {}
    with hub.store.write() as connection:
        connection.execute(hub.store.statement("UPDATE {worker} SET version = '0.0.1'"))
    assert found(hub)["worker_versions"].figures["versions"] == "0.0.1"


def test_clock_that_is_wrong_is_told(hub: Hub) -> None:
    hub.clock.advance(90)
    assert 89 < float(found(hub)["clock"].figures["seconds"]) < 91


def test_lane_that_stands_still_is_told(hub: Hub) -> None:
    hub.handler("order.ship", policy=Policy(order="account", writes=False))(_refuse)
    hub.publish_kinds("test")
    first = _add(hub, kind="order.ship")
    _add(hub, "2", kind="order.ship")
    assert hub.run(first).status == "dead"
    finding = found(hub)["lanes_stopped"]
    assert (finding.figures["number"], finding.accounts) == (1, ("filial-sp",))


@pytest.mark.parametrize(("came", "ended", "grows"), [(10, 1, True), (10, 10, False), (0, 0, False)])
def test_backlog_that_grows_for_an_hour_is_told(hub: Hub, came: int, ended: int, grows: bool) -> None:
    _handle(hub)
    _add(hub)
    now = examining.now(hub.store).replace(second=0, microsecond=0)
    for minute in range(1, 59):
        bucket = now - timedelta(minutes=minute)
        _insert(hub, "rollup", grain=1, account="filial-sp", kind="", bucket=bucket, arrived=came, done=ended)
    finding = found(hub).get("growth")
    assert (finding is not None) == grows
    if finding:
        assert (finding.figures["came"], finding.figures["ended"]) == (580, 58)


def test_step_that_fails_and_steps_that_do_not_run_are_faults(hub: Hub) -> None:
    assert leases.take(hub.store, "prune", "me", 60)
    leases.report(hub.store, "prune", "me", "ValueError: no")
    assert found(hub)["step_fails"].figures == {"step": "prune", "error": "ValueError: no"}
    leases.report(hub.store, "prune", "me", None)
    assert found(hub) == {}
    hub.clock.advance(4 * HOUR)
    assert leases.take(hub.store, "look", "me", 60)
    leases.report(hub.store, "look", "me", None)
    assert found(hub)["step_silent"].figures == {"step": "prune", "minutes": 240}
    hub.clock.advance(300)
    assert found(hub)["scheduler_dead"].figures == {"minutes": 5}


def test_what_is_never_deleted_is_told(sqlite_url: str) -> None:
    hub = hub_on(sqlite_url, retention_days=30)
    _handle(hub)
    hub.run(_add(hub))
    hub.clock.advance(31 * 86_400)
    assert "prune_behind" not in found(hub)
    hub.clock.advance(5 * 86_400)
    assert found(hub)["prune_behind"].figures == {"days": 30, "oldest": 36}
    hub.close()
    endless = hub_on(sqlite_url, retention_days=100_000)
    assert "retention_off" in found(endless)
    endless.close()


def test_kinds_that_never_end_or_do_things_twice_are_told(hub: Hub) -> None:
    _handle(hub, "order.read")
    assert found(hub) == {}
    _handle(hub, "order.stubborn", max_attempts=1_000)
    _handle(hub, "order.slow", timeout=86_400)
    _handle(hub, "order.create", writes=True)
    _handle(hub, "order.twice", writes=True, on_unknown="retry")
    _handle(hub, "order.unique", writes=True, unique_at_provider=True)
    _handle(hub, "order.held", writes=True, on_unknown="hold")
    hub.handler("order.verified", policy=Policy())(_nothing)
    hub.verifier("order.verified")(lambda _event: "unknown")
    hub.publish_kinds("test")
    findings = [(one.id, one.figures["kind"]) for one in examine(hub, store=hub.store, environ={})]
    assert sorted(findings) == [
        ("kind_doubles", "order.create"),
        ("kind_doubles", "order.twice"),
        ("kind_retries", "order.stubborn"),
        ("kind_unlimited", "order.slow"),
    ]


def test_kind_that_no_worker_handles_is_a_fault(hub: Hub) -> None:
    _handle(hub)
    _add(hub)
    _add(hub, kind="order.craete")
    assert found(hub)["kind_unhandled"].figures == {"kind": "order.craete"}


def test_fields_of_payloads_that_look_like_secrets_are_named_and_never_their_values(hub: Hub) -> None:
    _handle(hub)
    _add(hub, payload={"login": [{"api_key": "VALUE-1"}], "password": "VALUE-2", "token": None})
    finding = found(hub)["payload_secrets"]
    assert finding.figures["fields"] == "login.api_key, password"
    assert "VALUE" not in json.dumps(in_english(finding))


def test_a_frame_that_is_over_and_a_missing_address_are_told_and_a_frame_for_no_page_is_not(hub: Hub) -> None:
    now = examining.now(hub.store)
    whole = {
        "detail": "status",
        "created_by": "test",
        "created_at": now,
        "expires_at": now + timedelta(days=1),
    }
    _insert(hub, "embed", name="nowhere", origins="[]", **whole)
    _insert(hub, "embed", name="late", origins='["https://a.example"]', **(whole | {"expires_at": now}))
    _insert(hub, "embed", name="gone", origins="[]", **whole, revoked_at=now)
    findings = found(hub)
    assert findings["embed_expired"].figures == {"name": "late"}
    assert "public_url" in findings
    _change(hub, "embed", "late", revoked_at=now)
    assert set(found(hub)) == {"public_url"}, "its badge and its address can be looked at"


def test_address_of_the_console_is_missed_only_where_somebody_needs_it(sqlite_url: str) -> None:
    alerting = hub_on(sqlite_url, alert_webhook_url="https://hooks.example/1")
    assert list(found(alerting)) == ["public_url"]
    named = hub_on(sqlite_url, alert_webhook_url="https://hooks.example/1", public_url="https://c.example")
    assert found(named) == {}
    for hub in (alerting, named):
        hub.close()


@pytest.mark.parametrize("key", ["short-but-not-guessable", "a" * 64])
def test_weak_key_and_debugging_are_faults(sqlite_url: str, key: str) -> None:
    hub = hub_on(sqlite_url)
    hub.settings = hub.settings.model_copy(update={"secret_key": key})
    findings = found(hub, environ={"FLASK_DEBUG": "1"})
    assert set(findings) == {"secret_weak", "debug"}
    assert key not in str(findings)
    hub.close()


def test_check_that_fails_or_hangs_keeps_no_other_from_being_made(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dlq_console.watch.doctor.examining.LONGEST", 0.2)
    never = threading.Event()

    def broken(_patient: Patient) -> list[Finding]:
        raise ZeroDivisionError

    def hanging(_patient: Patient) -> list[Finding]:
        never.wait()
        return []

    checks = (Check("broken", broken), Check("hanging", hanging), Check("whole", settings_checks.debug))
    findings = examine(hub, store=hub.store, environ={"FLASK_DEBUG": "1"}, checks=checks)
    never.set()
    assert [one.id for one in findings] == ["debug", "check_failed", "check_failed"]
    assert [one.figures["check"] for one in findings[1:]] == ["broken", "hanging"]


def test_doctor_looks_every_five_minutes_and_at_once_when_asked(hub: Hub) -> None:
    _add(hub, payload={"password": "x"})
    assert doctor.keep_examined(hub) == 1
    assert doctor.keep_examined(hub) == 0
    kept = snapshots.look(hub.store, DOCTOR).values[FOUND]
    assert [value["id"] for value in kept] == ["payload_secrets"]
    hub.clock.advance(1)
    snapshots.keep(hub.store, ASKED, {"by": "maria"})
    assert doctor.keep_examined(hub) == 1
    hub.clock.advance(doctor.keeping.EVERY + 1)
    assert doctor.keep_examined(hub) >= 1


def test_every_rule_has_words_and_all_words_a_rule() -> None:
    sources = [
        *Path(doctor.__file__).parent.glob("*.py"),
        *Path(examining.__file__).parents[1].glob("health/*.py"),
    ]
    told = re.compile(r'id="(\w+)"|"(broker_more|broker_less|accounts_unserved|no_worker)"')
    ids = {one or other for path in sources for one, other in told.findall(path.read_text())}
    assert ids == set(WORDS)


def test_mistake_in_the_file_of_alerts_is_told_with_its_line(database_url: str, tmp_path: Path) -> None:
    file = tmp_path / "alerts.toml"
    file.write_text("rule = 1")
    hub = hub_on(database_url, alerts=str(file))
    finding = found(hub)["alerts_wrong"]
    assert finding.level is Level.FAULT
    assert "alerts.toml, line 1" in str(finding.figures["error"])
    hub.close()
