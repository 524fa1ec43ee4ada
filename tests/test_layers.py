"""Does every arrow between the rooms of the house point down?"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.layering import House, Plan, Room, complaints

PACKAGE = Path(__file__).resolve().parents[1] / "dlq_console"

FLASK = frozenset({"flask", "flask_babel", "flask_limiter", "flask_smorest", "flask_wtf", "werkzeug"})
PAGES = FLASK | {
    "babel",
    "itsdangerous",
    "jinja2",
    "markupsafe",
    "marshmallow",
    "webargs",
    "wtforms",
}
CELERY = frozenset({"celery", "billiard"})
BROKERS = frozenset({"kombu", "amqp", "redis", "boto3", "botocore"})
DATABASE = frozenset({"sqlalchemy", "alembic", "psycopg"})


def _names(*names: str) -> frozenset[str]:
    return frozenset(names)


#: The table of rooms. `leaves` and the room itself may be imported by every room and are not repeated.
HOUSE = House(
    package="dlq_console",
    leaves=_names("settings", "errors", "clock", "logs", "redact"),
    free=_names("dlq_console", "__main__", "runtime", "app", "cli", "demo"),
    rooms={
        "leaves": Room(packages=_names("pydantic", "pydantic_settings")),
        "resilience": Room(
            packages=_names("anyio"),
            packages_of={
                "resilience.redis_state": _names("redis"),
                "resilience.tracing": _names("opentelemetry"),
            },
            never=_names("store", "web", "workers") | FLASK | CELERY | DATABASE,
        ),
        "classify": Room(
            never=_names("resilience", "store", "hub", "sources", "health", "watch", "workers", "web")
            | PAGES
            | CELERY
            | BROKERS
            | DATABASE,
        ),
        "store": Room(
            # Of health the values only: how durations are counted, and what a series is.
            rooms=_names(
                "resilience.state",
                "resilience.breaker",
                "resilience.pacing",
                "health.series",
                "health.histograms",
                "health.values",
            ),
            packages=_names("sqlalchemy", "alembic"),
            packages_of={"store.people": _names("argon2")},
            never=_names("sources") | FLASK | CELERY | {"redis"},
        ),
        "sources": Room(
            rooms=_names("resilience"),
            packages_of={
                "sources.rabbitmq": _names("kombu", "amqp"),
                "sources.sqs": _names("boto3", "botocore"),
                "sources.bullmq": _names("redis"),
            },
            never=_names("store") | FLASK,
        ),
        "health": Room(
            packages_of={"health.spelling": _names("pydantic")},
            never=BROKERS | CELERY | FLASK | DATABASE,
        ),
        "hub": Room(
            rooms=_names("store", "resilience", "classify"),
            # The caller's own session or connection is joined, and its commit awaited.
            packages_of={
                "hub.after_commit": _names("sqlalchemy"),
                # An extra, loaded where a channel needs it.
                "hub.channels": _names("apprise"),
                "hub.async_enqueue": _names("sqlalchemy"),
                "hub.enqueue": _names("sqlalchemy"),
                "hub.entrance": _names("sqlalchemy"),
                "hub.joining": _names("sqlalchemy"),
                "hub.raw_connections": _names("sqlalchemy"),
                "hub.schemas": _names("jsonschema", "referencing"),
                "hub.embed_tokens": _names("itsdangerous"),
                "hub.selection_tokens": _names("itsdangerous"),
                "hub.sqlalchemy_sessions": _names("sqlalchemy"),
            },
            never=_names("sources") | FLASK | CELERY | {"redis"},
        ),
        "watch": Room(
            # Of the library records and names only: what guards keep is read, never written.
            rooms=_names(
                "hub",
                "health",
                "store",
                "sources",
                "classify",
                "resilience",
                "resilience.breaker",
                "resilience.queue_rules",
            ),
            packages=BROKERS,
            # The transaction in which a notice is decided upon is the one in which its messages are put in.
            packages_of={"watch.alerts": _names("sqlalchemy")},
            never=FLASK,
        ),
        "workers": Room(
            rooms=_names("hub", "watch", "sources", "health", "store"),
            packages=CELERY | {"kombu"},
            never=FLASK | {"jinja2"},
        ),
        "contrib": Room(
            rooms=_names("hub", "resilience"),
            packages_of={
                "contrib.django": _names("django", "asgiref"),
                "contrib.flask": _names("flask"),
                "contrib.httpx": _names("httpx"),
                "contrib.requests": _names("requests"),
                "contrib.celery_capture": _names("celery"),
                "contrib.celery_budget": _names("celery"),
                "contrib.langgraph": _names("langgraph"),
            },
        ),
        "web": Room(
            rooms=_names(
                "hub",
                "health",
                # Values and their spelling; the store itself is only handed on to queries and people.
                "store.accounts",
                "store.canonical",
                "store.embeds",
                "store.events",
                "store.filters",
                "store.fields",
                "store.framing",
                "store.finding",
                "store.hidden_fields",
                "store.views",
                "store.states",
                "store.store",
                "store.queries",
                "store.people",
                "store.desk",
                "store.series",
                "store.snapshots",
                "store.totals",
            ),
            packages=PAGES | {"prometheus_client"},
            never=_names("workers", "sources") | CELERY | BROKERS,
        ),
    },
    only_from={
        "contrib": frozenset(),
        # The package names it for its users and loads it when one of them does.
        "resilience.redis_state": _names("runtime", "dlq_console"),
    },
)


def test_every_arrow_of_the_house_points_down() -> None:
    plan = Plan(PACKAGE)
    assert len(plan.imports) > len(plan.files), "no imports were read; this test could not fail"
    assert complaints(plan, HOUSE) == []


def test_importing_the_package_loads_no_framework() -> None:
    code = "import dlq_console, sys; print(*{'flask', 'celery', 'sqlalchemy', 'redis'} & set(sys.modules))"
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert child.stdout.split() == []


# What the first test would catch, shown on small invented houses.

SMALL = House(
    package="house",
    leaves=_names("errors"),
    free=_names("house", "runtime"),
    rooms={
        "leaves": Room(packages=_names("pydantic")),
        "store": Room(packages=_names("sqlalchemy"), packages_of={"store.people": _names("argon2")}),
        "hub": Room(rooms=_names("store"), never=_names("celery", "web")),
        "web": Room(rooms=_names("hub", "store.states"), packages=_names("flask"), never=_names("celery")),
    },
    only_from={"store.secret": _names("runtime")},
)


def _found_in(folder: Path, files: dict[str, str]) -> list[str]:
    """Lay out a package from paths and sources, and return what there is to complain about."""
    root = folder / "house"
    for name, source in {"__init__.py": "", "errors.py": "", **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    return complaints(Plan(root), SMALL)


def test_arrows_that_point_down_are_fine(tmp_path: Path) -> None:
    files = {
        "errors.py": "import json\nimport pydantic",
        "store/states.py": "from house import errors\nimport sqlalchemy.orm",
        "store/people.py": "import argon2",
        "hub/enqueue.py": "from house.store.states import Status\nfrom house.errors import Oops",
        "web/pages.py": "import flask\nfrom house.hub import enqueue\nfrom house.store import states",
        "runtime.py": "import celery\nfrom house.web import pages",
    }
    assert _found_in(tmp_path, files) == []


@pytest.mark.parametrize(
    "source",
    [
        "from house.web import pages",
        "from house.web.pages import page",
        "import house.web.pages",
        "from ..web import pages",
        "def later():\n    from house.web import pages",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from house.web.pages import Page",
        "import importlib\nimportlib.import_module('house.web.pages')",
        "__import__('house.web.pages')",
    ],
    ids=["module", "name", "dotted", "relative", "in a function", "types only", "importlib", "dunder import"],
)
def test_an_upward_arrow_is_caught_in_every_form(tmp_path: Path, source: str) -> None:
    found = _found_in(tmp_path, {"store/claims.py": source, "web/pages.py": ""})
    assert [complaint.partition(": ")[2] for complaint in found] == ["store may not import web.pages."]


def test_the_place_of_a_wrong_arrow_is_told(tmp_path: Path) -> None:
    files = {"store/claims.py": "import json\n\nfrom house.web import pages", "web/pages.py": ""}
    assert _found_in(tmp_path, files) == ["house/store/claims.py:3: store may not import web.pages."]


def test_a_single_module_of_a_room_may_be_allowed_and_the_rest_is_not(tmp_path: Path) -> None:
    files = {
        "store/states.py": "",
        "store/claims.py": "",
        "web/pages.py": "from house.store import claims, states",
    }
    assert _found_in(tmp_path, files) == ["house/web/pages.py:1: web may not import store.claims."]


def test_a_package_allowed_to_one_module_is_refused_to_its_neighbour(tmp_path: Path) -> None:
    files = {
        "store/people/passwords.py": "import argon2",
        "store/people.py": "import argon2",
        "store/claims.py": "import argon2",
    }
    assert _found_in(tmp_path, files) == [
        "house/store/claims.py:1: store.claims may not import the package argon2."
    ]


def test_a_leaf_knows_no_room(tmp_path: Path) -> None:
    files = {"errors.py": "from house.store import states", "store/states.py": ""}
    assert _found_in(tmp_path, files) == ["house/errors.py:1: leaves may not import store.states."]


def test_no_room_imports_the_composition_root_or_the_package_itself(tmp_path: Path) -> None:
    files = {"runtime.py": "", "hub/enqueue.py": "from house import Hub\nfrom house.runtime import Hub"}
    assert _found_in(tmp_path, files) == [
        "house/hub/enqueue.py:1: hub may not import house.",
        "house/hub/enqueue.py:2: hub may not import runtime.",
    ]


def test_a_forbidden_package_is_found_through_other_rooms(tmp_path: Path) -> None:
    files = {
        "store/claims.py": "def later():\n    import celery",
        "hub/enqueue.py": "from house.store import claims",
        "web/pages.py": "from house.hub import enqueue",
    }
    assert _found_in(tmp_path, files) == [
        "house/store/claims.py:2: store.claims may not import the package celery.",
        "hub must never reach celery, but hub.enqueue -> store.claims -> celery.",
        "web must never reach celery, but web.pages -> hub.enqueue -> store.claims -> celery.",
    ]


def test_a_forbidden_package_is_found_behind_the_init_of_a_room(tmp_path: Path) -> None:
    files = {
        "store/__init__.py": "import celery",
        "store/states.py": "",
        "web/pages.py": "import house.store.states",
    }
    assert _found_in(tmp_path, files) == [
        "house/store/__init__.py:1: store may not import the package celery.",
        "web must never reach celery, but web.pages -> store.states -> store -> celery.",
    ]


def test_a_guarded_module_is_for_its_readers_only(tmp_path: Path) -> None:
    files = {
        "store/secret.py": "",
        "store/claims.py": "from house.store import secret",
        "runtime.py": "from house.store import secret",
    }
    assert _found_in(tmp_path, files) == ["house/store/claims.py:1: only runtime may import store.secret."]


def test_a_room_without_a_row_is_told(tmp_path: Path) -> None:
    assert _found_in(tmp_path, {"attic/box.py": "import flask"}) == [
        "house/attic is in no row of the table of rooms."
    ]
