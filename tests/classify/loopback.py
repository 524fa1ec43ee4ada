"""A server on loopback that misbehaves in one way, so that client libraries fail as they do in the field."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager

#: Seconds after which a connection that nobody ends is given up, so that no test can hang.
_PATIENCE = 20
#: First byte of a TLS handshake, to which this server answers with plain text.
_TLS = b"\x16"


@contextmanager
def refusing() -> Iterator[str]:
    """An address at which nobody listens; the port stays taken meanwhile."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}/"


@contextmanager
def answering(reply: bytes, *, then: str = "close") -> Iterator[str]:
    """A server that reads each request, sends `reply`, and then closes, resets or hangs."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(20)
        thread = threading.Thread(target=_serve, args=(listener, reply, then), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(_PATIENCE)


def _serve(listener: socket.socket, reply: bytes, then: str) -> None:
    held: list[socket.socket] = []
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            break
        held.append(connection)
        connection.settimeout(_PATIENCE)
        try:
            _read_request(connection)
            connection.sendall(reply)
        except OSError:
            continue
        if then == "reset":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        if then != "hang":
            connection.close()
    for connection in held:
        connection.close()


def _read_request(connection: socket.socket) -> None:
    """The head, and as much of a body as it names."""
    data = b""
    while b"\r\n\r\n" not in data:
        part = connection.recv(65_536)
        if not part:
            return
        data += part
        if data.startswith(_TLS):
            return
    head, _, body = data.partition(b"\r\n\r\n")
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            while len(body) < int(value):
                body += connection.recv(65_536)


def http(status: int, body: bytes, **headers: str) -> bytes:
    """A whole answer."""
    lines = [f"HTTP/1.1 {status} Text", f"Content-Length: {len(body)}", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body
