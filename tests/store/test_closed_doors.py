"""Closed doors: every cause with its words, until when, and who decided it; for one's own accounts only."""

from __future__ import annotations

from datetime import timedelta

from dlq_console.clock import utc_now
from dlq_console.resilience.breaker.record import Position
from dlq_console.store import door_acts, doors, queries
from dlq_console.store.doors import Act
from dlq_console.store.queries import ClosedDoor
from dlq_console.store.scope_names import Scope, account_scope, method_scope, provider_scope
from dlq_console.store.store import Store


def do(store: Store, scope: Scope, act: Act) -> None:
    with store.write() as connection:
        doors.change(store, connection, scope, act)


def brief(door: ClosedDoor) -> tuple[str, str, str | None, str | None]:
    return door.name, door.cause, door.reason, door.by


def test_each_cause_of_a_door_is_told_the_longest_first(store: Store) -> None:
    scope = account_scope("filial-sp")
    do(store, scope, door_acts.asks_to_wait(600, "Too many calls"))
    do(store, scope, door_acts.paused(by="joana", note="Inventory", seconds=None))
    pause, block = queries.closed_doors(store)
    assert brief(pause) == ("filial-sp", "pause", "Inventory", "joana")
    assert pause.until is None
    assert brief(block) == ("filial-sp", "provider", "Too many calls", None)
    assert block.until is not None
    assert timedelta(minutes=9) < block.until - utc_now() <= timedelta(minutes=10)
    store.clock.advance(601)
    assert [door.cause for door in queries.closed_doors(store)] == ["pause"]


def test_a_circuit_held_open_names_who_holds_it(store: Store) -> None:
    act = door_acts.forced(Position.FORCED_OPEN, actor="joana", note="Repair", seconds=60)
    do(store, method_scope("filial-sp", "order.create"), act)
    (door,) = queries.closed_doors(store)
    assert (door.type, door.account, door.kind) == ("method", "filial-sp", "order.create")
    assert brief(door) == ("filial-sp/order.create", "circuit", "Repair", "joana")


def test_a_refused_log_in_is_the_hub_s_pause(store: Store) -> None:
    act = door_acts.paused(by="hub", note="invalid_client", seconds=None, cause="auth")
    do(store, account_scope("filial-sp"), act)
    paused = queries.paused_account(store, "filial-sp")
    assert paused is not None
    assert brief(paused) == ("filial-sp", "auth", "invalid_client", "hub")
    assert queries.paused_account(store, "filial-rj") is None


def test_a_provider_concerns_everybody_but_its_words_do_not(store: Store) -> None:
    do(store, provider_scope("omie"), door_acts.asks_to_wait(600, "Silva of filial-rj"))
    do(store, account_scope("filial-rj"), door_acts.asks_to_wait(600, "Silva"))
    (door,) = queries.closed_doors(store, accounts=("filial-sp",))
    assert brief(door) == ("omie", "provider", None, None)
    assert len(queries.closed_doors(store)) == 2
