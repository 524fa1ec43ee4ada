"""Dispatching: the broker hears of the head of each account's line once, and again when a message must be lost."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest

from dlq_console.clock import utc_now
from dlq_console.store import claims, dispatching, scopes
from dlq_console.store.claims import BULK, LIVE, RETRY, ReadyAccount
from dlq_console.store.dispatching import LOST_AFTER, ToSend
from dlq_console.store.states import Status
from dlq_console.store.store import Store
from tests.store.making import (
    add,
    add_in,
    add_many,
    claimed,
    end_as,
    retry_later,
    row,
    set_values,
    wait_for_a_lock,
)

LINE = ReadyAccount("filial-sp", None, 0, 8)


def _taken(store: Store, window: int = 10) -> list[int]:
    return [event.id for event in dispatching.take_unsent(store, LINE, window)]


def test_what_is_due_and_unsent_is_taken_once(store: Store) -> None:
    ids = [made.id for made in add_many(store, range(3))]
    assert dispatching.take_unsent(store, LINE, 10) == [
        ToSend(id_, 0, "order.create", "filial-sp") for id_ in ids
    ]
    assert _taken(store) == []
    assert {row(store, id_)["dispatch_count"] for id_ in ids} == {1}


def test_a_message_names_the_epoch_under_which_it_was_sent(store: Store) -> None:
    id_ = add(store).id
    end_as(store, id_, retry_later())
    store.clock.advance(31)
    [told] = dispatching.take_unsent(store, LINE, 10)
    assert (told.id, told.lease_epoch) == (id_, 1)


def test_only_the_head_of_the_line_is_taken(store: Store) -> None:
    ids = [made.id for made in add_many(store, range(5))]
    assert _taken(store, window=2) == ids[:2]
    # What was sent still stands at the head until it is claimed.
    assert _taken(store, window=2) == []
    claimed(store, ids[0])
    assert _taken(store, window=2) == [ids[2]]


def test_each_priority_has_a_head_of_its_own(store: Store) -> None:
    for number, priority in enumerate((BULK, BULK, RETRY, RETRY, LIVE, LIVE)):
        set_values(store, add(store, number).id, priority=priority)
    assert _taken(store, window=1) == [1, 3, 5]


@pytest.mark.parametrize("status", [status for status in Status if status not in ("pending", "failed")])
def test_only_what_waits_to_be_run_is_taken(store: Store, status: Status) -> None:
    add_in(store, status)
    store.clock.advance(3600)
    assert _taken(store) == []


def test_what_is_not_due_or_behind_a_closed_door_is_not_taken(store: Store) -> None:
    add(store, 1, run_at=utc_now() + timedelta(hours=1))
    add(store, 2, kind="invoice.create")
    add(store, 3, account="another")
    with store.write() as connection:
        name = scopes.method_name("filial-sp", "invoice.create")
        scopes.close(store, connection, "method", name, 60, "asked to wait")
    assert _taken(store) == []


@pytest.mark.parametrize(("times", "factor"), [(1, 3), (2, 9), (3, 27), (4, 81), (5, 81)])
def test_a_message_counts_as_lost_after_a_wait_that_grows_threefold(
    store: Store, times: int, factor: int
) -> None:
    id_ = add(store).id
    assert _taken(store) == [id_]
    set_values(store, id_, dispatch_count=times)
    store.clock.advance(LOST_AFTER * factor - 1)
    assert _taken(store) == []
    store.clock.advance(2)
    assert _taken(store) == [id_]
    assert row(store, id_)["dispatch_count"] == times + 1


def test_what_enqueue_sent_itself_counts_as_lost_after_the_first_wait(store: Store) -> None:
    id_ = add(store, sent=True).id
    assert _taken(store) == []
    store.clock.advance(LOST_AFTER + 1)
    assert _taken(store) == [id_]


def test_a_claimed_event_begins_its_count_of_messages_anew(store: Store) -> None:
    id_ = add(store).id
    _taken(store)
    end_as(store, id_, retry_later())
    store.clock.advance(31)
    assert _taken(store) == [id_]
    assert row(store, id_)["dispatch_count"] == 1


def test_what_could_not_be_sent_is_taken_again_at_once(store: Store) -> None:
    ids = [made.id for made in add_many(store, range(3))]
    _taken(store)
    running = claimed(store, ids[2])
    dispatching.not_sent(store, ids[1:])
    assert _taken(store) == [ids[1]]
    assert row(store, running.id)["lease_epoch"] == 1


def test_nothing_unsent_changes_nothing(store: Store) -> None:
    id_ = add(store, sent=True).id
    before = row(store, id_)
    dispatching.not_sent(store, [])
    assert row(store, id_) == before


def test_dispatchers_at_once_take_each_event_once(store: Store, database_url: str) -> None:
    ids = [made.id for made in add_many(store, range(60))]
    stores = [Store(database_url) for _ in range(6)]
    together = Barrier(6)

    def take(own: Store) -> list[int]:
        own.engines.write().connect().close()
        together.wait(10)
        return [event.id for event in dispatching.take_unsent(own, LINE, 60)]

    with ThreadPoolExecutor(6) as pool:
        taken = [id_ for some in pool.map(take, stores) for id_ in some]
    assert sorted(taken) == ids
    for own in stores:
        own.engines.dispose()


def test_who_looks_while_another_marks_waits_and_takes_nothing(postgres_url: str) -> None:
    store, other = Store(postgres_url), Store(postgres_url)
    add_many(store, range(5))
    statement = other.statement(dispatching.DISPATCH_POSTGRES)
    with ThreadPoolExecutor(1) as pool, other.engines.write().connect() as connection:
        assert len(connection.execute(statement, {"account": LINE.account, "window": 5}).all()) == 5
        waiting = pool.submit(_taken, store)
        wait_for_a_lock(store)
        connection.commit()
        assert waiting.result(10) == []
    for each in (store, other):
        each.engines.dispose()


def test_dispatching_takes_nothing_from_a_claim(store: Store) -> None:
    id_ = add(store).id
    _taken(store)
    assert [event.id for event in claims.claim_any(store, worker="w", limit=1)] == [id_]
