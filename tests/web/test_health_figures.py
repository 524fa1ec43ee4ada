"""Circuits and bulkheads of services beside those of the hub: for programs, and at the addresses of people."""

from __future__ import annotations

import re
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from dlq_console.resilience import BulkheadConfig, CircuitBreakerConfig
from dlq_console.store import people
from dlq_console.web.api import door_schemas
from dlq_console.workers import steps
from tests.web.desk import Desk
from tests.web.test_api import Program, ci, client, problem, program
from tests.web.visitor import Visitor

__all__ = ["ci", "client"]

ONE_FAILURE = CircuitBreakerConfig(failure_threshold=1, recovery_timeout=60)


class ServiceError(Exception):
    """What a service answers that is out of order."""


def fail() -> None:
    raise ServiceError


@pytest.fixture
def served(desk: Desk) -> Desk:
    """A service whose circuit is open, beside the circuit and the work of an account."""
    with pytest.raises(ServiceError):
        desk.hub.breaker("search", ONE_FAILURE).call(fail)
    desk.hub.bulkhead("search", BulkheadConfig(max_concurrent=4)).run(lambda: None)
    desk.hub.force_breaker("filial-sp", "open", actor="joana")
    desk.add("1", account="filial-sp")
    steps.take_snapshot(desk.hub)
    return desk


def test_the_api_shows_services_beside_the_hub(served: Desk, ci: Program) -> None:
    breakers = ci.get("/breakers").get_json()
    assert {name: (shown["scope"], shown["state"]) for name, shown in breakers.items()} == {
        "filial-sp": ("account", "open"),
        "search": ("service", "open"),
    }
    assert set(breakers["search"]) == set(breakers["filial-sp"]) == set(door_schemas.BreakerSchema().fields)
    assert breakers["search"]["open_until"].endswith("Z")
    bulkheads = ci.get("/bulkheads").get_json()
    assert {name: (shown["scope"], shown["waiting"]) for name, shown in bulkheads.items()} == {
        "filial-sp": ("account", 1),
        "search": ("service", 0),
    }
    assert (bulkheads["search"]["max"], bulkheads["search"]["available"]) == (4, 4)
    assert (
        set(bulkheads["search"]) == set(bulkheads["filial-sp"]) == set(door_schemas.BulkheadSchema().fields)
    )


def test_the_api_holds_and_resets_the_breaker_of_a_service(served: Desk, ci: Program) -> None:
    forced = ci.post("/breakers/search/force-closed", {"note": "It is back", "seconds": 60}).get_json()
    assert (forced["scope"], forced["state"], forced["computed"]) == ("service", "closed", "open")
    assert ci.get("/breakers").get_json()["search"]["override"]["note"] == "It is back"
    assert ci.post("/breakers/service:search/reset").get_json()["computed"] == "closed"
    problem(ci.post("/breakers/service:nobody/reset"), 404)


def test_a_token_of_some_accounts_sees_and_touches_no_service(served: Desk, client: FlaskClient) -> None:
    limited = program(served, client, "operator", ["filial-sp", "search"])
    assert set(limited.get("/breakers").get_json()) == {"filial-sp"}
    assert set(limited.get("/bulkheads").get_json()) == {"filial-sp"}
    problem(limited.post("/breakers/search/force-closed"), 403)
    problem(limited.post("/breakers/service:search/reset"), 403)
    assert served.hub.breaker("search").stats()["override"] is None


@pytest.mark.parametrize("path", ["/health/breakers", "/health/bulkheads"])
def test_people_and_programs_read_the_same_figures_as_json(
    served: Desk, maria: Visitor, ci: Program, path: str
) -> None:
    answer = maria.get(path, Accept="application/json")
    assert answer.mimetype == "application/json"
    assert answer.get_json() == ci.get(path.removeprefix("/health")).get_json()


@pytest.mark.parametrize("path", ["/health/breakers", "/health/bulkheads"])
def test_a_token_opens_them_too(served: Desk, app: Flask, path: str) -> None:
    token = people.add_token(served.hub.store, "reader", role="viewer")
    answer = app.test_client().get(path, headers={"Authorization": f"Bearer {token}"})
    assert "search" in answer.get_json()


@pytest.mark.parametrize("path", ["/health/breakers", "/health/bulkheads"])
@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer wrong"}])
def test_nobody_else_is_answered(app: Flask, desk: Desk, path: str, headers: dict[str, Any]) -> None:
    problem(app.test_client().get(path, headers=headers), 401)


def test_the_description_of_the_api_refers_to_nothing_that_is_not_there(client: FlaskClient) -> None:
    described = client.get("/api/v1/openapi.json")
    named = set(re.findall(r'"#/components/schemas/(\w+)"', described.text))
    assert {"Breaker", "Bulkhead", "Oldest"} <= named
    assert named <= set(described.get_json()["components"]["schemas"])
