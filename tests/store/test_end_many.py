"""Several runs end in one transaction: each as `end` would have ended it, each by its own right."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from sqlalchemy import RowMapping
from sqlalchemy.exc import DBAPIError

from dlq_console.store import claims, holding, transitions
from dlq_console.store.events import Event
from dlq_console.store.states import Reason
from dlq_console.store.store import Store
from tests.store.making import CAUSE, WORKER, add, claimed, retry_later, row, rows

DONE = transitions.completed(None)

#: Columns that differ between two runs which ended alike.
OWN = {"id", "event_id", "entity_id", "idempotency_key", "payload_hash", "effect_key", "payload"}
#: Columns of which only whether they are set can be compared.
TIMES = {"due_at", "next_run_at", "give_up_at"} | {f"{what}_at" for what in ("created", "updated", "started")}
TIMES |= {"finished_at", "ended_at"}


def running(store: Store, count: int) -> list[Event]:
    return [claimed(store, add(store, number).id) for number in range(count)]


@pytest.mark.parametrize(
    "ending",
    [
        DONE,
        transitions.completed('{"order": "A\\u00e7a\\u00ed \\\\ \\"9\\""}'),
        transitions.completed(None, warning=CAUSE),
        retry_later(),
        transitions.buried(CAUSE, Reason.PERMANENT),
        transitions.released(CAUSE, delay=5),
        transitions.released(),
    ],
    ids=["done", "with a result", "with a warning", "retried", "buried", "released", "given back"],
)
def test_a_run_ends_as_it_would_have_ended_alone(store: Store, ending: transitions.Ending) -> None:
    alone, together, beside = running(store, 3)
    transitions.end(store, alone, ending)

    assert transitions.end_many(store, [(beside, DONE), (together, ending)]) == [True, True]

    assert_alike(row(store, alone.id), row(store, together.id))
    attempts = rows(store, "attempt")
    first, second = ([entry for entry in attempts if entry["event_id"] == e.id] for e in (alone, together))
    assert len(first) == len(second)
    for one, other in zip(first, second, strict=True):
        assert_alike(one, other)


def assert_alike(one: RowMapping, other: RowMapping) -> None:
    assert {name: one[name] for name in one if name not in OWN | TIMES} == {
        name: other[name] for name in other if name not in OWN | TIMES
    }
    for name in TIMES & set(one):
        assert (one[name] is None) == (other[name] is None), name


def test_answers_stand_in_the_order_given(store: Store) -> None:
    first, second, third = running(store, 3)
    transitions.end(store, second, DONE)

    given = [(third, DONE), (second, DONE), (first, DONE)]

    assert transitions.end_many(store, given) == [True, False, True]


def test_a_run_that_lost_its_event_changes_nothing_and_disturbs_no_other(store: Store) -> None:
    lost, mine = running(store, 2)
    transitions.end(store, lost, transitions.released())
    owner = claimed(store, lost.id)

    answers = transitions.end_many(store, [(lost, transitions.completed('"late"')), (mine, DONE)])

    assert answers == [False, True]
    now = row(store, lost.id)
    assert (now["status"], now["lease_epoch"], now["result"]) == ("running", owner.lease_epoch, None)
    assert row(store, mine.id)["status"] == "done"
    assert [entry["event_id"] for entry in rows(store, "attempt")] == [mine.id]


def test_two_claims_of_one_event_are_told_apart(store: Store) -> None:
    (early,) = running(store, 1)
    transitions.end(store, early, transitions.released())
    late = claimed(store, early.id)

    assert transitions.end_many(store, [(early, DONE), (late, DONE)]) == [False, True]


def test_all_are_written_or_none(store: Store) -> None:
    first, second = running(store, 2)
    broken = replace(retry_later(), template="this is no statement")

    with pytest.raises(DBAPIError):
        transitions.end_many(store, [(first, DONE), (second, broken)])

    assert row(store, first.id)["status"] == "running"
    assert rows(store, "attempt") == []


def test_nothing_given_changes_nothing(store: Store) -> None:
    assert transitions.end_many(store, []) == []


def test_batches_over_the_same_events_in_any_order_never_deadlock_and_end_each_once(store: Store) -> None:
    for round_ in range(15):
        events = [claimed(store, add(store, f"{round_}-{number}").id) for number in range(12)]
        mixed = [(event, retry_later() if n % 5 == 0 else DONE) for n, event in enumerate(events)]
        answers: list[list[bool]] = []
        both_ready = threading.Barrier(3, timeout=20)

        def end_in_this_order(
            runs: list[tuple[Event, transitions.Ending]],
            answers: list[list[bool]] = answers,
            ready: threading.Barrier = both_ready,
        ) -> None:
            ready.wait()
            answers.append(transitions.end_many(store, runs))

        threads = [threading.Thread(target=end_in_this_order, args=(runs,)) for runs in (mixed, mixed[::-1])]
        for thread in threads:
            thread.start()
        both_ready.wait()
        holding.extend(store, [(event.id, event.lease_epoch) for event in events], lease_seconds=20)
        for thread in threads:
            thread.join(20)

        assert sorted(answer.count(True) for answer in answers) == [0, len(events)]


def test_a_batch_of_a_claim_is_ended_whole(store: Store) -> None:
    for number in range(60):
        add(store, number, account=f"filial-{number % 4}")
    events = claims.claim_any(store, worker=WORKER, limit=50)

    assert transitions.end_many(store, [(event, DONE) for event in events]) == [True] * 50
    assert [entry["worker"] for entry in rows(store, "attempt")] == [WORKER] * 50
