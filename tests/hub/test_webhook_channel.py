"""Does a webhook get each message whole and once, and what becomes of one that it does not take?"""

from __future__ import annotations

import json
import socket
import ssl
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import trustme

from dlq_console.clock import monotonic
from dlq_console.errors import PermanentError, TransientError
from dlq_console.hub import channels
from dlq_console.hub.channels import Webhook
from tests.hub.rude_servers import dripping

CONTENT = {"title": "Atenção", "text": "filial-sp has 1 dead letter.", "key": "alert-7-1"}
SECRET = "s3cret-of-the-hook"


class Address:
    """A web address that answers as it is told, and what was asked of it."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.code, self.location, self.body = 200, "", b"ok"
        self.asked: list[tuple[str, str, dict[str, str], Any]] = []
        address = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                address.asked.append((self.command, self.path, dict(self.headers), json.loads(body or b"0")))
                self.send_response(address.code)
                if address.location:
                    self.send_header("Location", address.location)
                self.send_header("Content-Length", str(len(address.body)))
                self.end_headers()
                self.wfile.write(address.body)

            do_GET = do_POST  # noqa: N815 - the name that the server calls

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign]
        self._thread = Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        scheme = "https" if tls else "http"
        self.url = f"{scheme}://127.0.0.1:{self._server.server_port}/hook?token={SECRET}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)


@pytest.fixture
def address() -> Iterator[Address]:
    made = Address()
    yield made
    made.close()


def test_a_message_is_json_with_a_key_that_does_not_change(address: Address) -> None:
    for _ in range(2):
        Webhook(address.url).send(CONTENT)
    assert len(address.asked) == 2
    for method, path, headers, body in address.asked:
        assert (method, path) == ("POST", f"/hook?token={SECRET}")
        assert body == CONTENT
        assert headers["Content-Type"] == "application/json"
        assert headers["Idempotency-Key"] == "alert-7-1"


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_a_redirect_is_refused_and_never_followed(address: Address, code: int) -> None:
    other = Address()
    address.code, address.location = code, other.url
    try:
        with pytest.raises(PermanentError, match=rf"sends on to another address \({code}\)"):
            Webhook(address.url).send(CONTENT)
        assert other.asked == []
    finally:
        other.close()


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (400, PermanentError), (401, PermanentError), (404, PermanentError), (410, PermanentError), (422, PermanentError),
        (408, TransientError), (429, TransientError), (500, TransientError), (502, TransientError), (503, TransientError),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_message_ends_it_and_all_else_is_tried_again(
    address: Address, code: int, error: type[Exception]
) -> None:
    address.code = code
    with pytest.raises(error, match=str(code)) as failed:
        Webhook(address.url).send(CONTENT)
    assert SECRET not in repr(failed.value)


def test_nobody_there_is_tried_again_and_tells_no_secret() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(TransientError, match="nobody listens there") as failed:
        Webhook(f"http://127.0.0.1:{port}/hook?token={SECRET}").send(CONTENT)
    assert SECRET not in repr(failed.value)


def test_a_huge_answer_is_not_read(address: Address) -> None:
    address.body = b"x" * 50_000_000
    began = monotonic()
    Webhook(address.url).send(CONTENT)
    assert monotonic() - began < 5


@pytest.mark.parametrize(
    "text", [b"HTTP/1.1 200 OK\r\n" * 100, b"x" * 1000, b"HTTP/1.1 200 OK\r\nX-A: " + b"y" * 1000]
)
def test_an_answer_that_comes_letter_by_letter_is_left_in_time(
    monkeypatch: pytest.MonkeyPatch, text: bytes
) -> None:
    monkeypatch.setattr(channels, "LONGEST", 0.5)
    with dripping(text) as port, pytest.raises(TransientError, match="did not answer in time"):
        Webhook(f"http://127.0.0.1:{port}/").send(CONTENT)


def test_silence_is_left_in_time_also_while_tls_is_agreed_upon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channels, "LONGEST", 0.3)
    for scheme in ("http", "https"):
        with dripping(b"x", every=30) as port, pytest.raises(TransientError, match="did not answer in time"):
            Webhook(f"{scheme}://127.0.0.1:{port}/").send(CONTENT)


def test_nonsense_instead_of_an_answer_is_tried_again() -> None:
    nonsense = dripping(b"SSH-2.0-OpenSSH\r\n\r\n", every=0)
    with nonsense as port, pytest.raises(TransientError, match="cannot be reached"):
        Webhook(f"http://127.0.0.1:{port}/").send(CONTENT)


def test_a_certificate_that_nobody_knows_gets_no_message(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    authority = trustme.CA()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    address = Address(context)
    try:
        with pytest.raises(TransientError, match="certificate or TLS does not hold"):
            Webhook(address.url).send(CONTENT)
        assert address.asked == []
        authority.cert_pem.write_to_path(tmp_path / "authority.pem")
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
        Webhook(address.url).send(CONTENT)
        assert len(address.asked) == 1
    finally:
        address.close()
