"""What is answered to a request whose first line is too long to be read? A page of our own, before any of the console runs."""

from __future__ import annotations

import contextlib
import socket
from typing import Any

from gunicorn.http.errors import LimitRequestLine
from gunicorn.workers.gthread import ThreadWorker

#: Nobody has read which language is asked for, so the page says it in both, and nothing of what was sent.
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Address too long · DLQ Console</title>
</head>
<body>
<h1>This address is too long</h1>
<p>Nothing was done. Go back and make the filter shorter, or select fewer values in it.</p>
<section lang="pt-BR">
<h1>Este endereço é longo demais</h1>
<p>Nada foi feito. Volte e encurte o filtro, ou selecione menos valores nele.</p>
</section>
</body>
</html>
""".encode()
_HEAD = (
    "HTTP/1.1 414 URI Too Long\r\n"
    "Connection: close\r\n"
    "Content-Type: text/html; charset=utf-8\r\n"
    f"Content-Length: {len(PAGE)}\r\n"
    "Cache-Control: no-store\r\n"
    "Content-Security-Policy: default-src 'none'\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "\r\n"
).encode()

#: How much of the rest of a request is read, in pieces and their bytes, and how long each is waited for, in seconds.
_PIECES, _PIECE, _PATIENCE = 8, 65_536, 0.2


class Worker(ThreadWorker):
    """A worker of gunicorn that answers such a line with `PAGE`, and everything else as ever."""

    def handle_error(self, req: Any, client: socket.socket, addr: Any, exc: BaseException) -> None:
        """Answer a request that cannot be read."""
        if not isinstance(exc, LimitRequestLine):
            super().handle_error(req, client, addr, exc)
            return
        self.log.warning("A request was refused: its first line is too long.")
        with contextlib.suppress(OSError):
            client.sendall(_HEAD + PAGE)
            _read_the_rest(client)


def _read_the_rest(client: socket.socket) -> None:
    """A connection that is closed with something unread is broken off, and the answer may be lost with it."""
    client.shutdown(socket.SHUT_WR)
    client.settimeout(_PATIENCE)
    for _ in range(_PIECES):
        if not client.recv(_PIECE):
            return
