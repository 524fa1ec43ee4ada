"""Does each periodic step do what its rule says, and leave alone what it does not name?"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from dlq_console import Event, Hub, NewEvent, Policy
from dlq_console.settings import read_settings
from dlq_console.store import claims, holding, presence, pruning, transitions
from dlq_console.workers import steps
from tests.store import closing

LEASE = 30
DAY = 86_400
POLICY = Policy(max_attempts=2, base_delay=10, jitter=0, max_wait=100)


@pytest.fixture
def hub(database_url: str) -> Iterator[Hub]:
    made = Hub(read_settings(database_url=database_url, broker_url="", retention_days=30))
    made.handler("noop", policy=POLICY)(_nothing)
    made.handler("refused", policy=POLICY)(_refuse)
    made.publish_kinds("test")
    yield made
    made.close()


def _nothing(_event: Event) -> None:
    return


def _refuse(_event: Event) -> None:
    raise ValueError("refused")


def _enqueue(
    hub: Hub, kind: str = "noop", *, entity_id: str = "1", expires_at: datetime | None = None
) -> int:
    made = hub.enqueue(kind, account="filial-sp", entity_id=entity_id, payload={}, expires_at=expires_at)
    return made.id


def _claim(hub: Hub, event_id: int) -> Event:
    event = claims.claim_one(hub.store, event_id, worker="a dead one", lease_seconds=LEASE)
    assert event is not None
    return event


def _attempts(hub: Hub) -> list[tuple[str, int]]:
    with hub.store.read() as connection:
        rows = connection.execute(
            hub.store.statement("SELECT outcome, number FROM {attempt} ORDER BY id")
        ).all()
    return [(row.outcome, row.number) for row in rows]


# rescue


def test_run_whose_lease_has_lapsed_is_tried_again_and_counted(hub: Hub) -> None:
    id_ = _enqueue(hub)
    _claim(hub, id_)
    hub.clock.advance(LEASE + 1)
    assert steps.rescue(hub) == 1
    event = hub.get(id_)
    assert (event.status, event.attempts, event.error_type) == ("failed", 1, "WorkerDied")
    assert event.next_run_at - event.updated_at == timedelta(seconds=10)
    assert _attempts(hub) == [("lost", 1)]


def test_last_lost_attempt_makes_an_event_dead_orphaned(hub: Hub) -> None:
    id_ = _enqueue(hub)
    for _ in range(2):
        _claim(hub, id_)
        hub.clock.advance(LEASE + 1)
        assert steps.rescue(hub) == 1
        hub.clock.advance(10)
    event = hub.get(id_)
    assert (event.status, event.reason) == ("dead", "orphaned")
    assert event.last_error == (
        "The worker died or stopped answering while it was running this event (attempt 2 of 2)."
    )
    assert _attempts(hub) == [("lost", 1), ("lost", 2)]


def test_run_whose_lease_is_kept_alive_is_left_alone(hub: Hub) -> None:
    event = _claim(hub, _enqueue(hub))
    hub.clock.advance(LEASE - 1)
    assert holding.extend(hub.store, [(event.id, event.lease_epoch)], lease_seconds=LEASE) == []
    hub.clock.advance(LEASE - 1)
    assert steps.rescue(hub) == 0
    assert hub.get(event.id).status == "running"


def test_run_that_kept_its_lease_at_the_last_moment_is_not_ended_by_a_rescuer(hub: Hub) -> None:
    claimed = _claim(hub, _enqueue(hub))
    hub.clock.advance(LEASE + 1)
    (seen,) = holding.lapsed(hub.store)
    holding.extend(hub.store, [(claimed.id, claimed.lease_epoch)], lease_seconds=LEASE)
    assert not transitions.end(hub.store, seen, transitions.completed(None), lapsed_only=True)
    assert hub.get(claimed.id).status == "running"


def test_rescue_follows_the_published_policy_where_the_handler_is_elsewhere(hub: Hub) -> None:
    id_ = _enqueue(hub)
    _claim(hub, id_)
    without_handlers = Hub(hub.settings)
    without_handlers.clock.advance(LEASE + 1)
    assert steps.rescue(without_handlers) == 1
    without_handlers.close()
    event = hub.get(id_)
    assert event.next_run_at - event.updated_at == timedelta(seconds=10)


# expire


def test_event_that_was_not_started_before_its_expiry_is_dead(hub: Hub) -> None:
    id_ = _enqueue(hub, expires_at=datetime.now(UTC) + timedelta(seconds=60))
    assert steps.expire(hub) == 0
    hub.clock.advance(61)
    assert steps.expire(hub) == 1
    event = hub.get(id_)
    assert (event.status, event.reason) == ("dead", "expired")
    assert event.last_error == (
        "It was not started before its expiry; its account was closed, or no worker had room for it."
    )


def test_event_that_waited_longer_than_its_kind_allows_is_dead(hub: Hub) -> None:
    id_ = _enqueue(hub)
    hub.clock.advance(POLICY.max_wait + 1)
    assert steps.expire(hub) == 1
    event = hub.get(id_)
    assert (event.status, event.reason, event.attempts) == ("dead", "expired", 0)
    assert event.last_error == (
        "It was not started before the longest wait its kind allows; "
        "its account was closed, or no worker had room for it."
    )


def test_event_behind_a_closed_door_expires_all_the_same(hub: Hub) -> None:
    id_ = _enqueue(hub)
    with hub.store.write() as connection:
        closing.close(hub.store, connection, "account", "filial-sp", DAY, "too many calls")
    hub.clock.advance(POLICY.max_wait + 1)
    assert steps.expire(hub) == 1
    assert hub.get(id_).reason == "expired"


def test_run_due_expires_by_itself_where_no_step_runs(hub: Hub) -> None:
    id_ = _enqueue(hub)
    hub.clock.advance(POLICY.max_wait + 1)
    assert hub.run_due() == 0
    assert hub.get(id_).reason == "expired"


def test_running_event_does_not_expire(hub: Hub) -> None:
    claimed = _claim(hub, _enqueue(hub))
    hub.clock.advance(POLICY.max_wait + 1)
    assert steps.expire(hub) == 0
    assert hub.get(claimed.id).status == "running"


# prune


def test_old_done_and_discarded_events_are_pruned_with_their_attempts(hub: Hub) -> None:
    done, discarded = _enqueue(hub, entity_id="1"), _enqueue(hub, entity_id="2")
    hub.discard(discarded, actor="maria", note="twice")
    assert hub.run(done).status == "done"
    hub.clock.advance(29 * DAY)
    assert steps.prune(hub) == 0
    hub.clock.advance(1 * DAY + 60)
    assert steps.prune(hub) == 2
    assert _count(hub, "event") == 0
    assert _attempts(hub) == []
    assert _count(hub, "audit") == 1  # what people did stays


def test_dead_events_are_never_pruned_by_age(hub: Hub) -> None:
    id_ = _enqueue(hub, "refused")
    assert hub.run(id_).status == "dead"
    hub.clock.advance(3650 * DAY)
    assert steps.prune(hub) == 0
    assert hub.get(id_).status == "dead"


def test_open_events_are_never_pruned(hub: Hub) -> None:
    waiting, running = _enqueue(hub, entity_id="1"), _claim(hub, _enqueue(hub, entity_id="2")).id
    hub.clock.advance(3650 * DAY)
    assert steps.prune(hub) == 0
    assert (hub.get(waiting).status, hub.get(running).status) == ("pending", "running")


def test_key_of_a_pruned_event_is_forgotten(hub: Hub) -> None:
    first = _enqueue(hub)
    hub.run(first)
    hub.clock.advance(31 * DAY)
    steps.prune(hub)
    again = hub.enqueue("noop", account="filial-sp", entity_id="1", payload={})
    assert again.created
    assert again.id != first


def test_one_step_prunes_many_chunks(hub: Hub) -> None:
    events = pruning.CHUNK * 2 + 5
    _insert_done(hub, events)
    hub.clock.advance(31 * DAY)
    assert steps.prune(hub) == events
    assert _count(hub, "event") == 0


# forget_workers


def test_worker_that_was_silent_for_a_day_is_forgotten(hub: Hub) -> None:
    presence.announce(hub.store, "silent", mode="table", slots=1)
    hub.clock.advance(DAY - 60)
    presence.announce(hub.store, "lively", mode="table", slots=1)
    assert steps.forget_workers(hub) == 0
    hub.clock.advance(120)
    assert steps.forget_workers(hub) == 1
    with hub.store.read() as connection:
        assert connection.execute(hub.store.statement("SELECT id FROM {worker}")).scalars().all() == [
            "lively"
        ]


# relay


def test_relay_sends_nothing_in_table_mode(hub: Hub) -> None:
    id_ = _enqueue(hub)
    assert steps.relay(hub) == 0
    assert hub.get(id_).status == "pending"


def _count(hub: Hub, table: str) -> int:
    with hub.store.read() as connection:
        return int(connection.execute(hub.store.statement(f"SELECT count(*) FROM {{{table}}}")).scalar_one())


def _insert_done(hub: Hub, events: int) -> None:
    """Events that have ended, without the work of running each."""
    hub.enqueue_many(
        NewEvent(kind="noop", account="filial-sp", entity_id=str(n), payload={}) for n in range(events)
    )
    with hub.store.write() as connection:
        connection.execute(hub.store.statement("UPDATE {event} SET status = 'done', finished_at = {now}"))
