"""Newer events: of the same kind, account and entity alone, by their ids, and only in the statuses that count."""

from __future__ import annotations

import pytest

from dlq_console.store.states import Status
from dlq_console.store.store import Store
from dlq_console.store.succession import SENT, SENT_OR_COMING, newer
from tests.store.making import add, add_in, set_values


def _id(store: Store, status: Status, version: int, entity: str = "8841") -> int:
    return add_in(store, status, entity, version=str(version))


@pytest.mark.parametrize(
    ("status", "sent", "coming"),
    [
        (Status.DONE, True, True),
        (Status.PENDING, False, True),
        (Status.RUNNING, False, True),
        (Status.FAILED, False, True),
        (Status.BLOCKED, False, True),
        (Status.DEAD, False, False),
        (Status.DISCARDED, False, False),
    ],
)
def test_a_newer_event_counts_by_its_status(store: Store, status: Status, sent: bool, coming: bool) -> None:
    old = _id(store, Status.DEAD, 1)
    latest = _id(store, status, 2)
    for statuses, counts in ((SENT, sent), (SENT_OR_COMING, coming)):
        found = newer(store, old, statuses)
        assert (found and (found.id, found.status)) == ((latest, status) if counts else None)


@pytest.mark.parametrize(
    "other", [{"kind": "order.cancel"}, {"account": "filial-rj"}, {"account": ""}, {"entity_id": "8842"}]
)
def test_an_event_of_another_kind_account_or_entity_is_no_newer_one(
    store: Store, other: dict[str, str]
) -> None:
    old = _id(store, Status.DEAD, 1)
    set_values(store, _id(store, Status.DONE, 2), **other)
    assert newer(store, old) is None


def test_the_higher_id_is_the_newer_one_whatever_the_versions_say(store: Store) -> None:
    first = add(store, "8841", version="9").id
    second = add(store, "8841", version="1").id
    found = newer(store, first)
    assert found is not None
    assert found.id == second
    assert newer(store, second) is None


def test_of_several_newer_events_the_newest_is_named(store: Store) -> None:
    old = _id(store, Status.DEAD, 1)
    done = _id(store, Status.DONE, 2)
    waiting = _id(store, Status.PENDING, 3)
    _id(store, Status.DEAD, 4)
    assert [found and found.id for found in (newer(store, old, SENT), newer(store, old))] == [done, waiting]


def test_an_event_that_does_not_exist_has_no_newer_one(store: Store) -> None:
    assert newer(store, 99) is None
