"""What does every test get? A clean environment, and real services that start only when the first test asks for one."""

from __future__ import annotations

import os
import re
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import pytest

from tests.cheaper import cheaper
from tests.services.chromium import find_chromium
from tests.services.finding import ServiceMissingError
from tests.services.postgres import PostgresServer
from tests.services.process import Child, StartChild
from tests.services.rabbitmq import RabbitServer
from tests.services.redis import RedisServer

Service = TypeVar("Service")

#: Where everything is installed, a missing program is a fault of the set-up and not a reason to skip.
REQUIRE_ALL = any(
    os.environ.get(name, "").lower() in ("1", "true", "yes") for name in ("CI", "DLQ_TEST_REQUIRE_ALL")
)

#: Variables of a developer's shell that could change a result.
FOREIGN_PREFIXES = ("DLQ_", "PG", "CELERY_", "FLASK_", "RABBITMQ_")
FOREIGN_NAMES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "language", "lang", "lc_all")

#: Not UTC, so that a time which lost its zone shows.
LOCAL_ZONE = "America/Sao_Paulo"

TEMPLATE_DATABASE = "migrated_template"

#: As `utc_now()` is written; a time that a test has chosen has no single microseconds.
PRESENT_TIME = re.compile(r"\d\d:\d\d:\d\d\.\d{3}(?!000)\d{3}")


#: Thousands of databases are made and thrown away; copying their files on a disk takes ten times as long as in memory.
MEMORY = Path("/dev/shm")
#: What all that tests keep at one time needs, with much to spare (bytes).
ROOM = 6_000_000_000


def _clean_environment() -> None:
    for name in list(os.environ):
        if name.startswith(FOREIGN_PREFIXES) or name.lower() in FOREIGN_NAMES:
            del os.environ[name]
    os.environ.update({"TZ": LOCAL_ZONE, "LC_ALL": "C.UTF-8"})
    time.tzset()
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell tells what it starts in the background to ignore Ctrl-C, and every child would inherit that.
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _work_in_memory() -> None:
    """Let temporary files be made in memory where there is enough of it and programs may run there."""
    if "TMPDIR" in os.environ or not MEMORY.is_dir():
        return
    told = os.statvfs(MEMORY)
    if told.f_bavail * told.f_frsize >= ROOM and not told.f_flag & os.ST_NOEXEC:
        os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)


_clean_environment()
_work_in_memory()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of the browser tests, which only this file may add."""
    parser.addoption(
        "--slow-line",
        type=float,
        default=0.0,
        metavar="SECONDS",
        help="let scripts, and the answers to them, come so much later to the browser",
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse names with the present time in them: each process that shares the tests would know others."""
    named_by_time = [item.nodeid for item in items if PRESENT_TIME.search(item.nodeid)]
    if named_by_time:
        raise pytest.UsageError(f"these need ids without the present time: {named_by_time[:3]}")


def _found(make: Callable[[], Service]) -> Service:
    """What `make` returns; without the program the test is skipped, or fails where all must be there."""
    try:
        return make()
    except ServiceMissingError as missing:
        if REQUIRE_ALL:
            pytest.fail(str(missing), pytrace=False)
        pytest.skip(str(missing))


@pytest.fixture(autouse=True)
def _private_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads a developer's `.env` or leaves a file in the checkout."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session", autouse=True)
def _cheaper() -> Iterator[None]:
    with cheaper():
        yield


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """The PostgreSQL of this run; take `postgres_url` for a database of one's own."""
    with _found(PostgresServer) as server:
        yield server


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """The Redis of this run; take `redis_url` for an empty one."""
    with _found(RedisServer) as server:
        yield server


@pytest.fixture
def redis_url(redis_server: RedisServer) -> Iterator[str]:
    """Address of the Redis of this run, emptied for this test; the test may pause, stop or kill it."""
    redis_server.flush()
    yield redis_server.url
    redis_server.restore()


@pytest.fixture(scope="session")
def rabbit_server() -> Iterator[RabbitServer]:
    """The RabbitMQ of this run."""
    with _found(RabbitServer) as server:
        yield server


@pytest.fixture
def rabbit_url(rabbit_server: RabbitServer) -> Iterator[str]:
    """Address of the RabbitMQ of this run. Queues outlive a test, so each names its own; it may pause or stop it."""
    yield rabbit_server.url
    rabbit_server.restore()


@pytest.fixture(scope="session")
def chromium_path() -> Path:
    """The browser program."""
    return _found(find_chromium)


@pytest.fixture(scope="session")
def _postgres_template(postgres_server: PostgresServer) -> str:
    from dlq_console.store.migrate import upgrade

    upgrade(postgres_server.create_database(TEMPLATE_DATABASE))
    return TEMPLATE_DATABASE


@pytest.fixture
def postgres_url(postgres_server: PostgresServer, _postgres_template: str) -> Iterator[str]:
    """Address of a PostgreSQL database with all tables, made for this test."""
    with postgres_server.database(_postgres_template) as url:
        yield url


@pytest.fixture(scope="session")
def _sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from dlq_console.store.migrate import upgrade

    file = tmp_path_factory.mktemp("template") / "template.db"
    upgrade(f"sqlite:///{file}")
    # A write-ahead log beside it means that `upgrade` left a connection open and that the file alone is not whole.
    assert [path.name for path in file.parent.iterdir()] == [file.name]
    return file


@pytest.fixture
def sqlite_url(_sqlite_template: Path, tmp_path: Path) -> str:
    """Address of an SQLite file with all tables, made for this test."""
    return f"sqlite:///{shutil.copy(_sqlite_template, tmp_path / 'console.db')}"


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> str:
    """Address of a database with all tables; the test runs once on each engine."""
    fixture = {"sqlite": "sqlite_url", "postgresql": "postgres_url"}[request.param]
    url: str = request.getfixturevalue(fixture)
    return url


@pytest.fixture
def start_child() -> Iterator[StartChild]:
    """Starts processes as `Child` does and ends them after the test; a failing test shows what they printed."""
    children: list[Child] = []

    def start(
        arguments: Sequence[str | Path], *, env: Mapping[str, str] | None = None, folder: Path | None = None
    ) -> Child:
        children.append(Child(arguments, env=env, folder=folder))
        return children[-1]

    yield start
    for child in children:
        child.stop()
        print(f"--- {child.name} (process {child.pid})\n{child.output()}")  # noqa: T201 - kept by pytest for failures
        child.close()
