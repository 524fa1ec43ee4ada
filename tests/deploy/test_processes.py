"""Does an installation work when exactly the commands of compose.yaml and of the systemd units are started?

The commands run as processes of this machine on a private PostgreSQL and Redis. Only addresses and secrets are replaced.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

import psutil
import pytest

from dlq_console.settings import read_settings
from tests.deploy.recipes import compose, dockerfile, environment_file, image_command, seconds, units
from tests.services.postgres import PostgresServer
from tests.services.process import Child, StartChild, free_port
from tests.services.redis import RedisServer
from tests.workers.celery_table import HANDLERS, CeleryTable
from tests.workers.table import Table

SECRET_KEY = "only-for-tests-0123456789abcdef0123456789"
#: Seconds in which a process must have started on a busy machine.
STARTED = 60


@dataclass(frozen=True)
class Process:
    """A process as a recipe describes it."""

    command: list[str]
    environment: dict[str, str]
    stop_seconds: float


def _of_compose() -> dict[str, Process]:
    values = {
        "POSTGRES_PASSWORD": "0123abcd",
        "DLQ_SECRET_KEY": SECRET_KEY,
        "DLQ_APP": HANDLERS,
        "HANDLERS_FOLDER": ".",
    }
    services = compose(values)["services"].items()
    return {
        name: Process(
            image_command(service["command"]), service["environment"], seconds(service["stop_grace_period"])
        )
        for name, service in services
        if service["image"] == "dlq-console"
    }


def _of_systemd() -> dict[str, Process]:
    environment = environment_file() | {"DLQ_SECRET_KEY": SECRET_KEY, "DLQ_APP": HANDLERS}
    return {
        "migrate" if name == "upgrade" else name: Process(
            unit.command, environment, 0 if name == "upgrade" else unit.stop_seconds
        )
        for name, unit in units().items()
    }


class Installation:
    """The processes of a recipe on private servers.

    Args:
        processes: by name, as the recipe describes them.
        database_url: a database without tables.
        redis_url: an empty Redis, for recipes that use one.
        start_child: starts processes.
    """

    def __init__(
        self, processes: dict[str, Process], database_url: str, redis_url: str, start_child: StartChild
    ) -> None:
        self.processes = processes
        self.database_url = database_url
        self.redis_url = redis_url if "DLQ_BROKER_URL" in processes["worker"].environment else ""
        self.port = free_port()
        self._start_child = start_child

    def start(self, name: str, **more: str) -> Child:
        """Start a process by the recipe's own command line."""
        process = self.processes[name]
        # As shipped, before anything is replaced, the settings are understood.
        read_settings(
            **{key.removeprefix("DLQ_").lower(): value for key, value in process.environment.items()}
        )
        replaced = {"DLQ_DATABASE_URL": self.database_url}
        if self.redis_url:
            replaced["DLQ_BROKER_URL"] = self.redis_url
        program, *arguments = process.command
        assert Path(program).name == "dlq-console"
        arguments = [re.sub(r"^[\d.]+:8000$", f"127.0.0.1:{self.port}", word) for word in arguments]
        return self._start_child(
            [Path(sys.executable).parent / "dlq-console", *arguments],
            env=process.environment | replaced | more,
        )

    def stop(self, name: str, child: Child) -> None:
        """Stop it as systemd and Docker do: the first process is told, and leaves nothing to be killed."""
        child.send(signal.SIGTERM)
        self.stopped(name, child)

    def stopped(self, name: str, child: Child) -> None:
        """Wait until a process that was told to stop has done so, in time and whole."""
        assert child.wait_for_exit(self.processes[name].stop_seconds) == 0, child.output()
        assert _group(child.pid) == []

    def healthy(self) -> bool:
        """Ask as the image does."""
        (check,) = [each.words for each in dockerfile() if each.name == "HEALTHCHECK"]
        _python, *arguments = [word.replace(":8000/", f":{self.port}/") for word in check]
        return subprocess.run([sys.executable, *arguments], capture_output=True, check=False).returncode == 0

    def answer(self, path: str) -> tuple[int, str] | None:
        """Status and body of a page; None while nobody listens."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read().decode()
        except ConnectionError:
            return None
        finally:
            connection.close()


def _group(leader: int) -> list[int]:
    """The processes of a group that are alive."""
    found = []
    for process in psutil.process_iter(["status"]):
        try:
            if os.getpgid(process.pid) == leader and process.info["status"] != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
        except ProcessLookupError:
            continue
    return found


@pytest.fixture(params=["compose", "systemd"])
def installation(
    request: pytest.FixtureRequest,
    postgres_server: PostgresServer,
    redis_server: RedisServer,
    start_child: StartChild,
) -> Iterator[Installation]:
    processes = _of_compose() if request.param == "compose" else _of_systemd()
    redis_server.flush()
    with postgres_server.database() as url:
        yield Installation(processes, url, redis_server.url, start_child)


@pytest.fixture
def table(installation: Installation, tmp_path: Path, start_child: StartChild) -> Iterator[Table]:
    notes = tmp_path / "notes"
    notes.mkdir()
    if installation.redis_url:
        made: Table = CeleryTable(installation.database_url, installation.redis_url, notes, start_child)
    else:
        made = Table(installation.database_url, notes, start_child)
    yield made
    made.go()
    made.hub.close()


@pytest.fixture
def notified() -> Iterator[tuple[str, socket.socket]]:
    """A socket as systemd gives one to units of the type `notify`, and its address."""
    name = f"dlq-console-{uuid.uuid4().hex}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as heard:
        heard.bind(f"\0{name}")
        heard.settimeout(STARTED)
        yield f"@{name}", heard


def test_an_installation_serves_works_and_stops_without_losing_anything(
    installation: Installation, table: Table, notified: tuple[str, socket.socket]
) -> None:
    address, heard = notified
    assert installation.start("migrate").wait_for_exit(STARTED) == 0
    serve = installation.start("serve", NOTIFY_SOCKET=address)
    assert b"READY=1" in heard.recv(4096)
    scheduler, worker = installation.start("scheduler"), installation.start("worker")
    # Once the steps have run, their age is told instead of a warning.
    serve.wait_until(
        lambda: '"snapshot_age_seconds"' in (installation.answer("/readyz") or (0, ""))[1], STARTED, "ready"
    )
    assert installation.healthy()
    page = installation.answer("/login")
    assert page is not None
    assert page[0] == 200
    assert "<form" in page[1]

    first = table.enqueue("noop")
    assert table.ended(first, timeout=STARTED).status == "done"

    running = table.enqueue("waits")
    table.process_of(running)
    worker.send(signal.SIGTERM)
    # What runs may end, and what comes in meanwhile waits for the next worker.
    later = [table.enqueue("noted", account=f"filial-{n}") for n in range(3)]
    table.go()
    installation.stopped("worker", worker)
    assert table.hub.get(running).status == "done"

    worker = installation.start("worker")
    assert [table.ended(id_, timeout=STARTED).status for id_ in later] == ["done"] * 3
    assert [table.outcomes(id_) for id_ in (first, running, *later)] == [["done"]] * 5
    for name, child in (("worker", worker), ("scheduler", scheduler), ("serve", serve)):
        installation.stop(name, child)
    assert not installation.healthy()
