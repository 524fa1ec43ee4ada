"""Are the figures of the overview those of the rows, and only of rows that may be seen?"""

from __future__ import annotations

from datetime import timedelta

from dlq_console.clock import utc_now
from dlq_console.store import presence, queries
from dlq_console.store.queries import Count
from dlq_console.store.queries.overview import PART_CAP
from dlq_console.store.scope_names import method_name
from dlq_console.store.store import Store
from tests.store import closing
from tests.store.filling import dead, fill


def test_an_empty_store_has_nothing_to_show(store: Store) -> None:
    view = queries.overview(store)
    assert (view.dead, view.due, view.failed, view.running, view.done_last_hour) == (Count(0),) * 5
    assert (view.oldest_due, view.workers, view.slots, view.last_heartbeat) == (None, 0, 0, None)
    assert (view.accounts, view.kinds, queries.closed_doors(store)) == ((), (), ())
    assert abs(view.at - utc_now()) < timedelta(minutes=1)


def fill_two_accounts(store: Store) -> None:
    now = utc_now()
    old, later = now - timedelta(minutes=20), now + timedelta(minutes=20)
    fill(
        store,
        [
            {"status": "dead", "account": "sp", "kind": "order.create"},
            {"status": "dead", "account": "sp", "kind": "invoice.create"},
            {"status": "dead", "account": "rj", "kind": "order.create"},
            {"status": "pending", "account": "sp", "due_at": old, "next_run_at": old},
            # Given back until later: it could have run long ago, and that is since when it waits.
            {
                "status": "pending",
                "account": "rj",
                "due_at": old - timedelta(minutes=5),
                "next_run_at": later,
            },
            {"status": "failed", "account": "sp", "due_at": later, "next_run_at": later},
            {"status": "running", "account": "mg", "lease_until": later},
            {"status": "done", "account": "sp", "finished_at": old},
            {"status": "done", "account": "rj", "finished_at": old},
            {"status": "done", "account": "rj", "finished_at": now - timedelta(hours=2)},
            {"status": "discarded", "account": "rj", "finished_at": old},
        ],
    )


def test_figures_are_told_together_and_by_account(store: Store) -> None:
    fill_two_accounts(store)
    view = queries.overview(store)
    assert (view.dead, view.due, view.failed, view.running) == (Count(3), Count(2), Count(1), Count(1))
    assert view.done_last_hour == Count(2)
    assert view.oldest_due is not None
    assert timedelta(minutes=24) < view.at - view.oldest_due < timedelta(minutes=26)
    by_name = {part.account: part for part in view.accounts}
    assert list(by_name) == ["sp", "rj", "mg"], "the most dead letters first"
    sp = by_name["sp"]
    assert (sp.dead, sp.due, sp.failed, sp.running) == (Count(2), Count(1), Count(1), Count(0))
    assert by_name["mg"].running == Count(1)
    assert by_name["mg"].oldest_due is None
    assert [(part.kind, part.dead) for part in view.kinds] == [
        ("order.create", Count(2)),
        ("invoice.create", Count(1)),
    ]


def test_figures_are_of_accounts_that_may_be_seen(store: Store) -> None:
    fill_two_accounts(store)
    view = queries.overview(store, accounts=("rj",))
    assert (view.dead, view.due, view.failed, view.done_last_hour) == (Count(1), Count(1), Count(0), Count(1))
    assert [part.account for part in view.accounts] == ["rj"]
    assert [part.kind for part in view.kinds] == ["order.create"]
    nothing = queries.overview(store, accounts=())
    assert (nothing.dead, nothing.accounts, nothing.kinds) == (Count(0), (), ())


def test_figures_of_one_account_are_counted_up_to_a_cap(store: Store) -> None:
    dead(store, PART_CAP + 1)
    view = queries.overview(store)
    assert view.accounts[0].dead == Count(PART_CAP, capped=True)
    assert view.dead == Count(PART_CAP + 1)


def test_living_workers_are_counted_and_silent_ones_are_not(store: Store) -> None:
    presence.announce(store, "silent", mode="table", slots=8)
    store.clock.advance(presence.DEAD_AFTER + 1)
    presence.announce(store, "alive", mode="table", slots=4)
    view = queries.overview(store)
    assert (view.workers, view.slots) == (1, 4)
    assert view.last_heartbeat is not None
    assert view.at - view.last_heartbeat < timedelta(seconds=30)


def test_closed_doors_are_shown_to_those_whom_they_concern(store: Store) -> None:
    with store.write() as connection:
        closing.close(store, connection, "account", "sp", 60, "blocked")
        closing.close(store, connection, "account", "rj", 60, "blocked")
        closing.close(store, connection, "method", method_name("rj", "order.create"), 60, "blocked")
        closing.close(store, connection, "method", method_name("rj2", "order.create"), 60, "blocked")
        closing.close(store, connection, "provider", "omie", 60, "blocked")
    everything = [(scope.type, scope.name) for scope in queries.closed_doors(store)]
    assert len(everything) == 5
    seen = [(scope.type, scope.name) for scope in queries.closed_doors(store, accounts=("rj",))]
    assert seen == [("account", "rj"), ("method", "rj/order.create"), ("provider", "omie")]
