"""Presence: a worker counts as long as it is heard."""

from __future__ import annotations

import os
import re
import socket
from datetime import timedelta

from dlq_console.store import presence
from dlq_console.store.presence import DEAD_AFTER
from dlq_console.store.store import Store
from tests.store.making import announce, rows


def test_an_announced_worker_tells_what_it_is(store: Store) -> None:
    presence.announce(store, "one", mode="celery", slots=4, accounts=["filial-sp", "filial-rj"])
    presence.announce(store, "two", mode="table", slots=2)
    one, two = rows(store, "worker")
    assert (one["id"], one["mode"], one["slots"], one["state"]) == ("one", "celery", 4, "running")
    assert (one["accounts"], two["accounts"]) == ('["filial-sp", "filial-rj"]', None)
    assert (one["host"], one["pid"]) == (socket.gethostname(), os.getpid())
    assert one["heartbeat_at"] == one["started_at"]
    assert re.fullmatch(r"\d+\.\d+.*", one["version"])


def test_a_worker_counts_until_it_was_silent_for_too_long(store: Store) -> None:
    announce(store, 4)
    store.clock.advance(DEAD_AFTER - 2)
    assert presence.slots(store) == 4
    store.clock.advance(4)
    assert presence.slots(store) == 0


def test_a_heartbeat_keeps_a_worker_alive_and_tells_its_state(store: Store) -> None:
    announce(store, 4, "one")
    store.clock.advance(DEAD_AFTER - 2)
    assert presence.beat(store, "one", "stopping")
    store.clock.advance(DEAD_AFTER - 2)
    assert presence.slots(store) == 4
    [kept] = rows(store, "worker")
    assert kept["state"] == "stopping"
    assert kept["heartbeat_at"] - kept["started_at"] > timedelta(seconds=DEAD_AFTER - 5)


def test_a_heartbeat_of_a_worker_that_was_forgotten_says_so(store: Store) -> None:
    assert not presence.beat(store, "nobody")
    assert rows(store, "worker") == []


def test_a_worker_that_leaves_is_gone_at_once(store: Store) -> None:
    announce(store, 4, "one")
    announce(store, 2, "two")
    presence.leave(store, "one")
    assert [kept["id"] for kept in rows(store, "worker")] == ["two"]
    assert presence.slots(store) == 2


def test_only_workers_silent_for_a_day_are_forgotten(store: Store) -> None:
    announce(store, 1, "old")
    store.clock.advance(86_390)
    announce(store, 1, "new")
    assert presence.forget_dead(store) == 0
    store.clock.advance(20)
    assert presence.forget_dead(store) == 1
    assert [kept["id"] for kept in rows(store, "worker")] == ["new"]


def test_no_two_workers_have_one_name() -> None:
    names = {presence.new_worker_id() for _ in range(1000)}
    assert len(names) == 1000
    assert all(name.startswith(f"{socket.gethostname()}:{os.getpid()}:") for name in names)
