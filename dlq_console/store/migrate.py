"""How the tables come into being and follow new versions: Alembic with its own version table under the prefix.

Alembic is loaded by `upgrade` alone: every command asks which version the tables have, hardly one changes them.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Engine, inspect, text
from sqlalchemy.exc import OperationalError

from dlq_console.errors import StoreUnavailable
from dlq_console.store.compatibility import is_newer, too_new, works_with
from dlq_console.store.session import Engines

if TYPE_CHECKING:
    from alembic.config import Config

MIGRATIONS = Path(__file__).parent / "migrations"

#: How long a change waits for a table on PostgreSQL, in seconds, one entry for each try. Whoever wants the table
#: meanwhile queues behind it, so a table that a long transaction uses is given up and asked for again.
LOCK_PATIENCE = (1, 2, 4, 8, 15)

_ONE_AT_A_TIME = text("SELECT pg_advisory_xact_lock(hashtext(:name))")
_WAIT_AT_MOST = text("SELECT set_config('lock_timeout', :patience, true)")
#: What PostgreSQL says when the wait is over.
_LOCK_NOT_AVAILABLE = "55P03"


def upgrade(database_url: str, table_prefix: str = "dlq_", *, to: str = "head") -> None:
    """Create the tables, or bring them to the version of this program.

    All of it is one transaction on both engines, so whoever is killed on the way leaves nothing behind. Safe to
    repeat, to start twice at once, and while programs work with the tables.

    Args:
        database_url: where the tables are.
        table_prefix: what their names begin with.
        to: the revision to stop at.

    Raises:
        StoreUnavailable: the database cannot be reached, a table stays in use, or the tables are newer than this
            program can work with.
    """
    engines = Engines(database_url)
    try:
        with engines.reached():
            if any(_upgraded(engines, table_prefix, to, patience) for patience in LOCK_PATIENCE):
                return
    finally:
        engines.dispose()
    raise StoreUnavailable(
        "A long transaction, such as a backup, keeps a table from being changed. Nothing was changed; run this again."
    )


def _upgraded(engines: Engines, table_prefix: str, to: str, patience: int) -> bool:
    """Whether it could be done without waiting longer than `patience` seconds for a table."""
    from alembic import command

    try:
        with engines.write().begin() as connection:
            if engines.dialect == "postgresql":
                # SQLite has one writer anyway. Both end with the transaction; the second does not concern the first.
                connection.execute(_ONE_AT_A_TIME, {"name": version_table(table_prefix)})
                connection.execute(_WAIT_AT_MOST, {"patience": f"{patience}s"})
            if not _made_by_a_newer_program(connection, table_prefix):
                command.upgrade(_config(table_prefix, connection), to)
    except OperationalError as error:
        if getattr(error.orig, "sqlstate", None) != _LOCK_NOT_AVAILABLE:
            raise
        return False
    return True


def _made_by_a_newer_program(connection: Connection, table_prefix: str) -> bool:
    found, own = revision(connection, table_prefix), head()
    if found is None or not is_newer(found, own):
        return False
    if not works_with(found, own):
        raise StoreUnavailable(too_new(found, own))
    return True


def current(engine: Engine, table_prefix: str = "dlq_") -> str | None:
    """The revision the database stands at; None where there are no tables yet."""
    with engine.connect() as connection:
        return revision(connection, table_prefix)


def revision(connection: Connection, table_prefix: str = "dlq_") -> str | None:
    """As `current`, on a connection that is open already."""
    table = version_table(table_prefix)
    if not inspect(connection).has_table(table):
        return None
    found: str | None = connection.execute(text(f"SELECT version_num FROM {table}")).scalar()
    return found


def head() -> str:
    """The revision that this program needs: the number with which the name of the last migration begins."""
    return max(file.name.partition("_")[0] for file in (MIGRATIONS / "versions").glob("[0-9]*.py"))


def version_table(table_prefix: str) -> str:
    """Name of the table that holds the revision; never the host application's own."""
    return f"{table_prefix}version"


def _config(table_prefix: str, connection: Connection) -> Config:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["table_prefix"] = table_prefix
    config.attributes["connection"] = connection
    return config
