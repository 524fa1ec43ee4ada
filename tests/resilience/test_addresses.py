"""Is what cannot be a shared state refused where it is handed in, with a sentence that shows no password?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dlq_console.errors import ConfigurationError
from dlq_console.resilience import (
    Bulkhead,
    CircuitBreaker,
    IdempotentCalls,
    QueueGuard,
    RecoveryConsumer,
    WorkRegister,
)
from dlq_console.resilience.redis_state import RedisState
from dlq_console.resilience.state import MemoryState
from dlq_console.store.shared_state import SqlState

SECRET = "hunter2"


@pytest.mark.parametrize(
    "address",
    [
        "http://x",
        "x",
        "",
        None,
        7,
        f"redis://:{SECRET}@host:port/0",
        f"redis://user:{SECRET}/more@host",
        f"redis://:{SECRET}@host?socket_timeout=soon",
    ],
)
def test_an_address_that_is_none_of_a_redis_is_refused_at_construction(address: Any) -> None:
    with pytest.raises(ConfigurationError, match="write redis://host:port/db") as caught:
        RedisState(address)
    assert SECRET not in _everything(caught.value)


@pytest.mark.parametrize(
    "address",
    [
        "http://x",
        "x",
        "",
        None,
        7,
        "sqlite://",
        "sqlite:///:memory:",
        f"mysql://user:{SECRET}@host/db",
        f"postgresql://user:{SECRET}@host:port/db",
    ],
)
def test_an_address_that_is_none_of_a_database_is_refused_at_construction(address: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"write sqlite:///path/to/file\.db") as caught:
        SqlState(address)
    assert SECRET not in _everything(caught.value)


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf"), "1", None])
@pytest.mark.parametrize(
    "make",
    [
        lambda timeout: RedisState("redis://h", timeout=timeout),
        lambda timeout: SqlState("sqlite:///x.db", timeout=timeout),
    ],
)
def test_a_time_limit_that_is_no_time_is_refused(make: Callable[[Any], object], timeout: Any) -> None:
    with pytest.raises(ConfigurationError, match="timeout must be a number above 0"):
        make(timeout)


USERS: dict[str, Callable[[Any], object]] = {
    "breaker": lambda state: CircuitBreaker("erp", state=state),
    "bulkhead": lambda state: Bulkhead("erp", state=state),
    "idempotent calls": lambda state: IdempotentCalls("book", state),
    "register": lambda state: WorkRegister(state, "threads"),
    "queue": lambda state: QueueGuard(state, "recovery", on_full=print),
    "consumer": lambda state: RecoveryConsumer(state, "recovery", print),
}


@pytest.mark.parametrize("state", [f"redis://:{SECRET}@host/0", MemoryState, 7])
@pytest.mark.parametrize("user", USERS)
def test_what_is_no_state_is_refused_at_construction(user: str, state: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"such as RedisState\(url\)") as caught:
        USERS[user](state)
    assert SECRET not in _everything(caught.value)


def _everything(error: BaseException) -> str:
    """What a log would show of an error and of those before it."""
    shown: list[str] = []
    each: BaseException | None = error
    while each is not None:
        shown.append(str(each))
        each = each.__cause__ or (None if each.__suppress_context__ else each.__context__)
    return "\n".join(shown)
