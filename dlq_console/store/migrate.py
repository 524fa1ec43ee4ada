"""How the tables come into being and follow new versions: Alembic with its own version table under the prefix."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine

from dlq_console.store.session import make_engine

MIGRATIONS = Path(__file__).parent / "migrations"


def upgrade(database_url: str, table_prefix: str = "dlq_") -> None:
    """Create the tables, or bring them to the version of this program. Safe to repeat."""
    engine = make_engine(database_url)
    try:
        with engine.begin() as connection:
            command.upgrade(_config(table_prefix, connection), "head")
    finally:
        engine.dispose()


def current(engine: Engine, table_prefix: str = "dlq_") -> str | None:
    """The revision the database stands at; None where there are no tables yet."""
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": version_table(table_prefix)})
        return context.get_current_revision()


def head() -> str:
    """The revision that this program needs."""
    revision = ScriptDirectory.from_config(_config("dlq_")).get_current_head()
    assert revision is not None, "the package holds at least one migration"  # noqa: S101 - tells the type checker
    return revision


def version_table(table_prefix: str) -> str:
    """Name of the table that holds the revision; never the host application's own."""
    return f"{table_prefix}version"


def _config(table_prefix: str, connection: Connection | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["table_prefix"] = table_prefix
    config.attributes["connection"] = connection
    return config
