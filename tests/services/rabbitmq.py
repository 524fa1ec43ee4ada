"""How does a test get a RabbitMQ of its own?"""

from __future__ import annotations

import os
import secrets
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

from kombu import Connection
from kombu.exceptions import OperationalError

from tests.services.finding import ServiceMissingError, first_file, on_path
from tests.services.process import Child, free_port
from tests.services.server import Server

INSTALL = "apt-get install rabbitmq-server"

#: The script behind Debian's wrapper; the wrapper itself changes to an account that may not write into our folder.
DEBIAN_SCRIPT = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")


def find_rabbitmq() -> Path:
    """The rabbitmq-server script. There is no wheel of it."""
    program = first_file([DEBIAN_SCRIPT]) or on_path("rabbitmq-server")
    if program is None or on_path("epmd") is None:
        raise ServiceMissingError("rabbitmq-server", INSTALL)
    return program


class RabbitServer(Server):
    """A RabbitMQ node with a name, a folder and a port mapper of its own."""

    #: The Erlang machine starts slowly on a busy processor.
    start_seconds: ClassVar[float] = 90.0

    def __init__(self, program: Path | None = None) -> None:
        super().__init__()
        self._program = program or find_rabbitmq()
        self._password = secrets.token_hex(8)
        self._port_mapper: Child | None = None
        self._port_mapper_port = 0

    @property
    def url(self) -> str:
        """Address of its default virtual host."""
        return f"amqp://tests:{self._password}@127.0.0.1:{self.port}//"

    def close(self) -> None:
        """End the node and its port mapper, and remove the folder."""
        super().close()
        if self._port_mapper is not None:
            self._port_mapper.close()
            self._port_mapper = None

    def control(self, *arguments: str) -> str:
        """What `rabbitmqctl` with these arguments answers."""
        program = self._program.with_name("rabbitmqctl")
        ended = subprocess.run(
            [program, *arguments],
            env={"PATH": os.environ["PATH"], **self._environment()},
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return ended.stdout

    @contextmanager
    def alarmed(self) -> Iterator[None]:
        """Inside the block the node takes no messages, as if its memory was used up."""
        self.control("set_vm_memory_high_watermark", "0.0000001")
        try:
            yield
        finally:
            self.control("set_vm_memory_high_watermark", "0.4")

    @contextmanager
    def holding_at_most(self, seconds: int) -> Iterator[None]:
        """For connections made inside the block: how long a message may stay unacknowledged, 30 minutes otherwise."""
        self._set(consumer_timeout=1000 * seconds, channel_tick_interval=500)
        try:
            yield
        finally:
            self._set(consumer_timeout=1_800_000, channel_tick_interval=60_000)

    def _set(self, **settings: int) -> None:
        for name, value in settings.items():
            self.control("eval", f"application:set_env(rabbit, {name}, {value}).")

    def _prepare(self) -> None:
        (self.folder / "enabled_plugins").write_text("[].\n")
        self._port_mapper_port = free_port()
        epmd = on_path("epmd")
        assert epmd is not None
        # The node would start one by itself, and that one would stay after the node is gone.
        self._port_mapper = Child([epmd, "-port", str(self._port_mapper_port), "-address", "127.0.0.1"])

    def _launch(self) -> Child:
        self._write_configuration()
        return Child([self._program], folder=self.folder, env=self._environment())

    def _is_ready(self) -> bool:
        # Only this node knows the password.
        try:
            with Connection(self.url, connect_timeout=2) as connection:
                connection.connect()
        except (OSError, OperationalError):
            return False
        return True

    def _write_configuration(self) -> None:
        lines = [
            f"listeners.tcp.1 = 127.0.0.1:{self.port}",
            "default_user = tests",
            f"default_pass = {self._password}",
            "default_permissions.configure = .*",
            "default_permissions.read = .*",
            "default_permissions.write = .*",
            "disk_free_limit.absolute = 50MB",
            "log.console = true",
            "log.console.level = warning",
        ]
        (self.folder / "rabbitmq.conf").write_text("\n".join(lines) + "\n")

    def _environment(self) -> dict[str, str]:
        folder = self.folder
        loopback = "-kernel inet_dist_use_interface {127,0,0,1} -start_epmd false"
        return {
            "HOME": str(folder),  # the cookie that lets nodes speak to one another is kept there
            "ERL_EPMD_PORT": str(self._port_mapper_port),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODENAME": f"dlq-{self.port}@localhost",
            "RABBITMQ_DIST_PORT": str(free_port()),
            "RABBITMQ_CONF_ENV_FILE": str(folder / "none"),
            "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq.conf"),
            "RABBITMQ_ADVANCED_CONFIG_FILE": str(folder / "none.config"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "enabled_plugins"),
            "RABBITMQ_MNESIA_BASE": str(folder / "mnesia"),
            "RABBITMQ_LOG_BASE": str(folder / "log"),
            "RABBITMQ_GENERATED_CONFIG_DIR": str(folder / "generated"),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": loopback,
        }
