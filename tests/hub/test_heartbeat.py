"""The heartbeat of a run: it keeps the lease, says when it could not, and when the lease is lost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from dlq_console.hub.heartbeat import Heartbeat, kept_alive
from dlq_console.store import transitions
from dlq_console.store.migrate import upgrade
from dlq_console.store.store import Store
from tests.services.postgres import PostgresServer
from tests.services.process import wait_until
from tests.store.making import add, claimed, row

#: Seconds; a beat comes every third of it.
LEASE = 0.3


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    store = Store(database_url)
    yield store
    store.engines.dispose()


def test_a_lease_is_kept_as_long_as_the_block_lasts(store: Store) -> None:
    event = claimed(store, add(store).id, lease_seconds=LEASE)
    given = row(store, event.id)["lease_until"]
    with kept_alive(store, event, LEASE):
        wait_until(lambda: row(store, event.id)["lease_until"] > given, 10, "a beat")


def test_a_lease_that_is_lost_is_told_and_left_alone(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    event = claimed(store, add(store).id)
    transitions.end(store, event, transitions.released())
    claimed(store, event.id)
    taken = row(store, event.id)
    with kept_alive(store, event, LEASE):
        wait_until(lambda: "its lease was lost" in caplog.text, 10, "the warning")
    assert row(store, event.id) == taken


def test_a_database_that_is_away_is_told_and_asked_again(caplog: pytest.LogCaptureFixture) -> None:
    with PostgresServer() as server:
        upgrade(server.url())
        store = Store(server.url())
        event = claimed(store, add(store).id)
        given = row(store, event.id)["lease_until"]
        with kept_alive(store, event, 30 * LEASE):
            server.stop()
            wait_until(lambda: "was not extended" in caplog.text, 20, "the warning")
            server.start()
            wait_until(lambda: row(store, event.id)["lease_until"] != given, 20, "a beat")
        store.engines.dispose()


def test_one_thread_keeps_the_leases_of_all_events_of_its_process(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    held, gone, ended = (claimed(store, add(store, n).id, lease_seconds=LEASE) for n in range(3))
    given = row(store, held.id)["lease_until"]
    left = row(store, ended.id)["lease_until"]
    with closing(Heartbeat(store, LEASE)) as heartbeat, heartbeat.of(held), heartbeat.of(gone):
        with heartbeat.of(ended):
            pass
        transitions.end(store, gone, transitions.released())
        wait_until(lambda: "its lease was lost" in caplog.text, 10, "the warning")
        before = row(store, held.id)["lease_until"]
        wait_until(lambda: row(store, held.id)["lease_until"] > before, 10, "a beat after the loss")
    assert before >= given
    assert row(store, ended.id)["lease_until"] == left
    # Told once, and of the one that it is true of.
    assert [record.args for record in caplog.records] == [(gone.id,)]
