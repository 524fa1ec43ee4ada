"""Is the database there, are the tables, and are they such that this program can work with them?"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from sqlalchemy import make_url

from dlq_console.store import migrate
from dlq_console.store.compatibility import is_newer, too_new, works_with
from dlq_console.store.store import Store


def exists(store: Store) -> bool:
    """Whether there is a database at all. Asked before SQLite is: it makes an empty file of what is not there."""
    file = make_url(store.engines.database_url).database
    return not store.sqlite or file is None or Path(file).exists()


def revision(store: Store) -> str | None:
    """The version of the tables; None where there are none.

    Raises:
        StoreUnavailable: the database cannot be reached.
    """
    with store.read() as connection:
        return migrate.revision(connection, store.tables.prefix)


def why_not_ready(store: Store) -> str | None:
    """One sentence that says what to do; None where everything is in place.

    Raises:
        StoreUnavailable: the database cannot be reached.
    """
    if not exists(store):
        return "There is no database yet; create it with: dlq-console db upgrade"
    found, own = revision(store), _own()
    if found is None:
        return "The database has no tables yet; create them with: dlq-console db upgrade"
    if works_with(found, own):
        return None
    if is_newer(found, own):
        return too_new(found, own)
    return f"The tables are of version {found}, this program needs {own}; run: dlq-console db upgrade"


def standing(store: Store) -> str:
    """The version of tables with which this program works, and how it stands to the program's own.

    Raises:
        StoreUnavailable: the database cannot be reached.
    """
    found, own = revision(store), _own()
    if found == own:
        return f"{found} (up to date)"
    if found is not None and is_newer(found, own):
        return f"{found} (one step newer than this program, which knows {own} and works with it)"
    return (
        f"{found} (one step older than this program, which works with it; then run: dlq-console db upgrade)"
    )


@cache
def _own() -> str:
    return migrate.head()
