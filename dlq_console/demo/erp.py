"""How is the simulated ERP started: as a program of its own, or inside a test?

    python -m dlq_console.demo.erp --port 8100 --seed 1 --data erp.jsonl

It answers over real HTTP on loopback, each call in a thread of its own, and stops on SIGINT or SIGTERM.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server

from dlq_console.clock import monotonic
from dlq_console.demo.erp_books import Books
from dlq_console.demo.erp_desk import Desk
from dlq_console.demo.erp_journal import Journal
from dlq_console.demo.erp_temper import TEMPERS, Temper
from dlq_console.demo.erp_web import create_erp

_LOOPBACK = "127.0.0.1"
_WAITING_CONNECTIONS = 256
_STOP_CHECK_SECONDS = 0.05  # how long `stop` may have to wait for the serving thread
_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class SimulatedErp:
    """A simulated ERP that serves from threads of this process while its `with` block lasts.

    Args:
        tempers: the accounts and how they behave; the accounts of the demo by default.
        seed: of the faults, and of the customers registered from the start.
        port: 0 takes a free one.
        data: file that remembers registrations and effects across restarts; None keeps them in memory.
        clock: seconds that never go back; decides outages, slow spells and limits.

    Raises:
        OSError: the port is taken.
    """

    def __init__(
        self,
        tempers: Mapping[str, Temper] = TEMPERS,
        *,
        seed: int = 1,
        port: int = 0,
        data: Path | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        with socket.create_server((_LOOPBACK, port), backlog=_WAITING_CONNECTIONS) as listening:
            self.desk = Desk(Books(Journal(data) if data else None), tempers, seed=seed, clock=clock)
            self._server = _server(self.desk, listening)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(_STOP_CHECK_SECONDS,), name="simulated-erp", daemon=True
        )

    @property
    def url(self) -> str:
        """Its address, without a slash at the end."""
        return f"http://{_LOOPBACK}:{self._server.port}"

    def stats(self) -> dict[str, Any]:
        """The figures of the run, as `GET /stats` answers them."""
        return self.desk.books.stats()

    def effects(self) -> dict[str, dict[str, int]]:
        """How often each effect took place: account to effect key to count."""
        return self.desk.books.effects()

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def stop(self) -> None:
        """Take no more calls, and let go of those still being slow."""
        self._server.shutdown()
        self._thread.join()
        self.desk.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


class _QuietHandler(WSGIRequestHandler):
    """Writes no line per call: a demo makes thousands."""

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        pass


def _server(desk: Desk, listening: socket.socket) -> BaseWSGIServer:
    port = listening.getsockname()[1]
    return make_server(
        _LOOPBACK,
        port,
        create_erp(desk),
        threaded=True,
        request_handler=_QuietHandler,
        fd=listening.fileno(),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program until a signal stops it."""
    options = _parser().parse_args(arguments)
    # Blocked before any thread exists, so that every thread leaves them to sigwait below.
    signal.pthread_sigmask(signal.SIG_BLOCK, _STOP_SIGNALS)
    try:
        running = SimulatedErp(seed=options.seed, port=options.port, data=options.data)
    except OSError as error:
        where = error.filename or f"port {options.port}"
        print(f"The simulated ERP cannot start: {where}: {os.strerror(error.errno or 0)}.", file=sys.stderr)
        return 1
    with running:
        print(f"Simulated ERP on {running.url}", flush=True)
        signal.sigwait(_STOP_SIGNALS)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m dlq_console.demo.erp", description="A simulated ERP on loopback."
    )
    parser.add_argument(
        "--port", type=int, default=8100, help="port on 127.0.0.1; 0 takes a free one (default 8100)"
    )
    parser.add_argument(
        "--seed", type=int, default=1, help="seed of the faults and of the customers (default 1)"
    )
    parser.add_argument(
        "--data", type=Path, help="file that remembers registrations and effects across restarts"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
