"""Kinds: what workers publish is what producers and the console read."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from dlq_console.store import kinds
from dlq_console.store.kinds import PublishedKind
from dlq_console.store.store import Store
from tests.store.making import rows

ORDER = PublishedKind(
    "order.create", 6, 60.0, None, {"base_delay": 30, "jitter": "full", "retry_on": ["OSError"]}
)
STOCK = PublishedKind("stock.move", 3, 0.5, "warehouse", {})


def test_a_published_kind_is_read_as_it_was_published(store: Store) -> None:
    assert kinds.published(store) == {}
    kinds.publish(store, [STOCK, ORDER], "one")
    assert kinds.published(store) == {"order.create": ORDER, "stock.move": STOCK}
    assert {kept["worker"] for kept in rows(store, "kind")} == {"one"}


def test_the_word_of_a_later_worker_replaces_that_of_an_earlier_one(store: Store) -> None:
    kinds.publish(store, [ORDER, STOCK], "one")
    newer = PublishedKind("order.create", 9, 5.0, "erp", {"base_delay": 1})
    kinds.publish(store, [newer], "two")
    assert kinds.published(store) == {"order.create": newer, "stock.move": STOCK}
    assert [kept["worker"] for kept in rows(store, "kind")] == ["two", "one"]


def test_a_worker_without_handlers_publishes_nothing(store: Store) -> None:
    kinds.publish(store, [], "one")
    assert rows(store, "kind") == []


def test_workers_that_start_at_once_do_not_stand_in_each_others_way(store: Store, database_url: str) -> None:
    many = [PublishedKind(f"kind-{number}", 6, 60.0, None, {}) for number in range(30)]
    stores = [Store(database_url) for _ in range(6)]

    def start(place: int) -> None:
        for _ in range(5):
            kinds.publish(stores[place], many[place:] + many[:place], f"worker-{place}")

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(start, range(6)))
    assert len(kinds.published(store)) == 30
    for own in stores:
        own.engines.dispose()
