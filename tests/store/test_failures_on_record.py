"""Failures on record, for trying rules: the newest ones that were judged, bounded, and of one's own accounts only."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from dlq_console.clock import utc_now
from dlq_console.store import queries
from dlq_console.store.store import Store
from tests.store.filling import fill, put
from tests.store.recording import recording

ANSWER = {"status": 422, "code": "E-778", "content_type": None, "excerpt": "no profile", "phase": "response"}


def failure(store: Store, *, age: float = 0, account: str = "filial-sp", answer: Any = ANSWER) -> int:
    """One attempt of an event of its own; returns the event's id."""
    moment = utc_now() - timedelta(seconds=age)
    (event_id,) = fill(store, [{"status": "dead", "account": account}])
    put(
        store,
        "attempt",
        event_id=event_id,
        cycle=0,
        number=1,
        lease_epoch=1,
        kind="order.create",
        account=account,
        due_at=moment,
        started_at=moment,
        ended_at=moment,
        outcome="dead",
        error_type="HTTPStatusError",
        error="422",
        verdict="permanent",
        rule="http.refused",
        rules_version="abc",
        answer=None if answer is None else json.dumps(answer),
    )
    return event_id


def test_the_newest_come_first_with_what_was_said(store: Store) -> None:
    older, newer = failure(store, age=60), failure(store)
    found = queries.recorded_failures(store, days=30)
    assert [one.event_id for one in found.items] == [newer, older]
    one = found.items[0]
    assert (one.answer, one.verdict, one.rule) == (ANSWER, "permanent", "http.refused")
    assert found.complete


def test_what_no_rule_was_asked_about_is_no_failure_on_record(store: Store) -> None:
    failure(store, answer=None)
    assert queries.recorded_failures(store, days=30).items == ()


def test_those_before_the_days_asked_for_are_left_out(store: Store) -> None:
    failure(store, age=3 * 86_400)
    assert queries.recorded_failures(store, days=2).items == ()
    assert len(queries.recorded_failures(store, days=4).items) == 1


def test_a_person_gets_those_of_their_accounts(store: Store) -> None:
    mine, _other = failure(store), failure(store, account="filial-rj")
    found = queries.recorded_failures(store, days=30, accounts=("filial-sp",))
    assert [one.event_id for one in found.items] == [mine]
    assert queries.recorded_failures(store, days=30, accounts=()).items == ()


def test_beyond_the_limit_it_is_told_that_there_are_more(store: Store) -> None:
    for _ in range(3):
        failure(store)
    assert queries.recorded_failures(store, days=30, limit=3).complete
    some = queries.recorded_failures(store, days=30, limit=2)
    assert (len(some.items), some.complete) == (2, False)


def test_attempts_are_read_by_the_time_they_ended_and_never_all_of_them(store: Store) -> None:
    failure(store)
    with recording(store) as sent:
        queries.recorded_failures(store, days=30)
    ((statement, parameters),) = sent
    if store.sqlite:
        with store.read() as connection:
            lines = [
                row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
            ]
        attempts = [line for line in lines if store.tables.attempt.name in line]
        assert attempts
        assert all("attempt_ended_ix" in line for line in attempts), lines
    assert statement.count("LIMIT 50000") == 1
