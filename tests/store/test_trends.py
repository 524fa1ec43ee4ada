"""When did the dead of a group die? Hour by hour for a day, as the walk that counts them has seen it."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from dlq_console.clock import utc_now
from dlq_console.store import groups, queries
from dlq_console.store.filters import EventFilter
from dlq_console.store.queries import HOURS, Count
from dlq_console.store.store import Store
from tests.store.filling import fill
from tests.store.making import set_values

A, B = f"f1-{'a' * 32}", f"f1-{'b' * 32}"


@pytest.fixture(autouse=True)
def _far_from_the_next_hour(store: Store) -> None:
    """It is half past, so that no hour begins while the test runs."""
    store.clock.advance((_middle_of_hour() - utc_now()).total_seconds())


def _middle_of_hour() -> datetime:
    """Of the present hour, or of the next where that is long past."""
    now = utc_now()
    middle = now.replace(minute=30, second=0, microsecond=0)
    return middle if now - middle < timedelta(minutes=15) else middle + timedelta(hours=1)


def _died(store: Store, hours_ago: int, *, fingerprint: str = A, account: str = "filial-sp") -> int:
    """An event that died in the middle of that hour."""
    at = _middle_of_hour() - timedelta(hours=hours_ago)
    return fill(store, [{"status": "dead", "fingerprint": fingerprint, "account": account, "at": at}])[0]


def _trend(store: Store, fingerprint: str = A, accounts: tuple[str, ...] | None = None) -> tuple[int, ...]:
    return queries.trends(store, [fingerprint], accounts=accounts).get(fingerprint, ())


def test_each_hour_tells_how_many_died_in_it_the_present_one_last(store: Store) -> None:
    for hours_ago in (0, 0, 1, 23, 24, 24 * 60):
        _died(store, hours_ago)
    _died(store, 2, account="filial-rj")
    _died(store, 5, fingerprint=B)
    groups.sample(store)
    expected = [0] * HOURS
    expected[-1], expected[-2], expected[-3], expected[0] = 2, 1, 1, 1
    assert _trend(store) == tuple(expected)
    assert sum(_trend(store, B)) == 1
    # What died before that is counted all the same.
    (group,) = [group for group in queries.groups(store, EventFilter()).items if group.fingerprint == A]
    assert group.count == Count(7)


def test_a_person_sees_the_trend_of_their_accounts(store: Store) -> None:
    _died(store, 0)
    _died(store, 1, account="filial-rj")
    groups.sample(store)
    assert _trend(store, accounts=("filial-rj",))[-2:] == (1, 0)
    assert _trend(store, accounts=("filial-sp",))[-2:] == (0, 1)
    assert _trend(store, accounts=("filial-ba",)) == ()
    assert _trend(store, accounts=()) == ()
    assert queries.trends(store, []) == {}


def test_what_is_not_dead_any_more_leaves_the_trend(store: Store) -> None:
    event_id = _died(store, 0)
    _died(store, 0, fingerprint=B)
    groups.sample(store)
    set_values(store, event_id, status="discarded")
    groups.sample(store)
    assert _trend(store) == ()
    assert sum(_trend(store, B)) == 1


def test_a_day_later_nothing_of_it_is_left(store: Store) -> None:
    _died(store, 0)
    groups.sample(store)
    assert sum(_trend(store)) == 1
    store.clock.advance(25 * 3600)
    assert sum(_trend(store)) == 0
