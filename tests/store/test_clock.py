"""Times: told by the database, aware and in UTC on every engine, moved only for the store that asked for it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import text
from sqlalchemy.exc import StatementError

from dlq_console.clock import monotonic, utc_now
from dlq_console.store import claims, ingest
from dlq_console.store.clock import from_microseconds, to_microseconds
from dlq_console.store.events import Event
from dlq_console.store.store import Store
from tests.store.making import add, claimed, row, set_values

SAO_PAULO = timezone(timedelta(hours=-3))
EARLY_IN_SAO_PAULO = datetime(2026, 3, 1, 0, 30, 0, 123456, tzinfo=SAO_PAULO)
#: Far enough ahead to be due later, whenever this test runs.
NOON_IN_SAO_PAULO = datetime(9000, 6, 1, 12, 0, tzinfo=SAO_PAULO)


def _now(store: Store) -> datetime:
    add(store, "now")
    moment: datetime = row(store, 1)["created_at"]
    return moment


def test_the_present_is_aware_in_utc_and_agrees_with_this_host(store: Store) -> None:
    before = utc_now()
    told = _now(store)
    after = utc_now()
    assert told.utcoffset() == timedelta(0)
    # SQLite tells milliseconds.
    assert before - timedelta(milliseconds=2) <= told <= after + timedelta(milliseconds=2)


def test_a_time_comes_back_to_the_microsecond_in_utc(store: Store) -> None:
    id_ = add(store, expires_at=EARLY_IN_SAO_PAULO).id
    kept = row(store, id_)["expires_at"]
    assert kept == EARLY_IN_SAO_PAULO
    assert kept.tzinfo is UTC
    assert kept.isoformat() == "2026-03-01T03:30:00.123456+00:00"


def test_every_time_of_an_event_is_aware_and_in_utc(store: Store) -> None:
    event = claimed(store, add(store, expires_at=utc_now() + timedelta(hours=1)).id)
    times = {name: getattr(event, name) for name in Event.__dataclass_fields__ if name.endswith("_at")}
    told = {name: moment for name, moment in times.items() if moment is not None}
    assert set(told) == {"due_at", "next_run_at", "expires_at", "created_at", "updated_at", "started_at"}
    assert {moment.tzinfo for moment in told.values()} == {UTC}


def test_the_zone_of_the_database_session_changes_nothing(postgres_url: str) -> None:
    store = Store(postgres_url)
    new = ingest.intention(
        kind="k",
        account="a",
        entity_id="1",
        payload=1,
        run_at=NOON_IN_SAO_PAULO,
        expires_at=NOON_IN_SAO_PAULO,
    )
    with store.write() as connection:
        connection.execute(text("SET timezone = 'Asia/Tokyo'"))
        ingest.insert_one(store, connection, new)
        told = connection.execute(text("SELECT expires_at, created_at FROM dlq_event")).one()
    assert told.expires_at.utcoffset() == timedelta(hours=9)
    kept = row(store, 1)
    assert kept["expires_at"] == kept["due_at"] == NOON_IN_SAO_PAULO
    assert abs(kept["created_at"] - utc_now()) < timedelta(minutes=1)
    store.engines.dispose()


def test_a_time_without_a_zone_is_refused_before_it_reaches_the_database(store: Store) -> None:
    id_ = add(store).id
    with pytest.raises(StatementError, match="without a zone"):
        set_values(store, id_, expires_at=datetime(2026, 3, 1))  # noqa: DTZ001 - what is refused
    assert row(store, id_)["expires_at"] is None


def test_moving_the_clock_moves_it_for_that_store_alone(store: Store, database_url: str) -> None:
    id_ = add(store, run_at=utc_now() + timedelta(hours=1)).id
    other = Store(database_url)
    assert claims.claim_any(store, worker="w", limit=1) == []
    store.clock.advance(3601)
    assert claims.claim_any(other, worker="w", limit=1) == []
    assert [event.id for event in claims.claim_any(store, worker="w", limit=1)] == [id_]
    assert row(store, id_)["started_at"] > utc_now() + timedelta(minutes=59)
    other.engines.dispose()


def test_durations_keep_fractions_of_a_second(store: Store) -> None:
    statement = store.statement(
        "SELECT {now} AS now, {now} + {interval[wait]} AS later, {now} + {interval[2]} AS two"
    )
    with store.read() as connection:
        found = connection.execute(statement, {"wait": 0.25}).one()
    if store.sqlite:
        assert (found.later - found.now, found.two - found.now) == (250_000, 2_000_000)
    else:
        assert (found.later - found.now, found.two - found.now) == (
            timedelta(milliseconds=250),
            timedelta(seconds=2),
        )


@settings(deadline=None)
@given(st.datetimes(timezones=st.timezones()))
def test_microseconds_are_exact_and_their_own_inverse(moment: datetime) -> None:
    try:
        expected = moment.astimezone(UTC)
    except OverflowError:
        return
    assert from_microseconds(to_microseconds(moment)) == expected


def test_the_monotonic_clock_never_goes_back() -> None:
    moments = [monotonic() for _ in range(1000)]
    assert moments == sorted(moments)
