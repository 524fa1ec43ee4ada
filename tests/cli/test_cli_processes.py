"""Do the processes of an installation start, serve, stop, and refuse clearly what they cannot do?"""

from __future__ import annotations

import signal
import subprocess
import sys
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from dlq_console.store.store import Store
from tests.cli.running import CommandLine, ProcessLine
from tests.services.process import Child, StartChild, free_port, wait_until

SECRET_KEY = "only-for-tests-0123456789abcdef0123456789"

SHOP = """
from dlq_console import Event, Hub

hub = Hub()


@hub.handler("order.create")
def create_order(event: Event) -> dict:
    return {"number": event.payload["number"]}
"""


def start(start_child: StartChild, command: CommandLine, *arguments: str, **settings: str) -> Child:
    return start_child([*command.program, *arguments], env=command.settings | settings)


def answer(port: int, path: str) -> tuple[int, str] | None:
    """Status and body; None while nobody listens."""
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read().decode()
    except ConnectionError:
        return None
    finally:
        connection.close()


def test_the_console_is_served_and_stops_when_told(both: CommandLine, start_child: StartChild) -> None:
    port = free_port()
    console = start(start_child, both, "serve", "--bind", f"127.0.0.1:{port}", DLQ_SECRET_KEY=SECRET_KEY)
    assert console.wait_until(lambda: answer(port, "/healthz"), 30, "the console answers") == (
        200,
        '{"status":"up"}\n',
    )
    assert answer(port, "/readyz") == (200, '{"status":"ready"}\n')
    # Every process answers, also those that were forked after the tables had been looked at.
    for _ in range(20):
        found = answer(port, "/api/v1/events")
        assert found is not None
        assert found[0] == 401
    console.send(signal.SIGTERM)
    assert console.wait_for_exit(20) == 0


def test_without_a_secret_key_nothing_is_served_and_the_way_to_make_one_is_told(run: CommandLine) -> None:
    result = run("serve")
    assert result.status == 2
    assert result.sentence.startswith("DLQ_SECRET_KEY is missing; make one with: python -c ")


def test_without_tables_nothing_is_served(tmp_path: Path) -> None:
    empty = CommandLine({"DLQ_DATABASE_URL": f"sqlite:///{tmp_path}/empty.db"}, tmp_path)
    for arguments in (("serve",), ("scheduler",), ("events", "list"), ("users", "list"), ("db", "current")):
        result = empty(*arguments, DLQ_SECRET_KEY=SECRET_KEY)
        assert result.status == 1
        assert result.sentence == "The database has no tables yet; create them with: dlq-console db upgrade"


@pytest.mark.parametrize(
    ("bind", "sentence"),
    [
        ("nonsense", "--bind: nonsense is no address; write HOST:PORT or unix:PATH."),
        ("127.0.0.1:99999", "--bind: 127.0.0.1:99999 is no address; write HOST:PORT or unix:PATH."),
    ],
)
def test_an_address_that_is_none_is_wrong_usage(run: CommandLine, bind: str, sentence: str) -> None:
    result = run("serve", "--bind", bind, DLQ_SECRET_KEY=SECRET_KEY)
    assert (result.status, result.sentence) == (2, sentence)


def test_a_port_that_is_taken_is_told_at_once(run: CommandLine, start_child: StartChild) -> None:
    port = free_port()
    start(start_child, run, "serve", "--bind", f"127.0.0.1:{port}", DLQ_SECRET_KEY=SECRET_KEY)
    wait_until(lambda: answer(port, "/healthz"), 30, "the console to answer")
    result = run("serve", "--bind", f"127.0.0.1:{port}", DLQ_SECRET_KEY=SECRET_KEY)
    assert result.status == 2
    assert result.sentence == f"--bind: 127.0.0.1:{port} cannot be listened on: Address already in use."


def test_tables_are_made_and_their_place_is_told(tmp_path: Path) -> None:
    command = ProcessLine({}, tmp_path)
    said = command.succeed("db", "upgrade").output
    assert said == f"The tables are up to date in sqlite:///{tmp_path}/dlq-console.db\n"
    command.succeed("db", "upgrade")
    assert command.succeed("db", "current").output.endswith("(up to date)\n")


def test_the_password_of_the_database_is_not_told() -> None:
    address = "postgresql://user:hidden@127.0.0.1:1/shop"
    result = CommandLine({"DLQ_DATABASE_URL": address}, Path.cwd())("events", "list")
    assert result.status == 1
    assert "cannot be reached" in result.sentence
    assert "hidden" not in result.errors


def test_a_setting_that_is_wrong_is_told_by_its_name(tmp_path: Path) -> None:
    result = ProcessLine({"DLQ_DATABASE_URL": "mysql://nowhere"}, tmp_path)("db", "current")
    assert result.status == 2
    assert result.sentence.startswith("DLQ_DATABASE_URL is wrong: ")


def test_a_worker_runs_the_handlers_of_its_app_and_stops_when_told(
    run: CommandLine, start_child: StartChild, tmp_path: Path
) -> None:
    (tmp_path / "shop.py").write_text(SHOP)
    run.succeed("enqueue", "order.create", "--account", "a", "--entity", "1", "--payload", '{"number": 8841}')
    environment = {"DLQ_DATABASE_URL": run.settings["DLQ_DATABASE_URL"], "DLQ_APP": "shop:hub"}
    worker = start_child(
        [*run.program, "worker", "--concurrency", "1", "--no-scheduler"], env=environment, folder=tmp_path
    )

    def shown() -> Any:
        return run.succeed("events", "show", 1, "--json").json

    worker.wait_until(lambda: shown()["status"] == "done", 30, "the event is done")
    assert shown()["result"] == {"number": 8841}
    worker.send(signal.SIGTERM)
    assert worker.wait_for_exit(20) == 0


@pytest.mark.parametrize("app", ["", "nowhere:hub", "json:dumps", "json"])
def test_a_worker_without_handlers_says_what_is_missing(run: CommandLine, app: str) -> None:
    result = run("worker", DLQ_APP=app)
    assert result.status == 2
    assert result.sentence.startswith("DLQ_APP is ")


def test_the_scheduler_runs_alone_and_stops_when_told(run: CommandLine, start_child: StartChild) -> None:
    scheduler = start(start_child, run, "scheduler")
    store = Store(run.settings["DLQ_DATABASE_URL"])

    def steps_that_ran() -> list[str]:
        step = store.tables.step
        with store.read() as connection:
            return list(
                connection.execute(select(step.c.name).where(step.c.last_run_at.is_not(None))).scalars()
            )

    scheduler.wait_until(lambda: "rescue" in steps_that_ran(), 30, "the first step ran")
    store.engines.dispose()
    scheduler.send(signal.SIGTERM)
    assert scheduler.wait_for_exit(20) == 0


def test_the_command_has_a_version_and_help_for_every_part(run: CommandLine) -> None:
    assert run.succeed("--version").output.startswith("dlq-console ")
    help_text = run.succeed("--help").output
    for name in ("db", "serve", "worker", "scheduler", "enqueue", "events", "users", "tokens", "demo"):
        assert f"\n  {name} " in help_text
        assert "Usage: dlq-console" in run.succeed(name, "--help").output


@pytest.mark.parametrize(
    "arguments", [("explode",), ("events", "explode"), ("serve", "--workers", "0"), ("events", "show", "x")]
)
def test_wrong_usage_is_one_sentence_and_status_2(process: ProcessLine, arguments: tuple[str, ...]) -> None:
    result = process(*arguments)
    assert (result.status, result.output) == (2, "")
    assert result.sentence.endswith(".")


def test_without_arguments_the_help_is_shown(run: CommandLine) -> None:
    result = run()
    assert result.status == 2
    assert "Usage: dlq-console" in result.errors


def test_looking_at_events_loads_no_web_framework() -> None:
    code = "import dlq_console.cli, sys; print(*{'flask', 'celery', 'gunicorn'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
