"""How much time is left for the whole request?"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlq_console.errors import ConfigurationError
from dlq_console.resilience import budget
from dlq_console.resilience.budget import (
    child_limit,
    header_value,
    init_budget,
    read_header,
    remaining_budget,
)
from dlq_console.resilience.errors import BudgetExceededError


@pytest.fixture(autouse=True)
def _own_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "limits", budget.Limits())


def test_where_no_budget_was_set_there_is_the_default_and_never_nothing() -> None:
    assert remaining_budget() == 30.0
    budget.limits.set(default=12)
    assert remaining_budget() == 12.0
    assert budget.is_set() is False


def test_a_budget_runs_down_and_ends_with_its_block() -> None:
    with init_budget(5):
        first = remaining_budget()
        assert 4 < first <= 5
        threading.Event().wait(0.02)
        assert remaining_budget() < first
    assert budget.is_set() is False


def test_a_budget_may_be_set_for_the_rest_of_a_context() -> None:
    def request() -> float:
        init_budget(5)
        return remaining_budget()

    assert contextvars.copy_context().run(request) <= 5
    assert budget.is_set() is False


def test_budgets_that_end_in_another_order_leave_nothing_behind() -> None:
    outer = init_budget(5)
    middle = init_budget(4)
    inner = init_budget(3)
    outer.end()
    assert remaining_budget() <= 3
    inner.end()
    assert 3 < remaining_budget() <= 4
    outer.end()
    middle.end()
    assert (budget.is_set(), remaining_budget()) == (False, 30.0)


def test_a_budget_that_has_ended_where_it_began_still_holds_for_work_that_goes_on() -> None:
    with init_budget(5):
        elsewhere = contextvars.copy_context()
    assert elsewhere.run(remaining_budget) <= 5


def test_an_inner_budget_can_only_shorten() -> None:
    with init_budget(5):
        with init_budget(100):
            assert remaining_budget() <= 5
        with init_budget(1):
            assert remaining_budget() <= 1
        assert remaining_budget() > 4


def test_a_budget_that_is_used_up_is_zero_and_never_less() -> None:
    with init_budget(0):
        assert remaining_budget() == 0.0
        assert budget.is_set()


def test_nobody_gets_more_than_the_largest_budget() -> None:
    with init_budget(10_000):
        assert remaining_budget() <= 300
    budget.limits.set(maximum=20)
    assert read_header("99") == 20


@pytest.mark.parametrize("seconds", [float("nan"), float("inf"), 10**400, -1, "5", None, True])
def test_a_budget_that_is_no_number_is_refused(seconds: Any) -> None:
    with pytest.raises(ConfigurationError, match="a budget in seconds must be a number"):
        init_budget(seconds)


@pytest.mark.parametrize("values", [{"default": 0}, {"maximum": float("nan")}])
def test_limits_are_positive_numbers(values: dict[str, float]) -> None:
    with pytest.raises(ConfigurationError, match="must be a number above 0"):
        budget.limits.set(**values)


def test_a_child_gets_what_is_left_less_the_reserve_or_its_own_limit() -> None:
    with init_budget(10):
        assert 8 < child_limit() <= 9
        assert child_limit(3) == 3
        assert 8 < child_limit(60) <= 9
        assert 9 < child_limit(60, reserve=0.5) <= 9.5
    assert child_limit(60) == 29


def test_no_call_begins_with_less_than_the_reserve_left() -> None:
    with init_budget(0.99), pytest.raises(BudgetExceededError) as caught:
        child_limit(5, name="erp")
    assert str(caught.value).startswith('"erp" is not called: ')
    assert caught.value.name == "erp"


def test_a_new_thread_has_no_budget_and_a_new_task_has_its_parents() -> None:
    seen: list[bool] = []
    with init_budget(5):
        thread = threading.Thread(target=lambda: seen.append(budget.is_set()))
        thread.start()
        thread.join()

    async def parent() -> bool:
        with init_budget(5):
            return await asyncio.create_task(child())

    async def child() -> bool:
        return budget.is_set()

    assert asyncio.run(parent())
    assert seen == [False]


# The header


@pytest.mark.parametrize(
    ("value", "seconds"), [("12.5", 12.5), ("0", 0.0), ("7", 7.0), ("99999999", 300.0), ("0.05", 0.05)]
)
def test_a_short_decimal_number_is_a_budget(value: str, seconds: float) -> None:
    before = budget.ignored.count
    assert read_header(value) == seconds
    assert read_header([value]) == seconds
    assert budget.ignored.count == before


@pytest.mark.parametrize(
    "value",
    [
        "", " ", "5 ", " 5", "nan", "NaN", "inf", "Infinity", "1e309", "1e3", "-1", "+5", "123456789", "1_000", "5,5",
        "\u0665", "5\u0660", "0x10", "5.", ".5", "5.5.5", "five", "5;6", "5, 6", "\n5", "5\n", "5\x00", "12.345678901",
    ],
)  # fmt: skip
def test_anything_else_is_ignored_and_counted(value: str) -> None:
    before = budget.ignored.count
    assert read_header(value) == 10.0
    assert budget.ignored.count == before + 1


def test_two_headers_are_ignored_and_counted() -> None:
    before = budget.ignored.count
    assert read_header(["5", "6"]) == 10.0
    assert read_header(["5", "5"]) == 10.0
    assert budget.ignored.count == before + 2


@pytest.mark.parametrize("absent", [None, [], ()])
def test_a_request_without_the_header_has_ten_seconds_and_is_not_counted(absent: Any) -> None:
    before = budget.ignored.count
    assert read_header(absent) == 10.0
    assert budget.ignored.count == before


@given(st.floats(0, 1e12))
def test_what_is_sent_is_understood_and_never_more_than_there_is(seconds: float) -> None:
    value = header_value(seconds)
    assert len(value) <= 8
    before = budget.ignored.count
    assert read_header(value) <= seconds
    assert budget.ignored.count == before


@given(st.text(max_size=12))
def test_no_header_whatever_is_an_error_or_gives_more_than_allowed(value: str) -> None:
    assert 0 <= read_header(value) <= 300
