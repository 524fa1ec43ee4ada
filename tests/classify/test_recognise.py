"""Is it seen how far a call had come, whatever client library gave up? Real libraries against a server that misbehaves.

aiohttp and zeep are no part of the development install: their errors are built here with the names, the modules and
the attributes of the real ones.
"""

from __future__ import annotations

import asyncio
import errno
import json
import socket
import ssl
import urllib.error
import urllib.request
import xmlrpc.client
from collections.abc import Callable
from http.client import RemoteDisconnected
from typing import Any

import httpx
import pytest
import redis
import requests
import sqlalchemy
import urllib3

from dlq_console.classify import Call, Effect, Evidence, Phase, RuleSet, Verdict, VerdictClass, read
from tests.classify.loopback import answering, http, refusing

#: Seconds; short where the server never answers.
SOON = 0.2

BUSINESS = http(
    500,
    b'{"faultcode":"SOAP-ENV:Client-5001","faultstring":"service order not found"}',
    Content_Type="application/json",
)


@pytest.fixture(scope="module")
def rules() -> RuleSet:
    return RuleSet.load()


def _httpx(url: str) -> None:
    httpx.post(url, content=b"{}", timeout=SOON).raise_for_status()


def _httpx_async(url: str) -> None:
    async def call() -> None:
        async with httpx.AsyncClient(timeout=SOON) as client:
            (await client.post(url, content=b"{}")).raise_for_status()

    asyncio.run(call())


def _requests(url: str) -> None:
    requests.post(url, data=b"{}", timeout=SOON).raise_for_status()


def _urllib3(url: str) -> None:
    with urllib3.PoolManager(timeout=SOON, retries=False) as pool:
        response = pool.request("POST", url, body=b"{}")
        if response.status >= 400:
            raise RuntimeError("refused", response)


def _urllib3_retrying(url: str) -> None:
    with urllib3.PoolManager(timeout=SOON) as pool:
        retries = urllib3.Retry(1, backoff_factor=0, allowed_methods=None)
        response = pool.request("POST", url, body=b"{}", retries=retries)
        if response.status >= 400:
            raise RuntimeError("refused", response)


def _urllib(url: str) -> None:
    with urllib.request.urlopen(url, data=b"{}", timeout=SOON) as response:
        response.read()


def _xmlrpc(url: str) -> None:
    with xmlrpc.client.ServerProxy(url) as server:
        server.version()


CLIENTS = [_httpx, _httpx_async, _requests, _urllib3, _urllib3_retrying, _urllib]
clients = pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.__name__.strip("_"))


def failed(client: Callable[[str], None], url: str, rules: RuleSet, call: Call | None = None) -> Verdict:
    """The verdict on what the client raises."""
    with pytest.raises(Exception) as raised:  # noqa: PT011 - each library has its own; the verdict is what counts
        client(url)
    verdict = rules.judge(raised.value, call or Call("order.create"))
    if isinstance(raised.value, urllib.error.HTTPError):
        raised.value.close()
    return verdict


def phase(verdict: Verdict) -> Phase:
    assert verdict.answer is not None
    return verdict.answer.phase


@clients
def test_a_refused_connection_sent_nothing(client: Callable[[str], None], rules: RuleSet) -> None:
    with refusing() as url:
        verdict = failed(client, url, rules)
    assert phase(verdict) is Phase.BEFORE_CONNECT
    assert (verdict.class_, verdict.effect, verdict.counts) == (
        VerdictClass.TRANSIENT,
        Effect.NOT_APPLIED,
        Evidence.FAILURE,
    )


@clients
@pytest.mark.parametrize(
    ("reply", "then"),
    [(b"", "hang"), (b"", "close"), (b"", "reset"), (b"\x00\x01 no protocol at all\r\n\r\n", "close")],
    ids=["hangs", "closes", "resets", "garbage"],
)
def test_what_fails_after_the_request_leaves_the_outcome_open(
    client: Callable[[str], None], reply: bytes, then: str, rules: RuleSet
) -> None:
    with answering(reply, then=then) as url:
        verdict = failed(client, url, rules)
    assert phase(verdict) is Phase.SENT
    assert (verdict.class_, verdict.effect, verdict.counts) == (
        VerdictClass.TRANSIENT,
        Effect.UNKNOWN,
        Evidence.FAILURE,
    )


def test_a_read_that_failed_has_nothing_to_apply(rules: RuleSet) -> None:
    with answering(b"", then="reset") as url:
        verdict = failed(_httpx, url, rules, Call("order.list", writes=False))
    assert verdict.effect is Effect.NOT_APPLIED


@clients
@pytest.mark.parametrize(
    "reply",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
    ids=["cut", "bad chunk"],
)
def test_an_answer_that_breaks_off_leaves_the_outcome_open(
    client: Callable[[str], None], reply: bytes, rules: RuleSet
) -> None:
    with answering(reply) as url:
        verdict = failed(client, url, rules)
    assert phase(verdict) in {Phase.SENT, Phase.RESPONSE}
    assert (verdict.class_, verdict.effect) == (VerdictClass.TRANSIENT, Effect.UNKNOWN)


@clients
def test_a_business_answer_is_read_whatever_carries_it(client: Callable[[str], None], rules: RuleSet) -> None:
    with answering(BUSINESS) as url:
        verdict = failed(client, url, rules, Call("order.create", "omie"))
    assert verdict.rule == "omie.not-found"
    assert verdict.answer is not None
    assert (verdict.answer.status, verdict.answer.code) == (500, "SOAP-ENV:Client-5001")
    assert verdict.answer.content_type == "application/json"
    assert verdict.counts is Evidence.SUCCESS


@clients
def test_a_name_that_nobody_knows_sent_nothing(client: Callable[[str], None], rules: RuleSet) -> None:
    # The top-level name is reserved for this.
    assert phase(failed(client, "http://nobody.invalid/", rules)) is Phase.BEFORE_CONNECT


@pytest.mark.parametrize("client", [_httpx, _httpx_async], ids=["httpx", "httpx_async"])
def test_a_failed_tls_handshake_sent_nothing(client: Callable[[str], None], rules: RuleSet) -> None:
    with answering(b"HTTP/1.1 400 Bad\r\n\r\n") as url:
        assert phase(failed(client, url.replace("http:", "https:"), rules)) is Phase.BEFORE_CONNECT


def test_a_tls_error_that_says_no_more_leaves_the_outcome_open(rules: RuleSet) -> None:
    with answering(b"HTTP/1.1 400 Bad\r\n\r\n") as url:
        verdict = failed(_requests, url.replace("http:", "https:"), rules, Call("order.create", "sap-b1"))
    assert (verdict.rule, verdict.effect) == ("sap-b1.tls-broke", Effect.UNKNOWN)


@pytest.mark.parametrize("client", [_requests, _httpx], ids=["requests", "httpx"])
def test_a_wrong_address_is_for_its_developer(client: Callable[[str], None], rules: RuleSet) -> None:
    verdict = failed(client, "no address", rules)
    assert (verdict.class_, verdict.counts) == (VerdictClass.PERMANENT, Evidence.NONE)


def test_an_xmlrpc_server_that_answers_otherwise_is_read(rules: RuleSet) -> None:
    with answering(http(503, b"", Retry_After="9")) as url:
        verdict = failed(_xmlrpc, url, rules)
    assert (verdict.rule, verdict.wait, verdict.wait_source) == ("http.server-error", 9, "header Retry-After")


def test_a_body_that_never_ends_is_waited_for_a_moment_only() -> None:
    with answering(b'HTTP/1.1 500 X\r\nContent-Length: 1000\r\n\r\n{"a":', then="hang") as url:
        with pytest.raises(urllib.error.HTTPError) as raised:
            urllib.request.urlopen(url, timeout=30)
        reading = read(raised.value)
        raised.value.close()
    assert (reading.status, reading.text) == (500, '{"a":')


def test_a_stream_that_was_not_read_is_not_read_here(rules: RuleSet) -> None:
    with answering(BUSINESS) as url:
        with requests.post(url, stream=True, timeout=5) as plain, pytest.raises(requests.HTTPError) as one:
            plain.raise_for_status()
        assert rules.judge(one.value, Call("k")).rule == "http.server-error"
        with httpx.stream("POST", url) as response:
            with pytest.raises(httpx.HTTPStatusError) as two:
                response.raise_for_status()
            reading = read(two.value)
        assert (reading.status, reading.text) == (500, "")


# Errors that no server on loopback can bring about


def chained(outer: BaseException, inner: BaseException) -> BaseException:
    """As `raise outer from inner` leaves it."""
    outer.__cause__ = inner
    return outer


REQUEST = httpx.Request("POST", "http://127.0.0.1/")
RESPONSE = httpx.Response(429, request=REQUEST, headers={"Retry-After": "7"})
STATUS_ERROR = httpx.HTTPStatusError("x", request=REQUEST, response=RESPONSE)


class OwnError(Exception):
    """What a program of the user makes of an answer."""

    def __init__(self, message: str, response: object = None) -> None:
        self.response = response
        super().__init__(message)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (httpx.ConnectTimeout("x"), Phase.BEFORE_CONNECT),
        (httpx.WriteTimeout("x"), Phase.CONNECTED),
        (httpx.WriteError("x"), Phase.CONNECTED),
        (httpx.PoolTimeout("x"), Phase.LOCAL),
        (httpx.ProxyError("x"), Phase.BEFORE_CONNECT),
        (requests.ConnectTimeout("x"), Phase.BEFORE_CONNECT),
        (requests.ConnectionError("x"), Phase.CONNECTED),
        (requests.Timeout("x"), Phase.SENT),
        (urllib3.exceptions.ProtocolError("x"), Phase.SENT),
        (urllib3.exceptions.ProtocolError("x", ConnectionResetError(104, "x")), Phase.SENT),
        (urllib3.exceptions.ProxyError("x", ConnectionRefusedError(111, "x")), Phase.BEFORE_CONNECT),
        (urllib.error.URLError(socket.gaierror(-2, "x")), Phase.BEFORE_CONNECT),
        (urllib.error.URLError("unknown url type"), Phase.CONNECTED),
        (socket.gaierror(-2, "x"), Phase.BEFORE_CONNECT),
        (ConnectionRefusedError(111, "x"), Phase.BEFORE_CONNECT),
        (OSError(errno.EHOSTUNREACH, "x"), Phase.BEFORE_CONNECT),
        (OSError(errno.ENOENT, "x"), Phase.LOCAL),
        (BrokenPipeError(32, "x"), Phase.CONNECTED),
        (ConnectionResetError(104, "x"), Phase.SENT),
        (ConnectionError("x"), Phase.CONNECTED),
        (RemoteDisconnected("x"), Phase.SENT),
        (TimeoutError("x"), Phase.SENT),
        (ssl.SSLCertVerificationError(1, "x"), Phase.BEFORE_CONNECT),
        (ssl.SSLError(1, "x"), Phase.CONNECTED),
        (ValueError("x"), Phase.LOCAL),
        (KeyError("x"), Phase.LOCAL),
        (SystemExit(3), Phase.LOCAL),
        # Wrapped
        (chained(OwnError("x"), httpx.ReadTimeout("x")), Phase.SENT),
        (
            chained(OwnError("x"), chained(RuntimeError("y"), ConnectionRefusedError(111, "x"))),
            Phase.BEFORE_CONNECT,
        ),
        (ExceptionGroup("x", [ValueError("x"), httpx.ReadTimeout("x")]), Phase.SENT),
        (chained(httpx.ReadTimeout("x"), STATUS_ERROR), Phase.SENT),  # the later call decides
        (chained(OwnError("x"), STATUS_ERROR), Phase.RESPONSE),
        # Of the caller's own services
        (chained(redis.ConnectionError("x"), ConnectionRefusedError(111, "x")), Phase.LOCAL),
        (sqlalchemy.exc.OperationalError("x", None, ConnectionRefusedError(111, "x")), Phase.LOCAL),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_the_phase_of_an_error(error: BaseException, expected: Phase) -> None:
    assert read(error).phase is expected


@pytest.mark.parametrize(
    "error",
    [
        STATUS_ERROR,
        OwnError("x", RESPONSE),
        RuntimeError("refused", RESPONSE),
        chained(OwnError("x"), STATUS_ERROR),
    ],
    ids=["of httpx", "as an attribute", "as an argument", "as the cause"],
)
def test_an_answer_is_found_wherever_the_error_carries_it(error: BaseException, rules: RuleSet) -> None:
    verdict = rules.judge(error, Call("k"))
    assert (verdict.class_, verdict.wait) == (VerdictClass.RATE_LIMITED, 7)


def test_a_parsed_body_can_be_raised_as_it_is(rules: RuleSet) -> None:
    body = {"retorno": {"status": "Erro", "codigo_erro": 6, "erros": [{"erro": "API bloqueada"}]}}
    verdict = rules.judge(OwnError("x", body), Call("k", "tiny"))
    assert verdict.rule == "tiny.too-many-accesses"
    assert rules.judge(RuntimeError(body), Call("k", "tiny")).rule == "tiny.too-many-accesses"
    assert verdict.answer is not None
    assert json.loads(verdict.answer.excerpt) == body


def test_an_answer_that_should_have_been_json_is_kept(rules: RuleSet) -> None:
    with pytest.raises(requests.JSONDecodeError) as raised:
        _answer_of_requests(b"<html>sign in</html>").json()
    verdict = rules.judge(raised.value, Call("k", "omie"))
    assert verdict.answer is not None
    assert (verdict.answer.phase, verdict.answer.excerpt) == (Phase.RESPONSE, "<html>sign in</html>")
    assert (verdict.class_, verdict.effect) == (VerdictClass.UNKNOWN, Effect.UNKNOWN)


def _answer_of_requests(body: bytes) -> requests.Response:
    response = requests.Response()
    response.status_code = 200
    response._content = body
    return response


def test_a_local_error_is_no_evidence_and_an_error_with_known_words_is(rules: RuleSet) -> None:
    assert rules.judge(KeyError("cliente"), Call("k", "omie")).counts is Evidence.NONE
    said = rules.judge(RuntimeError("ERROR: Produto não encontrado!"), Call("k", "omie"))
    assert (said.class_, said.counts) == (VerdictClass.PERMANENT, Evidence.SUCCESS)


def test_the_callers_own_database_is_no_fault_of_a_provider(rules: RuleSet) -> None:
    verdict = rules.judge(redis.ConnectionError("x"), Call("k"))
    assert (verdict.class_, verdict.counts, verdict.rule) == (
        VerdictClass.TRANSIENT,
        Evidence.NONE,
        "http.own-service-away",
    )


# Libraries that are not installed here


def foreign(module: str, name: str, *bases: type[BaseException], **attributes: Any) -> Any:
    """A class with the name and the module of a real one."""
    return type(name, bases or (Exception,), {"__module__": module, **attributes})


AIOHTTP = "aiohttp.client_exceptions"
ClientError = foreign(AIOHTTP, "ClientError")
ClientConnectionError = foreign(AIOHTTP, "ClientConnectionError", ClientError)
ClientOSError = foreign(AIOHTTP, "ClientOSError", ClientConnectionError, OSError)
ServerConnectionError = foreign(AIOHTTP, "ServerConnectionError", ClientConnectionError)
ClientResponseError = foreign(
    AIOHTTP, "ClientResponseError", ClientError, status=429, message="Too Many", headers={"Retry-After": "4"}
)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (foreign(AIOHTTP, "ClientConnectorError", ClientOSError)(111, "x"), Phase.BEFORE_CONNECT),
        (ClientOSError(32, "x"), Phase.CONNECTED),
        (foreign(AIOHTTP, "ServerDisconnectedError", ServerConnectionError)("x"), Phase.SENT),
        (foreign(AIOHTTP, "ServerTimeoutError", ServerConnectionError, TimeoutError)("x"), Phase.SENT),
        (foreign(AIOHTTP, "ClientPayloadError", ClientError)("x"), Phase.RESPONSE),
        (foreign("aiohttp.http_exceptions", "BadHttpMessage")("x"), Phase.LOCAL),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_phase_of_an_error_of_aiohttp(error: BaseException, expected: Phase) -> None:
    assert read(error).phase is expected


def test_a_refusal_of_aiohttp_is_read(rules: RuleSet) -> None:
    verdict = rules.judge(ClientResponseError("x"), Call("k"))
    assert (verdict.class_, verdict.wait) == (VerdictClass.RATE_LIMITED, 4)


def test_an_answer_of_aiohttp_is_read_as_far_as_it_was_read(rules: RuleSet) -> None:
    names = {
        "__module__": "aiohttp.client_reqrep",
        "status": 425,
        "headers": {"Content-Type": "application/json"},
    }
    response = type("ClientResponse", (), names)()
    response._body = b'{"faultstring": "API bloqueada, tente novamente em 9 segundos"}'
    verdict = rules.judge(OwnError("x", response), Call("k", "omie"))
    assert (verdict.rule, verdict.wait) == ("omie.blocked", 9)


class _Element:
    """An element of lxml, as far as it is looked at."""

    def __init__(self, tag: str, text: str | None = None, *children: _Element) -> None:
        self.tag, self.text, self._children = tag, text, children

    def __iter__(self) -> Any:
        return iter(self._children)


def test_a_fault_of_zeep_is_read(rules: RuleSet) -> None:
    code = _Element("{urn:faults}code", "WS_REQUEST_BLOCKED")
    detail = _Element("detail", None, _Element("{urn:faults}ExceededConcurrentRequestLimitFault", None, code))
    fault = foreign("zeep.exceptions", "Fault", code="soapenv:Server", message="x", detail=detail)("x")
    verdict = rules.judge(fault, Call("k", "netsuite"))
    assert (verdict.rule, verdict.class_) == ("netsuite.concurrency-limit", VerdictClass.RATE_LIMITED)


def test_a_transport_error_of_zeep_is_read(rules: RuleSet) -> None:
    kind = foreign(
        "zeep.exceptions",
        "TransportError",
        status_code=503,
        content=b"<html/>",
        message="Server returned 503",
    )
    verdict = rules.judge(kind("x"), Call("k"))
    assert verdict.rule == "http.server-error"
