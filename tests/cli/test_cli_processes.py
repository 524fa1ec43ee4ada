"""Do the processes of an installation start, serve, stop, and refuse clearly what they cannot do?"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from dlq_console.cli.server import LONGEST_LINE
from dlq_console.store.store import Store
from tests.cli.running import PATIENCE, CommandLine, ProcessLine
from tests.services.process import Child, StartChild, free_port, wait_until

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial" / "first-steps.md"
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
    ready = answer(port, "/readyz")
    assert ready is not None
    assert ready[0] == 200
    # Every process answers, also those that were forked after the tables had been looked at.
    for _ in range(20):
        found = answer(port, "/api/v1/events")
        assert found is not None
        assert found[0] == 401
    # As long as gunicorn reads the line at all, what is wrong with it is told by the console.
    long = answer(port, f"/api/v1/events?q={'x' * 7_000}")
    assert long is not None
    assert (long[0], json.loads(long[1])["title"]) == (401, "Unauthorized")
    for length in (LONGEST_LINE, 300_000):
        beyond = answer(port, f"/dead-letters?q={'x' * length}")
        assert beyond is not None
        assert beyond[0] == 414
        assert "This address is too long" in beyond[1]
        assert "Este endereço é longo demais" in beyond[1]
        assert "xxx" not in beyond[1]
    console.send(signal.SIGTERM)
    assert console.wait_for_exit(60) == 0


def test_without_a_secret_key_nothing_is_served_and_the_way_to_make_one_is_told(run: CommandLine) -> None:
    result = run("serve")
    assert result.status == 2
    assert result.sentence.startswith("DLQ_SECRET_KEY is missing; make one with: python -c ")


def test_where_there_is_no_database_this_is_told_and_none_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Its hub has read its settings where it was imported, maybe by another test of this process.
    monkeypatch.delitem(sys.modules, "dlq_console.demo.handlers", raising=False)
    file = tmp_path / "none.db"
    empty = CommandLine({"DLQ_DATABASE_URL": f"sqlite:///{file}", "DLQ_SECRET_KEY": SECRET_KEY}, tmp_path)
    for arguments in (
        ("serve",),
        ("scheduler",),
        ("worker",),
        ("events", "list"),
        ("events", "show", "1"),
        ("users", "list"),
        ("tokens", "list"),
        ("db", "current"),
    ):
        result = empty(*arguments, DLQ_APP="dlq_console.demo.handlers:hub")
        assert result.status == 1
        assert result.sentence == f"There is no database at {file}; create it with: dlq-console db upgrade"
        assert list(tmp_path.iterdir()) == []


def test_without_tables_nothing_is_served(tmp_path: Path) -> None:
    (tmp_path / "empty.db").touch()
    empty = CommandLine({"DLQ_DATABASE_URL": f"sqlite:///{tmp_path}/empty.db"}, tmp_path)
    for arguments in (("serve",), ("events", "list")):
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


def test_a_setting_that_does_not_exist_is_told_and_the_nearest_one_with_it(
    run: CommandLine, tmp_path: Path
) -> None:
    (tmp_path / ".env").write_text("DLQ_LOKALE=en\n")
    result = run(
        "events", "list", "--json", DLQ_DATBASE_URL="x", DLQ_TEST_ANY="1", DLQ_DEMO_ERP_URL="y", DLQ_ZZZ="1"
    )
    assert (result.status, result.json["count"]) == (0, 0)
    assert result.errors.splitlines() == [
        "dlq-console: DLQ_DATBASE_URL is ignored, there is no such setting; did you mean DLQ_DATABASE_URL?",
        "dlq-console: DLQ_LOKALE is ignored, there is no such setting; did you mean DLQ_LOCALE?",
        "dlq-console: DLQ_ZZZ is ignored, there is no such setting.",
    ]


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


def test_the_first_steps_of_the_tutorial_work_as_written(start_child: StartChild, tmp_path: Path) -> None:
    pieces = re.findall(
        r"^```(\w*)\n(.*?)^```", TUTORIAL.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    _install, (_, handler), (_, begin), (_, register), (_, end) = pieces
    (tmp_path / "shop.py").write_text(handler)
    port = free_port()
    script = f"{begin}until [ -e go ]; do sleep 0.1; done\n{register}until [ -e stop ]; do sleep 0.1; done\n{end}wait\n"
    script = script.replace(
        ".venv/bin/dlq-console serve", f".venv/bin/dlq-console serve --bind 127.0.0.1:{port}"
    )
    script = script.replace(".venv/bin/dlq-console", f"{sys.executable} -m dlq_console")
    shell = start_child(["bash", "-e", "-c", script], folder=tmp_path)
    command = CommandLine({}, tmp_path)

    def status() -> str:
        shown = command("events", "show", 1, "--json")
        return str(shown.json["status"]) if shown.status == 0 else ""

    shell.wait_until(lambda: status() == "dead", 60, "the order is refused")
    shell.wait_until(lambda: answer(port, "/readyz"), 30, "the console answers")
    (tmp_path / "go").touch()
    shell.wait_until((tmp_path / "customers.txt").exists, 20, "the customer is registered")
    command.succeed("events", "reprocess", 1)
    shell.wait_until(lambda: status() == "done", 30, "the order is through")
    (tmp_path / "stop").touch()
    assert shell.wait_for_exit(40) == 0
    assert answer(port, "/healthz") is None


@pytest.mark.parametrize(
    ("app", "sentence"),
    [
        ("", "DLQ_APP is missing: write module:attribute of the hub that holds your handlers"),
        ("os", "DLQ_APP is wrong: os does not name a module and an attribute; write module:attribute"),
        ("os:", "DLQ_APP is wrong: os: does not name a module and an attribute; write module:attribute"),
        ("os:nothing", "DLQ_APP is wrong: the module os has no attribute nothing; name the variable"),
        (
            "os:path",
            "DLQ_APP is wrong: path of the module os is no Hub but of type module; name the variable",
        ),
        (
            "nowhere:hub",
            "DLQ_APP is wrong: there is no module nowhere in {folder} or among what is installed",
        ),
        ("json.nowhere:hub", "DLQ_APP is wrong: there is no module json.nowhere in {folder} or among"),
        ("broken:hub", "DLQ_APP: the module broken cannot be imported: ModuleNotFoundError: No module named"),
        ("untidy:hub", "DLQ_APP: the module untidy cannot be imported: SyntaxError: "),
        (
            "leaving:hub",
            "DLQ_APP: the module leaving cannot be imported: SystemExit: 3 (leaving.py, line 1).",
        ),
    ],
)
def test_a_worker_without_handlers_says_what_is_wrong(
    run: CommandLine, tmp_path: Path, app: str, sentence: str
) -> None:
    (tmp_path / "broken.py").write_text("import nowhere_to_be_found\n")
    (tmp_path / "untidy.py").write_text("def hub(:\n")
    (tmp_path / "leaving.py").write_text("raise SystemExit(3)\n")
    result = run("worker", DLQ_APP=app)
    assert result.status == 2
    assert result.sentence.startswith(sentence.format(folder=tmp_path))


#: Python, where Ctrl-C comes at the moment in which a certain module is about to be loaded.
CTRL_C = """
import os, runpy, signal, sys

class CtrlC:
    def find_spec(self, name, path=None, target=None):
        if name == moment:
            os.kill(os.getpid(), signal.SIGINT)

moment = sys.argv.pop(1)
sys.meta_path.insert(0, CtrlC())
runpy.run_module("dlq_console", run_name="__main__", alter_sys=True)
"""


@pytest.mark.parametrize(
    ("moment", "arguments"),
    [
        ("click", ("events", "list")),
        ("sqlalchemy", ("worker",)),
        ("dlq_console.workers.runner", ("worker",)),
        ("flask", ("serve",)),
        ("dlq_console.workers.scheduler", ("scheduler",)),
        ("dlq_console.demo.command", ("demo",)),
    ],
)
def test_ctrl_c_while_a_command_is_being_loaded_ends_it_without_a_traceback(
    run: CommandLine, moment: str, arguments: tuple[str, ...]
) -> None:
    own = {"DLQ_SECRET_KEY": SECRET_KEY, "DLQ_APP": "dlq_console.demo.handlers:hub"}
    done = subprocess.run(
        [sys.executable, "-c", CTRL_C, moment, *arguments],
        env=os.environ | run.settings | own,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "\ndlq-console: Stopped.\n")


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
    "arguments", [("zzzz",), ("events", "explode"), ("serve", "--workers", "0"), ("events", "show", "x")]
)
def test_wrong_usage_is_one_sentence_and_status_2(process: ProcessLine, arguments: tuple[str, ...]) -> None:
    result = process(*arguments)
    assert (result.status, result.output) == (2, "")
    assert result.sentence.endswith(".")


def test_without_arguments_the_help_is_shown(run: CommandLine) -> None:
    result = run()
    assert result.status == 2
    assert "Usage: dlq-console" in result.errors


HEAVY = {"flask", "celery", "gunicorn", "alembic"}


def test_looking_at_events_loads_neither_a_web_framework_nor_the_migrations(process: ProcessLine) -> None:
    loaded = process("events", "list", PYTHONPROFILEIMPORTTIME="1").errors
    modules = {line.rpartition("|")[2].strip() for line in loaded.splitlines()}
    assert "sqlalchemy" in modules
    assert modules & HEAVY == set()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--rate", "nan"), "Invalid value for --rate, --seconds: write numbers."),
        (("--seconds", "nan"), "Invalid value for --rate, --seconds: write numbers."),
        (
            ("--data", "/proc/nowhere"),
            "Invalid value for --data: /proc/nowhere cannot be made: No such file or directory.",
        ),
    ],
)
def test_a_demo_that_cannot_be_is_refused_in_words(
    run: CommandLine, arguments: tuple[str, ...], sentence: str
) -> None:
    refused = run("demo", *arguments)
    assert (refused.status, refused.sentence) == (2, sentence)
