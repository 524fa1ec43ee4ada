"""What do all private servers have in common? A free port, a private folder, a bounded start and a certain end."""

from __future__ import annotations

import pwd
import shutil
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self

from tests.services.process import STOP_SECONDS, Child, ExitedEarlyError, free_port

#: Another program may take a free port before the server does; then the next port is tried.
PORTS_TO_TRY = 3


class Server(ABC):
    """A server for one test run, started on entering the `with` block and removed on leaving it."""

    #: Seconds in which it must be ready.
    start_seconds: ClassVar[float] = 30.0

    def __init__(self) -> None:
        self.port = 0
        self._folder: Path | None = None
        self._child: Child | None = None

    def __enter__(self) -> Self:
        self._folder = Path(tempfile.mkdtemp(prefix=f"dlq-{type(self).__name__.lower()}-"))
        try:
            self._prepare()
            self._start_on_a_free_port()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def folder(self) -> Path:
        """Where its data, logs and configuration are while the `with` block lasts."""
        assert self._folder is not None, f"{type(self).__name__} was not entered"
        return self._folder

    @property
    def running(self) -> bool:
        """Whether its process is alive (frozen counts as alive)."""
        return self._child is not None and self._child.running

    @property
    def pid(self) -> int:
        """Process id of the running server."""
        return self._running_child().pid

    def start(self) -> None:
        """Start again on the same port with the same data, after `stop` or `kill`; no-op while it runs."""
        if self.running:
            return
        self._discard_child()
        child = self._child = self._launch()
        child.wait_until(self._is_ready, self.start_seconds, "being ready")

    def stop(self) -> None:
        """End it in good order; its port is closed and its data kept."""
        if self._child is not None:
            self._shut_down(self._child)
            self._discard_child()

    def kill(self) -> None:
        """End it as a crash would; its data is kept."""
        self._running_child().kill()
        self._discard_child()

    def pause(self) -> None:
        """Freeze it: connections stay open and nothing answers."""
        self._running_child().pause()

    def resume(self) -> None:
        """Thaw it."""
        self._running_child().resume()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Frozen inside the block."""
        self.pause()
        try:
            yield
        finally:
            self.resume()

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Not running inside the block; afterwards it is back on the same port."""
        self.stop()
        try:
            yield
        finally:
            self.start()

    def restore(self) -> None:
        """Running and thawed again, whatever a test did to it."""
        self.start()
        self.resume()

    def close(self) -> None:
        """End it and remove its folder."""
        self.stop()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    @abstractmethod
    def _launch(self) -> Child:
        """Start the process on `self.port` with its data in `self.folder`."""

    @abstractmethod
    def _is_ready(self) -> bool:
        """Whether this very server, not another one on the same port, answers."""

    def _prepare(self) -> None:
        """Lay out the folder before the first start."""
        return

    def _shut_down(self, child: Child) -> None:
        child.stop(timeout=STOP_SECONDS)

    def _start_on_a_free_port(self) -> None:
        for remaining in reversed(range(PORTS_TO_TRY)):
            self.port = free_port()
            try:
                self.start()
            except ExitedEarlyError:
                if not remaining:
                    raise
            else:
                return

    def _running_child(self) -> Child:
        assert self._child is not None, f"{type(self).__name__} is not running"
        return self._child

    def _discard_child(self) -> None:
        if self._child is not None:
            self._child.close()
            self._child = None


def give_to(folder: Path, user: pwd.struct_passwd) -> None:
    """Make the account the owner of the folder; what is inside stays as it is."""
    shutil.chown(folder, user.pw_uid, user.pw_gid)
