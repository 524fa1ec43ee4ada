"""When was a door closed? Of each closing a row, with the end that it came to have."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from dlq_console.clock import utc_now
from dlq_console.resilience.breaker.record import Position
from dlq_console.store import closings, door_acts, doors
from dlq_console.store.doors import Act
from dlq_console.store.queries.closings import Closing, account_closings
from dlq_console.store.scope_names import Scope, account_scope, method_scope, provider_scope
from dlq_console.store.store import Store
from tests.store.filling import put
from tests.store.making import rows
from tests.store.plans import read_whole
from tests.store.recording import recording
from tests.store.test_query_plans import NUMBERS

A = account_scope("filial-sp")


def _do(store: Store, act: Act, scope: Scope = A) -> None:
    store.transact(lambda connection: doors.change(store, connection, scope, act))


def _since() -> datetime:
    return utc_now() - timedelta(hours=1)


def _found(store: Store, since: datetime | None = None) -> tuple[Closing, ...]:
    return account_closings(store, "filial-sp", since or _since())


def _seconds(closing: Closing) -> int | None:
    return None if closing.end is None else round((closing.end - closing.start).total_seconds())


def test_a_block_is_one_closing_however_often_the_provider_says_so_and_ends_when_it_said(
    store: Store,
) -> None:
    _do(store, door_acts.asks_to_wait(60, "too many"))
    store.clock.advance(20)
    _do(store, door_acts.asks_to_wait(60, "still too many"))
    _do(store, door_acts.asks_to_wait(5, "shorter"))
    (one,) = _found(store)
    assert (one.cause, one.kind, one.reason, _seconds(one)) == ("provider", None, "still too many", 80)
    store.clock.advance(70)
    _do(store, door_acts.asks_to_wait(30, "again"))
    assert [(closing.reason, _seconds(closing)) for closing in _found(store)] == [
        ("still too many", 80),
        ("again", 30),
    ]


def test_a_closing_that_a_person_ends_ended_then(store: Store) -> None:
    _do(store, door_acts.asks_to_wait(600, "too many"))
    _do(store, door_acts.paused(by="joana", note="inventory", seconds=None))
    store.clock.advance(40)
    assert [(one.cause, _seconds(one)) for one in _found(store)] == [("provider", 600), ("pause", None)]
    _do(store, door_acts.resumed)
    assert [(one.cause, _seconds(one)) for one in _found(store)] == [("provider", 40), ("pause", 40)]


def test_a_refused_log_in_ends_the_pause_of_a_person_and_a_lapsed_pause_is_over(store: Store) -> None:
    _do(store, door_acts.paused(by="joana", note=None, seconds=100))
    store.clock.advance(10)
    _do(store, door_acts.paused(by="worker", note="401", seconds=None, cause="auth"))
    store.clock.advance(10)
    _do(store, door_acts.paused(by="joana", note="password renewed", seconds=None))
    assert [(one.cause, one.reason, _seconds(one)) for one in _found(store)] == [
        ("pause", None, 10),
        ("auth", "password renewed", None),
    ]


def test_a_circuit_that_a_person_holds_open_is_a_closing_and_one_that_opens_by_itself_is_a_transition(
    store: Store,
) -> None:
    _do(store, door_acts.forced(Position.FORCED_OPEN, actor="joana", note="maintenance", seconds=300))
    store.clock.advance(30)
    _do(store, door_acts.circuit_reset(actor="joana", note=""))
    (one,) = _found(store)
    assert (one.cause, one.reason, _seconds(one)) == ("circuit", "maintenance", 30)
    _do(store, lambda door, now: replace(door, circuit=replace(door.circuit, generation=9, failures=4)))
    assert len(_found(store)) == 1


def test_kinds_of_the_account_and_its_providers_count_and_nobody_elses(store: Store) -> None:
    for kind, provider in (("order.create", "omie"), ("never.sent", "other")):
        put(
            store, "kind", name=kind, provider=provider, policy="{}", max_attempts=6, timeout=60, published_at=utc_now(),
        )  # fmt: skip
    put(store, "rollup", grain=60, account="filial-sp", kind="order.create", bucket=utc_now())
    for scope in (
        method_scope("filial-sp", "order.create"),
        provider_scope("omie"),
        provider_scope("other"),
        account_scope("filial-rj"),
    ):
        _do(store, door_acts.asks_to_wait(60, "about customer 5521"), scope)
    assert {(one.kind, one.shared, one.reason) for one in _found(store)} == {
        ("order.create", False, "about customer 5521"),
        (None, True, None),
    }


def test_what_began_before_is_cut_at_the_beginning_and_what_ended_before_is_left_out(store: Store) -> None:
    _do(store, door_acts.asks_to_wait(10, "first"))
    store.clock.advance(60)
    _do(store, door_acts.asks_to_wait(100, "second"))
    store.clock.advance(50)
    since = utc_now() + timedelta(seconds=110)
    (one,) = _found(store, since)
    assert (one.reason, one.start) == ("second", since)
    assert _found(store, since + timedelta(seconds=60)) == ()


def test_what_ended_long_ago_is_forgotten_and_what_lasts_is_not(store: Store) -> None:
    _do(store, door_acts.asks_to_wait(10, "long ago"))
    _do(store, door_acts.paused(by="joana", note=None, seconds=None), account_scope("filial-rj"))
    assert closings.forget(store) == 0
    store.clock.advance((closings.KEPT_DAYS + 1) * 86_400)
    assert closings.forget(store) == 1
    assert [row["cause"] for row in rows(store, "scope_closing")] == ["pause"]


def test_many_closings_of_others_and_of_long_ago_are_not_read(store: Store) -> None:
    fill = """
INSERT INTO {scope_closing} (type, name, cause, began_at, until_at)
NUMBERS SELECT 'account', 'filial-' || (i % 50), 'provider', {now} - {interval[60]} * i, {now} - {interval[30]} * i FROM g
"""
    with store.write() as connection:
        connection.execute(store.statement(fill.replace("NUMBERS", NUMBERS[store.sqlite])))
    if not store.sqlite:
        with store.write() as connection:
            connection.exec_driver_sql("ANALYZE")
    _do(store, door_acts.asks_to_wait(60, "busy"))
    with recording(store) as sent:
        assert len(_found(store)) == 1
        _do(store, door_acts.asks_to_wait(90, "still busy"))
        closings.forget(store)
    assert len(sent) >= 4
    assert [statement for statement in sent if read_whole(store, statement, ("scope_closing",))] == []
