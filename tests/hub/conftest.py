"""What do the tests of the hub get? A hub on each engine, and one that would tell a broker."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dlq_console import Hub
from dlq_console.settings import read_settings
from tests.hub.recording import Recorder

#: Nobody listens there; the publisher of these tests never asks.
BROKER = "redis://127.0.0.1:1/0"


@pytest.fixture
def hub(database_url: str, request: pytest.FixtureRequest) -> Iterator[Hub]:
    """A hub in table mode, or with a broker where the test takes `recorder`; the test runs once on each engine."""
    broker_url = BROKER if "recorder" in request.fixturenames else ""
    hub = Hub(read_settings(database_url=database_url, broker_url=broker_url))
    yield hub
    hub.close()


@pytest.fixture
def recorder(hub: Hub) -> Iterator[Recorder]:
    """The publisher of `hub`."""
    recorder = Recorder(hub)
    hub._publisher = recorder
    yield recorder
    assert recorder.not_yet_committed == []
    recorder.dispose()
