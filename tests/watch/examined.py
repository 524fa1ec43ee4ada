"""How does a test let the doctor look? With a hub of its own, and what was found by the id of the rule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from redis import Redis

from dlq_console import Hub
from dlq_console.health.findings import Finding
from dlq_console.settings import read_settings
from dlq_console.watch.doctor import examine

KEY = "0123456789abcdef-fedcba9876543210-only-for-tests"


def hub_on(database_url: str, **settings: Any) -> Hub:
    """A hub with nothing in it; the caller closes it."""
    return Hub(read_settings(database_url=database_url, secret_key=KEY, **settings))


def found(
    hub: Hub, *, environ: Mapping[str, str] | None = None, visibility_timeout: float = 3600
) -> dict[str, Finding]:
    """What the doctor finds, by rule; the last of each."""
    findings = examine(
        hub,
        visibility_timeout=visibility_timeout,
        store=hub.store,
        environ={} if environ is None else environ,
    )
    return {finding.id: finding for finding in findings}


@contextmanager
def configured(client: Redis, **values: str) -> Iterator[None]:
    """Inside the block a Redis has other settings; underscores stand for dashes."""
    names = {name.replace("_", "-"): value for name, value in values.items()}
    before = {name: str(client.config_get(name)[name]) for name in names}
    for name, value in names.items():
        client.config_set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            client.config_set(name, value)
