"""Pace and error budget: no minute sees more than the rate and a burst, and nothing is risked that would block."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlq_console.resilience import pacing
from dlq_console.resilience.pacing import BLANK, ErrorBudget, Limits, Pace

START = 1_700_000_000.0
OMIE = Limits(per_minute=240, at_once=4, budget=ErrorBudget(failures=9, seconds=1800, keep=2))


def _greedy(limits: Limits, waits: list[float]) -> list[float]:
    """When starts happen if somebody takes all that is allowed at each look."""
    pace, now, starts = BLANK, START, []
    for wait in waits:
        now += wait
        left = pacing.starts_left(pace, limits, now)
        assert left is not None
        pace = pacing.started(pace, limits, now, left)
        starts += [now] * left
    return starts


@given(
    st.floats(1, 6_000),
    st.none() | st.integers(1, 50),
    st.lists(st.floats(0, 5, allow_subnormal=False), max_size=200),
)
def test_no_minute_sees_more_than_the_rate_and_a_burst(
    per_minute: float, at_once: int | None, waits: list[float]
) -> None:
    limits = Limits(per_minute=per_minute, at_once=at_once)
    starts = _greedy(limits, waits)
    allowed = per_minute * pacing.HEADROOM + limits.burst
    for place, begin in enumerate(starts):
        assert sum(at < begin + 60 for at in starts[place:]) <= allowed + 1e-6


def test_a_greedy_caller_never_meets_the_limit_of_omie() -> None:
    starts = _greedy(OMIE, [0.05] * 6_000)
    most = max(sum(begin <= at < begin + 60 for at in starts) for begin in starts[::50])
    assert 220 <= most <= 240


def test_the_door_opens_exactly_when_the_next_one_may_start() -> None:
    pace, left = BLANK, pacing.starts_left(BLANK, OMIE, START)
    assert left == OMIE.burst == 4
    pace = pacing.started(pace, OMIE, START, left)
    assert pacing.starts_left(pace, OMIE, START) == 0
    opens = pacing.opens_at(pace, OMIE, START)
    assert pacing.starts_left(pace, OMIE, opens - 0.01) == 0
    assert pacing.starts_left(pace, OMIE, opens + 0.0001) == 1


def test_a_rate_below_one_a_second_starts_one_at_a_time() -> None:
    slow = Limits(per_minute=6)
    pace = pacing.started(BLANK, slow, START)
    assert pacing.starts_left(pace, slow, START + 9) == 0
    assert pacing.starts_left(pace, slow, START + 11) == 1


def test_without_a_rate_nothing_is_counted() -> None:
    free = Limits(at_once=4)
    assert pacing.starts_left(BLANK, free, START) is None
    assert pacing.started(BLANK, free, START, 100) == BLANK
    assert pacing.opens_at(BLANK, free, START) == START


@pytest.mark.parametrize("back", [10.0, 3_600.0, 86_400.0 * 365])
def test_a_clock_that_is_set_back_holds_nobody_up_for_longer_than_a_minute(back: float) -> None:
    pace = pacing.started(BLANK, OMIE, START, 4)
    now = START - back
    assert pacing.opens_at(pace, OMIE, now) - now <= 61
    failed = pacing.failed(Pace(failures=(START,)), OMIE, now)
    assert pacing.failures_left(failed, OMIE, now, fresh=True) == 8, "what lies ahead is not counted"


def test_the_budget_counts_the_failing_answers_of_its_window() -> None:
    pace = BLANK
    for number in range(9):
        assert pacing.failures_left(pace, OMIE, START + number, fresh=True) == 9 - number
        assert pacing.exhausted_until(pace, OMIE, START + number) is None
        pace = pacing.failed(pace, OMIE, START + number)
    now = START + 10
    assert pacing.failures_left(pace, OMIE, now, fresh=True) == 0
    assert pacing.exhausted_until(pace, OMIE, now) == START + 1800
    assert pacing.failures_left(pace, OMIE, START + 1800.5, fresh=True) == 1


def test_what_is_kept_is_for_fresh_work_only() -> None:
    pace = BLANK
    for number in range(7):
        pace = pacing.failed(pace, OMIE, START + number)
    assert pacing.failures_left(pace, OMIE, START + 8, fresh=False) == 0
    assert pacing.failures_left(pace, OMIE, START + 8, fresh=True) == 2


@given(st.floats(0, 2e9), st.lists(st.floats(0, 2e9), max_size=9))
def test_a_record_survives_being_written_down(ahead: float, failures: list[float]) -> None:
    pace = Pace(ahead, tuple(failures))
    assert pacing.decode(pacing.encode(pace)) == pace


@pytest.mark.parametrize("text", [None, "", "[]", "{", '{"ahead":"x"}', '{"failures":[null]}', '"text"', "7"])
def test_a_damaged_record_counts_as_a_blank_one(text: str | None) -> None:
    assert pacing.decode(text) == BLANK


def test_a_retry_may_go_on_when_enough_failing_answers_no_longer_count() -> None:
    pace = Pace(failures=tuple(START + number for number in range(8)))
    now = START + 10
    assert pacing.failures_left(pace, OMIE, now, fresh=False) == 0
    opens = pacing.exhausted_until(pace, OMIE, now, fresh=False)
    assert opens == START + 1 + 1800
    assert pacing.exhausted_until(pace, OMIE, now) is None
    assert pacing.failures_left(pace, OMIE, opens - 0.5, fresh=False) == 0
    assert pacing.exhausted_until(pace, OMIE, opens, fresh=False) is None


def test_where_all_is_kept_for_fresh_work_a_retry_never_goes_on() -> None:
    kept = Limits(budget=ErrorBudget(failures=2, seconds=60, keep=2))
    assert pacing.exhausted_until(BLANK, kept, START, fresh=False) == math.inf
