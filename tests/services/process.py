"""How does a test run another process, wait for what it does, and never leave it behind?"""

from __future__ import annotations

import contextlib
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self, TypeVar

import psutil

from tests.services import reaper

Answer = TypeVar("Answer")

PROJECT_ROOT = Path(__file__).resolve().parents[2]

#: Seconds between two looks at a condition.
POLL_SECONDS = 0.02

#: Seconds in which a process may end by itself before it is killed.
STOP_SECONDS = 10.0


class WaitTimeoutError(AssertionError):
    """What was waited for did not happen in time."""


class ExitedEarlyError(AssertionError):
    """The process ended while something was still expected of it."""


def wait_until(predicate: Callable[[], Answer], timeout: float, what: str) -> Answer:
    """Ask again and again until the answer is true, and return it.

    Raises:
        WaitTimeoutError: `timeout` seconds went by first; the message says `what` was waited for.
    """
    deadline = time.monotonic() + timeout
    while not (answer := predicate()):
        if time.monotonic() > deadline:
            raise WaitTimeoutError(f"Waited {timeout:g} s in vain for {what}.")
        time.sleep(POLL_SECONDS)
    return answer


def free_port() -> int:
    """A port of the loopback address that nobody listened on a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Child:
    """A process in a group of its own. Leaving the `with` block ends it with everything that it has started.

    Args:
        arguments: the program and its arguments; no shell is involved.
        env: added to the environment of the test run, which holds no DLQ_* variable.
        folder: where it runs and writes `output.log`; a private one that is removed at the end if left out.
        user: account to run under; only root may choose.
    """

    def __init__(
        self,
        arguments: Sequence[str | Path],
        *,
        env: Mapping[str, str] | None = None,
        folder: Path | None = None,
        user: pwd.struct_passwd | None = None,
    ) -> None:
        self.name = Path(arguments[0]).name
        self._owns_folder = folder is None
        self.folder = folder or Path(tempfile.mkdtemp(prefix="dlq-child-"))
        self.log = self.folder / "output.log"
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [str(argument) for argument in arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                env=_environment(env or {}),
                start_new_session=True,
                user=user.pw_uid if user else None,
                group=user.pw_gid if user else None,
                extra_groups=[] if user else None,
            )
        self.pid = self._process.pid
        #: Processes of other groups that `pause` has frozen.
        self._frozen: list[psutil.Process] = []
        reaper.watch(self.pid, self.folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def running(self) -> bool:
        """Whether the process itself is alive (frozen counts as alive)."""
        return self._process.poll() is None

    def output(self) -> str:
        """Everything printed so far, standard output and standard error together."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def wait_until(self, predicate: Callable[[], Answer], timeout: float, what: str) -> Answer:
        """Like the function of this name, but gives up at once when the process ends.

        Raises:
            ExitedEarlyError: the process ended first.
            WaitTimeoutError: `timeout` seconds went by first.
        """

        def ask() -> Answer:
            # Asked in this order, an answer given just before the end is still seen.
            running = self.running
            answer = predicate()
            if not answer and not running:
                raise ExitedEarlyError(self._complaint(f"ended before {what}"))
            return answer

        try:
            return wait_until(ask, timeout, f"{self.name}: {what}")
        except WaitTimeoutError as error:
            raise WaitTimeoutError(self._complaint(str(error))) from None

    def wait_for_line(self, pattern: str, timeout: float = 30.0) -> re.Match[str]:
        """Wait until the output holds the regular expression (`^` and `$` are line ends); returns the first match."""
        compiled = re.compile(pattern, re.MULTILINE)
        match = self.wait_until(lambda: compiled.search(self.output()), timeout, f"a line like {pattern!r}")
        assert match is not None
        return match

    def wait_for_exit(self, timeout: float = 30.0) -> int:
        """Wait until the process ended by itself; returns its exit status, negative for a signal."""
        try:
            return self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise WaitTimeoutError(self._complaint(f"still ran after {timeout:g} s")) from None

    def send(self, number: signal.Signals) -> None:
        """Send one signal to the process itself, not to its group."""
        self._process.send_signal(number)

    def kill(self) -> None:
        """Kill the process itself, as a crash would; its own children have to notice."""
        self._process.kill()
        self._process.wait(STOP_SECONDS)

    def pause(self) -> None:
        """Freeze the process and all that it has started, as the host they are on would."""
        os.killpg(self.pid, signal.SIGSTOP)
        self._frozen = self._family()
        for process in self._frozen:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.suspend()

    def resume(self) -> None:
        """Thaw what `pause` has frozen."""
        for process in self._frozen:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.resume()
        self._frozen = []
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGCONT)

    def stop(self, number: signal.Signals = signal.SIGTERM, timeout: float = STOP_SECONDS) -> int:
        """Ask the process to end and return its exit status; kill it when it does not end in time."""
        if self.running:
            self.resume()
            self.send(number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout)
        self._kill_all()
        return self._process.wait(STOP_SECONDS)

    def close(self) -> None:
        """End the process with all that it has started, and remove what it left."""
        self._kill_all()
        self._process.wait(STOP_SECONDS)
        reaper.forget(self.pid)
        if self._owns_folder:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _family(self) -> list[psutil.Process]:
        with contextlib.suppress(psutil.NoSuchProcess):
            return psutil.Process(self.pid).children(recursive=True)
        return []

    def _kill_all(self) -> None:
        family = [*self._family(), *self._frozen] if self.running else self._frozen
        reaper.kill_group(self.pid)
        for process in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()

    def _complaint(self, text: str) -> str:
        return f"{self.name}: {text}\nIts output was:\n{self.output()[-4000:]}"


class StartChild(Protocol):
    """Starts a process that ends with the test; what the fixture of this name gives."""

    def __call__(
        self,
        arguments: Sequence[str | Path],
        *,
        env: Mapping[str, str] | None = None,
        folder: Path | None = None,
    ) -> Child: ...


def _environment(extra: Mapping[str, str]) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("DLQ_")}
    # Modules under tests/ can be named on a command line; what is printed can be read at once.
    return {**inherited, "PYTHONPATH": str(PROJECT_ROOT), "PYTHONUNBUFFERED": "1", **extra}
