"""Leader leases: one process leads a step, and another takes over when it is silent or gone."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from dlq_console.store import leases
from dlq_console.store.store import Store
from tests.store.making import rows


def test_one_process_leads_a_step(store: Store) -> None:
    assert leases.take(store, "rescue", "one", 10)
    assert not leases.take(store, "rescue", "two", 10)
    assert leases.take(store, "relay", "two", 10)
    assert [(kept["name"], kept["owner"]) for kept in rows(store, "step")] == [
        ("relay", "two"),
        ("rescue", "one"),
    ]


def test_a_leader_stays_the_leader_by_asking_again(store: Store) -> None:
    for _ in range(4):
        assert leases.take(store, "rescue", "one", 10)
        store.clock.advance(9)
        assert not leases.take(store, "rescue", "two", 10)


def test_a_silent_leader_is_followed_by_another_and_does_not_come_back(store: Store) -> None:
    leases.take(store, "rescue", "one", 10)
    store.clock.advance(11)
    assert leases.take(store, "rescue", "two", 10)
    assert not leases.take(store, "rescue", "one", 10)


def test_a_leader_that_stops_lets_others_lead_at_once(store: Store) -> None:
    for name in ("rescue", "relay"):
        leases.take(store, name, "one", 10)
    leases.take(store, "prune", "two", 10)
    leases.give_back(store, "one")
    assert leases.take(store, "rescue", "two", 10)
    assert not leases.take(store, "prune", "one", 10)


def test_only_the_leader_reports_on_a_step(store: Store) -> None:
    leases.take(store, "rescue", "one", 10)
    leases.report(store, "rescue", "two", "not the leader")
    assert [(kept["last_run_at"], kept["last_error"]) for kept in rows(store, "step")] == [(None, None)]
    leases.report(store, "rescue", "one", "it went wrong")
    [failed] = rows(store, "step")
    assert (failed["last_run_at"] is not None, failed["last_error"]) == (True, "it went wrong")
    leases.report(store, "rescue", "one", None)
    assert rows(store, "step")[0]["last_error"] is None


def test_of_ten_processes_that_ask_at_once_one_leads(store: Store, database_url: str) -> None:
    stores = [Store(database_url) for _ in range(10)]
    for step in ("new", "lapsed"):
        if step == "lapsed":
            leases.take(store, step, "old", 10)
            for own in stores:
                own.clock.advance(11)
        together = Barrier(10)

        def ask(place: int, step: str = step, together: Barrier = together) -> bool:
            together.wait(10)
            return leases.take(stores[place], step, f"process-{place}", 10)

        with ThreadPoolExecutor(10) as pool:
            assert sorted(pool.map(ask, range(10))) == [False] * 9 + [True]
    for own in stores:
        own.engines.dispose()
