"""What do the tests of the console get? The application on each engine, and people who are logged in."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from flask import Flask

from dlq_console.app import create_app
from tests.web.desk import Desk
from tests.web.visitor import Visitor

#: Pages that ask in ways of their own are tested on both engines. For all others SQLite is enough: what the store does is
#: tested on both where the store is tested.
ON_BOTH_ENGINES = frozenset(
    {
        *(
            "test_api",
            "test_api_acts",
            "test_api_alerts",
            "test_api_desk",
            "test_api_nodes",
            "test_api_views",
        ),
        *(
            "test_audit",
            "test_dead_letters",
            "test_errors",
            "test_export",
            "test_groups",
            "test_health_probes",
        ),
        *("test_lists", "test_pages", "test_search", "test_translations", "test_views", "test_work"),
    }
)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if (
        "database_url" in metafunc.fixturenames
        and metafunc.module.__name__.rpartition(".")[2] in ON_BOTH_ENGINES
    ):
        metafunc.parametrize(
            "database_url", ["sqlite_url", "postgres_url"], ids=["sqlite", "postgresql"], indirect=True
        )


@pytest.fixture
def database_url(request: pytest.FixtureRequest) -> str:
    """Address of a database with all tables: on SQLite, or as the fixture that a test is parametrized with says."""
    url: str = request.getfixturevalue(getattr(request, "param", "sqlite_url"))
    return url


@pytest.fixture
def desk(database_url: str) -> Iterator[Desk]:
    """A hub under the test's control, on the engine of this test."""
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
