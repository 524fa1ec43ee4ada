"""Policy: waits double up to a limit and are shuffled; a wrong rule is refused where it is written."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlq_console import ConfigurationError, Policy, TransientError
from dlq_console.hub.policy import DEFAULT_POLICY, LONGEST

#: The wait after each attempt by the default policy, in seconds.
WAITS = [30, 60, 120, 240, 480, 960, 1920, 3600, 3600, 3600]


def test_the_wait_doubles_up_to_the_longest() -> None:
    policy = Policy(jitter=0)
    assert [policy.delay_after(attempt) for attempt in range(1, 11)] == WAITS


@settings(deadline=None)
@given(st.integers(1, 10))
def test_a_wait_is_shuffled_by_a_fifth_either_way(attempt: int) -> None:
    wait = WAITS[attempt - 1]
    shuffled = {DEFAULT_POLICY.delay_after(attempt) for _ in range(50)}
    assert all(wait * 0.8 <= one <= wait * 1.2 for one in shuffled)
    assert len(shuffled) > 1
    assert min(shuffled) < wait < max(shuffled)


@settings(deadline=None)
@given(st.integers(1, 10))
def test_a_fully_shuffled_wait_is_anything_up_to_the_whole(attempt: int) -> None:
    shuffled = [Policy(jitter="full").delay_after(attempt) for _ in range(200)]
    assert all(0 <= one <= WAITS[attempt - 1] for one in shuffled)
    assert min(shuffled) < WAITS[attempt - 1] / 3
    assert max(shuffled) > WAITS[attempt - 1] / 1.5


@settings(deadline=None)
@given(
    st.integers(1, 10_000),
    st.floats(0.001, LONGEST),
    st.floats(0.001, LONGEST),
    st.floats(0, 1) | st.just("full"),
)
def test_no_number_of_attempts_makes_a_wait_that_cannot_be_stored(
    attempt: int, base: float, longest: float, jitter: Any
) -> None:
    policy = Policy(base_delay=base, max_delay=longest, jitter=jitter)
    assert 0 <= policy.delay_after(attempt) <= 2 * longest


def test_the_defaults_are_those_of_the_contract() -> None:
    values = DEFAULT_POLICY.published()
    assert values == {
        "max_attempts": 6,
        "base_delay": 30,
        "max_delay": 3600,
        "jitter": 0.2,
        "timeout": 60,
        "order": "none",
        "on_dead": None,
        "provider": None,
        "retry_on": ["ConnectionError", "TimeoutError"],
        "on_unknown": None,
        "unique_at_provider": False,
        "writes": True,
        "replay_policy": "always",
        "max_age": None,
        "max_wait": 604_800,
        "max_running": None,
        "breaker": False,
        "bulkhead": False,
        "schema": None,
        "columns": {},
        "open_url": None,
    }
    assert json.loads(json.dumps(values)) == values


WRONG: dict[str, list[Any]] = {
    "max_attempts": [0, -1, 2.5, "6", True, None, 10_001, 10**400],
    "base_delay": [0, -1, float("nan"), float("inf"), "30", None, True, LONGEST + 1, 1e300],
    "max_delay": [0, float("inf"), None],
    "timeout": [0, -5, float("nan"), "60", 10**400],
    "max_wait": [0, float("inf"), 1e18],
    "max_age": [0, -1, float("nan"), "1"],
    "order": ["lane", None, True],
    "on_dead": ["stop", True],
    "jitter": [-0.1, 1.1, float("nan"), "half", None, True],
    "on_unknown": ["maybe", True, ""],
    "replay_policy": ["latest", None, True, "", ["ask"]],
    "provider": ["", "  ", "erp\x00", 5.5, "x" * 121],
    "retry_on": [ValueError, [ValueError], ("ValueError",), (ValueError(),), None],
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in WRONG.items() for value in values]
)
def test_a_wrong_rule_is_refused_by_name_with_what_to_write(name: str, value: Any) -> None:
    with pytest.raises(ConfigurationError, match=rf"^Policy\.{name}( is wrong: write |: )"):
        Policy(**{name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_attempts", 1),
        ("base_delay", 0.001),
        ("timeout", LONGEST),
        ("jitter", 0),
        ("jitter", 1),
        ("jitter", "full"),
        ("max_age", 0.5),
        ("replay_policy", "latest_wins_pending"),
        ("retry_on", ()),
        ("retry_on", (ValueError, TransientError, KeyboardInterrupt)),
    ],
)
def test_a_right_rule_is_kept(name: str, value: Any) -> None:
    assert getattr(Policy(**{name: value}), name) == value


def test_a_provider_is_written_as_accounts_are() -> None:
    assert Policy(provider=" cafe\u0301 ").provider == "caf\xe9"


def test_a_decimal_is_no_number_of_seconds() -> None:
    with pytest.raises(ConfigurationError):
        Policy(timeout=Decimal(5))  # type: ignore[arg-type] # what is refused
