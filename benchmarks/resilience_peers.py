"""How do other circuit breakers of Python do in the same run? Each behind one small face, where it is installed."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

#: Open after one failure, due for a probe after so many seconds: longer than a peer needs to see what others did.
RECOVERY = 3.0

Calling = Callable[[Callable[[], Any]], Any]


class MissingPeerError(Exception):
    """The peer is not installed."""


def _load(name: str, package: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingPeerError(f"not measured: pip install {package}") from error


def pybreaker(redis_url: str | None = None, name: str = "peer") -> Calling:
    """`call(fn)` of a pybreaker circuit, in memory or in Redis."""
    module = _load("pybreaker", "pybreaker")
    storage = None
    if redis_url is not None:
        client = import_module("redis").StrictRedis.from_url(redis_url)
        storage = module.CircuitRedisStorage(module.STATE_CLOSED, client, namespace=name)
    breaker = module.CircuitBreaker(fail_max=1, reset_timeout=RECOVERY, state_storage=storage)
    call: Calling = breaker.call
    return call


def interlock(redis_url: str | None = None, name: str = "peer") -> Calling:
    """`call(fn)` of an interlock circuit, in memory or in Redis."""
    module = _load("interlock", "interlock-cb")
    storage = None
    if redis_url is not None:
        client = import_module("redis").Redis.from_url(redis_url)
        storage = import_module("interlock.integrations.redis").RedisStorage(client)
    config = module.Config(
        minimum_number_of_calls=1,
        failure_rate_threshold=0.01,
        wait_duration_in_open=RECOVERY,
        permitted_calls_in_half_open=1,
    )
    breaker = module.CircuitBreaker(name=name, config=config, storage=storage)
    call: Calling = breaker.call
    return call


def purgatory() -> Calling:
    """`call(fn)` of a purgatory circuit, in memory; its sync form cannot use Redis."""
    module = _load("purgatory", "purgatory")
    factory = module.SyncCircuitBreakerFactory(default_threshold=1, default_ttl=RECOVERY)

    def call(fn: Callable[[], Any]) -> Any:
        with factory.get_breaker("peer"):
            return fn()

    return call


PEERS: dict[str, Callable[[], Calling]] = {
    "pybreaker": pybreaker,
    "interlock": interlock,
    "purgatory": purgatory,
}
SHARED_PEERS: dict[str, Callable[..., Calling]] = {"pybreaker": pybreaker, "interlock": interlock}
