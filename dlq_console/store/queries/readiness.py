"""Are the tables there, and are they those of this program?"""

from __future__ import annotations

from functools import cache

from alembic.migration import MigrationContext

from dlq_console.store import migrate
from dlq_console.store.store import Store


def revision(store: Store) -> str | None:
    """The version of the tables; None where there are none.

    Raises:
        StoreUnavailable: the database cannot be reached.
    """
    with store.read() as connection:
        options = {"version_table": migrate.version_table(store.tables.prefix)}
        return MigrationContext.configure(connection, opts=options).get_current_revision()


def why_not_ready(store: Store) -> str | None:
    """One sentence that says what to do; None where everything is in place.

    Raises:
        StoreUnavailable: the database cannot be reached.
    """
    found = revision(store)
    if found == _needed():
        return None
    if found is None:
        return "The database has no tables yet; create them with: dlq-console db upgrade"
    return f"The tables are of version {found}, this program needs {_needed()}; run: dlq-console db upgrade"


@cache
def _needed() -> str:
    return migrate.head()
