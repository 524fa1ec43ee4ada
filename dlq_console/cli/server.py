"""How is the console served? By gunicorn, inside this program."""

from __future__ import annotations

import gc
import logging
import os
import socket
from collections.abc import Callable
from typing import Any

from flask import Flask
from gunicorn.app.base import BaseApplication

from dlq_console.cli.long_lines import Worker
from dlq_console.errors import ConfigurationError
from dlq_console.logs import ADDRESS_FILTER

#: Requests that each process answers at once.
THREADS = 8
#: Seconds for which a connection without a request is kept, and connections of each process.
KEPT_OPEN, CONNECTIONS = 15, 2_000
#: The longest first line of a request (method, address with its query, version), in bytes: the most that gunicorn
#: allows. A longer one is answered by `long_lines`.
LONGEST_LINE = 8190


def serve_app(app: Flask, *, bind: str, workers: int) -> None:
    """Serve `app` until SIGTERM or SIGINT.

    Args:
        app: made before the fork, so that what is wrong with it is told once, and by the caller.
        bind: HOST:PORT or unix:PATH.
        workers: processes.
    """
    # What exists by now stays until the end. Looking through all of it for garbage would now and then halt a process
    # for as long as seven pages take.
    gc.collect()
    gc.freeze()
    for name in ("gunicorn.error", "gunicorn.access"):
        logging.getLogger(name).addFilter(ADDRESS_FILTER)
    _Server(
        app,
        {
            "bind": bind,
            "workers": workers,
            "worker_class": Worker,
            "threads": THREADS,
            # Longer than between two polls of a page, and room for a thousand people who leave one open: a connection
            # that is made anew for each poll costs more than the poll.
            "keepalive": KEPT_OPEN,
            "worker_connections": CONNECTIONS,
            "proc_name": "dlq-console",
            # What is wrong with a long filter is told by the console, in its own words.
            "limit_request_line": LONGEST_LINE,
            # Which proxies are believed is decided by DLQ_TRUSTED_PROXIES alone.
            "forwarded_allow_ips": "",
            # Nobody asked for a second door into the process.
            "control_socket_disable": True,
        },
    ).run()


def check_bind(bind: str) -> None:
    """Refuse an address that cannot be listened on, before anything is started.

    Raises:
        ConfigurationError: it is malformed or taken; the message says which.
    """
    if bind.startswith("unix:"):
        return
    host, _, port = bind.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise ConfigurationError(f"--bind: {bind} is no address; write HOST:PORT or unix:PATH.")
    try:
        socket.create_server((host.strip("[]"), int(port)), family=_family(host)).close()
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise ConfigurationError(f"--bind: {bind} cannot be listened on: {reason}.") from error


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if host.startswith("[") else socket.AF_INET


class _Server(BaseApplication):
    def __init__(self, app: Flask, options: dict[str, Any]) -> None:
        self._app = app
        self._options = options
        super().__init__()

    def load_config(self) -> None:
        for name, value in self._options.items():
            if name in self.cfg.settings:
                self.cfg.set(name, value)

    def load(self) -> Callable[..., Any]:
        return self._app
