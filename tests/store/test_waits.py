"""How long had things waited, hour by hour? Looked up by key for some accounts, however many there are."""

from __future__ import annotations

from datetime import datetime, timedelta

from dlq_console.clock import utc_now
from dlq_console.store.queries.waits import HOURS, longest_waits
from dlq_console.store.store import Store
from tests.store.filling import put
from tests.store.plans import read_whole
from tests.store.recording import recording
from tests.store.test_query_plans import NUMBERS


def _half_past(store: Store) -> datetime:
    """It is half past, so that no hour begins while the test runs; returns the beginning of the hour."""
    hour = utc_now().replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
    store.clock.advance((hour + timedelta(minutes=30) - utc_now()).total_seconds())
    return hour


def _sample(store: Store, grain: int, bucket: datetime, seconds: int, account: str = "filial-sp") -> None:
    put(store, "sample", grain=grain, bucket=bucket, account=account, oldest_due_ms=seconds * 1000)


def test_each_hour_tells_its_longest_wait_and_the_present_one_its_minutes(store: Store) -> None:
    hour = _half_past(store)
    _sample(store, 60, hour - timedelta(hours=24), 9_999)
    _sample(store, 60, hour - timedelta(hours=23), 700)
    _sample(store, 60, hour - timedelta(hours=2), 300)
    for minute, seconds in ((10, 60), (29, 120), (26, 5)):
        _sample(store, 1, hour + timedelta(minutes=minute), seconds)
    _sample(store, 60, hour - timedelta(hours=3), 44, account="filial-rj")
    _sample(store, 60, hour - timedelta(hours=3), 0, account="filial-mg")
    found = longest_waits(store, ["filial-sp", "filial-rj", "filial-mg"])
    expected = [0.0] * HOURS
    expected[0], expected[-3], expected[-1] = 700, 300, 120
    assert found["filial-sp"] == tuple(expected)
    assert found["filial-rj"][-4] == 44
    assert "filial-mg" not in found
    assert longest_waits(store, ["filial-rj"]).keys() == {"filial-rj"}
    assert longest_waits(store, []) == {}


def test_an_hour_that_is_over_and_not_made_yet_is_told_by_its_minutes(store: Store) -> None:
    hour = _half_past(store)
    _sample(store, 1, hour - timedelta(minutes=20), 480)
    assert longest_waits(store, ["filial-sp"])["filial-sp"][-2:] == (480, 0)
    _sample(store, 60, hour - timedelta(hours=1), 500)
    assert longest_waits(store, ["filial-sp"])["filial-sp"][-2:] == (500, 0)


def test_samples_are_looked_up_by_their_key(store: Store) -> None:
    fill = """
INSERT INTO {sample} (grain, bucket, account, oldest_due_ms)
NUMBERS SELECT 60, {now} - {interval[3600]} * (i % 400), 'filial-' || (i / 400), 1000 FROM g
"""
    with store.write() as connection:
        connection.execute(store.statement(fill.replace("NUMBERS", NUMBERS[store.sqlite])))
    if not store.sqlite:
        with store.write() as connection:
            connection.exec_driver_sql("ANALYZE")
    with recording(store) as sent:
        longest_waits(store, [f"filial-{number}" for number in range(50)])
    assert [statement for statement in sent if read_whole(store, statement, ("sample",))] == []
