"""Migrations: what they make is what the models say, beside anything else that lives in the same database."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Engine, inspect, text

from dlq_console.errors import StoreUnavailable
from dlq_console.store import migrate, queries
from dlq_console.store.filters import EventFilter
from dlq_console.store.models import EVENT_STORAGE, SMALL_STORAGE, tables
from dlq_console.store.queries.texts import has_text_index
from dlq_console.store.session import make_engine
from dlq_console.store.store import Store
from tests.services.postgres import PostgresServer
from tests.services.process import StartChild
from tests.store.filling import dead
from tests.store.making import add, rows

TABLES = {
    "event",
    "attempt",
    "audit",
    "kind",
    "scope",
    "scope_change",
    "scope_closing",
    "error_cause",
    "error_group",
    "shared",
    "snapshot",
    "event_field",
    "desk",
    "group_desk",
    "tag",
    "note",
    "saved_view",
    "bulk_run",
    "bulk_item",
    "rollup",
    "sample",
    "embed",
    "alert",
    "alert_snooze",
    "worker",
    "step",
    "users",
    "sessions",
    "tokens",
    "once",
    "version",
}


#: SQLAlchemy cannot read indexes on expressions back from SQLite; what they are is compared in the database's own words.
UNREAD = pytest.mark.filterwarnings(
    "ignore:Skipped unsupported reflection of expression-based index",
    "ignore:autogenerate skipping metadata-specified expression-based index",
)


#: Made only where PostgreSQL has the extension for it.
OPTIONAL_INDEX = "event_dead_text_ix"


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Address of a database without any table."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'empty.db'}"
        return
    server: PostgresServer = request.getfixturevalue("postgres_server")
    with server.database() as url:
        yield url


@contextmanager
def _engine(url: str) -> Iterator[Engine]:
    engine = make_engine(url)
    yield engine
    engine.dispose()


def _tables(url: str) -> set[str]:
    with _engine(url) as engine:
        return set(inspect(engine).get_table_names())


def _described(url: str, prefix: str = "dlq_") -> dict[str, str]:
    """What the database itself tells of the tables under a prefix; names and definitions without that prefix."""
    with _engine(url) as engine, engine.connect() as connection:
        found = [
            row for query in _CATALOGUE[engine.dialect.name] for row in connection.execute(text(query)).all()
        ]
    told = {
        row[0]: " ".join(" ".join(map(str, row[1:])).split()) for row in found if row[0].startswith(prefix)
    }
    return {name.removeprefix(prefix): _in_any_order(told[name].replace(prefix, "")) for name in told}


def _in_any_order(definition: str) -> str:
    """A column that a later step has added stands behind the constraints in the words of SQLite, and nowhere else."""
    if not definition.startswith("CREATE TABLE"):
        return definition
    name, _, parts = definition.removesuffix(")").partition("(")
    return " ".join([name, *sorted(part.strip() for part in parts.split(","))])


_CATALOGUE = {
    "sqlite": ("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL",),
    "postgresql": (
        (
            "SELECT table_name || '.' || column_name, ordinal_position, data_type, is_nullable, column_default"
            " FROM information_schema.columns WHERE table_schema = 'public'"
        ),
        "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'",
        (
            "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint"
            " WHERE connamespace = 'public'::regnamespace"
        ),
    ),
}


# From nothing


def test_an_empty_database_gets_every_table_and_can_be_used(empty_url: str) -> None:
    assert _tables(empty_url) == set()
    migrate.upgrade(empty_url)
    assert _tables(empty_url) == {f"dlq_{name}" for name in TABLES}
    store = Store(empty_url)
    assert add(store).created
    store.engines.dispose()


def test_the_revision_is_told(empty_url: str) -> None:
    with _engine(empty_url) as engine:
        assert migrate.current(engine) is None
        migrate.upgrade(empty_url)
        assert migrate.current(engine) == migrate.head()


def test_upgrading_again_changes_nothing(empty_url: str) -> None:
    migrate.upgrade(empty_url)
    store = Store(empty_url)
    add(store)
    before = _described(empty_url), rows(store)
    migrate.upgrade(empty_url)
    assert (_described(empty_url), rows(store)) == before
    store.engines.dispose()


def test_two_prefixes_live_beside_each_other(empty_url: str) -> None:
    migrate.upgrade(empty_url)
    store = Store(empty_url)
    add(store)
    migrate.upgrade(empty_url, "second_")
    second = Store(empty_url, table_prefix="second_")
    assert rows(second) == []
    assert [add(second, number).id for number in range(2)] == [1, 2]
    assert len(rows(store)) == 1
    assert _tables(empty_url) == {f"{prefix}{name}" for prefix in ("dlq_", "second_") for name in TABLES}
    for each in (store, second):
        each.engines.dispose()


def test_the_migrations_of_a_host_application_are_left_alone(empty_url: str) -> None:
    with _engine(empty_url) as engine:
        with engine.begin() as connection:
            connection.execute(text("CREATE TABLE alembic_version (version_num VARCHAR(32) PRIMARY KEY)"))
            connection.execute(text("INSERT INTO alembic_version VALUES ('of-the-host')"))
            connection.execute(text("CREATE TABLE event (name TEXT)"))
        migrate.upgrade(empty_url)
        with engine.connect() as connection:
            assert connection.execute(text("SELECT version_num FROM alembic_version")).all() == [
                ("of-the-host",)
            ]
            assert connection.execute(text("SELECT name FROM event")).all() == []
        assert migrate.current(engine) == migrate.head()


def test_an_upgrade_that_fails_leaves_nothing_behind(empty_url: str) -> None:
    with _engine(empty_url) as engine, engine.begin() as connection:
        connection.execute(text("CREATE TABLE dlq_tokens (in_the_way TEXT)"))
    with pytest.raises(Exception, match="already exists"):
        migrate.upgrade(empty_url)
    assert _tables(empty_url) == {"dlq_tokens"}


UPGRADING = """
import sys
from pathlib import Path
from dlq_console.store.migrate import upgrade

print("ready")
while not Path(sys.argv[2]).exists():
    pass
upgrade(sys.argv[1])
"""


def test_processes_that_upgrade_at_once_do_it_once(
    empty_url: str, start_child: StartChild, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    children = [
        start_child([sys.executable, "-W", "error", "-c", UPGRADING, empty_url, go]) for _ in range(4)
    ]
    for child in children:
        child.wait_for_line("^ready$")
    go.touch()
    assert [child.wait_for_exit(60) for child in children] == [0] * 4, [child.output() for child in children]
    assert _tables(empty_url) == {f"dlq_{name}" for name in TABLES}


def test_a_database_that_is_away_is_told_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        migrate.upgrade(f"sqlite:///{tmp_path / 'no' / 'folder' / 'events.db'}")


# What the models say


@UNREAD
@pytest.mark.parametrize("prefix", ["dlq_", "a_prefix_of_20_chars"])
def test_the_migrated_database_is_what_the_models_say(empty_url: str, prefix: str) -> None:
    migrate.upgrade(empty_url, prefix)

    def ours(name: str | None, type_: str, _parents: object) -> bool:
        if type_ == "index" and str(name).endswith(OPTIONAL_INDEX):
            return False
        return type_ != "table" or (str(name).startswith(prefix) and name != migrate.version_table(prefix))

    with _engine(empty_url) as engine, engine.connect() as connection:
        options = {"compare_type": True, "compare_server_default": True, "include_name": ours}
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, tables(prefix).metadata) == []


def test_the_database_itself_tells_no_difference(empty_url: str) -> None:
    """Alembic does not compare predicates of partial indexes, checks and the way in which ids are made."""
    migrate.upgrade(empty_url, "migrated_")
    with _engine(empty_url) as engine, engine.begin() as connection:
        tables("modelled_").metadata.create_all(connection)
    migrated, modelled = _described(empty_url, "migrated_"), _described(empty_url, "modelled_")
    beside = {name for name in migrated if name.startswith("version") or name.endswith(OPTIONAL_INDEX)}
    assert len(modelled) > 25
    assert {name: told for name, told in migrated.items() if name not in beside} == modelled


def test_every_id_holds_64_bits(empty_url: str) -> None:
    migrate.upgrade(empty_url)
    big = 2**62
    with _engine(empty_url) as engine:
        for name in ("event", "attempt", "audit", "users", "tokens"):
            described = inspect(engine).get_columns(f"dlq_{name}")
            ids = {
                column["name"]: str(column["type"]) for column in described if column["name"].endswith("id")
            }
            ids.pop("entity_id", None)
            wanted = {"INTEGER", "BIGINT"} if engine.dialect.name == "sqlite" else {"BIGINT"}
            assert set(ids.values()) <= wanted, ids
        with engine.begin() as connection:
            statement = text(
                "INSERT INTO dlq_audit (id, at, actor, action, event_id) VALUES (:id, :at, 'a', 'b', :id)"
            )
            at: Any = 1 if engine.dialect.name == "sqlite" else "2026-01-01T00:00:00Z"
            connection.execute(statement, {"id": big, "at": at})
            assert connection.execute(text("SELECT event_id FROM dlq_audit")).scalar_one() == big


def test_an_id_is_never_given_twice(empty_url: str) -> None:
    migrate.upgrade(empty_url)
    store = Store(empty_url)
    first = add(store).id
    with store.write() as connection:
        connection.execute(store.tables.event.delete())
    assert add(store).id > first
    store.engines.dispose()


@UNREAD
def test_at_most_four_indexes_cover_the_whole_event_table(empty_url: str) -> None:
    migrate.upgrade(empty_url)
    with _engine(empty_url) as engine:
        whole = [
            index["name"]
            for index in inspect(engine).get_indexes("dlq_event")
            if not any(name.endswith("_where") for name in index["dialect_options"])
        ]
    assert len(whole) + 1 <= 4, whole  # and the primary key


def test_an_account_that_may_create_no_extension_gets_the_tables_without_the_index_of_texts(
    postgres_server: PostgresServer,
) -> None:
    with postgres_server.database() as url:
        name = url.rpartition("/")[2]
        with postgres_server.connect(name) as connection:
            connection.execute("CREATE ROLE small LOGIN")
            try:
                connection.execute("GRANT ALL ON SCHEMA public TO small")
                migrate.upgrade(url.replace("postgres@", "small@"))
                store = Store(url)
                assert not has_text_index(store)
                assert dead(store, 1) == [1]
                flt = EventFilter(q="registered")
                assert [line.id for line in queries.dead_letters(store, flt).page.items] == [1]
                store.engines.dispose()
            finally:
                connection.execute("DROP OWNED BY small")
                connection.execute("DROP ROLE small")


def test_the_index_of_texts_is_made_where_the_extension_is_there(postgres_url: str) -> None:
    store = Store(postgres_url)
    with store.read() as connection:
        available = connection.execute(
            text("SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_trgm'")
        ).scalar_one()
    assert has_text_index(store) == bool(available)
    store.engines.dispose()


# The settings of the tables on PostgreSQL


def test_hot_tables_are_vacuumed_early(postgres_server: PostgresServer) -> None:
    with postgres_server.database() as url:
        migrate.upgrade(url)
        with _engine(url) as engine, engine.connect() as connection:
            statement = text(
                "SELECT relname, reloptions FROM pg_class WHERE relkind = 'r' AND relname LIKE 'dlq\\_%'"
            )
            found = {
                row.relname.removeprefix("dlq_"): dict(option.split("=") for option in row.reloptions or ())
                for row in connection.execute(statement)
            }
    assert found["event"] == EVENT_STORAGE
    # Never updated, so its pages may be full.
    assert found["attempt"] == {name: value for name, value in EVENT_STORAGE.items() if name != "fillfactor"}
    small = ("scope", "worker", "step", "shared", "snapshot")
    assert [found[name] for name in small] == [SMALL_STORAGE] * len(small)
    assert {name for name, options in found.items() if options} == {"event", "attempt", *small}


def test_what_keeps_a_door_closed_during_the_upgrade_is_on_record_after_it(empty_url: str) -> None:
    migrate.upgrade(empty_url, to="0004")
    store = Store(empty_url)
    fill = """
INSERT INTO {scope} (type, name, account, closed_since, provider_until, provider_reason, paused_at, pause_note, pause_cause,
    created_at, updated_at)
VALUES ('account', 'a', 'a', {now} - {interval[60]}, {now} + {interval[60]}, 'busy', NULL, NULL, NULL, {now}, {now}),
    ('account', 'b', 'b', {now}, NULL, NULL, {now} - {interval[30]}, '401', 'auth', {now}, {now}),
    ('account', 'c', 'c', NULL, NULL, NULL, NULL, NULL, NULL, {now}, {now})
"""
    with store.write() as connection:
        connection.execute(store.statement(fill))
    migrate.upgrade(empty_url)
    found = {row["name"]: row for row in rows(store, "scope_closing")}
    told = {name: (row["cause"], row["reason"], row["until_at"] is None) for name, row in found.items()}
    assert told == {"a": ("provider", "busy", False), "b": ("auth", "401", True)}
    assert (found["a"]["until_at"] - found["a"]["began_at"]).total_seconds() == 120
    store.engines.dispose()
