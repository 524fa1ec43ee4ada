"""Do the samples of the page about enqueueing do what it says?"""

from __future__ import annotations

import re
import warnings
from typing import Any

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import MetaData, create_engine
from sqlalchemy.exc import SAWarning

from tests.guests.pages import ROOT


def test_a_callers_own_migrations_leave_the_tables_alone(database_url: str) -> None:
    page = (ROOT / "docs/how-to/enqueue.md").read_text(encoding="utf-8")
    sample = re.search(r"^def include_name.*?\n\n", page, re.MULTILINE | re.DOTALL)
    assert sample is not None
    names: dict[str, Any] = {}
    exec(sample[0], names)
    engine = create_engine(database_url)
    with engine.connect() as connection:

        def found(**options: Any) -> list[Any]:
            context = MigrationContext.configure(connection, opts=options)
            return list(compare_metadata(context, MetaData()))

        with warnings.catch_warnings():
            # SQLite cannot read an index of an expression back; the page says that a warning tells so.
            warnings.filterwarnings("ignore", "Skipped unsupported reflection", SAWarning)
            assert any(kind == "remove_table" for kind, *_ in found())
            assert found(include_name=names["include_name"]) == []
    engine.dispose()
