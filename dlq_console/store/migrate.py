"""How the tables come into being and follow new versions: Alembic with its own version table under the prefix."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, text

from dlq_console.store.session import Engines

MIGRATIONS = Path(__file__).parent / "migrations"

_ONE_AT_A_TIME = text("SELECT pg_advisory_xact_lock(hashtext(:name))")


def upgrade(database_url: str, table_prefix: str = "dlq_") -> None:
    """Create the tables, or bring them to the version of this program. Safe to repeat and to start twice at once.

    Raises:
        StoreUnavailable: the database cannot be reached.
    """
    engines = Engines(database_url)
    try:
        with engines.reached(), engines.write().begin() as connection:
            if engines.dialect == "postgresql":
                # SQLite has one writer anyway. Ends with the transaction.
                connection.execute(_ONE_AT_A_TIME, {"name": version_table(table_prefix)})
            command.upgrade(_config(table_prefix, connection), "head")
    finally:
        engines.dispose()


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
