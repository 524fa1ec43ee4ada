"""What do the tests of the hub get? A hub on each engine, and one that would tell a broker."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dlq_console import Hub
from dlq_console.settings import read_settings
from tests.hub.recording import Recorder


@pytest.fixture
def hub(database_url: str) -> Iterator[Hub]:
    """A hub in table mode; the test runs once on each engine."""
    hub = Hub(read_settings(database_url=database_url))
    yield hub
    hub.close()


@pytest.fixture
def recorder(hub: Hub) -> Iterator[Recorder]:
    """The publisher of `hub`, which now has a broker. Nobody listens at that address."""
    hub.settings = read_settings(database_url=hub.settings.database_url, broker_url="redis://127.0.0.1:1/0")
    hub._entrance._tell = hub._tell
    recorder = Recorder(hub)
    hub._publisher = recorder
    yield recorder
    assert recorder.not_yet_committed == []
    recorder.dispose()
