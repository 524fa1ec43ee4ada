"""Are compose.yaml and the systemd units sound, before anything of them is started?"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dlq_console.settings import Settings
from dlq_console.workers import celery_signals, runner
from tests.deploy.recipes import (
    COMPOSE,
    VARIABLE,
    Unit,
    VariableMissingError,
    check_command,
    compose,
    environment_file,
    image_command,
    seconds,
    units,
)
from tests.services.finding import ServiceMissingError, on_path

#: What must be given before compose.yaml starts anything.
VALUES = {
    "POSTGRES_PASSWORD": "0123abcd",
    "DLQ_SECRET_KEY": "only-for-tests-0123456789abcdef",
    "DLQ_APP": "shop:hub",
    "HANDLERS_FOLDER": "./handlers",
}
SETTINGS = {f"DLQ_{name.upper()}" for name in Settings.model_fields}
#: Seconds that a process may need beside its patience with what runs.
TO_END = 10
#: How long gunicorn lets requests end (its own default), in seconds.
REQUESTS_MAY_END = 30
PATIENCE = {
    "serve": REQUESTS_MAY_END,
    "worker": max(runner.STOP_PATIENCE, celery_signals.STOP_PATIENCE),
    "scheduler": 0,
}

SERVICES: dict[str, dict[str, Any]] = compose(VALUES)["services"]
OURS = {name: service for name, service in SERVICES.items() if service["image"] == "dlq-console"}
UNITS = units()


# compose.yaml


def test_every_process_of_an_installation_is_a_service() -> None:
    assert {service["command"][0] for service in OURS.values()} == {"db", "serve", "worker", "scheduler"}


@pytest.mark.parametrize("name", OURS)
def test_the_command_of_a_service_is_understood(name: str) -> None:
    check_command(image_command(OURS[name]["command"]))


@pytest.mark.parametrize("name", VALUES)
def test_without_a_secret_or_the_handlers_nothing_is_started_and_the_way_is_told(name: str) -> None:
    with pytest.raises(VariableMissingError, match=name):
        compose({**VALUES, name: ""})


def test_the_command_that_makes_a_secret_key_makes_one() -> None:
    with pytest.raises(VariableMissingError) as missing:
        compose({**VALUES, "DLQ_SECRET_KEY": ""})
    code = re.search(r"python -c '(.*)'", str(missing.value))
    assert code
    made = subprocess.run([sys.executable, "-c", code[1]], capture_output=True, text=True, check=True)
    assert re.fullmatch(r"[0-9a-f]{64}", made.stdout.strip())


def test_no_secret_has_a_default_and_every_setting_exists() -> None:
    for name, kind, default in VARIABLE.findall(COMPOSE.read_text()):
        assert kind in {"?", "-"}, name
        if kind == "-":
            assert default
            assert not re.search("SECRET|PASSWORD|TOKEN", name)
    for service in OURS.values():
        assert set(service["environment"]) <= SETTINGS


def test_nothing_is_reached_from_other_hosts() -> None:
    published = [port for service in SERVICES.values() for port in service.get("ports", ())]
    assert published
    assert all(port.startswith("127.0.0.1:") for port in published)


def test_a_service_waits_until_what_it_needs_is_there() -> None:
    for service in OURS.values():
        for needed, how in service["depends_on"].items():
            finished = needed == "migrate"
            assert how["condition"] == ("service_completed_successfully" if finished else "service_healthy")
            assert finished or SERVICES[needed]["healthcheck"]["test"][0] == "CMD"
    assert "postgres" in OURS["migrate"]["depends_on"]
    assert all("migrate" in OURS[name]["depends_on"] for name in ("serve", "worker", "scheduler"))


def test_only_the_console_is_asked_whether_it_answers() -> None:
    # The image asks the console; no other process would answer.
    assert {name for name, service in OURS.items() if "healthcheck" not in service} == {"serve"}


@pytest.mark.parametrize("name", PATIENCE)
def test_a_container_is_not_killed_while_it_stops_in_good_order(name: str) -> None:
    assert seconds(OURS[name]["stop_grace_period"]) >= PATIENCE[name] + TO_END
    assert OURS[name]["init"]
    assert OURS[name]["restart"] == "unless-stopped"


def test_containers_give_up_the_rights_that_they_do_not_need() -> None:
    for service in OURS.values():
        assert service["cap_drop"] == ["ALL"]
        assert service["read_only"]
        assert service["security_opt"] == ["no-new-privileges:true"]


def test_every_volume_is_declared() -> None:
    named = {
        volume.partition(":")[0] for service in SERVICES.values() for volume in service.get("volumes", ())
    }
    assert {name for name in named if name[0] not in "./"} == set(compose(VALUES)["volumes"])


# systemd


def test_every_process_of_an_installation_has_a_unit() -> None:
    assert {unit.command[1] for unit in UNITS.values()} == {"db", "serve", "worker", "scheduler"}


@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
def test_the_command_of_a_unit_is_understood(unit: Unit) -> None:
    check_command(unit.command)


@pytest.mark.parametrize("name", PATIENCE)
def test_a_unit_stops_its_first_process_and_leaves_it_time_for_the_others(name: str) -> None:
    unit = UNITS[name]
    assert (unit["KillMode"], unit["KillSignal"]) == ("mixed", "SIGTERM")
    assert unit.stop_seconds >= PATIENCE[name] + TO_END


@pytest.mark.parametrize("name", PATIENCE)
def test_a_unit_is_started_again_unless_it_was_told_wrong_things(name: str) -> None:
    unit = UNITS[name]
    assert unit["Restart"] == "always"
    assert unit["StartLimitIntervalSec"] == "0"
    # Exit status of `dlq-console` for wrong usage.
    assert unit["RestartPreventExitStatus"] == "2"


def test_a_worker_outlives_an_event_that_takes_all_memory() -> None:
    assert UNITS["worker"]["OOMPolicy"] == "continue"


def test_the_environment_holds_settings_that_exist_and_no_secret() -> None:
    held = environment_file()
    assert set(held) <= SETTINGS
    assert held["DLQ_SECRET_KEY"] == ""
    assert "change-me" in held["DLQ_DATABASE_URL"]


@pytest.fixture
def systemd_analyze() -> Path:
    program = on_path("systemd-analyze")
    if program is None:
        pytest.skip(str(ServiceMissingError("systemd-analyze", "apt-get install systemd")))
    return program


@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
def test_systemd_has_no_objection_and_calls_the_unit_well_protected(
    systemd_analyze: Path, unit: Unit, tmp_path: Path
) -> None:
    """Its scale goes from 0 (fully locked in) to 10; the threshold is in tenths."""
    copy = tmp_path / unit.path.name
    # The program must exist.
    copy.write_text(
        unit.path.read_text().replace(unit.command[0], str(Path(sys.executable).parent / "dlq-console"))
    )
    found = subprocess.run(
        [systemd_analyze, "verify", "--man=no", copy], capture_output=True, text=True, check=False
    )
    assert (found.returncode, found.stdout, found.stderr) == (0, "", "")
    asked = [str(systemd_analyze), "security", "--offline=yes", "--no-pager", "--threshold=25", copy.name]
    found = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout
