"""Scopes: a closed door stays closed as long as the longest answer says, and no row means open."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dlq_console.clock import utc_now
from dlq_console.store import scopes
from dlq_console.store.scope_names import ScopeType, method_name
from dlq_console.store.store import Store
from tests.store import closing
from tests.store.making import rows


def _close(store: Store, seconds: float, reason: str = "asked to wait", type_: ScopeType = "account") -> None:
    with store.write() as connection:
        closing.close(store, connection, type_, "filial-sp", seconds, reason)


def test_no_row_means_open(store: Store) -> None:
    assert closing.closed_scopes(store) == ()


@pytest.mark.parametrize("type_", ["account", "method", "provider"])
def test_a_closed_scope_tells_since_when_until_when_and_why(store: Store, type_: ScopeType) -> None:
    _close(store, 90, type_=type_)
    [door] = closing.closed_scopes(store)
    assert (door.type, door.name, door.reason) == (type_, "filial-sp", "asked to wait")
    assert door.until - door.since == timedelta(seconds=90)
    assert abs(door.since - utc_now()) < timedelta(minutes=1)


def test_a_scope_opens_by_itself(store: Store) -> None:
    _close(store, 90)
    store.clock.advance(91)
    assert closing.closed_scopes(store) == ()


def test_a_longer_closure_replaces_a_shorter_one_and_keeps_since_when(store: Store) -> None:
    _close(store, 60)
    [first] = closing.closed_scopes(store)
    store.clock.advance(30)
    _close(store, 90, "asked to wait longer")
    [door] = closing.closed_scopes(store)
    assert door.since == first.since
    assert timedelta(seconds=119) < door.until - door.since < timedelta(seconds=125)
    assert door.reason == "asked to wait longer"


def test_a_shorter_closure_changes_neither_the_end_nor_the_reason_of_a_longer_one(store: Store) -> None:
    _close(store, 600, "down for the night")
    before = closing.closed_scopes(store)
    _close(store, 5)
    assert closing.closed_scopes(store) == before


def test_a_scope_that_closes_again_later_has_a_new_beginning(store: Store) -> None:
    _close(store, 60, "first")
    [first] = closing.closed_scopes(store)
    store.clock.advance(100)
    _close(store, 5, "second")
    [door] = closing.closed_scopes(store)
    assert door.since - first.since >= timedelta(seconds=100)
    assert door.until - door.since == timedelta(seconds=5)
    assert door.reason == "second"


def test_limits_and_closures_of_an_account_do_not_disturb_each_other(store: Store) -> None:
    scopes.limit_account(store, "filial-sp", 3)
    assert closing.closed_scopes(store) == ()
    _close(store, 60)
    scopes.limit_account(store, "filial-sp", 4)
    [kept] = rows(store, "scope")
    assert (kept["max_running"], kept["closed_reason"]) == (4, "asked to wait")
    assert len(closing.closed_scopes(store)) == 1


@pytest.mark.parametrize(
    ("account", "kind", "name"),
    [
        ("filial-sp", "order.create", "filial-sp/order.create"),
        ("a/b", "c", "a%2Fb/c"),
        ("a%2Fb", "c", "a%252Fb/c"),
        ("a", "b/c", "a/b/c"),
    ],
)
def test_the_name_of_a_method_stands_for_one_account_and_one_kind(account: str, kind: str, name: str) -> None:
    assert method_name(account, kind) == name
