"""Dispatching: the broker hears once of what may run now, head of the line first, and again when a message must be lost."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest

from dlq_console.clock import utc_now
from dlq_console.store import claims, dispatching, scopes, transitions
from dlq_console.store.claim_sql import BULK, LIVE, RETRY
from dlq_console.store.dispatching import LOST_AFTER, WITHOUT_WORKERS, ToSend
from dlq_console.store.scope_names import method_name
from dlq_console.store.states import Status
from dlq_console.store.store import Store
from tests.store import closing
from tests.store.making import (
    add,
    add_in,
    add_many,
    announce,
    claimed,
    end_as,
    retry_later,
    row,
    set_values,
    wait_for_a_lock,
)

ACCOUNT = "filial-sp"


def _taken(store: Store, *accounts: str) -> list[int]:
    return [event.id for event in dispatching.take_unsent(store, accounts or [ACCOUNT])]


def test_what_is_due_and_unsent_is_taken_once(store: Store) -> None:
    ids = [made.id for made in add_many(store, range(3))]
    assert dispatching.take_unsent(store, [ACCOUNT]) == [
        ToSend(id_, 0, "order.create", "filial-sp") for id_ in ids
    ]
    assert _taken(store) == []
    assert {row(store, id_)["dispatch_count"] for id_ in ids} == {1}


def test_a_message_names_the_epoch_under_which_it_was_sent(store: Store) -> None:
    id_ = add(store).id
    end_as(store, id_, retry_later())
    store.clock.advance(31)
    [told] = dispatching.take_unsent(store, [ACCOUNT])
    assert (told.id, told.lease_epoch) == (id_, 1)


def test_the_broker_is_given_what_may_run_and_more_at_each_completion(store: Store) -> None:
    announce(store, slots=4)
    ids = [made.id for made in add_many(store, range(10))]
    assert _taken(store) == ids[:3]
    # What was sent uses the credit up as long as it is on its way, and while it runs.
    assert _taken(store) == []
    running = claimed(store, ids[0], slots=4)
    assert _taken(store) == []
    assert transitions.end(store, running, transitions.completed(None))
    assert _taken(store) == [ids[3]]


def test_a_set_limit_is_the_credit_of_its_account(store: Store) -> None:
    announce(store, slots=40)
    ids = [made.id for made in add_many(store, range(10))]
    scopes.limit_account(store, ACCOUNT, 2)
    assert _taken(store) == ids[:2]
    scopes.limit_account(store, ACCOUNT, 1)
    not_sent = claimed(store, ids[0])
    assert _taken(store) == []
    assert transitions.end(store, not_sent, transitions.completed(None))
    # One is on its way still, and that is all there is room for.
    assert _taken(store) == []
    scopes.limit_account(store, ACCOUNT, 0)
    dispatching.not_sent(store, ids[1:])
    assert _taken(store) == []


def test_without_a_living_worker_the_broker_is_given_something_to_begin_with(store: Store) -> None:
    ids = [made.id for made in add_many(store, range(WITHOUT_WORKERS + 5))]
    assert _taken(store) == ids[:WITHOUT_WORKERS]


def test_live_work_is_sent_before_retries_and_those_before_bulk_work(store: Store) -> None:
    announce(store, slots=4)
    for number, priority in enumerate((BULK, BULK, RETRY, RETRY, LIVE, LIVE)):
        set_values(store, add(store, number).id, priority=priority)
    assert _taken(store) == [3, 5, 6]
    assert transitions.end(store, claimed(store, 3, slots=4), transitions.completed(None))
    # Nobody who comes later and matters more has to wait for what was not sent yet.
    urgent = add(store, 7).id
    assert _taken(store) == [urgent]


def test_each_account_has_a_credit_of_its_own_and_those_without_are_passed_over(store: Store) -> None:
    announce(store, slots=2)
    first, second, closed = (
        [add(store, f"{account}-{n}", account=account).id for n in range(3)] for account in ("a", "b", "c")
    )
    with store.write() as connection:
        closing.close(store, connection, "account", "c", 60, "asked to wait")
    assert _taken(store, "a", "b", "c", "nobody") == [first[0], second[0]]
    assert _taken(store, "a", "b", "c") == []
    store.clock.advance(61)
    assert closed[0] in _taken(store, "c")


def test_where_not_all_can_be_taken_each_account_comes_once_before_any_comes_twice(store: Store) -> None:
    first, second = ([add(store, f"{account}-{n}", account=account).id for n in range(3)] for account in "ab")
    taken = dispatching.take_unsent(store, ["a", "b"], most=3)
    assert len(taken) == 3
    if not store.sqlite:
        assert [event.id for event in taken] == [first[0], first[1], second[0]]


def test_an_event_that_is_too_late_to_start_is_not_sent(store: Store) -> None:
    id_ = add(store).id
    set_values(store, id_, give_up_at=utc_now() - timedelta(seconds=60))
    assert _taken(store) == []


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
        name = method_name("filial-sp", "invoice.create")
        closing.close(store, connection, "method", name, 60, "asked to wait")
    assert _taken(store) == []


@pytest.mark.parametrize(("times", "factor"), [(1, 1), (2, 3), (3, 9), (4, 27), (5, 81), (6, 81)])
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


def test_what_could_not_be_sent_for_long_is_not_waited_for_longer_afterwards(store: Store) -> None:
    id_ = add(store).id
    for _ in range(10):
        assert _taken(store) == [id_]
        dispatching.not_sent(store, [id_])
    assert _taken(store) == [id_]
    store.clock.advance(LOST_AFTER + 1)
    assert _taken(store) == [id_]


def test_nothing_unsent_changes_nothing(store: Store) -> None:
    id_ = add(store).id
    _taken(store)
    before = row(store, id_)
    dispatching.not_sent(store, [])
    assert row(store, id_) == before


def test_dispatchers_at_once_take_each_event_once_and_no_more_than_there_is_room_for(
    store: Store, database_url: str
) -> None:
    ids = [made.id for made in add_many(store, range(100))]
    scopes.limit_account(store, ACCOUNT, 60)
    stores = [Store(database_url) for _ in range(6)]
    together = Barrier(6)

    def take(own: Store) -> list[int]:
        own.engines.write().connect().close()
        together.wait(10)
        return _taken(own)

    with ThreadPoolExecutor(6) as pool:
        taken = [id_ for some in pool.map(take, stores) for id_ in some]
    assert sorted(taken) == ids[:60]
    for own in stores:
        own.engines.dispose()


def test_who_looks_while_another_marks_waits_and_takes_nothing(postgres_url: str) -> None:
    store, other = Store(postgres_url), Store(postgres_url)
    add_many(store, range(20))
    asked = {"accounts": f'["{ACCOUNT}"]', "most": 100}
    statement = other.statement(dispatching.TAKE_POSTGRES)
    with ThreadPoolExecutor(1) as pool, other.engines.write().connect() as connection:
        assert len(connection.execute(statement, asked).all()) == WITHOUT_WORKERS
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
