"""The processes of the demo: started one after the other, watched, and stopped in the reverse order."""

from __future__ import annotations

import subprocess
import sys
import threading
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from dlq_console.clock import monotonic
from dlq_console.errors import ConfigurationError

#: How long a child may take to start and to stop, in seconds.
START_PATIENCE = 30
STOP_PATIENCE = 30


class StoppedEarly(Exception):
    """The demo was stopped before all of its processes had started."""


class Children:
    """Starts the parts of the demo as processes of their own and ends them all at the end.

    Args:
        environment: of the processes.
        stop: set when nobody wants them any more; from then on nothing is started or waited for.
    """

    def __init__(self, environment: dict[str, str], stop: threading.Event) -> None:
        self._environment = dict(environment)
        self._stop_asked = stop
        self._running: dict[str, subprocess.Popen[str]] = {}
        #: Names of children that ended although nobody asked them to.
        self.fallen: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for name in reversed(list(self._running)):
            self._stop(name)

    def start_erp(self, seed: int, journal: Path) -> str:
        """Start the simulated ERP on a free port; returns its address.

        As the others, raises StoppedEarly where `stop` is set, and ConfigurationError where it does not start.
        """
        arguments = ["dlq_console.demo.erp", "--port", "0", "--seed", str(seed), "--data", str(journal)]
        erp = self._start("simulated ERP", arguments, stdout=subprocess.PIPE)
        line = erp.stdout.readline() if erp.stdout else ""
        address = line.strip().rpartition(" ")[2]
        if not address.startswith("http"):
            raise ConfigurationError("The simulated ERP did not start; its own words stand above.")
        self._environment["DLQ_DEMO_ERP_URL"] = address
        return address

    def start_console(self, host: str, port: int) -> str:
        """Start the console; returns its address once it answers."""
        address = f"http://{host}:{port}"
        console = self._start("console", ["dlq_console", "serve", "--bind", f"{host}:{port}"])
        deadline = monotonic() + START_PATIENCE
        while not _answers(host, port):
            if console.poll() is not None or monotonic() > deadline:
                raise ConfigurationError("The console did not start; its own words stand above.")
            if self._stop_asked.wait(0.1):
                raise StoppedEarly
        return address

    def start_worker(self, slots: int) -> None:
        """Start the worker, table or Celery as the settings say."""
        self._start("worker", ["dlq_console", "worker", "--concurrency", str(slots)])

    def stop_worker(self) -> None:
        """Let the worker finish what it runs."""
        if "worker" in self._running:
            self._stop("worker")

    def look(self) -> list[str]:
        """Which children have ended although nobody asked them to."""
        for name, child in self._running.items():
            if child.poll() is not None and name not in self.fallen:
                print(f"The {name} ended with exit status {child.returncode}.", file=sys.stderr)
                self.fallen.append(name)
        return self.fallen

    def _start(
        self, name: str, module: list[str], stdout: int | IO[str] | None = None
    ) -> subprocess.Popen[str]:
        if self._stop_asked.is_set():
            raise StoppedEarly
        child = subprocess.Popen(
            [sys.executable, "-m", *module],
            env=self._environment,
            stdout=stdout,
            text=True,
            # Ctrl-C reaches this process alone, which stops the others in order.
            start_new_session=True,
        )
        self._running[name] = child
        return child

    def _stop(self, name: str) -> None:
        child = self._running.pop(name)
        child.terminate()
        try:
            child.wait(STOP_PATIENCE)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        if child.stdout is not None:
            child.stdout.close()


def _answers(host: str, port: int) -> bool:
    connection = HTTPConnection(host, port, timeout=2)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()
