"""After which errors may a call have had its effect? Real clients against servers that break off in every way."""

from __future__ import annotations

import json
import socket
import struct
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from typing import Any

import httpx
import pytest
import requests
import urllib3

from dlq_console.errors import (
    ConfigurationError,
    IdempotencyConflict,
    LeaseLost,
    OutcomeUnknown,
    PayloadRefused,
    PermanentError,
    RateLimited,
    StoreUnavailable,
    TransientError,
)
from dlq_console.resilience.errors import (
    BudgetExceededError,
    BulkheadFullError,
    BulkheadTimeoutError,
    CircuitOpenError,
    StillRunningError,
    UndecidedError,
)
from dlq_console.resilience.idempotency import idempotent_node
from dlq_console.resilience.idempotency.doubt import leaves_doubt
from dlq_console.resilience.state import MemoryState
from tests.services.process import free_port

#: Seconds that a client waits for an answer that never comes.
SOON = 0.3

Post = Callable[[str], object]


def with_urllib(url: str) -> object:
    return urllib.request.urlopen(urllib.request.Request(url, data=b"x"), timeout=SOON).read()


def with_http_client(url: str) -> object:
    address = url.removeprefix("http://").partition("/")[0]
    with closing(HTTPConnection(address, timeout=SOON)) as connection:
        connection.request("POST", "/", body=b"x")
        return json.loads(connection.getresponse().read())


def with_requests(url: str) -> object:
    answer = requests.post(url, data=b"x", timeout=SOON)
    answer.raise_for_status()
    return answer.json()


def with_httpx(url: str) -> object:
    return httpx.post(url, content=b"x", timeout=SOON, trust_env=False).raise_for_status().json()


def with_urllib3(url: str) -> object:
    return urllib3.PoolManager(retries=False).request("POST", url, body=b"x", timeout=SOON).json()


def with_retrying_urllib3(url: str) -> object:
    return (
        urllib3.PoolManager().request("POST", url, body=b"x", timeout=SOON, retries=urllib3.Retry(0)).json()
    )


CLIENTS: tuple[Post, ...] = (
    with_urllib, with_http_client, with_requests, with_httpx, with_urllib3, with_retrying_urllib3,
)  # fmt: skip
#: Those that raise an error for an answer that is none they like.
RAISING: tuple[Post, ...] = (with_urllib, with_requests, with_httpx)


def once_by_url(post: Post) -> Post:
    """The same with the name that its key is made of."""

    def call(url: str) -> object:
        return post(url)

    return call


class Server:
    """Has the effect of each request, then answers with some bytes, or breaks off."""

    def __init__(self, answer: bytes, *, reset: bool = False, hang: bool = False) -> None:
        self.effects = 0
        self._answer = answer
        self._reset = reset
        self._hang = hang
        self._end = threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve)

    @contextmanager
    def running(self) -> Iterator[str]:
        """Its address, while the block lasts."""
        self._thread.start()
        try:
            yield f"http://127.0.0.1:{self._socket.getsockname()[1]}/"
        finally:
            self._end.set()
            self._socket.shutdown(socket.SHUT_RDWR)
            self._thread.join(10)
            self._socket.close()

    def _serve(self) -> None:
        while not self._end.is_set():
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                self._answer_one(connection)

    def _answer_one(self, connection: socket.socket) -> None:
        heard = b""
        while not heard.endswith(b"\r\n\r\nx"):
            piece = connection.recv(65_536)
            if not piece:
                return
            heard += piece
        self.effects += 1
        if self._hang:
            self._end.wait(20)
        if self._reset:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif self._answer:
            connection.sendall(self._answer)


def answer(status: int, body: bytes = b"{}", length: int | None = None) -> bytes:
    """An HTTP answer; its length may be a lie."""
    said = len(body) if length is None else length
    return f"HTTP/1.1 {status} So\r\nContent-Length: {said}\r\nConnection: close\r\n\r\n".encode() + body


BREAKING: dict[str, Callable[[], Server]] = {
    "closed without an answer": lambda: Server(b""),
    "reset": lambda: Server(b"", reset=True),
    "never answered": lambda: Server(b"", hang=True),
    "no HTTP": lambda: Server(b"garbage\r\n\r\n"),
    "cut short": lambda: Server(answer(200, b"{", length=100)),
}


@pytest.mark.parametrize("post", CLIENTS, ids=lambda post: post.__name__)
@pytest.mark.parametrize("make", BREAKING.values(), ids=BREAKING)
def test_a_connection_that_broke_after_the_request_leaves_a_doubt_with_every_client(
    make: Callable[[], Server], post: Post
) -> None:
    server = make()
    with server.running() as url:
        book = idempotent_node(MemoryState(), "book", ["url"])(once_by_url(post))
        with pytest.raises(Exception) as broken:  # noqa: PT011 - each client has its own
            book(url)
        assert leaves_doubt(broken.value)
        with pytest.raises(OutcomeUnknown):
            book(url)
    assert server.effects == 1


@pytest.mark.parametrize(
    "post", [post for post in CLIENTS if post is not with_urllib], ids=lambda p: p.__name__
)
def test_an_answer_that_cannot_be_read_leaves_a_doubt(post: Post) -> None:
    with Server(answer(200, b"<html>")).running() as url, pytest.raises(ValueError, match=r".") as unread:
        post(url)
    assert leaves_doubt(unread.value)


@pytest.mark.parametrize("post", RAISING, ids=lambda post: post.__name__)
@pytest.mark.parametrize(
    ("status", "doubt"),
    [(500, True), (502, True), (503, True), (504, True), (409, True), (400, False), (404, False), (422, False), (429, False), (501, False)],
)  # fmt: skip
def test_an_answer_that_is_a_no_leaves_no_doubt_and_that_of_a_server_that_failed_does(
    status: int, doubt: bool, post: Post
) -> None:
    with Server(answer(status)).running() as url, pytest.raises(Exception) as refused:  # noqa: PT011 - as above
        post(url)
    assert leaves_doubt(refused.value) is doubt
    if hasattr(refused.value, "close"):
        refused.value.close()


@pytest.mark.parametrize("post", CLIENTS, ids=lambda post: post.__name__)
def test_where_nobody_listens_there_is_no_doubt_with_any_client(post: Post) -> None:
    with pytest.raises(Exception) as refused:  # noqa: PT011 - each client has its own
        post(f"http://127.0.0.1:{free_port()}/")
    assert not leaves_doubt(refused.value)


def strange(name: str, *bases: type[BaseException]) -> type[BaseException]:
    """An error of a client that is not installed here."""
    package, _, own = name.rpartition(".")
    return type(own, bases or (Exception,), {"__module__": package})


@pytest.mark.parametrize(
    "name",
    [
        "aiohttp.client_exceptions.ClientConnectorError", "aiohttp.client_exceptions.ConnectionTimeoutError",
        "httpcore._exceptions.ConnectError", "urllib3.exceptions.EmptyPoolError", "socket.gaierror",
        "ssl.SSLCertVerificationError",
    ],
)  # fmt: skip
def test_a_connection_that_was_never_made_is_known_by_the_name_of_its_error(name: str) -> None:
    error = strange(name)
    assert not leaves_doubt(error())
    assert not leaves_doubt(strange("shop.OurConnectorError", error)())
    assert leaves_doubt(strange(f"shop.{error.__name__}")())


@pytest.mark.parametrize(
    ("error", "doubt"),
    [
        (TransientError(), False), (PermanentError(), False), (RateLimited(), False), (OutcomeUnknown(), True),
        (CircuitOpenError(), False), (BulkheadFullError(), False), (StillRunningError(), False), (UndecidedError(), False),
        (BulkheadTimeoutError(), True), (BudgetExceededError(), False), (BudgetExceededError(during_call=True), True),
        (LeaseLost(), True), (StoreUnavailable(), True), (PayloadRefused(), True), (IdempotencyConflict(), True),
        (ConfigurationError(), True), (KeyError("confirmation"), True), (Exception(), True), (OSError(113, "no route"), True),
        (ExceptionGroup("both", [ConnectionRefusedError(), ConnectionRefusedError()]), False),
        (ExceptionGroup("one", [ConnectionRefusedError(), TimeoutError()]), True),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_only_an_error_that_says_so_shows_that_nothing_was_done(error: BaseException, doubt: bool) -> None:
    assert leaves_doubt(error) is doubt


class BookingError(Exception):
    """As a program calls what its client raised."""


def raised(raising: Callable[[], None]) -> BaseException:
    """What it raised, with what it was raised from."""
    with pytest.raises(BookingError) as caught:
        raising()
    return caught.value


def test_an_error_tells_what_it_was_raised_from_and_nothing_of_what_was_merely_handled() -> None:
    def from_it() -> None:
        try:
            raise ConnectionRefusedError
        except ConnectionRefusedError as error:
            raise BookingError from error

    def a_second_try_that_was_answered() -> None:
        try:
            raise ConnectionRefusedError
        except ConnectionRefusedError:
            raise BookingError("the second address answered without a confirmation")  # noqa: B904 - is the rule

    assert not leaves_doubt(raised(from_it))
    assert leaves_doubt(raised(a_second_try_that_was_answered))


def test_a_function_has_the_last_word_about_what_its_client_raised() -> None:
    error: Any = TransientError("they have not booked it, I have looked")
    error.__cause__ = TimeoutError()
    assert not leaves_doubt(error)
    for unsure in (OutcomeUnknown(), strange("redis.exceptions.ConnectionError")(), StoreUnavailable()):
        unsure.__cause__ = ConnectionRefusedError()
        assert leaves_doubt(unsure)
    error = BookingError()
    error.__cause__ = BulkheadTimeoutError()
    assert leaves_doubt(error)


def test_an_odd_error_leaves_a_doubt() -> None:
    class OddError(Exception):
        @property
        def response(self) -> Any:
            raise RuntimeError

    odd = OddError()
    odd.__cause__ = odd
    assert leaves_doubt(odd)
