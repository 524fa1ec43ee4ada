"""Ingest: a repeat is folded, nothing that the database would refuse reaches it, many rows are all or nothing."""

from __future__ import annotations

import json
import random
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from threading import Barrier
from typing import Any

import pytest

from dlq_console.clock import utc_now
from dlq_console.errors import IdempotencyConflict, PayloadRefused
from dlq_console.store import ingest
from dlq_console.store.ingest import Ingested, Intention
from dlq_console.store.store import Store
from tests.store.making import add, add_many, claimed, end_as, retry_later, row, rows, wait_for_a_lock

FAR = timedelta(days=400 * 365)


def _intention(number: object = 1, **values: Any) -> Intention:
    fields: dict[str, Any] = {
        "kind": "order.create",
        "account": "filial-sp",
        "entity_id": str(number),
        "payload": {"number": number},
    }
    return ingest.intention(**(fields | values))


def _insert_many(store: Store, news: list[Intention]) -> list[Ingested]:
    return store.transact(lambda connection: ingest.insert_many(store, connection, news))


# One event


def test_a_repeat_is_folded_into_the_event_that_exists(store: Store) -> None:
    first, second = add(store), add(store)
    assert (first.created, second.created) == (True, False)
    assert second.id == first.id
    assert len(rows(store)) == 1


def test_the_same_content_of_two_accounts_makes_two_events(store: Store) -> None:
    assert add(store, account="filial-sp").id != add(store, account="filial-rj").id


def test_a_price_that_goes_back_is_a_new_event_with_a_version_and_none_without(store: Store) -> None:
    without = [add(store, "price", payload={"price": price}) for price in (10, 12, 10)]
    with_version = [
        add(store, "price", payload={"price": price}, version=version)
        for price, version in ((10, "1"), (12, "2"), (10, "3"))
    ]
    assert [made.created for made in without] == [True, True, False]
    assert [made.created for made in with_version] == [True, True, True]


def test_an_own_key_with_another_payload_is_a_conflict_and_the_transaction_goes_on(store: Store) -> None:
    add(store, idempotency_key="mine", payload={"total": 1})
    with store.write() as connection:
        with pytest.raises(IdempotencyConflict):
            ingest.insert_one(store, connection, _intention(idempotency_key="mine", payload={"total": 2}))
        ingest.insert_one(store, connection, _intention(2))
    assert [each["payload"] for each in rows(store)] == ['{"total":1}', '{"number":2}']


def test_an_own_key_with_a_payload_that_means_the_same_is_a_repeat(store: Store) -> None:
    add(store, idempotency_key="mine", payload={"a": 1, "b": 10.0})
    assert not add(store, idempotency_key="mine", payload={"b": 10, "a": 1}).created


def test_a_repeat_tells_the_status_of_the_event_at_this_moment(store: Store) -> None:
    id_ = add(store).id
    assert add(store).status == "pending"
    end_as(store, id_, retry_later())
    assert (add(store).status, add(store).lease_epoch) == ("failed", 1)


def test_a_payload_is_kept_digit_for_digit_and_in_its_order(store: Store) -> None:
    payload = {"z": 10**40, "a": [0.1, -0.0, True, None], "ünï": '"\\\u2028😀', "": {}}
    event = claimed(store, add(store, payload=payload).id)
    assert event.payload == payload
    assert list(event.payload) == ["z", "a", "ünï", ""]


def test_many_rows_keep_their_payloads_as_exactly_as_one(store: Store) -> None:
    payload = {"z": 10**40, "ünï": '"\\\\u0000 😀 \\n', "html": "<b>&amp;'", "percent": "%s %% :name"}
    one, two = _insert_many(store, [_intention(1, payload=payload), _intention(2, payload=payload)])
    assert [row(store, made.id)["payload"] for made in (one, two)] == [
        _intention(payload=payload).payload
    ] * 2


# Times


def test_an_event_is_due_at_once_and_given_up_after_its_longest_wait(store: Store) -> None:
    kept = row(store, add(store, max_wait=3600).id)
    assert kept["due_at"] == kept["next_run_at"] == kept["created_at"] == kept["updated_at"]
    assert kept["give_up_at"] - kept["due_at"] == timedelta(hours=1)


def test_a_later_start_moves_due_and_give_up(store: Store) -> None:
    run_at = utc_now().replace(microsecond=0) + timedelta(days=2)
    kept = row(store, add(store, run_at=run_at, max_wait=3600).id)
    assert kept["due_at"] == kept["next_run_at"] == run_at
    assert kept["give_up_at"] == run_at + timedelta(hours=1)


def test_a_start_in_the_past_is_now(store: Store) -> None:
    kept = row(store, add(store, run_at=utc_now() - timedelta(days=1)).id)
    assert kept["due_at"] == kept["created_at"]


@pytest.mark.parametrize("hours", [1, 48])
def test_an_expiry_before_the_longest_wait_comes_first(store: Store, hours: int) -> None:
    expires_at = utc_now().replace(microsecond=0) + timedelta(hours=hours)
    kept = row(store, add(store, expires_at=expires_at, max_wait=24 * 3600).id)
    assert kept["expires_at"] == expires_at
    assert kept["give_up_at"] == min(expires_at, kept["due_at"] + timedelta(hours=24))


def test_many_rows_have_the_same_times_as_one(store: Store) -> None:
    run_at = utc_now().replace(microsecond=654321) + timedelta(days=2)
    values: dict[str, Any] = {
        "run_at": run_at,
        "expires_at": run_at + timedelta(minutes=5),
        "max_wait": 360.5,
    }
    alone = row(store, add(store, "alone", **values).id)
    together = row(store, _insert_many(store, [_intention(2, **values)])[0].id)
    for name in ("due_at", "next_run_at", "expires_at", "give_up_at"):
        assert alone[name] == together[name]


# What never reaches the database

REFUSED: dict[str, dict[str, Any]] = {
    "NUL in the payload": {"payload": {"a": "x\x00y"}},
    "NUL in a key": {"payload": {"x\x00y": 1}},
    "half a character": {"payload": {"a": "\ud800"}},
    "not a number": {"payload": {"a": float("nan")}},
    "infinite": {"payload": [float("inf")]},
    "too large": {"payload": {"a": "x" * 256_001}},
    "too deep": {"payload": json.loads("[" * 101 + "]" * 101)},
    "no JSON": {"payload": {"a": object()}},
    "NUL in the kind": {"kind": "order\x00create"},
    "half a character in the account": {"account": "filial\udfff"},
    "empty entity": {"entity_id": " "},
    "long version": {"version": "1" * 201},
    "NUL in the key": {"idempotency_key": "a\x00"},
    "a key in the form of a content key": {"idempotency_key": f"v1:a:b:c:{'0' * 32}"},
    "NUL in the origin": {"origin": "shop\x00"},
    "half a character in the origin": {"origin": "shop\ud800"},
    "start without a zone": {"run_at": datetime(2026, 3, 1)},  # noqa: DTZ001 - what is refused
    "expiry without a zone": {"expires_at": datetime(2026, 3, 1)},  # noqa: DTZ001 - what is refused
    "start as text": {"run_at": "2026-03-01T00:00:00Z"},
    "start as a number": {"run_at": 1_790_000_000},
    "start that no zone can show": {"run_at": datetime.max.replace(tzinfo=timezone(-timedelta(hours=3)))},
    "expiry before all time": {"expires_at": datetime.min.replace(tzinfo=timezone(timedelta(hours=3)))},
}


@pytest.mark.parametrize("values", REFUSED.values(), ids=REFUSED)
def test_what_a_database_would_refuse_is_refused_before(values: dict[str, Any]) -> None:
    with pytest.raises(PayloadRefused) as caught:
        _intention(**values)
    assert len(str(caught.value)) < 400


def test_the_latest_and_the_earliest_time_can_be_read_back(store: Store) -> None:
    latest = datetime(9997, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
    earliest = datetime(1971, 1, 1, tzinfo=UTC)
    id_ = add(store, run_at=latest, expires_at=earliest, max_wait=315_360_000).id
    kept = row(store, id_)
    assert (kept["next_run_at"], kept["expires_at"]) == (latest, earliest)


# Many


def test_many_answers_stand_in_the_order_given_and_ids_follow_it(store: Store) -> None:
    numbers = list(range(40))
    random.Random(7).shuffle(numbers)
    made = _insert_many(store, [_intention(number) for number in numbers])
    assert [row(store, each.id)["entity_id"] for each in made] == [str(number) for number in numbers]
    assert [each.id for each in made] == sorted(each.id for each in made)


def test_duplicates_inside_one_batch_are_folded_into_the_first_of_them(store: Store) -> None:
    known = add(store, 2)
    made = _insert_many(store, [_intention(number) for number in (1, 2, 1, 3, 2, 1)])
    assert [each.created for each in made] == [True, False, False, True, False, False]
    assert made[1].id == made[4].id == known.id
    assert made[0].id == made[2].id == made[5].id
    assert len(rows(store)) == 3


def test_a_batch_of_several_statements_folds_across_them(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest, "CHUNK", 3)
    made = _insert_many(store, [_intention(number % 5) for number in range(10)])
    assert [each.created for each in made] == [True] * 5 + [False] * 5
    assert [each.id for each in made[5:]] == [each.id for each in made[:5]]


def test_a_batch_is_cut_by_the_size_of_its_payloads_too(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest, "CHUNK_SIZE", 1_000)
    news = [
        _intention(number, payload="x" * size) for number, size in enumerate((10, 2_000, 10, 10, 995, 10))
    ]
    chunks = [[new.entity_id for new in chunk] for chunk in ingest._chunks(news)]
    assert chunks == [["0"], ["1"], ["2", "3"], ["4"], ["5"]]
    assert [row(store, made.id)["entity_id"] for made in _insert_many(store, news)] == list("012345")


@pytest.mark.chaos
def test_many_large_payloads_fit(store: Store) -> None:
    """PostgreSQL takes no JSON parameter of more than 256 MiB; 40 times 7 MB are more."""
    text_ = "x" * 7_000_000
    news = [_intention(number, payload=[number, text_], max_bytes=8_000_000) for number in range(40)]
    assert [made.created for made in _insert_many(store, news)] == [True] * 40


@pytest.mark.parametrize("place", [0, 1, 2, 5])
def test_one_conflict_takes_the_whole_batch_back_and_nothing_else(
    store: Store, place: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest, "CHUNK", 2)
    add(store, idempotency_key="mine")
    news = [_intention(number) for number in range(10, 15)]
    news.insert(place, _intention(idempotency_key="mine", payload="another"))
    with store.write() as connection:
        ingest.insert_one(store, connection, _intention("before"))
        with pytest.raises(IdempotencyConflict):
            ingest.insert_many(store, connection, news)
        ingest.insert_one(store, connection, _intention("after"))
    assert [each["entity_id"] for each in rows(store)] == ["1", "before", "after"]


def test_a_conflict_inside_one_batch_is_found(store: Store) -> None:
    twice = [_intention(idempotency_key="mine", payload=payload) for payload in (1, 2)]
    with pytest.raises(IdempotencyConflict):
        _insert_many(store, twice)
    assert rows(store) == []


def test_no_events_are_no_statement(store: Store) -> None:
    assert _insert_many(store, []) == []


# Many producers


def test_eight_producers_of_one_event_make_it_once(store: Store, database_url: str) -> None:
    stores = [Store(database_url) for _ in range(8)]
    together = Barrier(8)

    def produce(own: Store) -> Ingested:
        own.engines.write().connect().close()
        together.wait(10)
        return add(own)

    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(produce, stores))
    assert sorted(each.created for each in made) == [False] * 7 + [True]
    assert {each.id for each in made} == {row["id"] for row in rows(store)}
    for own in stores:
        own.engines.dispose()


def test_producers_of_overlapping_batches_in_any_order_make_each_event_once(
    store: Store, database_url: str
) -> None:
    """Each waits for the keys of the other; the database breaks one of them off, which then tries again."""
    stores = [Store(database_url) for _ in range(3)]
    together = Barrier(3)

    def produce(place: int) -> list[Ingested]:
        numbers = list(range(60))
        random.Random(place).shuffle(numbers)
        together.wait(10)
        return [
            made
            for start in range(0, 60, 20)
            for made in _insert_many(stores[place], [_intention(n) for n in numbers[start : start + 20]])
        ]

    with ThreadPoolExecutor(3) as pool:
        made = [each for answers in pool.map(produce, range(3)) for each in answers]
    assert len(made) == 180
    assert sum(each.created for each in made) == len(rows(store)) == 60
    for own in stores:
        own.engines.dispose()


def test_an_event_of_an_open_transaction_is_waited_for_and_made_if_that_one_gives_up(
    postgres_url: str,
) -> None:
    store, other = Store(postgres_url), Store(postgres_url)
    with ThreadPoolExecutor(1) as pool, other.engines.write().connect() as connection:
        ingest.insert_one(other, connection, _intention())
        waiting = pool.submit(add, store)
        wait_for_a_lock(store)
        connection.rollback()
        assert waiting.result(10).created
    for each in (store, other):
        each.engines.dispose()


# Duplicates


def test_folded_duplicates_are_counted_with_the_time_of_the_last(store: Store) -> None:
    first, second = add_many(store, range(2))
    with store.write() as connection:
        ingest.count_duplicates(store, connection, {second.id: 2, first.id: 1})
        ingest.count_duplicates(store, connection, {second.id: 3})
        ingest.count_duplicates(store, connection, {})
    counted = [(row["duplicates"], row["last_duplicate_at"] >= row["created_at"]) for row in rows(store)]
    assert counted == [(1, True), (5, True)]


def test_an_event_without_duplicates_has_no_time_of_the_last(store: Store) -> None:
    kept = row(store, add(store).id)
    assert (kept["duplicates"], kept["last_duplicate_at"]) == (0, None)


# Whether the workers are told at once


def test_the_workers_are_to_be_told_of_what_is_due_at_once(store: Store) -> None:
    later = utc_now() + timedelta(hours=1)
    news = [
        _intention(1),
        _intention(2, run_at=later),
        _intention(3, run_at=utc_now() - timedelta(seconds=5)),
    ]
    alone = [add(store, f"alone-{n.entity_id}", run_at=n.run_at).to_send for n in news]
    together = [made.to_send for made in _insert_many(store, news)]
    assert alone == together == [True, False, True]
    assert {row["dispatched_at"] for row in rows(store)} == {None}
