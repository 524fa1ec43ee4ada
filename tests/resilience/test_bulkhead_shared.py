"""Do processes that share a state keep to one number of slots, also when some of them die?"""

from __future__ import annotations

import sys

import pytest

from dlq_console.resilience.bulkhead import Bulkhead, BulkheadConfig
from dlq_console.resilience.errors import BulkheadFullError
from tests.resilience.conftest import OpenState
from tests.resilience.crowd import most_at_once, run_crowd
from tests.services.process import StartChild, wait_until

CONFIG = BulkheadConfig(max_concurrent=2, acquire_timeout=0, lease=1)

HOLDER = """
import sys, time
from dlq_console.resilience.bulkhead import Bulkhead, BulkheadConfig
from tests.resilience.crowd import open_by_address

bulkhead = Bulkhead("erp", BulkheadConfig(max_concurrent=2, lease=1), state=open_by_address(sys.argv[1]))
held = bulkhead.acquire()
print("inside", flush=True)
time.sleep(60)
"""


def test_the_slots_are_counted_over_all_processes(open_shared: OpenState) -> None:
    one, other = (Bulkhead("erp", CONFIG, state=open_shared()) for _ in range(2))
    first, second = one.acquire(), other.acquire()
    with pytest.raises(BulkheadFullError):
        one.run(print)
    assert other.stats()["in_use"] == 2
    first.release()
    assert other.run(lambda: 7) == 7
    second.release()
    assert one.stats()["in_use"] == 0


def test_a_killed_process_gives_its_slot_back_within_its_lease(
    open_shared: OpenState, start_child: StartChild
) -> None:
    bulkhead = Bulkhead("erp", CONFIG, state=open_shared())
    child = start_child([sys.executable, "-c", HOLDER, open_shared.address])
    child.wait_for_line("inside")
    assert bulkhead.stats()["in_use"] == 1
    assert bulkhead.stats()["oldest"]["owner"].endswith(f":{child.pid}")
    child.kill()
    wait_until(lambda: bulkhead.stats()["in_use"] == 0, 20, "the lease to be over")


def test_a_call_that_is_longer_than_its_lease_keeps_its_slot_while_its_process_lives(
    open_redis: OpenState,
) -> None:
    one, other = (Bulkhead("erp", CONFIG, state=open_redis()) for _ in range(2))
    held = one.acquire()
    wait_until(lambda: other.stats()["oldest"]["seconds"] > 1.5, 20, "one and a half leases")
    assert other.stats()["in_use"] == 1
    held.release()
    assert other.stats()["in_use"] == 0
    assert one.stats()["overran"] == 0


def test_a_call_whose_lease_lapsed_is_told_and_takes_nobody_elses_slot(
    open_redis: OpenState, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = (Bulkhead("erp", CONFIG, state=open_redis()) for _ in range(2))
    monkeypatch.setattr(one, "tick", lambda: True)  # as if the process had been frozen
    held = one.acquire()
    wait_until(lambda: other.stats()["in_use"] == 0, 20, "the lease to be over")
    taken = [other.acquire(), other.acquire()]
    held.release()
    assert one.stats()["overran"] == 1
    assert other.stats()["in_use"] == 2
    for each in taken:
        each.release()


def test_never_more_inside_than_there_are_slots(open_shared: OpenState, start_child: StartChild) -> None:
    open_shared()
    seen = run_crowd(start_child, "intervals", open_shared.address, processes=3, threads=3, rounds=5)
    inside = [(began, ended) for each in seen for began, ended in each]
    assert len(inside) == 45
    assert 1 < most_at_once(inside) <= 3
