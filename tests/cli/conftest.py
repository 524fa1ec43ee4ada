"""What do the tests of the command line get? The command, with a database of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import CommandLine, ProcessLine


@pytest.fixture
def both(database_url: str, tmp_path: Path) -> CommandLine:
    """The command with all tables; the test runs once on each engine."""
    return CommandLine({"DLQ_DATABASE_URL": database_url}, tmp_path)


@pytest.fixture
def run(sqlite_url: str, tmp_path: Path) -> CommandLine:
    """The command with all tables, for what is the same on every engine and in every process."""
    return CommandLine({"DLQ_DATABASE_URL": sqlite_url}, tmp_path)


@pytest.fixture
def process(sqlite_url: str, tmp_path: Path) -> ProcessLine:
    """The command as a process of its own, with all tables."""
    return ProcessLine({"DLQ_DATABASE_URL": sqlite_url}, tmp_path)
