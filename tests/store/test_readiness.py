"""Is it told whether the tables are there, and what to do where they are not?"""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import text

from dlq_console.store import migrate, queries
from dlq_console.store.store import Store


def test_a_database_with_the_tables_of_this_program_is_ready(store: Store) -> None:
    assert queries.why_not_ready(store) is None
    assert queries.revision(store) == migrate.head()


def test_a_database_without_tables_is_not_ready(tmp_path: Path) -> None:
    (tmp_path / "empty.db").touch()
    store = Store(f"sqlite:///{tmp_path}/empty.db")
    assert queries.why_not_ready(store) == (
        "The database has no tables yet; create them with: dlq-console db upgrade"
    )
    store.engines.dispose()


def test_a_database_that_is_not_there_is_not_made_by_asking(tmp_path: Path) -> None:
    store = Store(f"sqlite:///{tmp_path}/none.db")
    assert queries.why_not_ready(store) == "There is no database yet; create it with: dlq-console db upgrade"
    assert list(tmp_path.iterdir()) == []


def test_tables_of_another_version_are_not_ready(store: Store) -> None:
    with store.write() as connection:
        connection.execute(text(f"UPDATE {migrate.version_table('dlq_')} SET version_num = '0000'"))
    assert queries.why_not_ready(store) == (
        f"The tables are of version 0000, this program needs {migrate.head()}; run: dlq-console db upgrade"
    )
