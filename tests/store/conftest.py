"""What do the tests of the store get? A store on each engine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dlq_console.store.store import Store


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    """A store on an empty database; the test runs once on each engine."""
    store = Store(database_url, pool_size=10)
    yield store
    store.engines.dispose()
