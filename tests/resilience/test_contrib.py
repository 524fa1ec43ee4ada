"""Does the budget of a request reach the next service, and is it honoured there? With the real frameworks."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from flask import Flask, jsonify, request, stream_with_context
from werkzeug.serving import make_server

from dlq_console.contrib import celery_budget, flask
from dlq_console.contrib.asgi import BudgetMiddleware
from dlq_console.contrib.httpx import AsyncBudgetTransport, BudgetTransport, prepare
from dlq_console.resilience import budget
from dlq_console.resilience.errors import (
    BudgetExceededError,
    BulkheadFullError,
    BulkheadTimeoutError,
    CircuitOpenError,
)
from tests.resilience import celery_tasks
from tests.services.process import StartChild, wait_until
from tests.services.redis import RedisServer

HEADER = budget.HEADER


def service() -> Flask:
    """A service that tells what it was given."""
    app = Flask("service")
    flask.init_app(app)

    @app.get("/left")
    def left() -> Any:
        return jsonify(left=budget.remaining_budget(), header=request.headers.get(HEADER))

    @app.get("/fails/<name>")
    def fails(name: str) -> Any:
        raise {
            "open": CircuitOpenError(name="erp", retry_after=6.2),
            "full": BulkheadFullError(name="erp"),
            "slow": BulkheadTimeoutError(name="erp"),
            "late": BudgetExceededError(name="erp"),
        }[name]

    @app.get("/streamed")
    def streamed() -> Any:
        return app.response_class(f"{budget.remaining_budget()} " for _ in range(2))

    @app.get("/streamed_with_context")
    def streamed_with_context() -> Any:
        return app.response_class(
            stream_with_context(f"{budget.remaining_budget()} {request.path} " for _ in range(1))
        )

    return app


@pytest.fixture
def address() -> Iterator[str]:
    """Where the service runs for this test."""
    server = make_server("127.0.0.1", 0, service(), threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


# Flask


@pytest.mark.parametrize(
    ("headers", "low", "high"),
    [
        ([], 9, 10),
        ([(HEADER, "12.5")], 12, 12.5),
        ([(HEADER, "100000")], 299, 300),
        *(
            ([(HEADER, hostile)], 9, 10)
            for hostile in ("", "  ", "nan", "inf", "1e309", "-1", "123456789", "\u0665")
        ),
        ([(HEADER, "5"), (HEADER, "6")], 9, 10),
    ],
)
def test_flask_gives_a_request_the_time_that_its_caller_has(
    headers: list[tuple[str, str]], low: float, high: float
) -> None:
    client = service().test_client()
    for _ in range(2):
        answer = client.get("/left", headers=headers).get_json()
        assert low < answer["left"] <= high
    assert budget.is_set() is False


@pytest.mark.parametrize("path", ["/streamed", "/streamed_with_context"])
def test_flask_gives_a_streamed_body_what_is_left_of_its_request(path: str, address: str) -> None:
    for headers, low, high in (({HEADER: "5"}, 4, 5), ({}, 9, 10)):
        pieces = httpx.get(f"{address}{path}", headers=headers, trust_env=False).text.split()
        assert low < float(pieces[0]) <= high
    first, *_ = service().test_client().get(path, headers={HEADER: "5"}).text.split()
    assert 4 < float(first) <= 5
    assert budget.is_set() is False


def test_flask_closes_a_streamed_body_that_is_not_read_to_its_end() -> None:
    app, ended = service(), []

    @app.get("/endless")
    def endless() -> Any:
        def pieces() -> Iterator[str]:
            try:
                while True:
                    yield "piece"
            finally:
                ended.append(budget.is_set())

        return app.response_class(pieces())

    answer = app.test_client().get("/endless", headers={HEADER: "5"})
    assert next(answer.iter_encoded()) == b"piece"
    answer.close()
    assert ended == [False]
    assert budget.is_set() is False


def test_flask_refuses_a_request_that_brings_no_time() -> None:
    answer = service().test_client().get("/left", headers={HEADER: "0"})
    assert (answer.status_code, answer.text) == (504, "The caller has no time left for this request.")
    assert budget.is_set() is False


@pytest.mark.parametrize(
    ("name", "status", "retry_after"),
    [("open", 503, "7"), ("full", 503, None), ("slow", 504, None), ("late", 504, None)],
)
def test_flask_answers_refusals_with_their_status(name: str, status: int, retry_after: str | None) -> None:
    answer = service().test_client().get(f"/fails/{name}")
    assert (answer.status_code, answer.headers.get("Retry-After")) == (status, retry_after)


# HTTP clients


def test_httpx_sends_what_is_left_and_cuts_its_own_limits(address: str) -> None:
    with httpx.Client(transport=BudgetTransport(), trust_env=False) as client, budget.init_budget(5):
        answer = client.get(f"{address}/left").json()
    assert 3 < float(answer["header"]) <= 4
    assert 3 < answer["left"] <= 4


def test_httpx_keeps_a_shorter_limit_of_its_own() -> None:
    outgoing = httpx.Request(
        "GET", "http://erp.invalid/", extensions={"timeout": {"connect": 0.5, "read": 60}}
    )
    with budget.init_budget(5):
        prepare(outgoing)
    limits = outgoing.extensions["timeout"]
    assert limits["connect"] == 0.5
    assert 3 < limits["read"] <= 4
    assert 3 < limits["pool"] <= 4


def test_no_call_is_sent_with_less_than_a_second_left(address: str) -> None:
    refused = pytest.raises(BudgetExceededError, match=r'"127\.0\.0\.1" is not called')
    with (
        httpx.Client(transport=BudgetTransport(), trust_env=False) as client,
        budget.init_budget(0.9),
        refused,
    ):
        client.get(f"{address}/left")


@pytest.mark.anyio
async def test_async_httpx_sends_it_too(address: str) -> None:
    async with httpx.AsyncClient(transport=AsyncBudgetTransport(), trust_env=False) as client:
        with budget.init_budget(5):
            answer = (await client.get(f"{address}/left")).json()
        assert 3 < answer["left"] <= 4
        without = (await client.get(f"{address}/left")).json()
        assert 28 < float(without["header"]) <= 29


def test_requests_sends_it_too_and_cuts_its_limit(address: str) -> None:
    requests = pytest.importorskip("requests")
    from dlq_console.contrib.requests import BudgetAdapter, _cut

    with requests.Session() as session:
        session.trust_env = False
        session.mount("http://", BudgetAdapter())
        with budget.init_budget(5):
            answer = session.get(f"{address}/left", timeout=60).json()
        assert 3 < answer["left"] <= 4
        with budget.init_budget(0.5), pytest.raises(BudgetExceededError):
            session.get(f"{address}/left")
    urllib3 = pytest.importorskip("urllib3")
    assert _cut(None, 4) == 4
    assert _cut((1, None), 4) == (1, 4)
    assert _cut(60, 4) == 4
    assert _cut(urllib3.Timeout(connect=1, read=60), 4) == (1, 4)


# ASGI


async def _ask(headers: list[tuple[bytes, bytes]], kind: str = "http") -> tuple[list[Any], list[Any]]:
    """What an application saw, and what was sent back."""
    seen: list[Any] = []
    sent: list[Any] = []

    async def application(_scope: Any, _receive: Any, _send: Any) -> None:
        await asyncio.sleep(0)
        seen.append(budget.remaining_budget() if budget.is_set() else None)

    async def receive() -> Any:
        raise AssertionError

    async def send(message: Any) -> None:
        sent.append(message)

    await BudgetMiddleware(application)({"type": kind, "headers": headers}, receive, send)
    assert budget.is_set() is False
    return seen, sent


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("headers", "low", "high"),
    [
        ([], 9, 10),
        ([(b"x-timeout-budget", b"12.5")], 12, 12.5),
        ([(b"X-Timeout-Budget", b"3")], 2, 3),
        ([(b"x-timeout-budget", b"5"), (b"x-timeout-budget", b"5")], 9, 10),
        *(
            ([(b"x-timeout-budget", hostile)], 9, 10)
            for hostile in (
                b"",
                b"  ",
                b"NaN",
                b"inf",
                b"1e309",
                b"-1",
                b"123456789",
                "\u0665".encode(),
                b"\xff\xfe",
            )
        ),
    ],
)
async def test_asgi_gives_a_request_the_time_that_its_caller_has(
    headers: list[tuple[bytes, bytes]], low: float, high: float
) -> None:
    (left,), sent = await _ask(headers)
    assert low < left <= high
    assert sent == []


@pytest.mark.anyio
async def test_asgi_refuses_a_request_that_brings_no_time_and_leaves_other_kinds_alone() -> None:
    seen, sent = await _ask([(b"x-timeout-budget", b"0.0")])
    assert (seen, sent[0]["status"]) == ([], 504)
    assert await _ask([(b"x-timeout-budget", b"0")], kind="lifespan") == ([None], [])


# Celery


def test_a_task_has_what_is_left_after_its_time_in_the_queue(
    redis_url: str, redis_server: RedisServer, start_child: StartChild, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(celery_tasks.app.conf, "broker_url", redis_url)
    with budget.init_budget(60):
        celery_tasks.look.delay("waited")
        celery_tasks.look.delay("retried", again=True)
    celery_tasks.look.delay("without")
    celery_tasks.app.close()
    time.sleep(0.3)
    start_child(
        [sys.executable, "-m", "celery", "-A", "tests.resilience.celery_tasks", "worker", "-P", "solo"],
        env={"BROKER_OF_THE_TEST": redis_url},
    )
    with redis_server.client() as client:
        wait_until(lambda: client.llen(celery_tasks.TOLD) == 3, 60, "the tasks")
        told = dict(json.loads(each) for each in client.lrange(celery_tasks.TOLD, 0, -1))
    assert 0 < told["waited"] <= 59.7
    assert 0 < told["retried"] <= 59.5
    assert told["without"] is None


@pytest.mark.parametrize(
    ("seconds", "sent_at", "left"),
    [
        ("5", 98.0, 3.0), ("5", 90.0, 0.0), ("5", 1000.0, 5.0), ("5", float("nan"), 5.0), ("nan", 100.0, 10.0),
        ("5", 10**400, 5.0), ("5", -(10**400), 5.0), ("5", float("inf"), 5.0),
        (None, 98.0, None), ("5", None, None), (5, 98.0, None), ("5", "98", None), ("5", True, None),
    ],
)  # fmt: skip
def test_hostile_headers_of_a_message_give_no_more_time(
    seconds: Any, sent_at: Any, left: float | None
) -> None:
    assert celery_budget.received(seconds, sent_at, now=100.0) == left
