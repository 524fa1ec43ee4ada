"""What becomes of a process that was forked while its parent was in the midst of guarded calls?"""

from __future__ import annotations

import sys

from tests.resilience.conftest import OpenState
from tests.services.process import StartChild

#: Every lock of the library is held by another thread at the moment of the fork.
LOCKED = """
import gc, os, signal, sys, threading
from dlq_console.resilience import (Bulkhead, CircuitBreaker, CircuitBreakerRegistry, IdempotentCalls, RetryConfig,
    WorkRegister, budget, init_budget)
from dlq_console.resilience.defaults import process_defaults, register_defaults, Defaults
from dlq_console.resilience.guard import guard
from tests.resilience.crowd import open_by_address

state = open_by_address(sys.argv[1])
register_defaults(lambda: Defaults(state))
erp = guard("erp", retry=RetryConfig(max_attempts=2, base_delay=0))
once = guard("once", idempotency_key=str)
calls = IdempotentCalls("book", state)
work = WorkRegister(state, "threads")
registry = CircuitBreakerRegistry(state=state)

def use(number):
    failing = [ConnectionRefusedError()]
    assert erp.call(lambda: 7 if not failing else (_ for _ in ()).throw(failing.pop())) == 7
    assert once.call(lambda given: given, number) == number
    assert calls.run(str(number), "f", lambda: number) == number
    registry.get("erp").call(int)
    with work.hold(str(number)):
        budget.read_header("odd")
    assert guard(f"new {number}").call(int) == 0

use(1)
LOCKS = (type(threading.Lock()), type(threading.RLock()))
held = {
    id(lock): lock
    for thing in gc.get_objects() if str(type(thing).__module__).startswith("dlq_console.resilience")
    for lock in getattr(thing, "__dict__", {}).values() if isinstance(lock, LOCKS)
}
assert len(held) > 80, len(held)  # a state alone has more than a hundred
ready, free = threading.Event(), threading.Event()

def hold():
    for lock in held.values():
        assert lock.acquire(timeout=20)
    ready.set()
    free.wait(60)
    for lock in held.values():
        lock.release()

holder = threading.Thread(target=hold)
holder.start()
assert ready.wait(30)
child = os.fork()
if child == 0:
    signal.alarm(30)
    try:
        use(2)
    finally:
        os._exit(0 if sys.exc_info()[0] is None else 1)
free.set()
holder.join()
assert os.waitpid(child, 0)[1] == 0
"""

#: A child keeps what is its own alive and says what it has counted, whatever its parent held and had yet to say.
HELD = """
import os, sys
from dlq_console.resilience import Bulkhead, BulkheadConfig, CircuitBreaker, CircuitBreakerConfig, Window, WorkRegister
from dlq_console.resilience.breaker import BREAKERS
from dlq_console.resilience.tallies import TALLIES
from tests.resilience.crowd import open_by_address
from tests.services.process import wait_until

state = open_by_address(sys.argv[1])
window = Window(seconds=600, minimum_calls=100, failure_rate=0.5)
breaker = CircuitBreaker("erp", CircuitBreakerConfig(window=window), state=state)
room = BulkheadConfig(max_concurrent=2, timeout=None, lease=1, acquire_timeout=0)
bulkhead = Bulkhead("erp", room, state=state)
held = bulkhead.acquire()
for _ in range(3):
    breaker.call(int)
child = os.fork()
for _ in range(4):
    breaker.call(int)
if child == 0:
    assert breaker.stats()["calls"] == 4, "what its parent has counted is not its own"
    own = bulkhead.acquire()
    held.release()  # not its own: does nothing
    began = state.now()
    wait_until(lambda: state.now() > began + 2.5, 60, "more than two leases")
    in_use = bulkhead.stats()["in_use"]
    own.release()
    state.close()
    os._exit(in_use)
status = os.waitpid(child, 0)[1]
held.release()
state.close()
print("in use", status >> 8)
print("in window", sum(bucket[1] for bucket in state.read(BREAKERS, "erp").record.buckets))
print("counted", state.read(TALLIES, "breaker erp").record["successes"])
"""


def test_a_child_is_not_held_up_by_a_lock_that_another_thread_of_its_parent_held(
    open_redis: OpenState, start_child: StartChild
) -> None:
    child = start_child([sys.executable, "-c", LOCKED, open_redis.address])
    assert child.wait_for_exit(90) == 0, child.output()


def test_a_child_renews_its_own_slots_and_tells_its_own_counts(
    open_redis: OpenState, start_child: StartChild
) -> None:
    child = start_child([sys.executable, "-c", HELD, open_redis.address])
    assert child.wait_for_exit(90) == 0, child.output()
    assert child.output().splitlines()[-3:] == ["in use 2", "in window 11", "counted 11"]
