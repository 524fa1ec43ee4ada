"""Does the demo start, work, and stop? Real processes on free ports."""

from __future__ import annotations

import re
import signal
import sys
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import psutil

from dlq_console import Hub
from dlq_console.settings import read_settings
from dlq_console.store import queries
from dlq_console.store.filters import EventFilter
from tests.services.process import Child, StartChild, free_port

SUMMARY = re.compile(
    r"events in (\d+) \(repeats folded (\d+)\) · done (\d+) · retried (\d+) · discarded (\d+) · dead (\d+)"
    r" · still waiting (\d+) · lost = (-?\d+) · doubled = (\d+)"
)


def start_demo(start_child: StartChild, port: int, *more: str, env: dict[str, str] | None = None) -> Child:
    arguments = [sys.executable, "-m", "dlq_console", "demo", "--port", str(port), *more]
    return start_child(arguments, env=env)


def status_of(port: int, path: str) -> int:
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    finally:
        connection.close()


def figures(demo: Child) -> list[int]:
    found = SUMMARY.search(demo.output())
    assert found is not None, demo.output()
    return [int(figure) for figure in found.groups()]


def test_the_demo_ends_by_itself_with_a_summary_and_nothing_lost(start_child: StartChild) -> None:
    demo = start_demo(start_child, free_port(), "--seconds", "6", "--rate", "20")
    assert demo.wait_for_exit(60) == 0
    created, folded, done, _, discarded, dead, waiting, lost, doubled = figures(demo)
    assert created > 20
    assert done > 0
    assert done + discarded + dead + waiting == created
    assert folded >= 0
    assert (lost, doubled) == (0, 0)


def test_ctrl_c_stops_every_process_of_the_demo_and_leaves_no_file(start_child: StartChild) -> None:
    port = free_port()
    demo = start_demo(start_child, port)
    demo.wait_for_line("Ctrl-C stops everything", 60)
    assert status_of(port, "/healthz") == 200
    family = psutil.Process(demo.pid).children(recursive=True)
    assert len(family) >= 3
    folder = Path(
        re.findall(
            r"--data (\S+)/erp.jsonl", " ".join(word for p in family for word in [" ".join(p.cmdline())])
        )[0]
    )
    assert folder.is_dir()
    demo.send(signal.SIGINT)
    assert demo.wait_for_exit(60) == 0
    assert psutil.wait_procs(family, timeout=10)[1] == []
    assert not folder.exists()
    assert "Traceback" not in demo.output()


def test_ctrl_c_while_the_demo_is_starting_stops_what_has_started(start_child: StartChild) -> None:
    demo = start_demo(start_child, free_port())
    started = demo.wait_until(lambda: psutil.Process(demo.pid).children(), 60, "its first process")
    demo.send(signal.SIGINT)
    assert demo.wait_for_exit(60) == 0
    assert psutil.wait_procs(started, timeout=10)[1] == []
    assert "Traceback" not in demo.output()


def test_dead_letters_come_first_and_the_log_ins_that_the_demo_prints_work(
    start_child: StartChild, tmp_path: Path
) -> None:
    from dlq_console.store import people, queries
    from dlq_console.store.filters import EventFilter
    from dlq_console.store.store import Store

    # One event in 100 s: what is dead is of those that the demo sends first, for the newcomer to see.
    demo = start_demo(start_child, free_port(), "--rate", "0.01", "--data", str(tmp_path / "kept"))
    demo.wait_for_line("Ctrl-C stops everything", 60)
    store = Store(f"sqlite:///{tmp_path}/kept/demo.db")
    logins = re.findall(r"log in as\s+(\S+)\s+password (\S+)", demo.output())
    roles = {
        person.role for name, password in logins if (person := people.verify_login(store, name, password))
    }
    dead = EventFilter.parse({"status": ["dead"]})
    demo.wait_until(lambda: queries.count(store, dead).number, 60, "the first dead letter")
    store.engines.dispose()
    assert roles == {"viewer", "operator", "editor", "admin"}


def test_a_kept_demo_goes_on_with_the_same_database(start_child: StartChild, tmp_path: Path) -> None:
    for _ in range(2):
        demo = start_demo(
            start_child, free_port(), "--seconds", "4", "--rate", "20", "--data", str(tmp_path / "kept")
        )
        assert demo.wait_for_exit(60) == 0
        created, *_, lost, doubled = figures(demo)
        assert created > 10
        assert (lost, doubled) == (0, 0)


def test_a_taken_port_is_refused_in_one_sentence(start_child: StartChild) -> None:
    with HTTPServerOnAnyPort() as port:
        demo = start_demo(start_child, port)
        assert demo.wait_for_exit(30) != 0
        assert f"Port {port} is taken" in demo.output()
        assert "Traceback" not in demo.output()


def test_the_demo_runs_through_celery_when_a_broker_is_set(
    start_child: StartChild, redis_url: str, postgres_url: str
) -> None:
    environment = {"DLQ_BROKER_URL": redis_url, "DLQ_DATABASE_URL": postgres_url}
    demo = start_demo(start_child, free_port(), "--rate", "10", env=environment)
    success = EventFilter(status=("done",))
    enough = 20
    with closing(Hub(read_settings(database_url=postgres_url, broker_url=""))) as hub:
        demo.wait_for_line("Ctrl-C stops everything", 60)
        demo.wait_until(lambda: queries.count(hub.store, success).number > 0, 60, "an event to be done")
        demo.wait_until(lambda: queries.count(hub.store, EventFilter()).number > enough, 60, "events")
    demo.send(signal.SIGINT)
    assert demo.wait_for_exit(60) == 0
    assert "through Celery on PostgreSQL" in demo.output()
    created, _, done, *_, lost, doubled = figures(demo)
    assert created > enough
    assert done > 0
    assert (lost, doubled) == (0, 0)


class HTTPServerOnAnyPort:
    """Something else that listens."""

    def __enter__(self) -> int:
        import socket

        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        self._socket.listen()
        port: int = self._socket.getsockname()[1]
        return port

    def __exit__(self, *_: object) -> None:
        self._socket.close()
