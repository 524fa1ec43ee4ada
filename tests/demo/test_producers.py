"""The traffic of the demo repeats itself for a seed, and holds the mistakes that real senders make."""

from __future__ import annotations

import threading
from collections import Counter
from datetime import date

import pytest

from dlq_console import Hub, NewEvent
from dlq_console.demo.data import customers
from dlq_console.demo.erp_temper import TEMPERS
from dlq_console.demo.opening import opening
from dlq_console.demo.producers import Producer, run_producer

SEED = 5
DAY = date(2026, 3, 2)


def _stream(length: int, *, seed: int = SEED, first_number: int = 8800) -> list[NewEvent]:
    producer = Producer(seed, first_number=first_number, today=DAY)
    return [producer.next_event() for _ in range(length)]


@pytest.fixture(scope="module")
def stream() -> list[NewEvent]:
    return _stream(6000)


def _identity(event: NewEvent) -> tuple[str, str, str, object]:
    return event.kind, event.account, event.entity_id, event.version


def test_the_same_seed_gives_the_same_stream() -> None:
    assert _stream(300) == _stream(300)
    assert _stream(300) != _stream(300, seed=SEED + 1)


def test_a_stream_that_begins_at_a_higher_number_repeats_nothing_of_the_first() -> None:
    first, second = _stream(300), _stream(300, first_number=20_000)

    assert not {_identity(event) for event in first} & {_identity(event) for event in second}


def test_every_kind_and_every_account_takes_part(stream: list[NewEvent]) -> None:
    kinds = Counter(event.kind for event in stream)

    assert set(kinds) == {"order.create", "invoice.create", "stock.move", "customer.upsert"}
    assert kinds.most_common(1)[0][0] == "order.create"
    assert {event.account for event in stream} == set(TEMPERS)


def test_some_events_are_sent_twice_exactly_as_before(stream: list[NewEvent]) -> None:
    times = Counter(map(_identity, stream))
    repeated = [identity for identity, count in times.items() if count > 1]

    assert 0.01 < len(repeated) / len(stream) < 0.05
    for identity in repeated:
        payloads = [event.payload for event in stream if _identity(event) == identity]
        assert all(payload == payloads[0] for payload in payloads)


def test_a_few_orders_are_for_customers_that_the_erp_does_not_know(stream: list[NewEvent]) -> None:
    orders = [event for event in stream if event.kind == "order.create"]
    unknown = {
        (a, one.code) for a in {e.account for e in stream} for one in customers(SEED, a) if not one.registered
    }
    refused = [event for event in orders if (event.account, event.payload["customer_code"]) in unknown]

    assert 0.02 < len(refused) / len(orders) < 0.06


def test_some_invoices_add_up_wrongly(stream: list[NewEvent]) -> None:
    invoices = [event.payload for event in stream if event.kind == "invoice.create"]
    wrong = [one for one in invoices if one["total"] != sum(line["amount"] for line in one["lines"])]

    assert 0 < len(wrong) / len(invoices) < 0.05


def test_a_credit_limit_goes_up_and_back_as_three_versions(stream: list[NewEvent]) -> None:
    by_customer: dict[tuple[str, str], dict[str, object]] = {}
    for event in stream:
        if event.kind == "customer.upsert":
            versions = by_customer.setdefault((event.account, event.entity_id), {})
            versions[str(event.version)] = event.payload["credit_limit"]
    limits = [list(versions.values())[:3] for versions in by_customer.values() if len(versions) >= 3]

    assert limits
    assert any(first == third != second for first, second, third in limits)


def test_running_sends_folds_repeats_and_stops_when_the_time_is_over() -> None:
    hub = Hub.in_memory()
    try:
        done = run_producer(hub, 500, 0.5, SEED, threading.Event())
        again = run_producer(hub, 500, 0.2, SEED, threading.Event())
    finally:
        hub.close()

    assert 0 < done.created <= done.sent
    assert again.folded > 0, "the same stream sent again makes no new events"


def test_running_stops_at_once_when_asked() -> None:
    hub = Hub.in_memory()
    stop = threading.Event()
    stop.set()
    try:
        assert run_producer(hub, 10, None, SEED, stop).sent == 0
    finally:
        hub.close()


def test_what_is_sent_first_comes_at_once_and_before_the_stream() -> None:
    hub = Hub.in_memory()
    try:
        made = run_producer(hub, 1, 0.5, SEED, threading.Event(), opening=opening)
    finally:
        hub.close()

    assert made.created == made.sent == len(opening(Producer(SEED))) + 1
