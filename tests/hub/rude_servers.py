"""Servers that no library would be: they say what a test wants, letter by letter."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from threading import Event, Thread


@contextmanager
def dripping(text: bytes, *, every: float = 0.05) -> Iterator[int]:
    """The port of a server that takes whoever comes and says one letter of `text` now and then."""
    over = Event()

    def talk(one: socket.socket) -> None:
        with one, suppress(OSError):
            for place in range(len(text)):
                one.sendall(text[place : place + 1])
                if over.wait(every):
                    return

    with _server(talk) as port:
        try:
            yield port
        finally:
            over.set()


@contextmanager
def spoken(answers: Mapping[bytes, bytes]) -> Iterator[tuple[int, list[bytes]]]:
    """The port of a mail server that answers the first word of a line as it was told, and the lines that it heard."""
    heard: list[bytes] = []

    def talk(one: socket.socket) -> None:
        with one, suppress(OSError), one.makefile("rb") as lines:
            one.sendall(b"220 mail\r\n")
            for line in lines:
                heard.append(line)
                one.sendall(answers.get(line.split()[0].upper(), b"250 OK\r\n"))

    with _server(talk) as port:
        yield port, heard


@contextmanager
def _server(talk: Callable[[socket.socket], None]) -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    one, _ = listening.accept()
                    Thread(target=talk, args=(one,), daemon=True).start()

        thread = Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            with suppress(OSError):
                listening.shutdown(socket.SHUT_RDWR)
            thread.join(5)
