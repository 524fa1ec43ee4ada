"""What does every shared state promise? One suite over memory, SQLite, PostgreSQL and Redis."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import pytest

from dlq_console.clock import monotonic
from dlq_console.resilience.state import (
    Change,
    Kind,
    MemoryState,
    OptimisticState,
    SharedState,
    optimistic,
    unchanged,
)
from tests.resilience.states import STATES, open_state


@dataclass(frozen=True, slots=True)
class Count:
    """A record for these tests: how often it was raised, and by how much."""

    value: int
    note: str = ""


def decode(text: str) -> Count | None:
    try:
        value, note = json.loads(text)
    except ValueError:
        return None
    return Count(value, note)


COUNTS = Kind("count", lambda record: json.dumps([record.value, record.note]), decode)
OTHERS = Kind("other", COUNTS.encode, COUNTS.decode)
HIDDEN = Kind("hidden", COUNTS.encode, COUNTS.decode, listed=False, remembered=False)

STRANGE_NAMES = ("a:b", "{a}", "{a}:b", "a b", "ação/é 💥", "%s", "*", "a\nb", "'; --", "=", "x" * 200)


@pytest.fixture(params=STATES)
def state(request: pytest.FixtureRequest) -> Iterator[SharedState]:
    """A state of each kind, empty."""
    yield from open_state(request, request.param)


@pytest.fixture
def another(state: SharedState, request: pytest.FixtureRequest) -> Iterator[SharedState]:
    """The same state as a second process would see it."""
    if isinstance(state, MemoryState):
        yield state
    else:
        yield from open_state(request, request.node.callspec.params["state"])


def raised(by: int = 1, keep_for: float = 60.0) -> Callable[[Count | None, float], Change[Count, int]]:
    """A change that adds to the count and answers the sum."""

    def change(record: Count | None, _now: float) -> Change[Count, int]:
        total = (record.value if record else 0) + by
        return Change(total, Count(total), keep_for)

    return change


def test_an_unknown_name_has_no_record(state: SharedState) -> None:
    assert state.read(COUNTS, "nobody").record is None


def test_a_change_is_kept_and_its_answer_returned(state: SharedState, another: SharedState) -> None:
    assert state.change(COUNTS, "a", raised()) == 1
    assert another.change(COUNTS, "a", raised()) == 2
    assert state.change(COUNTS, "a", raised()) == 3
    assert another.read(COUNTS, "a").record == Count(3)


def test_a_change_that_writes_nothing_is_told_what_stands_now(
    state: SharedState, another: SharedState
) -> None:
    state.change(COUNTS, "a", raised())
    another.change(COUNTS, "a", raised())
    assert state.change(COUNTS, "a", lambda record, _: unchanged(record)) == Count(2)


def test_a_record_can_be_removed(state: SharedState, another: SharedState) -> None:
    state.change(COUNTS, "a", raised())
    assert another.change(COUNTS, "a", lambda record, _: Change(record, None)) == Count(1)
    assert state.read(COUNTS, "a").record is None
    assert state.change(COUNTS, "a", raised()) == 1


def test_an_error_in_a_change_changes_nothing(state: SharedState) -> None:
    state.change(COUNTS, "a", raised())

    def fail(_record: Count | None, _now: float) -> Change[Count, None]:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        state.change(COUNTS, "a", fail)
    assert state.change(COUNTS, "a", raised()) == 2


def test_any_text_may_be_a_name_and_no_two_share_a_record(state: SharedState) -> None:
    for number, name in enumerate(STRANGE_NAMES):
        assert state.read(COUNTS, name).record is None, name
        state.change(COUNTS, name, raised(number + 1))
    expected = {name: Count(number + 1) for number, name in enumerate(STRANGE_NAMES)}
    assert {name: state.read(COUNTS, name).record for name in STRANGE_NAMES} == expected
    assert state.read_all(COUNTS)[0] == expected
    assert state.read_all(COUNTS, STRANGE_NAMES)[0] == expected
    assert state.read_all(OTHERS)[0] == {}


def test_all_records_of_a_kind_are_listed(state: SharedState) -> None:
    for number in range(5):
        state.change(COUNTS, f"n{number}", raised(number + 1))
    state.change(OTHERS, "other", raised())
    records, now = state.read_all(COUNTS)
    assert records == {f"n{number}": Count(number + 1) for number in range(5)}
    assert abs(now - state.now()) < 5
    some, _ = state.read_all(COUNTS, ["n1", "n3", "missing"])
    assert some == {"n1": Count(2), "n3": Count(4)}
    assert state.read_all(COUNTS, [])[0] == {}


def test_a_kind_that_is_not_listed_is_found_by_name_only(state: SharedState) -> None:
    state.change(HIDDEN, "a", raised())
    assert state.change(HIDDEN, "a", raised()) == 2
    assert state.read_all(HIDDEN, ["a"])[0] == {"a": Count(2)}


def test_a_record_is_forgotten_when_its_time_is_over(state: SharedState) -> None:
    state.change(COUNTS, "short", raised(7, keep_for=0.05))
    state.change(COUNTS, "long", raised(8))
    done = threading.Event()
    for _ in range(200):
        if state.read(COUNTS, "short").record is None:
            break
        done.wait(0.02)
    assert state.read(COUNTS, "short").record is None
    assert state.read_all(COUNTS)[0] == {"long": Count(8)}
    assert state.change(COUNTS, "short", raised(keep_for=60)) == 1
    assert state.read(COUNTS, "short").record == Count(1)


def test_a_change_that_was_held_up_for_long_is_not_given_up_after_one_lost_race(
    state: SharedState, another: SharedState, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(optimistic, "PATIENCE", 0.0)
    state.change(COUNTS, "a", raised())
    another.change(COUNTS, "a", raised())
    assert state.change(COUNTS, "a", raised()) == 3


def test_text_of_every_script_comes_back_as_it_was(state: SharedState) -> None:
    note = 'ção – "quoted" \\ 日本 💥 \u0000'
    state.change(COUNTS, "a", lambda _, __: Change(None, Count(1, note)))
    assert state.read(COUNTS, "a").record == Count(1, note)


def test_many_threads_lose_no_change(state: SharedState, another: SharedState) -> None:
    def work(which: SharedState) -> None:
        for _ in range(20):
            which.change(COUNTS, "shared", raised())

    threads = [threading.Thread(target=work, args=(which,)) for which in (state, another) * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert state.read(COUNTS, "shared").record == Count(120)


def test_the_time_is_told_in_seconds_since_1970_and_goes_on(state: SharedState) -> None:
    told: list[float] = []

    def note(_record: Count | None, now: float) -> Change[Count, None]:
        told.append(now)
        return Change(None, Count(len(told)))

    for _ in range(3):
        state.change(COUNTS, "time", note)
    told.append(state.read(COUNTS, "time").now)
    told.append(state.now())
    assert 1_700_000_000 < told[0] < 10_000_000_000
    # The database tells milliseconds on SQLite.
    assert all(later >= earlier - 0.05 for earlier, later in pairwise(told))


@pytest.mark.parametrize("off", [3600.0, -3600.0])
def test_nothing_is_kept_that_was_computed_with_a_wrong_time(state: SharedState, off: float) -> None:
    """As after a pause of the machine, or when the clock of the store was set."""
    state.change(COUNTS, "time", raised())
    true_now = state.read(COUNTS, "time").now
    if isinstance(state, OptimisticState):
        state._ahead = true_now + off - monotonic()
    told: list[float] = []

    def note(_record: Count | None, now: float) -> Change[Count, None]:
        told.append(now)
        return Change(None, Count(7))

    state.change(COUNTS, "time", note)
    assert abs(told[-1] - true_now) < 60
    assert abs(state.now() - true_now) < 60


def test_a_closed_state_opens_again_by_itself(state: SharedState) -> None:
    state.change(COUNTS, "a", raised())
    state.close()
    assert state.change(COUNTS, "a", raised()) == 2


def test_records_are_values_that_nobody_can_change_in_place(state: SharedState) -> None:
    state.change(COUNTS, "a", raised())
    seen = state.read(COUNTS, "a").record
    assert seen is not None
    replace(seen, value=99)
    assert state.read(COUNTS, "a").record == Count(1)
