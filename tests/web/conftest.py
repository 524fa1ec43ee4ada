"""What do the tests of the console get? The application on each engine, and people who are logged in."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from flask import Flask

from dlq_console.app import create_app
from tests.web.desk import Desk
from tests.web.visitor import Visitor


@pytest.fixture
def desk(database_url: str) -> Iterator[Desk]:
    """A hub under the test's control; the test runs once on each engine."""
    hub_and_erp = Desk(database_url)
    yield hub_and_erp
    hub_and_erp.hub.close()


@pytest.fixture
def app(desk: Desk) -> Flask:
    """The console in front of the desk."""
    return create_app(desk.hub)


@pytest.fixture
def maria(app: Flask, desk: Desk) -> Visitor:
    """An operator, logged in, who reads English."""
    return Visitor(app).enter(desk, "maria", "operator")


@pytest.fixture
def vera(app: Flask, desk: Desk) -> Visitor:
    """A viewer, logged in, who reads English."""
    return Visitor(app).enter(desk, "vera", "viewer")


@pytest.fixture
def app_display(sqlite_url: str) -> Iterator[None]:
    """A request of somebody who reads Portuguese, for what needs a language and no database."""
    with create_app(Desk(sqlite_url).hub).test_request_context("/", headers={"Accept-Language": "pt-BR"}):
        yield
