"""Transitions: each is one guarded write; who comes late changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from threading import Barrier
from typing import Any

import pytest
from sqlalchemy.exc import IntegrityError

from dlq_console.clock import utc_now
from dlq_console.store import acts, holding, kinds, overdue, queries, transitions
from dlq_console.store.claim_sql import RETRY
from dlq_console.store.events import Event
from dlq_console.store.kinds import PublishedKind
from dlq_console.store.states import ALLOWED, ENDED, Action, Reason, Status
from dlq_console.store.store import Store
from dlq_console.store.transitions import Ending, Failure
from tests.store.making import (
    CAUSE,
    WORKER,
    add,
    add_in,
    claimed,
    end_as,
    retry_later,
    row,
    rows,
    set_values,
    wait_for_a_lock,
)

WEEK = timedelta(days=7)
OTHER_CAUSE = replace(CAUSE, message="another", fingerprint="e" * 32)
WITH_ALL = Failure(
    type="ErpError", message="no stock", traceback="line 7", verdict="permanent", fingerprint="a" * 32
)


def _reprocess(store: Store, event_id: int, **values: Any) -> int | None:
    fields: dict[str, Any] = {"actor": "maria", "note": None, "max_wait": 3600}
    with store.write() as connection:
        return acts.reprocess(store, connection, event_id, **(fields | values))


def _discard(store: Store, event_id: int, **values: Any) -> int | None:
    with store.write() as connection:
        return acts.discard(store, connection, event_id, **({"actor": "maria", "note": None} | values))


ENDINGS: dict[str, Callable[[], Ending]] = {
    "completed": lambda: transitions.completed('{"document":1}'),
    "retried": retry_later,
    "buried": lambda: transitions.buried(CAUSE, Reason.PERMANENT),
    "released": lambda: transitions.released(CAUSE, delay=5),
    "released without a word": transitions.released,
}
every_ending = pytest.mark.parametrize("ending", ENDINGS.values(), ids=ENDINGS)


# How a run ends


def test_a_completed_event_is_done_with_its_result_and_without_an_error(store: Store) -> None:
    id_ = add_in(store, Status.FAILED)
    store.clock.advance(31)
    end_as(store, id_, transitions.completed('{"document":1}'))
    kept = row(store, id_)
    assert (kept["status"], kept["result"], kept["reason"]) == ("done", '{"document":1}', None)
    assert [kept[name] for name in ("error_type", "last_error", "verdict", "fingerprint", "died_again")] == [
        None
    ] * 5
    assert (kept["lease_owner"], kept["lease_until"]) == (None, None)
    assert kept["finished_at"] == kept["updated_at"] >= kept["started_at"]


def test_a_retried_event_is_due_after_its_wait_and_given_up_the_longest_wait_later(store: Store) -> None:
    id_ = add(store).id
    end_as(store, id_, transitions.retried(CAUSE, delay=90.5, max_wait=600))
    kept = row(store, id_)
    assert (kept["status"], kept["attempts"], kept["priority"]) == ("failed", 1, 1)
    assert kept["due_at"] == kept["next_run_at"] == kept["updated_at"] + timedelta(seconds=90.5)
    assert kept["give_up_at"] == kept["due_at"] + timedelta(seconds=600)
    assert (kept["error_type"], kept["last_error"], kept["verdict"]) == (
        "TransientError",
        "busy",
        "transient",
    )
    assert (kept["fingerprint"], kept["finished_at"], kept["lease_owner"]) == ("f" * 32, None, None)


def test_a_retry_does_not_outlast_the_expiry_of_its_event(store: Store) -> None:
    expires_at = utc_now().replace(microsecond=0) + timedelta(seconds=200)
    id_ = add(store, expires_at=expires_at).id
    end_as(store, id_, transitions.retried(CAUSE, delay=90, max_wait=600))
    assert row(store, id_)["give_up_at"] == expires_at


def test_a_buried_event_is_dead_for_a_reason(store: Store) -> None:
    id_ = add(store).id
    end_as(store, id_, transitions.buried(CAUSE, Reason.EXHAUSTED))
    kept = row(store, id_)
    assert (kept["status"], kept["reason"], kept["last_error"]) == ("dead", "exhausted", "busy")
    assert kept["finished_at"] == kept["updated_at"]
    assert (kept["lease_owner"], kept["lease_until"], kept["died_again"]) == (None, None, None)


@pytest.mark.parametrize(("second", "again"), [(CAUSE, "same"), (OTHER_CAUSE, "different")])
@pytest.mark.parametrize("by", ["burying", "giving up"])
def test_an_event_that_dies_again_says_whether_of_the_same_cause(
    store: Store, second: Failure, again: str, by: str
) -> None:
    id_ = add_in(store, Status.DEAD)
    assert row(store, id_)["died_again"] is None
    _reprocess(store, id_, max_wait=60)
    assert row(store, id_)["died_again"] is None
    if by == "burying":
        end_as(store, id_, transitions.buried(second, Reason.PERMANENT))
    else:
        store.clock.advance(61)
        assert overdue.give_up(store, id_, second)
    assert row(store, id_)["died_again"] == again


def test_the_third_death_is_compared_with_the_second(store: Store) -> None:
    id_ = add_in(store, Status.DEAD)
    for cause, again in ((OTHER_CAUSE, "different"), (OTHER_CAUSE, "same"), (CAUSE, "different")):
        _reprocess(store, id_)
        end_as(store, id_, transitions.buried(cause, Reason.PERMANENT))
        assert row(store, id_)["died_again"] == again


def test_a_released_event_gets_its_attempt_back(store: Store) -> None:
    id_ = add(store).id
    before = row(store, id_)
    end_as(store, id_, transitions.released(delay=12))
    kept = row(store, id_)
    assert (kept["status"], kept["attempts"], kept["total_attempts"], kept["lease_epoch"]) == (
        "pending",
        0,
        0,
        1,
    )
    assert kept["next_run_at"] == kept["updated_at"] + timedelta(seconds=12)
    # The wait is measured from when it first was due, and ends when it would have ended.
    assert (kept["due_at"], kept["give_up_at"]) == (before["due_at"], before["give_up_at"])
    assert (kept["lease_owner"], kept["lease_until"]) == (None, None)


def test_a_release_without_a_word_writes_no_attempt_and_one_with_a_cause_does(store: Store) -> None:
    id_ = add(store).id
    end_as(store, id_, transitions.released())
    assert rows(store, "attempt") == []
    end_as(store, id_, transitions.released(CAUSE))
    assert [(kept["outcome"], kept["error"]) for kept in rows(store, "attempt")] == [("released", "busy")]


def test_the_attempt_tells_how_the_run_ended(store: Store) -> None:
    id_ = add_in(store, Status.FAILED)
    store.clock.advance(31)
    event = end_as(store, id_, transitions.retried(WITH_ALL, delay=60, max_wait=600))
    first, second = rows(store, "attempt")
    assert (first["number"], second["number"], second["cycle"]) == (1, 2, 0)
    assert (second["event_id"], second["lease_epoch"], second["worker"]) == (id_, 2, WORKER)
    assert (second["kind"], second["account"]) == ("order.create", "filial-sp")
    assert (second["due_at"], second["started_at"]) == (event.due_at, event.started_at)
    # On SQLite two statements, so some milliseconds may lie between them.
    assert timedelta(0) <= second["ended_at"] - row(store, id_)["updated_at"] < timedelta(seconds=5)
    said = {
        name: second[name]
        for name in ("outcome", "error_type", "error", "traceback", "verdict", "wait_seconds")
    }
    assert said == {
        "outcome": "failed",
        "error_type": "ErpError",
        "error": "no stock",
        "traceback": "line 7",
        "verdict": "permanent",
        "wait_seconds": 60.0,
    }
    assert second["fingerprint"] == "a" * 32


def test_a_warning_of_a_run_that_worked_stays_on_its_attempt_only(store: Store) -> None:
    id_ = add(store).id
    end_as(store, id_, transitions.completed(None, warning=WITH_ALL))
    assert [(kept["outcome"], kept["error"]) for kept in rows(store, "attempt")] == [("done", "no stock")]
    assert (row(store, id_)["status"], row(store, id_)["last_error"]) == ("done", None)


# Who comes late


@every_ending
def test_a_late_result_after_rescue_changes_nothing_and_writes_no_attempt(
    store: Store, ending: Callable[[], Ending]
) -> None:
    id_ = add(store).id
    frozen = claimed(store, id_)
    store.clock.advance(31)
    assert transitions.end(store, frozen, retry_later(), lapsed_only=True)
    rescued, attempts = row(store, id_), rows(store, "attempt")
    assert not transitions.end(store, frozen, ending())
    assert (row(store, id_), rows(store, "attempt")) == (rescued, attempts)


@every_ending
def test_a_late_result_while_another_worker_runs_the_event_changes_nothing(
    store: Store, ending: Callable[[], Ending]
) -> None:
    id_ = add(store).id
    frozen = claimed(store, id_)
    store.clock.advance(31)
    assert transitions.end(store, frozen, transitions.released(), lapsed_only=True)
    claimed(store, id_)
    running, attempts = row(store, id_), rows(store, "attempt")
    assert not transitions.end(store, frozen, ending())
    assert (row(store, id_), rows(store, "attempt")) == (running, attempts)


@every_ending
def test_a_result_is_written_once(store: Store, ending: Callable[[], Ending]) -> None:
    event = claimed(store, add(store).id)
    assert transitions.end(store, event, ending())
    once, attempts = row(store, event.id), rows(store, "attempt")
    assert not transitions.end(store, event, ending())
    assert (row(store, event.id), rows(store, "attempt")) == (once, attempts)


@every_ending
def test_a_run_whose_lease_has_not_lapsed_is_not_ended_by_others(
    store: Store, ending: Callable[[], Ending]
) -> None:
    event = claimed(store, add(store).id)
    before = row(store, event.id)
    assert not transitions.end(store, event, ending(), lapsed_only=True)
    assert (row(store, event.id), rows(store, "attempt")) == (before, [])


def test_a_change_and_its_attempt_are_in_one_transaction(store: Store) -> None:
    event = claimed(store, add(store).id)
    before = row(store, event.id)
    with store.engines.write().connect() as connection:
        assert transitions.end_in(store, connection, event, retry_later())
        connection.rollback()
    assert (row(store, event.id), rows(store, "attempt")) == (before, [])


# Leases


def test_a_heartbeat_keeps_the_lease_alive(store: Store) -> None:
    event = claimed(store, add(store).id)
    store.clock.advance(20)
    assert holding.extend(store, [(event.id, event.lease_epoch)], lease_seconds=30) == []
    left = row(store, event.id)["lease_until"] - row(store, event.id)["started_at"]
    assert timedelta(seconds=49) < left < timedelta(seconds=52)


def test_a_heartbeat_never_keeps_a_lease_beyond_the_time_limit_and_five_seconds(store: Store) -> None:
    kinds.publish(store, [PublishedKind("order.create", 6, 20.0, None, {})], WORKER)
    event = claimed(store, add(store).id, lease_seconds=10)
    for _ in range(4):
        store.clock.advance(9)
        assert holding.extend(store, [(event.id, 1)], lease_seconds=30) == []
        kept = row(store, event.id)
        assert kept["lease_until"] - kept["started_at"] <= timedelta(seconds=25)
    assert [lapsed.id for lapsed in holding.lapsed(store)] == [event.id]


def test_a_heartbeat_returns_what_is_no_longer_held(store: Store) -> None:
    ids = [add(store, number).id for number in range(4)]
    held = [claimed(store, id_) for id_ in ids]
    transitions.end(store, held[0], transitions.completed(None))
    store.clock.advance(31)
    transitions.end(store, held[1], transitions.released(), lapsed_only=True)
    claimed(store, ids[1])
    pairs = [(event.id, event.lease_epoch) for event in reversed(held)]
    assert holding.extend(store, pairs, lease_seconds=30) == [ids[0], ids[1]]
    assert {
        kept["lease_until"] > kept["started_at"] for kept in rows(store) if kept["status"] == "running"
    } == {True}


def test_a_run_holds_its_event_until_it_ends(store: Store) -> None:
    event = claimed(store, add(store).id)
    assert holding.holds(store, event.id, event.lease_epoch)
    assert not holding.holds(store, event.id, event.lease_epoch + 1)
    transitions.end(store, event, transitions.completed(None))
    assert not holding.holds(store, event.id, event.lease_epoch)


def test_only_lapsed_leases_are_listed_for_rescue(store: Store) -> None:
    first = claimed(store, add(store, 1).id, lease_seconds=10)
    claimed(store, add(store, 2).id, lease_seconds=30)
    add_in(store, Status.DEAD, 3)
    assert holding.lapsed(store) == []
    store.clock.advance(11)
    [found] = holding.lapsed(store)
    assert (found.id, found.lease_epoch, found.attempts) == (first.id, 1, 1)
    store.clock.advance(20)
    assert len(holding.lapsed(store)) == 2
    assert len(holding.lapsed(store, limit=1)) == 1


# Too late to start


@pytest.mark.parametrize("status", [Status.PENDING, Status.FAILED])
def test_an_event_that_was_not_started_in_time_is_dead_expired(store: Store, status: Status) -> None:
    id_ = add_in(store, status)
    assert overdue.overdue(store) == []
    assert not overdue.give_up(store, id_, CAUSE)
    store.clock.advance(WEEK.total_seconds() + 60)
    assert [event.id for event in overdue.overdue(store)] == [id_]
    assert overdue.give_up(store, id_, OTHER_CAUSE)
    kept = row(store, id_)
    assert (kept["status"], kept["reason"], kept["last_error"]) == ("dead", "expired", "another")
    assert kept["finished_at"] == kept["updated_at"]
    assert overdue.overdue(store) == []
    assert not overdue.give_up(store, id_, CAUSE)


@pytest.mark.parametrize("status", [status for status in Status if status not in ("pending", "failed")])
def test_only_what_waits_to_be_run_expires(store: Store, status: Status) -> None:
    id_ = add_in(store, status)
    store.clock.advance(WEEK.total_seconds() + 60)
    before = row(store, id_)
    assert overdue.overdue(store) == []
    assert not overdue.give_up(store, id_, CAUSE)
    assert row(store, id_) == before


# What a person may do

ACTS: dict[Action, Callable[..., int | None]] = {Action.REPROCESS: _reprocess, Action.DISCARD: _discard}
AFTER = {Action.REPROCESS: Status.PENDING, Action.DISCARD: Status.DISCARDED}


@pytest.mark.parametrize("status", list(Status))
@pytest.mark.parametrize("action", list(ACTS))
def test_an_action_is_allowed_exactly_where_the_table_says(
    store: Store, action: Action, status: Status
) -> None:
    id_ = add_in(store, status)
    before, epoch = row(store, id_), ACTS[action](store, id_)
    if status in ALLOWED[action]:
        after = row(store, id_)
        assert after["status"] == AFTER[action]
        assert epoch == after["lease_epoch"] == before["lease_epoch"] + 1
        assert (after["finished_at"] is not None) == (AFTER[action] in ENDED)
        [said] = [kept for kept in rows(store, "audit") if kept["actor"] == "maria"]
        assert (said["action"], said["event_id"], said["before"], said["after"]) == (
            action,
            id_,
            status,
            AFTER[action],
        )
    else:
        assert epoch is None
        assert row(store, id_) == before
        assert [kept for kept in rows(store, "audit") if kept["actor"] == "maria"] == []


@pytest.mark.parametrize("action", list(ACTS))
@pytest.mark.parametrize("event_id", [0, -1, 99, 2**63, 2**70])
def test_an_event_that_does_not_exist_cannot_be_acted_upon(
    store: Store, action: Action, event_id: int
) -> None:
    assert ACTS[action](store, event_id) is None
    with store.read() as connection:
        assert acts.status_of(store, connection, event_id) is None
    assert rows(store, "audit") == []


@pytest.mark.parametrize("action", list(ACTS))
def test_an_act_on_what_was_seen_before_it_moved_on_is_refused(store: Store, action: Action) -> None:
    id_ = add_in(store, Status.DEAD)
    seen = row(store, id_)["lease_epoch"]
    _reprocess(store, id_)
    end_as(store, id_, transitions.buried(OTHER_CAUSE, Reason.PERMANENT))
    before = row(store, id_)
    assert ACTS[action](store, id_, seen_epoch=seen) is None
    assert row(store, id_) == before
    assert ACTS[action](store, id_, seen_epoch=before["lease_epoch"]) is not None


def test_a_reprocessed_event_begins_a_new_cycle(store: Store) -> None:
    id_ = add(store, expires_at=utc_now() + timedelta(days=1)).id
    for _ in range(2):
        end_as(store, id_, retry_later())
        store.clock.advance(31)
    end_as(store, id_, transitions.buried(CAUSE, Reason.PERMANENT))
    dead = row(store, id_)
    _reprocess(store, id_, after=30, max_wait=600, max_attempts=2)
    kept = row(store, id_)
    assert (kept["cycle"], kept["attempts"], kept["total_attempts"]) == (1, 0, 3)
    assert (kept["max_attempts"], kept["priority"], kept["reason"]) == (2, RETRY, None)
    assert kept["due_at"] == kept["next_run_at"] == kept["updated_at"] + timedelta(seconds=30)
    assert kept["give_up_at"] == kept["due_at"] + timedelta(seconds=600)
    assert (kept["finished_at"], kept["expires_at"]) == (None, None)
    # What it died of stays to be seen until the next result; its keys never change.
    for name in ("last_error", "error_type", "fingerprint", "idempotency_key", "effect_key", "payload"):
        assert kept[name] == dead[name]


def test_a_reprocessed_event_gets_the_attempts_that_its_kind_has_by_then(store: Store) -> None:
    id_ = add_in(store, Status.DEAD)
    _reprocess(store, id_)
    assert row(store, id_)["max_attempts"] is None
    kinds.publish(store, [PublishedKind("order.create", 9, 60.0, None, {})], WORKER)
    assert claimed(store, id_).max_attempts == 9


def test_a_note_and_its_actor_stand_in_the_audit_with_the_time(store: Store) -> None:
    id_ = add_in(store, Status.DEAD)
    _reprocess(store, id_, note="customer registered", actor="token:ci")
    [said] = rows(store, "audit")
    assert (said["actor"], said["note"], said["subject"]) == ("token:ci", "customer registered", None)
    assert said["at"] >= row(store, id_)["created_at"]


def test_an_act_and_its_audit_are_in_one_transaction(store: Store) -> None:
    id_ = add_in(store, Status.DEAD)
    before = row(store, id_)
    with store.engines.write().connect() as connection:
        acts.reprocess(store, connection, id_, actor="maria", note=None, max_wait=60)
        connection.rollback()
    assert (row(store, id_), rows(store, "audit")) == (before, [])


@pytest.mark.parametrize("action", list(ACTS))
def test_ten_people_act_at_once_and_one_of_them_does_it(
    store: Store, database_url: str, action: Action
) -> None:
    id_ = add_in(store, Status.DEAD)
    stores = [Store(database_url) for _ in range(10)]
    together = Barrier(10)

    def act(own: Store) -> int | None:
        together.wait(10)
        return ACTS[action](own, id_)

    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(act, stores))
    assert sorted(answers, key=str) == [2] + [None] * 9
    assert len(rows(store, "audit")) == 1
    for own in stores:
        own.engines.dispose()


def test_the_audit_names_the_status_from_which_the_event_was_taken(postgres_url: str) -> None:
    """Another transaction changes the status while the discard waits for the row."""
    store, other = Store(postgres_url), Store(postgres_url)
    id_ = add(store).id
    event = claimed(store, id_)
    with ThreadPoolExecutor(1) as pool, other.engines.write().connect() as connection:
        assert transitions.end_in(other, connection, event, retry_later())
        waiting = pool.submit(_discard, store, id_)
        wait_for_a_lock(store)
        connection.commit()
        assert waiting.result(10) == 2
    assert [(kept["before"], kept["after"]) for kept in rows(store, "audit")] == [("failed", "discarded")]
    for each in (store, other):
        each.engines.dispose()


def test_a_done_event_never_changes(store: Store) -> None:
    id_ = add_in(store, Status.DONE)
    event = _as_event(store, id_)
    before = row(store, id_)
    store.clock.advance(WEEK.total_seconds() * 60)
    for ending in ENDINGS.values():
        assert not transitions.end(store, event, ending())
    assert holding.extend(store, [(id_, event.lease_epoch)], lease_seconds=30) == [id_]
    assert not overdue.give_up(store, id_, CAUSE)
    assert _reprocess(store, id_) is _discard(store, id_) is None
    assert row(store, id_) == before


def _as_event(store: Store, event_id: int) -> Event:
    event = queries.get_event(store, event_id)
    assert event is not None
    return event


def test_a_status_that_is_none_is_refused_by_the_database(store: Store) -> None:
    id_ = add(store).id
    with pytest.raises(IntegrityError, match="dlq_event_status_ck"):
        set_values(store, id_, status="lost")
