"""Where do the events of each account stand? Counted apart, up to a cap, by indexes alone, and kept minute by minute."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from dlq_console.health.series import RANGES
from dlq_console.hub import doors
from dlq_console.store import coarsening, flows, rollups, sampling, series
from dlq_console.store.internal import PRECHECK
from dlq_console.store.sampling import ALL, Sampled
from dlq_console.store.store import Store
from tests.store.filling import fill
from tests.store.making import add, rows
from tests.store.plans import ENGINES, on_engine, read_whole
from tests.store.recording import recording
from tests.store.test_query_plans import NUMBERS
from tests.store.test_rollups import next_minute, now_of


def counted(store: Store, account: str = "filial-sp") -> Sampled:
    return sampling.look(store)[account]


def test_each_figure_counts_what_it_names_and_nothing_else(store: Store) -> None:
    now = now_of(store)
    later, earlier = now + timedelta(hours=1), now - timedelta(hours=1)
    rest = {
        "lane": None,
        "on_dead": None,
        "lease_until": None,
        "priority": 0,
        "due_at": now,
        "next_run_at": now,
    }
    fill(
        store,
        [
            rest | one
            for one in (
                {"status": "pending", "due_at": earlier, "next_run_at": earlier},
                # Its account was closed when a worker had it: it waits since it was due.
                {"status": "pending", "due_at": earlier, "next_run_at": later},
                {"status": "failed", "priority": 1, "due_at": later, "next_run_at": later},
                {"status": "blocked", "lane": "filial-sp|1"},
                {"status": "blocked", "lane": "filial-sp|2"},
                {"status": "running", "lease_until": later},
                {"status": "dead", "lane": "filial-sp|1", "on_dead": "block"},
                {"status": "dead", "lane": "filial-sp|2", "on_dead": "skip"},
                {"status": "dead", "lane": "filial-sp|3", "on_dead": "block"},
                {"status": "done"},
                {"status": "discarded"},
                {"status": "pending", "kind": PRECHECK, "due_at": earlier},
                {"status": "dead", "kind": PRECHECK},
                {"status": "done", "account": "filial-rj"},
            )
        ],
    )
    expected = Sampled(
        due=2, scheduled=1, blocked=2, running=1, dead=3, oldest_due_at=earlier, stopped_lanes=1
    )
    assert sampling.look(store) == {"filial-sp": expected, ALL: expected}


def test_what_is_due_behind_a_closed_door_is_paused(store: Store) -> None:
    add(store)
    add(store, account="filial-rj")
    doors.pause_account(store, "filial-sp", actor="maria")
    found = sampling.look(store)
    assert (found["filial-sp"].due, found["filial-sp"].paused) == (0, 1)
    assert (found["filial-rj"].due, found["filial-rj"].paused) == (1, 0)
    assert (found[ALL].due, found[ALL].paused) == (1, 1)


def test_more_than_the_cap_is_told_as_capped(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    cap = sampling.CAP
    small = sampling.COUNT[store.sqlite].replace(f"LIMIT {cap + 1}", "LIMIT 4")
    monkeypatch.setattr(sampling, "CAP", 3)
    monkeypatch.setitem(sampling.COUNT, store.sqlite, small)
    for number in range(3):
        add(store, number)
    assert counted(store).capped == ()
    add(store, 4)
    assert (counted(store).due, counted(store).capped) == (3, ("due", "scheduled"))


def test_the_first_look_of_a_minute_is_kept(store: Store) -> None:
    next_minute(store)

    def look_at(seconds: float, number: int) -> int:
        store.clock.advance(seconds)
        add(store, number)
        sampling.count(store)
        found: int = rows(store, "sample")[-1]["due"]
        return found

    # From the fifth second of the minute on.
    assert [look_at(seconds, number) for number, seconds in enumerate((0, 15, 27, 15))] == [1, 1, 1, 4]
    assert {row["account"] for row in rows(store, "sample")} == {ALL, "filial-sp"}


def test_what_stands_still_is_time_lost(store: Store) -> None:
    next_minute(store)
    add(store)
    fill(store, [{"status": "blocked", "lane": "filial-sp|1"}] * 2)
    doors.pause_account(store, "filial-sp", actor="maria")
    sampling.count(store)
    rollups.roll_up(store)
    next_minute(store)
    rollups.roll_up(store)
    columns = series.read(store, RANGES["1h"], account="filial-sp").columns
    assert (columns["lost_closed"][-1], columns["lost_order"][-1]) == (60, 120)


def test_those_behind_the_first_of_a_line_are_counted_too(store: Store) -> None:
    now = now_of(store)
    later = now + timedelta(hours=1)
    waiting = {"status": "pending", "due_at": now, "next_run_at": now}
    fill(store, [waiting] * 30 + [waiting | {"due_at": later, "next_run_at": later}] * 5)
    assert (counted(store).due, counted(store).scheduled, counted(store).capped) == (30, 5, ())


# How it is found out

#: 20 accounts; of 20,000 events most are done, some stand elsewhere.
FILL = """
INSERT INTO {event} (kind, account, entity_id, idempotency_key, payload_hash, effect_key, lane, on_dead, status, payload,
    due_at, next_run_at, created_at, updated_at, started_at, finished_at, lease_until)
NUMBERS
SELECT 'order.create', 'filial-' || (i % 20), 'n-' || i, 'key-' || i, '', '', 'filial-' || (i % 20) || '|' || (i % 100), 'block',
    status, '{{}}', at, at, at, at, at, CASE WHEN status IN ('dead', 'done') THEN at END, at
FROM (
    SELECT i, {now} - CAST({second} * (20000 - i) AS {duration}) AS at,
        CASE WHEN i % 50 = 0 THEN 'dead' WHEN i > 19500 THEN 'pending' WHEN i > 19300 THEN 'blocked' ELSE 'done' END AS status
    FROM g
) AS n
"""
ATTEMPTS = """
INSERT INTO {attempt} (event_id, number, lease_epoch, kind, account, due_at, started_at, ended_at, outcome)
SELECT id, 1, 1, kind, account, due_at, started_at, finished_at, 'done' FROM {event} WHERE finished_at IS NOT NULL
"""

#: Minutes of 20 accounts from before there were any.
FIGURES = tuple(
    f"INSERT INTO {{{table}}} (grain, account, bucket{more}) NUMBERS "
    f"SELECT 1, 'filial-' || (i % 20), {{now}} - CAST({{second}} * (600000 + i) AS {{duration}}){value} FROM g"
    for table, more, value in (("rollup", ", kind", ", ''"), ("sample", "", ""))
)


@pytest.fixture(scope="module", params=ENGINES)
def full(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store with 20,000 events, on each engine."""
    with on_engine(request, tmp_path_factory.mktemp("figures")) as store:
        with store.write() as connection:
            connection.execute(store.statement(FILL.replace("NUMBERS", NUMBERS[store.sqlite])))
            connection.execute(store.statement(ATTEMPTS))
            for template in FIGURES:
                connection.execute(store.statement(template.replace("NUMBERS", NUMBERS[store.sqlite])))
        sampling.count(store)
        while rollups._advance(store)[1] is False:
            pass
        for _ in range(3):
            coarsening.coarsen(store)
        if "without" not in request.param:
            with store.write() as connection:
                connection.exec_driver_sql("ANALYZE")
        yield store


def _looks(store: Store) -> dict[str, Any]:
    return {
        "count": lambda: sampling.look(store),
        "roll_up": lambda: rollups.roll_up(store),
        "flows": lambda: flows.flows(store),
        "series": lambda: series.read(store, RANGES["30d"]),
        "series of some": lambda: series.read(store, RANGES["24h"], accounts=("filial-1", "filial-2")),
    }


@pytest.mark.parametrize("name", ["count", "roll_up", "flows", "series", "series of some"])
def test_no_look_reads_a_table_from_end_to_end(full: Store, name: str) -> None:
    with recording(full) as sent:
        _looks(full)[name]()
    asked = [one for one in sent if one[0].lstrip().startswith(("SELECT", "WITH"))]
    assert asked
    for statement in asked:
        found = read_whole(full, statement, ("event", "attempt", "rollup", "sample"))
        assert not found, (found, statement[0])
