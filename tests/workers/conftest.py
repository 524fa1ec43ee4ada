"""What do the tests of table workers get? A database with its hub, and workers that end with the test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.services.process import StartChild
from tests.workers.table import Table


@contextmanager
def _table(url: str, folder: Path, start_child: StartChild) -> Iterator[Table]:
    notes = folder / "notes"
    notes.mkdir()
    table = Table(url, notes, start_child)
    yield table
    table.go()  # so that workers can stop gently
    table.hub.close()


@pytest.fixture
def table(database_url: str, tmp_path: Path, start_child: StartChild) -> Iterator[Table]:
    """A database in table mode; the test runs once on each engine."""
    with _table(database_url, tmp_path, start_child) as made:
        yield made


@pytest.fixture
def sqlite_table(sqlite_url: str, tmp_path: Path, start_child: StartChild) -> Iterator[Table]:
    """An SQLite database in table mode, for rules in which the engine plays no part."""
    with _table(sqlite_url, tmp_path, start_child) as made:
        yield made


@pytest.fixture
def postgres_table(postgres_url: str, tmp_path: Path, start_child: StartChild) -> Iterator[Table]:
    """A PostgreSQL database in table mode."""
    with _table(postgres_url, tmp_path, start_child) as made:
        yield made
