"""What stands in an answer that nobody has read yet? Read for a moment only: the other side may never send the rest."""

from __future__ import annotations

import io
from typing import Any

from dlq_console.clock import monotonic

#: Seconds in which what has arrived is read.
PATIENCE = 0.5


def read_soon(stream: Any, limit: int) -> bytes:
    """At most `limit` bytes of an `http.client` answer, and only what arrives within `PATIENCE` seconds."""
    try:
        if isinstance(stream, io.BytesIO):
            return stream.read(limit)
        return _read_from_socket(stream, limit)
    except Exception:  # noqa: BLE001 - a closed or odd stream is an answer without a body
        return b""


def _read_from_socket(stream: Any, limit: int) -> bytes:
    # `urllib` wraps the answer of http.client, which wraps a buffered reader on the socket.
    response: Any = stream if hasattr(stream, "read1") else stream.fp
    socket = response.fp.raw._sock  # noqa: SLF001 - only the socket itself can be given a time limit
    end = monotonic() + PATIENCE
    parts: list[bytes] = []
    got = 0
    while got < limit and (left := end - monotonic()) > 0:
        socket.settimeout(left)
        try:
            part = response.read1(limit - got)
        except TimeoutError:
            break
        if not part:
            break
        parts.append(part)
        got += len(part)
    return b"".join(parts)
