"""Do the sums that programs watch only grow, and does the table know what it has told the broker? On each engine."""

from __future__ import annotations

from dlq_console.store import dispatching, rollups, totals
from dlq_console.store.dispatched import Dispatched, dispatched
from dlq_console.store.lane_names import lane_name
from dlq_console.store.states import Status
from dlq_console.store.store import Store
from tests.store.making import add, add_in


def _sums(store: Store, *names: str) -> list[int]:
    rollups.roll_up(store)
    totals.add_up(store)
    found, age = totals.totals(store)
    assert age < 5
    return [found["filial-sp"].sums[name] for name in names] if found else []


def test_sums_begin_at_nothing_and_count_each_minute_once(store: Store) -> None:
    assert totals.totals(store)[0] == {}
    add_in(store, Status.DONE, 1)
    add_in(store, Status.DEAD, 2)
    for _ in range(3):
        assert _sums(store, "arrived", "done", "died", "first_tried") == [2, 1, 1, 2]
    for hours in (1, 1, 24):
        # What can change no more moves from one part of the sum to the other.
        store.clock.advance(hours * 3_600)
        add_in(store, Status.DONE, f"after {hours} {store.clock.now_sql()}")
        before = _sums(store, "done")
        assert _sums(store, "done") == before
    assert _sums(store, "arrived", "done") == [5, 4]
    assert sum(totals.totals(store)[0]["filial-sp"].lag_bins) == 5


def test_what_was_sent_and_what_runs_is_told_by_account(store: Store) -> None:
    for number in range(3):
        add(store, number)
    add(store, 8, account="filial-rj", lane=lane_name("filial-rj", None))
    add_in(store, Status.RUNNING, 9)
    assert dispatched(store) == [Dispatched("filial-rj", 0, 0, 0), Dispatched("filial-sp", 0, 0, 1)]
    dispatching.take_unsent(store, ["filial-sp", "filial-rj"])
    assert dispatched(store) == [Dispatched("filial-rj", 1, 1, 0), Dispatched("filial-sp", 3, 0, 1)]
