"""What happens to calls when many want to change the same record at the same moment? It is never taken for an outage."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from itertools import chain
from typing import Any, ClassVar

import pytest

from dlq_console.errors import StoreUnavailable
from dlq_console.resilience.breaker import BREAKERS, BreakerRecord, CircuitBreaker, CircuitBreakerConfig
from dlq_console.resilience.bulkhead import Bulkhead, BulkheadConfig
from dlq_console.resilience.errors import BulkheadFullError, CircuitOpenError
from dlq_console.resilience.idempotency import IdempotentCalls
from dlq_console.resilience.link import link_to
from dlq_console.resilience.state import (
    AS_IT_IS,
    Answer,
    Change,
    Changing,
    Contended,
    Kind,
    MemoryState,
    Record,
    unchanged,
)
from dlq_console.resilience.state.together import Turns, Wish, compute_all
from dlq_console.store.shared_state import SqlState
from tests.resilience.conftest import OpenState
from tests.resilience.crowd import in_threads, run_crowd
from tests.resilience.test_breaker import failing, state_of
from tests.services.process import StartChild, wait_until

ONE = BulkheadConfig(max_concurrent=1, acquire_timeout=0)
PROBED = CircuitBreakerConfig(failure_threshold=1, success_threshold=1, recovery_timeout=0)


class BusyState(MemoryState):
    """A state that counts as shared, in which others are faster for as long as the test says."""

    local: ClassVar[bool] = False
    refresh_every: ClassVar[float] = 0.01

    def __init__(self) -> None:
        super().__init__()
        self.busy = False

    def change(self, kind: Kind[Record], name: str, change: Changing[Record, Answer]) -> Answer:
        """Change one record, if nobody is in the way."""
        if self.busy:
            raise Contended
        return super().change(kind, name, change)


@pytest.fixture
def busy() -> Iterator[BusyState]:
    state = BusyState()
    yield state
    state.close()


def counted(record: BreakerRecord | None, _now: float) -> Change[BreakerRecord, int]:
    """One more."""
    generation = 1 if record is None else record.generation + 1
    return Change(generation, BreakerRecord(generation=generation))


def test_who_loses_every_race_for_a_record_is_told_so_and_the_state_is_not_taken_for_away(
    open_shared: OpenState, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dlq_console.resilience.state.optimistic.PATIENCE", 0.2)
    state, others = open_shared(), open_shared()

    def too_late(_record: BreakerRecord | None, _now: float) -> Change[BreakerRecord, None]:
        others.change(BREAKERS, "erp", counted)
        return Change(None, BreakerRecord(failures=7))

    with pytest.raises(Contended):
        link_to(state).change(BREAKERS, "erp", too_late)
    assert link_to(state).away is None
    assert link_to(state).epoch == 0
    assert link_to(state).change(BREAKERS, "erp", counted) >= 2


def test_who_has_waited_after_lost_races_looks_again_before_it_writes(
    open_shared: OpenState, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a lost race tells is old after a pause; who relies on it loses to everybody who did not pause."""
    state, others = open_shared(), open_shared()
    lost = iter(range(3))
    monkeypatch.setattr(
        "dlq_console.resilience.state.optimistic._pause", lambda _: others.change(BREAKERS, "erp", counted)
    )

    def too_late_at_first(record: BreakerRecord | None, now: float) -> Change[BreakerRecord, int]:
        if next(lost, None) is not None:
            others.change(BREAKERS, "erp", counted)
        return counted(record, now)

    assert state.change(BREAKERS, "erp", too_late_at_first) == 5


def test_many_threads_of_several_processes_share_a_bulkhead_and_none_takes_its_state_for_away(
    open_redis: OpenState, start_child: StartChild
) -> None:
    open_redis()
    seen = run_crowd(start_child, "crowded", open_redis.address, processes=4, threads=16, rounds=3)
    assert [calls for calls, _ in seen] == [48] * 4
    assert [losses for _, losses in seen] == [0] * 4


def test_a_call_that_cannot_ask_for_its_slot_is_refused_and_the_slots_are_never_exceeded(
    busy: BusyState,
) -> None:
    bulkhead = Bulkhead("erp", ONE, state=busy)
    busy.busy = True
    with pytest.raises(BulkheadFullError, match="too many ask for its slots"):
        bulkhead.acquire()
    assert bulkhead.stats()["degraded"] is False
    assert bulkhead.stats()["rejected"] == 1
    busy.busy = False
    bulkhead.acquire()


def test_a_call_that_may_wait_for_its_slot_asks_again(busy: BusyState) -> None:
    bulkhead = Bulkhead("erp", BulkheadConfig(max_concurrent=1, acquire_timeout=60), state=busy)
    busy.busy = True
    thread = threading.Timer(0.05, lambda: setattr(busy, "busy", False))
    thread.start()
    assert bulkhead.run(lambda: 7) == 7
    thread.join()


def test_a_slot_that_cannot_be_given_back_at_once_is_given_back_in_the_background(busy: BusyState) -> None:
    bulkhead = Bulkhead("erp", ONE, state=busy)
    held = bulkhead.acquire()
    busy.busy = True
    held.release()
    busy.busy = False
    wait_until(lambda: bulkhead.stats()["in_use"] == 0, 20, "the slot to be free")
    assert bulkhead.stats()["overran"] == 0


def test_who_cannot_ask_for_a_probe_is_refused(busy: BusyState) -> None:
    breaker = CircuitBreaker("erp", PROBED, state=busy)
    failing(breaker, 1)
    wait_until(lambda: state_of(breaker) == "half_open", 20, "the open time to be over")
    busy.busy = True
    with pytest.raises(CircuitOpenError, match="being probed by others"):
        breaker.admit()
    assert breaker.stats()["degraded"] is False
    busy.busy = False
    assert breaker.admit().probe


def test_a_failure_that_cannot_be_told_at_once_counts_a_little_later(busy: BusyState) -> None:
    told: list[Any] = []
    breaker = CircuitBreaker("erp", PROBED, state=busy, on_transition=lambda _, moved: told.append(moved))
    admission = breaker.admit()
    busy.busy = True
    admission.failed(TimeoutError())
    assert told == []
    busy.busy = False
    wait_until(lambda: told, 20, "the circuit to open")
    assert [moved.after for moved in told] == ["open"]


# Threads of one process


def added(by: int) -> Changing[int, int]:
    return lambda record, _now: Change((record or 0) + by, (record or 0) + by, float(by))


def failed(_record: int | None, _now: float) -> Change[int, int]:
    raise ZeroDivisionError


def test_changes_of_several_threads_are_computed_one_after_the_other_and_written_once() -> None:
    wishes: list[Wish[int, Any]] = [
        Wish(("count", "a"), change)
        for change in (added(1), failed, added(2), lambda seen, _: unchanged(seen))
    ]
    kept = compute_all(wishes, None, 0.0)
    assert (kept.record, kept.keep_for) == (3, 2.0)
    assert [wish.answer for wish in wishes] == [1, None, 3, 3]
    assert [type(wish.error) for wish in wishes] == [type(None), ZeroDivisionError, type(None), type(None)]


def test_where_nobody_changes_anything_nothing_is_written() -> None:
    wishes: list[Wish[int, Any]] = [
        Wish(("count", "a"), failed),
        Wish(("count", "a"), lambda *_: unchanged(7)),
    ]
    assert compute_all(wishes, 5, 0.0).record is AS_IT_IS
    assert wishes[1].answer == 7


def wish(name: str) -> Wish[int, int]:
    return Wish(("count", name), added(1))


def test_one_thread_goes_for_all_who_want_the_same_record() -> None:
    turns, inside, go_on = Turns(), threading.Event(), threading.Event()
    gone: list[list[str]] = []

    def fulfil(wishes: list[Wish[Any, Any]]) -> None:
        inside.set()
        assert go_on.wait(20)
        gone.append([each.key[1] for each in wishes])
        for each in wishes:
            each.is_over = True

    first = threading.Thread(target=turns.go, args=(wish("first"), 20, fulfil))
    first.start()
    assert inside.wait(20)
    others = [threading.Thread(target=turns.go, args=(wish(name), 20, fulfil)) for name in "aabab"]
    for thread in others:
        thread.start()
    wait_until(lambda: len(turns._waiting) == 5, 20, "all to be in line")
    go_on.set()
    for thread in (first, *others):
        thread.join(20)
    assert gone[0] == ["first"]
    assert sorted(gone[1:]) == [["a"] * 3, ["b"] * 2]


def test_who_waits_too_long_for_his_turn_goes_away_and_nobody_does_it_for_him_later() -> None:
    turns, inside, go_on = Turns(), threading.Event(), threading.Event()

    def fulfil(wishes: list[Wish[Any, Any]]) -> None:
        inside.set()
        assert go_on.wait(20)
        for each in wishes:
            each.is_over = True

    first = threading.Thread(target=turns.go, args=(wish("a"), 20, fulfil))
    first.start()
    assert inside.wait(20)
    late = wish("a")
    assert turns.go(late, 0.01, fulfil) is False
    go_on.set()
    first.join(20)
    assert turns.go(wish("a"), 20, fulfil) is True
    assert not late.is_over


def test_an_error_of_one_thread_harms_none_of_those_it_went_with(open_shared: OpenState) -> None:
    state = open_shared()
    counts = Kind("count", str, int)
    answers = in_threads(8, lambda: [_kept_or_not(state.change, counts, number) for number in range(6)])
    assert sorted(chain.from_iterable(answers)) == [-1] * 24 + list(range(1, 25))
    assert state.read(counts, "a").record == 24


def _kept_or_not(change: Any, counts: Kind[int], number: int) -> int:
    try:
        kept: int = change(counts, "a", failed if number % 2 else added(1))
    except ZeroDivisionError:
        return -1
    return kept


# Somebody else keeps the SQLite file busy


@pytest.fixture
def sqlite(sqlite_url: str) -> Iterator[SqlState]:
    state = SqlState(sqlite_url, timeout=0.1)
    state.create_table()
    yield state
    state.close()


@contextmanager
def another_writer(state: SqlState) -> Iterator[None]:
    """Somebody else writes to the file for as long as the block lasts."""
    with closing(sqlite3.connect(state.place, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("COMMIT")


@contextmanager
def many_writers(state: SqlState) -> Iterator[None]:
    """The file is being written to all the time, and each writing is kept after some milliseconds."""
    end, kept = threading.Event(), threading.Event()

    def write() -> None:
        with closing(sqlite3.connect(state.place, isolation_level=None)) as connection:
            connection.execute("CREATE TABLE log (line)")
            while not end.is_set():
                connection.execute("BEGIN IMMEDIATE")
                connection.execute("INSERT INTO log VALUES (1)")
                end.wait(0.02)
                connection.execute("COMMIT")
                kept.set()

    thread = threading.Thread(target=write)
    thread.start()
    try:
        assert kept.wait(20)
        yield
    finally:
        end.set()
        thread.join(20)


def test_a_file_that_somebody_keeps_from_being_written_is_away_and_calls_go_on_with_local_limits(
    sqlite: SqlState,
) -> None:
    bulkhead = Bulkhead("erp", ONE, state=sqlite)
    breaker = CircuitBreaker("erp", CircuitBreakerConfig(failure_threshold=2), state=sqlite)
    with another_writer(sqlite):
        assert bulkhead.run(int) == 0
        assert bulkhead.stats()["degraded"]
        held = bulkhead.acquire()
        with pytest.raises(BulkheadFullError, match="all its 1 slots are taken"):
            bulkhead.run(int)
        failing(breaker, 2)
        assert state_of(breaker) == "open"
        held.release()
    wait_until(lambda: not bulkhead.stats()["degraded"], 20, "the file to be found again")
    assert bulkhead.run(int) == 0


def test_a_file_that_many_write_to_is_not_away(sqlite: SqlState) -> None:
    """Who was not let in is refused, or told later; the slots are never exceeded."""
    bulkhead = Bulkhead("erp", BulkheadConfig(max_concurrent=1, acquire_timeout=60), state=sqlite)
    breaker = CircuitBreaker("erp", CircuitBreakerConfig(failure_threshold=2), state=sqlite)
    with many_writers(sqlite):
        for _ in range(5):
            failing(breaker, 1)
            with suppress(StoreUnavailable):
                sqlite.change(BREAKERS, "other", counted)
        assert link_to(sqlite).epoch == 0
    assert bulkhead.run(int) == 0
    wait_until(lambda: state_of(breaker) == "open", 20, "the failures to be told")
    assert link_to(sqlite).epoch == 0


def test_a_call_that_must_be_made_once_waits_for_its_turn_to_write(sqlite: SqlState) -> None:
    calls = IdempotentCalls("book", sqlite)
    made: list[int] = []
    thread = threading.Thread(target=calls.run, args=("k", "f", lambda: made.append(1)))
    with another_writer(sqlite):
        thread.start()
        thread.join(0.5)
        assert thread.is_alive()
        assert made == []
    thread.join(30)
    assert made == [1]
