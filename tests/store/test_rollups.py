"""Minutes, hours and days: made from what was written, made again without harm, and read back as series."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import RowMapping

from dlq_console.health.series import EVENTS, RANGES, RATIOS, SECONDS, STANDING
from dlq_console.store import coarsening, flows, rollups, series, transitions
from dlq_console.store.clock import to_microseconds
from dlq_console.store.internal import PRECHECK
from dlq_console.store.states import Reason
from dlq_console.store.store import Store
from tests.store.filling import fill, put
from tests.store.making import CAUSE, add, add_many, claimed, end_as, retry_later, rows

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def now_of(store: Store) -> datetime:
    """The database's time as the store has it."""
    with store.read() as connection:
        value = connection.execute(store.statement("SELECT {now} AS now")).scalar_one()
    return value.astimezone(UTC) if isinstance(value, datetime) else datetime.fromtimestamp(value / 1e6, UTC)


def next_minute(store: Store) -> None:
    """Move the clock to the fifth second of the next minute, so that no test straddles two."""
    now = now_of(store)
    store.clock.advance(65 - now.second - now.microsecond / 1e6)


def minute(store: Store, account: str = "", kind: str = "") -> RowMapping:
    (found,) = [
        row
        for row in rows(store, "rollup")
        if (row["account"], row["kind"], row["grain"]) == (account, kind, 1)
    ]
    return found


def test_every_way_in_which_a_run_ends_is_counted(store: Store) -> None:
    next_minute(store)
    ids = [made.id for made in add_many(store, range(5))]
    end_as(store, ids[0], transitions.completed(None))
    end_as(store, ids[1], retry_later())
    end_as(store, ids[2], transitions.buried(CAUSE, Reason.PERMANENT))
    end_as(store, ids[3], transitions.released(CAUSE, delay=5))
    end_as(store, ids[4], transitions.superseded(ids[0]))
    rollups.roll_up(store)
    counted = ("arrived", "tried", "first_tried", "done", "failed", "died", "superseded", "reopened")
    for account, kind in (("filial-sp", "order.create"), ("filial-sp", ""), ("", "")):
        row = minute(store, account, kind)
        assert [row[name] for name in counted] == [5, 3, 3, 1, 1, 1, 1, 0]
        assert sum(row[f"run{place}"] for place in range(12)) == 3
        assert row["lost_retry_ms"] == 35_000


def test_lag_is_of_first_attempts_and_wait_of_all(store: Store) -> None:
    next_minute(store)
    id_ = add(store).id
    store.clock.advance(20)
    end_as(store, id_, retry_later())
    rollups.roll_up(store)
    row = minute(store)
    assert (row["lag7"], row["wait7"]) == (1, 1), "20 seconds lie in the bin up to 30"
    store.clock.advance(120)
    end_as(store, id_, transitions.completed(None))
    rollups.roll_up(store)
    last = max((row for row in rows(store, "rollup") if not row["account"]), key=lambda row: row["bucket"])
    assert (last["first_tried"], last["tried"], last["tries_of_done"]) == (0, 1, 2)
    assert 90_000 <= last["wait_ms"] < 95_000
    assert 140_000 <= last["end_to_end_ms"] < 145_000


def test_the_hubs_own_events_are_left_out(store: Store) -> None:
    fill(store, [{"status": "done", "kind": PRECHECK}])
    put(
        store,
        "attempt",
        event_id=1,
        number=1,
        lease_epoch=1,
        kind=PRECHECK,
        account="filial-sp",
        due_at=now_of(store),
        started_at=now_of(store),
        ended_at=now_of(store),
        outcome="done",
    )
    assert rollups.roll_up(store) == 0


def test_what_was_made_is_made_again_without_a_change_and_what_came_late_is_in(store: Store) -> None:
    next_minute(store)
    ids = [made.id for made in add_many(store, range(2))]
    end_as(store, ids[0], transitions.completed(None))
    assert rollups.roll_up(store) == 3
    assert rollups.roll_up(store) == 0
    # This one ended in the same minute, and its transaction is committed three minutes later.
    event = claimed(store, ids[1])
    assert transitions.end(store, event, transitions.completed(None))
    store.clock.advance(180)
    assert rollups.roll_up(store) == 3
    assert minute(store)["done"] == 2


def test_two_who_make_minutes_at_once_do_no_harm(store: Store) -> None:
    next_minute(store)
    for made in add_many(store, range(20)):
        end_as(store, made.id, transitions.completed(None))
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: rollups.roll_up(store), range(8)))
    rollups.roll_up(store)
    assert (minute(store)["done"], minute(store)["arrived"]) == (20, 20)


def test_a_crash_half_way_leaves_everything_as_it_was(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    next_minute(store)
    end_as(store, add(store).id, transitions.completed(None))
    before = rollups.rolled_until(store)
    with monkeypatch.context() as broken:
        broken.setattr(rollups, "KEEP", "INSERT INTO {rollup} (no_such_column) VALUES (1)")
        with pytest.raises(Exception, match="no_such_column"):
            rollups.roll_up(store)
    assert rollups.rolled_until(store) == before
    assert rows(store, "rollup") == []
    assert rollups.roll_up(store) == 3


def test_after_an_outage_it_catches_up_in_chunks(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rollups, "CHUNK", timedelta(minutes=30))
    monkeypatch.setattr(rollups, "CHUNK_SQLITE", timedelta(minutes=30))
    next_minute(store)
    rollups.roll_up(store)
    store.clock.advance(-7_200)
    end_as(store, add(store).id, transitions.completed(None))
    rollups.roll_up(store)
    store.clock.advance(7_200 + 3_600)
    end_as(store, add(store, 2).id, transitions.completed(None))
    rollups.roll_up(store)
    done = {row["bucket"]: row["done"] for row in rows(store, "rollup") if not row["account"]}
    assert [number for _, number in sorted(done.items()) if number] == [1, 1]
    assert rollups.rolled_until(store) == now_of(store).replace(second=0, microsecond=0)


def test_a_flow_tells_of_the_last_whole_minutes(store: Store) -> None:
    next_minute(store)
    for made in add_many(store, range(5)):
        end_as(store, made.id, transitions.completed(None))
    rollups.roll_up(store)
    assert flows.flows(store)[0] == {}
    next_minute(store)
    rollups.roll_up(store)
    found, _ = flows.flows(store)
    assert found.keys() == {"", "filial-sp"}
    assert (found["filial-sp"].done, found["filial-sp"].arrivals, found["filial-sp"].completions) == (5, 1, 1)


# Coarse buckets and series


def made(store: Store, at: datetime, *, grain: int = 1, account: str = "", **figures: Any) -> None:
    put(store, "rollup", grain=grain, account=account, kind="", bucket=at, **figures)


def stood(store: Store, at: datetime, *, grain: int = 1, account: str = "", **figures: Any) -> None:
    put(store, "sample", grain=grain, account=account, bucket=at, **figures)


def roll_mark(store: Store) -> None:
    """Say that all minutes are made."""
    rollups.roll_up(store)


def test_minutes_become_hours_and_days_and_are_forgotten(store: Store) -> None:
    now = now_of(store)
    day = datetime(now.year, now.month, now.day, tzinfo=UTC) - 3 * DAY
    for account in ("", "filial-sp"):
        for place, number in ((0, 2), (59, 3), (60, 5)):
            at = day + timedelta(minutes=place)
            made(store, at, account=account, done=number, lag_max_ms=number, lag0=number)
            stood(store, at, account=account, due=number, dead=10 - number)
    roll_mark(store)
    while coarsening.coarsen(store) and len(rows(store, "rollup")) < 12:
        pass
    for _ in range(10):
        coarsening.coarsen(store)

    def found(table: str, grain: int, *names: str) -> list[tuple[Any, ...]]:
        return [
            (row["bucket"], *(row[name] for name in names))
            for row in rows(store, table)
            if row["grain"] == grain and row["account"] == "filial-sp"
        ]

    hours = [(day, 5, 3, 5), (day + HOUR, 5, 5, 5)]
    assert found("rollup", 60, "done", "lag_max_ms", "lag0") == hours
    assert found("rollup", 1440, "done", "lag_max_ms") == [(day, 10, 5)]
    assert found("sample", 60, "due", "dead") == [(day, 3, 8), (day + HOUR, 5, 5)]
    assert found("sample", 1440, "due", "dead") == [(day, 5, 8)]
    assert coarsening.prune(store) == 12
    assert {row["grain"] for row in rows(store, "rollup")} == {60, 1440}
    assert coarsening.prune(store) == 0


def test_nothing_is_forgotten_before_it_is_in_the_coarser_grain(store: Store) -> None:
    made(store, now_of(store) - 3 * DAY, done=1)
    assert coarsening.prune(store) == 0


def last_whole(store: Store, step: int) -> datetime:
    return datetime.fromtimestamp(now_of(store).timestamp() // step * step - step, UTC)


def test_a_series_has_every_point_and_tells_nothing_from_zero(store: Store) -> None:
    next_minute(store)
    last = last_whole(store, 60)
    made(store, last, done=4, first_tried=4, lag4=4, lag_max_ms=900, tries_of_done=6, end_to_end_ms=8_000)
    stood(store, last, due=7, oldest_due_ms=1_500)
    stood(store, last - timedelta(minutes=1), due=0)
    found = series.read(store, RANGES["1h"])
    assert len(found.times) == 60
    assert found.times[-1] == last
    assert found.columns.keys() == {*EVENTS, *SECONDS, *STANDING, *RATIOS}
    assert found.columns["done"][-3:] == (None, 0, 4)
    assert found.columns["due"][-3:] == (None, 0, 7)
    assert found.columns["oldest_due"][-1] == 1.5
    assert found.columns["lag_p95"][-2] is None
    assert found.columns["lag_p95"][-1] == pytest.approx(0.9)
    assert (found.columns["tries_per_done"][-1], found.columns["end_to_end"][-1]) == (1.5, 2.0)


def test_a_series_says_up_to_when_it_is_counted_and_shows_no_point_that_is_not_counted_to_its_end(
    store: Store,
) -> None:
    next_minute(store)
    never = series.read(store, RANGES["1h"])
    assert (never.as_of, never.is_stale) == (None, False)
    rollups.roll_up(store)
    made(store, last_whole(store, 60), done=4)
    store.clock.advance(70)
    rollups.roll_up(store)
    whole, counted = last_whole(store, 60), now_of(store)
    for minute in (whole, whole + timedelta(minutes=1)):
        made(store, minute, done=3)
        stood(store, minute, due=2)
    found = series.read(store, RANGES["1h"])
    assert (found.columns["done"][-2:], found.is_stale) == ((4, 3), False)
    # Nobody counts any more: the minute in which that began is not taken for a whole one.
    store.clock.advance(90)
    found = series.read(store, RANGES["1h"])
    assert found.as_of is not None
    assert abs((found.as_of - counted).total_seconds()) < 5
    assert 85 < found.age < 95
    assert found.is_stale
    assert found.times[-1] > whole
    assert found.columns["done"][found.times.index(whole) :] == (3, *[None] * (59 - found.times.index(whole)))
    assert found.columns["due"][-1] is None


def test_all_accounts_are_those_that_a_person_may_see(store: Store) -> None:
    next_minute(store)
    last = last_whole(store, 60)
    made(store, last, done=7)
    stood(store, last, due=7)
    for account, number in (("filial-a", 1), ("filial-b", 2), ("filial-c", 4)):
        made(store, last, account=account, done=number)
        stood(store, last, account=account, due=number, oldest_due_ms=number)

    def told(**asked: Any) -> tuple[float | None, float | None]:
        columns = series.read(store, RANGES["1h"], **asked).columns
        return columns["done"][-1], columns["due"][-1]

    assert told() == (7, 7)
    assert told(accounts=("filial-a", "filial-c")) == (5, 5)
    assert told(account="filial-b") == (2, 2)
    assert told(account="filial-b", accounts=("filial-b",)) == (2, 2)
    assert told(account="filial-b", accounts=("filial-a",)) == (0, 0)
    assert told(accounts=()) == (0, 0)


@pytest.mark.parametrize(("name", "grain", "step"), [("24h", 1, 300), ("7d", 60, 3_600), ("30d", 60, 3_600)])
def test_longer_spans_are_read_from_the_grain_that_is_kept_for_them(
    store: Store, name: str, grain: int, step: int
) -> None:
    last = last_whole(store, step)
    made(store, last, grain=grain, done=3)
    found = series.read(store, RANGES[name])
    assert (found.times[-1], found.columns["done"][-1]) == (last, 3)
    assert to_microseconds(found.times[1]) - to_microseconds(found.times[0]) == step * 1_000_000


def test_what_stands_is_not_known_by_kind(store: Store) -> None:
    found = series.read(store, RANGES["1h"], account="filial-sp", kind="order.create")
    assert not found.columns.keys() & {*STANDING, "oldest_due"}
