"""Enqueue in a transaction of its own: a repeat is folded and counted, a refusal leaves nothing, the broker is told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from threading import Barrier
from typing import Any

import pytest
from sqlalchemy import create_engine
from sqlalchemy.ext.asyncio import AsyncSession

from dlq_console import (
    Enqueued,
    EventNotFound,
    Hub,
    IdempotencyConflict,
    NewEvent,
    PayloadRefused,
    PermanentError,
    Policy,
)
from dlq_console.clock import utc_now
from dlq_console.hub.dispatch import Message
from dlq_console.settings import read_settings
from dlq_console.store import kinds
from dlq_console.store.kinds import PublishedKind
from tests.hub.recording import Recorder
from tests.store.making import row, rows


def _enqueue(hub: Hub, number: object = 1, **values: Any) -> Enqueued:
    fields: dict[str, Any] = {
        "kind": "order.create",
        "account": "filial-sp",
        "entity_id": str(number),
        "payload": {"number": number},
    }
    return hub.enqueue(**(fields | values))


def _new(number: object, **values: Any) -> NewEvent:
    fields: dict[str, Any] = {
        "kind": "order.create",
        "account": "filial-sp",
        "entity_id": str(number),
        "payload": {"number": number},
    }
    return NewEvent(**(fields | values))


def _dead(hub: Hub, number: object = 1, **values: Any) -> int:
    """An event whose handler refused it for good."""

    def refuse(_event: object) -> None:
        raise PermanentError("no such customer")

    if hub.registry.get("order.create") is None:
        hub.handler("order.create")(refuse)
    made = _enqueue(hub, number, **values)
    assert hub.run(made.id).status == "dead"
    return made.id


# A repeat


def test_a_new_event_is_pending_and_can_be_looked_at(hub: Hub) -> None:
    made = _enqueue(hub)
    assert (made.created, made.status) == (True, "pending")
    assert made.event == hub.get(made.id)
    assert (made.event.payload, made.event.account, made.event.queue) == (
        {"number": 1},
        "filial-sp",
        "erp.filial-sp",
    )


def test_a_repeat_is_folded_and_counted_with_its_time(hub: Hub) -> None:
    first = _enqueue(hub)
    assert hub.get(first.id).last_duplicate_at is None
    repeats = [_enqueue(hub) for _ in range(3)]
    assert {(made.id, made.created) for made in repeats} == {(first.id, False)}
    event = hub.get(first.id)
    assert event.duplicates == 3
    assert event.last_duplicate_at is not None
    assert event.last_duplicate_at >= event.created_at


def test_the_same_content_again_after_another_is_a_repeat_unless_it_has_a_version(hub: Hub) -> None:
    assert [_enqueue(hub, "p", payload=price).created for price in (10, 12, 10)] == [True, True, False]
    created = [
        _enqueue(hub, "p", payload=price, version=v).created for v, price in (("1", 10), ("2", 12), ("3", 10))
    ]
    assert created == [True, True, True]


def test_two_accounts_with_the_same_content_have_an_event_each(hub: Hub) -> None:
    assert _enqueue(hub, account="a").id != _enqueue(hub, account="b").id


def test_a_repeat_of_a_dead_event_says_that_it_is_dead(hub: Hub) -> None:
    id_ = _dead(hub)
    made = _enqueue(hub)
    assert (made.id, made.created, made.status) == (id_, False, "dead")
    assert (hub.get(id_).status, hub.get(id_).duplicates) == ("dead", 1)


def test_an_own_key_with_another_payload_is_refused_and_nothing_is_counted(hub: Hub) -> None:
    made = _enqueue(hub, idempotency_key="mine", payload=1)
    with pytest.raises(IdempotencyConflict):
        _enqueue(hub, idempotency_key="mine", payload=2)
    assert (hub.get(made.id).payload, hub.get(made.id).duplicates) == (1, 0)


@pytest.mark.parametrize(
    "other", [{"account": "another"}, {"kind": "order.cancel"}, {"entity_id": "another"}, {"version": "2"}]
)
def test_an_own_key_used_for_another_event_is_refused_and_never_swallowed(
    hub: Hub, other: dict[str, str]
) -> None:
    _enqueue(hub, idempotency_key="mine")
    with pytest.raises(IdempotencyConflict):
        _enqueue(hub, **{"idempotency_key": "mine", **other})


def test_of_eight_threads_one_creates_and_seven_are_counted(hub: Hub) -> None:
    together = Barrier(8)

    def produce(_: int) -> Enqueued:
        together.wait(10)
        return _enqueue(hub)

    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(produce, range(8)))
    assert sorted(each.created for each in made) == [False] * 7 + [True]
    assert len({each.id for each in made}) == 1
    assert hub.get(made[0].id).duplicates == 7


# Again, when it is dead


def test_a_dead_event_is_run_again_by_its_producer_once_with_an_audit_row(hub: Hub) -> None:
    id_ = _dead(hub)
    revived = _enqueue(hub, on_duplicate="reprocess_dead", origin="shop")
    again = _enqueue(hub, on_duplicate="reprocess_dead", origin="shop")
    assert (revived.id, revived.created, revived.status) == (id_, False, "pending")
    assert (again.id, again.created, again.status) == (id_, False, "pending")
    event = hub.get(id_)
    assert (event.status, event.cycle, event.attempts, event.duplicates) == ("pending", 1, 0, 2)
    said = [
        (kept["actor"], kept["action"], kept["before"], kept["after"]) for kept in rows(hub.store, "audit")
    ]
    assert said == [("shop", "reprocess", "dead", "pending")]


def test_of_eight_producers_that_revive_a_dead_event_one_does(hub: Hub) -> None:
    id_ = _dead(hub)
    together = Barrier(8)

    def produce(_: int) -> Enqueued:
        together.wait(10)
        return _enqueue(hub, on_duplicate="reprocess_dead")

    with ThreadPoolExecutor(8) as pool:
        assert {made.id for made in pool.map(produce, range(8))} == {id_}
    assert (hub.get(id_).cycle, hub.get(id_).duplicates, len(rows(hub.store, "audit"))) == (1, 8, 1)


def test_an_event_that_is_not_dead_is_not_revived(hub: Hub) -> None:
    made = _enqueue(hub)
    assert _enqueue(hub, on_duplicate="reprocess_dead").status == "pending"
    assert (hub.get(made.id).cycle, rows(hub.store, "audit")) == (0, [])


def test_a_new_event_may_be_asked_to_revive_too(hub: Hub) -> None:
    made = _enqueue(hub, on_duplicate="reprocess_dead")
    assert (made.created, made.status) == (True, "pending")


def test_a_slip_in_on_duplicate_is_refused_and_revives_nothing(hub: Hub) -> None:
    id_ = _dead(hub)
    with pytest.raises(ValueError, match="reprocess_dead"):
        _enqueue(hub, on_duplicate="reprocess-dead")
    assert hub.get(id_).status == "dead"


# What is refused


@pytest.mark.parametrize(
    "values",
    [
        {"payload": {"a": "\x00"}},
        {"payload": {"a": "\ud800"}},
        {"payload": float("nan")},
        {"payload": "x" * 256_001},
        {"origin": "shop\x00"},
        {"run_at": datetime(2026, 3, 1)},  # noqa: DTZ001 - what is refused
        {"expires_at": datetime(2026, 3, 1)},  # noqa: DTZ001 - what is refused
    ],
    ids=str,
)
def test_what_cannot_be_stored_is_refused_and_leaves_nothing(hub: Hub, values: dict[str, Any]) -> None:
    with pytest.raises(PayloadRefused):
        _enqueue(hub, **values)
    assert rows(hub.store) == []


def test_a_payload_may_be_as_large_as_the_setting_says(hub: Hub) -> None:
    assert _enqueue(hub, payload="x" * (256_000 - 2)).created


@pytest.mark.parametrize(
    ("make", "name"),
    [
        pytest.param(lambda hub: hub.store.engines.write(), "Engine", id="Engine"),
        pytest.param(lambda _: "session", "str", id="text"),
    ],
)
def test_something_that_is_no_session_is_refused_by_name(
    hub: Hub, make: Callable[[Hub], object], name: str
) -> None:
    with pytest.raises(TypeError, match=f"Session or Connection, or .*, not \\w*{name}"):
        _enqueue(hub, session=make(hub))
    assert rows(hub.store) == []


def test_an_async_session_is_refused_with_the_name_of_what_takes_it(hub: Hub) -> None:
    async def produce() -> None:
        async with AsyncSession() as session:
            wrong: Any = session
            _enqueue(hub, session=wrong)

    with pytest.raises(TypeError, match=r"not take an AsyncSession; use: await hub\.aenqueue"):
        asyncio.run(produce())


def test_a_transaction_on_another_make_of_database_is_refused_before_it_is_touched(postgres_url: str) -> None:
    hub = Hub(read_settings(database_url=postgres_url))
    engine = create_engine("sqlite://")
    with (
        engine.connect() as connection,
        pytest.raises(TypeError, match="postgresql database, not of one on sqlite"),
    ):
        _enqueue(hub, session=connection)
    engine.dispose()
    hub.close()


# Many


def test_many_are_answered_in_their_order(hub: Hub) -> None:
    known = _enqueue(hub, 2)
    made = hub.enqueue_many([_new(number) for number in (3, 2, 1, 3)], origin="shop")
    assert [each.created for each in made] == [True, False, True, False]
    assert [hub.get(each.id).entity_id for each in made] == ["3", "2", "1", "3"]
    assert made[1].id == known.id
    assert [(hub.get(each.id).duplicates, hub.get(each.id).origin) for each in made[:3]] == [
        (1, "shop"),
        (1, None),
        (0, "shop"),
    ]


@pytest.mark.parametrize(
    ("bad", "error"),
    [({"payload": "\x00"}, PayloadRefused), ({"idempotency_key": "mine", "payload": 2}, IdempotencyConflict)],
    ids=["refused", "conflict"],
)
def test_many_are_all_or_none(hub: Hub, bad: dict[str, Any], error: type[Exception]) -> None:
    _enqueue(hub, "known", idempotency_key="mine", payload=1)
    with pytest.raises(error):
        hub.enqueue_many([_new(1), _new(2, **bad), _new(3)])
    assert [kept["entity_id"] for kept in rows(hub.store)] == ["known"]
    assert rows(hub.store)[0]["duplicates"] == 0


def test_none_are_nothing(hub: Hub) -> None:
    assert hub.enqueue_many([]) == []
    assert hub.enqueue_many(iter([])) == []


# Attempts and times of its kind


def test_the_attempts_are_those_of_the_handler_or_of_the_published_kind_else_left_to_the_claim(
    hub: Hub,
) -> None:
    hub.handler("mine", policy=Policy(max_attempts=2))(lambda event: None)
    kinds.publish(hub.store, [PublishedKind("theirs", 9, 60.0, None, Policy().published())], "another")
    ids = [_enqueue(hub, kind=kind).id for kind in ("mine", "theirs", "nobodys")]
    assert [row(hub.store, id_)["max_attempts"] for id_ in ids] == [2, 9, None]
    kinds.publish(hub.store, [PublishedKind("nobodys", 3, 60.0, None, Policy().published())], "late")
    assert hub.run(ids[2]).max_attempts == 3


def test_a_kind_finds_its_policy_however_it_is_written(hub: Hub) -> None:
    hub.handler("order.create", policy=Policy(max_attempts=2))(lambda event: None)
    assert row(hub.store, _enqueue(hub, kind=" order.create ").id)["max_attempts"] == 2


@pytest.mark.parametrize("kind", ["", "a\x00", None, [], 5.5])
def test_a_kind_that_is_no_name_is_refused(hub: Hub, kind: Any) -> None:
    with pytest.raises(PayloadRefused, match=r"^kind: "):
        _enqueue(hub, kind=kind)


def test_the_longest_wait_is_that_of_the_kind(hub: Hub) -> None:
    hub.handler("mine", policy=Policy(max_wait=60))(lambda event: None)
    published = Policy(max_wait=120).published()
    kinds.publish(hub.store, [PublishedKind("theirs", 9, 60.0, None, published)], "another")
    waits = []
    for kind in ("mine", "theirs", "nobodys"):
        kept = row(hub.store, _enqueue(hub, kind=kind).id)
        waits.append((kept["give_up_at"] - kept["due_at"]).total_seconds())
    assert waits == [60, 120, 604_800]


# Telling the broker


def test_the_broker_is_told_of_a_new_event_after_the_commit(hub: Hub, recorder: Recorder) -> None:
    hub.handler("order.create", policy=Policy(timeout=7))(lambda event: None)
    made = _enqueue(hub, account="Filial SP")
    assert recorder.sent == [Message(made.id, 0, "erp.~46~ilial~20~~53~~50~", 7)]
    assert row(hub.store, made.id)["dispatched_at"] is not None


def test_the_broker_is_not_told_of_a_repeat(hub: Hub, recorder: Recorder) -> None:
    made = _enqueue(hub)
    _enqueue(hub)
    # Not even when the event has been claimed and given back before.
    hub.run(made.id)
    _enqueue(hub)
    assert recorder.ids == [made.id]


def test_the_broker_is_not_told_of_what_is_due_later(hub: Hub, recorder: Recorder) -> None:
    made = _enqueue(hub, run_at=utc_now() + timedelta(hours=1))
    assert recorder.sent == []
    assert row(hub.store, made.id)["dispatched_at"] is None


def test_the_broker_is_told_at_once_of_what_was_due_in_the_past(hub: Hub, recorder: Recorder) -> None:
    made = _enqueue(hub, run_at=utc_now() - timedelta(hours=1))
    assert recorder.ids == [made.id]


def test_the_broker_is_told_of_a_revived_event_under_its_new_epoch(hub: Hub, recorder: Recorder) -> None:
    id_ = _dead(hub)
    recorder.sent.clear()
    _enqueue(hub, on_duplicate="reprocess_dead")
    assert [(message.event_id, message.lease_epoch) for message in recorder.sent] == [(id_, 2)]


def test_the_broker_is_told_of_the_new_ones_among_many(hub: Hub, recorder: Recorder) -> None:
    _enqueue(hub, 2)
    recorder.sent.clear()
    made = hub.enqueue_many([_new(number) for number in (1, 2, 1, 3)])
    assert recorder.ids == [made[0].id, made[3].id]


def test_what_the_broker_does_not_take_is_left_to_the_relay(hub: Hub, recorder: Recorder) -> None:
    recorder.refuses = {2}
    made = hub.enqueue_many([_new(1), _new(2)])
    assert recorder.ids == [made[0].id]
    assert [kept["dispatched_at"] is not None for kept in rows(hub.store)] == [True, False]


def test_without_a_broker_nothing_is_marked_as_sent(hub: Hub) -> None:
    made = _enqueue(hub)
    assert row(hub.store, made.id)["dispatched_at"] is None


def test_a_publisher_that_fails_after_all_does_not_fail_the_enqueue(
    hub: Hub, recorder: Recorder, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "publish", _broken)
    made = _enqueue(hub)
    assert made.created
    assert hub.get(made.id).status == "pending"
    assert "after the commit" in caplog.text


def _broken(_messages: object) -> list[int]:
    raise OSError("the broker is on fire")


def test_the_event_of_an_enqueue_that_is_gone_says_so(hub: Hub) -> None:
    made = _enqueue(hub)
    with hub.store.write() as connection:
        connection.execute(hub.store.tables.event.delete())
    with pytest.raises(EventNotFound):
        _ = made.event


def test_what_is_no_new_event_is_refused_by_its_place(hub: Hub) -> None:
    wrong: Any = {"kind": "k"}
    with pytest.raises(TypeError, match="item 1 is no NewEvent but dict"):
        hub.enqueue_many([NewEvent(kind="k", account="a", entity_id="1", payload=1), wrong])
    assert rows(hub.store) == []
