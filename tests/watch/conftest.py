"""What do the tests of what looks around get? A hub on SQLite, where the engine plays no part."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dlq_console import Hub
from tests.watch.examined import hub_on


@pytest.fixture
def hub(sqlite_url: str) -> Iterator[Hub]:
    """A hub without broker and without anything in it."""
    made = hub_on(sqlite_url)
    yield made
    made.close()
