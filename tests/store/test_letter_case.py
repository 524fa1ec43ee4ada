"""A text is found in errors whatever the case of its letters, of any alphabet, and on both engines alike."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from dlq_console.store import queries
from dlq_console.store.filters import EventFilter
from dlq_console.store.migrate import upgrade
from dlq_console.store.queries import Count
from dlq_console.store.store import Store
from tests.services.postgres import PostgresServer
from tests.store.filling import fill

ERRORS = (
    "Cliente não cadastrado",
    "NÃO AUTORIZADO",
    "οδοσ 5",
    "ошибка",
    "OPERAÇÃO_100% inválida",
    "OPERAÇÃO-1000 inválida",
)


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    """A store with ERRORS; the PostgreSQL of tests knows the case of ASCII alone, as no installation does."""
    if request.param == "sqlite":
        opened = Store(request.getfixturevalue("sqlite_url"))
        yield opened
        opened.engines.dispose()
        return
    server: PostgresServer = request.getfixturevalue("postgres_server")
    name = f"test_{uuid.uuid4().hex}"
    with server.connect() as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C.UTF-8'")
    upgrade(server.url(name))
    opened = Store(server.url(name))
    yield opened
    opened.engines.dispose()
    server.drop_database(name)


def test_text_is_found_whatever_the_case_of_its_letters(store: Store) -> None:
    known = fill(store, [{"status": "dead", "last_error": error} for error in ERRORS])
    for asked, places in (
        ("não", [0, 1]),
        ("NÃO", [0, 1]),
        ("nao", []),
        ("cliente NãO cadastrado", [0]),
        ("ΟΔΟΣ", [2]),
        ("ОШИБКА", [3]),
        ("ção_100%", [4]),
    ):
        wanted = [known[place] for place in places]
        flt = EventFilter(q=asked)
        found = [event.id for event in queries.dead_letters(store, flt).page.items]
        assert (asked, sorted(found)) == (asked, wanted)
        assert sorted(event.id for event in queries.events_page(store, flt).items) == wanted
        assert queries.count(store, flt) == Count(len(wanted))
