"""How does a conversation end in time when the other side says one letter every nine seconds?

A time limit of a socket is for one step. `Cut` ends all of it: it shuts the connection, so that whoever reads from it goes
on at once. Clients are told to have their connections watched from the first step on, that of TLS included.
"""

from __future__ import annotations

import http.client
import smtplib
import socket
import ssl
import urllib.request
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import suppress
from contextvars import copy_context
from threading import Event, Thread, Timer
from types import TracebackType
from typing import Any


class Cut:
    """Inside the block, every watched connection is shut once its seconds are over."""

    def __init__(self, seconds: float) -> None:
        self._timer = Timer(seconds, self._shut)
        self._timer.daemon = True
        self._over = Event()
        self._watched: list[socket.socket] = []

    @property
    def is_over(self) -> bool:
        """Whether the time was over before the conversation was."""
        return self._over.is_set()

    def watch(self, made: socket.socket) -> None:
        """Shut this one too, whatever is put around it later."""
        self._watched.append(made.dup())
        if self.is_over:
            self._shut()

    def _shut(self) -> None:
        self._over.set()
        for one in self._watched:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> Cut:
        self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        # A shut that has begun ends first: its sockets must not be closed under it.
        self._timer.join()
        for one in self._watched:
            one.close()


def waited_for(act: Callable[[], bool], seconds: float) -> bool | None:
    """What `act` returns; None where it takes longer: whoever cannot be shut is left to itself.

    Raises:
        Exception: whatever `act` raises.
    """
    done: Future[bool] = Future()

    def run() -> None:
        try:
            done.set_result(act())
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            done.set_exception(error)

    # The masks of its log are those of whoever asks.
    Thread(target=copy_context().run, args=(run,), name="channel", daemon=True).start()
    finished, _ = wait([done], timeout=seconds)
    return done.result() if finished else None


# Mail


class Mails(smtplib.SMTP):
    """A conversation with a mail server that ends in time."""

    def __init__(self, cut: Cut, host: str, port: int, **more: Any) -> None:
        self._cut = cut
        super().__init__(host, port, **more)

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        made: socket.socket = super()._get_socket(host, port, timeout)  # type: ignore[misc]
        self._cut.watch(made)
        return made


class SecureMails(smtplib.SMTP_SSL, Mails):
    """The same, encrypted from its first letter on."""

    def __init__(self, cut: Cut, host: str, port: int, **more: Any) -> None:
        self._cut = cut
        smtplib.SMTP_SSL.__init__(self, host, port, **more)


# Web addresses


class _Web(http.client.HTTPConnection):
    """A connection that is watched as soon as it stands, before anything is said."""

    cut: Cut

    def connect(self) -> None:
        super().connect()
        self.cut.watch(self.sock)


class _SecureWeb(http.client.HTTPSConnection, _Web):
    """The same, encrypted; what is watched is the connection below."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """What is sent to one address is for nobody else."""

    def redirect_request(self, *_arguments: Any, **_more: Any) -> None:
        return None


class _Plain(urllib.request.HTTPHandler):
    def __init__(self, cut: Cut) -> None:
        super().__init__()
        self._cut = cut

    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_watched_by(self._cut, _Web), req)


class _Secure(urllib.request.HTTPSHandler):
    def __init__(self, cut: Cut) -> None:
        super().__init__()
        self._cut = cut

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        context = ssl.create_default_context()
        return self.do_open(_watched_by(self._cut, _SecureWeb), req, context=context)


def _watched_by(cut: Cut, kind: type[_Web]) -> Any:
    def make(host: str, **more: Any) -> _Web:
        made = kind(host, **more)
        made.cut = cut
        return made

    return make


def opener(cut: Cut) -> urllib.request.OpenerDirector:
    """Opens web addresses, follows no redirect, and ends in time."""
    return urllib.request.build_opener(_Plain(cut), _Secure(cut), _NoRedirect)
