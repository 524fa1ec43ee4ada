"""Routes: each account has a queue of its own up to a number of accounts, and the others share a few."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dlq_console.clock import monotonic
from dlq_console.hub.routes import SHARDS, Routes
from dlq_console.store.accounts import last_with_own_queue
from dlq_console.store.lane_names import lane_name
from dlq_console.store.store import Store
from tests.store.making import add


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    """A store; the test runs once on each engine."""
    made = Store(database_url)
    yield made
    made.engines.dispose()


SERIAL = lane_name("a", None)


def test_as_many_accounts_as_allowed_have_a_queue_of_their_own(store: Store) -> None:
    for account in ("a", "b"):
        add(store, account, account=account)
    assert last_with_own_queue(store, 2) is None
    own = Routes(store, 2)
    assert own.queue("a") == "erp.a"
    assert own.queue("a", SERIAL) == "erp.a.serial"
    # Nobody is refused a queue for being new, as long as they are few.
    assert own.queue("z") == "erp.z"


def test_the_first_by_name_keep_theirs_and_the_others_share_a_few(store: Store) -> None:
    names = [f"account-{n:03}" for n in range(100)]
    for name in names:
        add(store, name, account=name)
    assert last_with_own_queue(store, 2) == "account-001"
    shared = Routes(store, 2)
    assert shared.queue("account-001") == "erp.account-001"
    queues = {shared.queue(name) for name in names[2:]}
    assert queues == {f"erp.shard.{n}" for n in range(SHARDS)}
    # Every program puts an account on the same one, and what is serial too: its order comes from the lane.
    assert Routes(store, 2).queue("account-050") == shared.queue("account-050")
    assert shared.queue("account-050", lane_name("account-050", None)) == shared.queue("account-050")


def test_the_accounts_are_looked_at_again_after_a_while(store: Store) -> None:
    for account in ("a", "b"):
        add(store, account, account=account)
    own = Routes(store, 2)
    assert own.queue("b") == "erp.b"
    add(store, "aa", account="aa")
    assert own.queue("b") == "erp.b"
    own._until = monotonic()
    assert own.queue("b") != "erp.b"
