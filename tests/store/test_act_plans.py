"""By which indexes are acts done that look at a whole lane or at earlier questions? Never by reading the whole table."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dlq_console.store import acts, edits, queries, taking_back
from dlq_console.store.canonical import read_payload
from dlq_console.store.store import Store
from tests.store.plans import ENGINES, explain, on_engine
from tests.store.recording import recording
from tests.store.test_query_plans import NUMBERS

#: One lane of ten has all of its events in one account; most have ended.
FILL = """
INSERT INTO {event} (kind, account, entity_id, idempotency_key, payload_hash, effect_key, lane, on_dead, status, reason,
    payload, due_at, next_run_at, created_at, updated_at, started_at, finished_at)
NUMBERS
SELECT 'order.create', 'filial-sp', 'n-' || i, 'key-' || i, '', '', 'filial-sp|' || (i % 10), 'skip', status,
    CASE WHEN status = 'dead' THEN 'permanent' END, '{{}}', {now}, {now}, {now}, {now},
    CASE WHEN status <> 'blocked' THEN {now} - CAST({second} * 60 AS {duration}) END,
    CASE WHEN status IN ('dead', 'done') THEN {now} - CAST({second} * i AS {duration}) END
FROM (SELECT i, CASE WHEN i < 100 THEN 'dead' WHEN i > 19000 THEN 'blocked' ELSE 'done' END AS status FROM g) AS n
"""
BY_LANE = {"event_lane_open_ix", "event_lane_ended_ix", "event_lane_blocked_ix", "event_lane_stopped_ix"}


@pytest.fixture(scope="module", params=ENGINES)
def full(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store with 20,000 events in ten lanes, on each engine."""
    with on_engine(request, tmp_path_factory.mktemp("acts")) as store:
        with store.write() as connection:
            connection.execute(store.statement(FILL.replace("NUMBERS", NUMBERS[store.sqlite])))
            if "without" not in request.param:
                connection.exec_driver_sql("ANALYZE")
        yield store


def _check(store: Store, sent: list[tuple[str, dict[str, object]]], allowed: set[str]) -> None:
    asked = [one for one in sent if store.tables.event.name in one[0]]
    assert asked
    for statement in asked:
        if statement[0].lstrip().startswith("INSERT") and "VALUES" in statement[0]:
            continue
        for alias in ("e", "o"):
            plan = explain(store, statement, alias=alias)
            assert not plan.scans, statement
            assert plan.indexes <= allowed, statement


def test_a_discard_is_taken_back_along_its_lane(full: Store) -> None:
    with full.write() as connection:
        assert acts.discard(full, connection, 7, actor="maria", note=None)
    with recording(full) as sent, full.write() as connection:
        assert taking_back.restore(full, connection, 7, actor="maria", note=None, max_wait=60)
    _check(full, sent, {"event_pk", *BY_LANE})


def test_a_reprocess_is_taken_back_by_its_id(full: Store) -> None:
    with full.write() as connection:
        assert acts.reprocess(full, connection, 8, actor="maria", note=None, max_wait=60)
    with recording(full) as sent:
        assert queries.may_cancel_send(full, 8)
        with full.write() as connection:
            assert taking_back.cancel_send(full, connection, 8, actor="maria", note=None)
    _check(full, sent, {"event_pk", *BY_LANE})


def test_an_edit_takes_its_place_along_its_lane(full: Store) -> None:
    event = queries.get_event(full, 9)
    assert event is not None
    payload = read_payload({"n": 1}, max_bytes=1_000)
    with recording(full) as sent, full.write() as connection:
        assert edits.edit(
            full, connection, event, payload, actor="maria", note=None, on_dead="skip", max_wait=60, before=""
        )
    _check(full, sent, {"event_pk", "event_key_uq", *BY_LANE})


def test_the_last_question_about_an_event_is_found_by_its_name(full: Store) -> None:
    with recording(full) as sent:
        assert queries.last_precheck(full, 7) is None
    _check(full, sent, {"event_entity_ix"})
