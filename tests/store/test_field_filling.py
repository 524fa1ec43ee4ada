"""Do dead letters get the values of fields that their kind has configured since they died, once, and right ones only?"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dlq_console.errors import PermanentError
from dlq_console.hub.enqueue import NewEvent
from dlq_console.hub.policy import Policy
from dlq_console.runtime import Hub
from dlq_console.settings import read_settings
from dlq_console.store import kinds
from dlq_console.store.field_filling import CHUNK, fill
from dlq_console.store.field_values import Pairs, values_of
from dlq_console.store.filters import EventFilter
from dlq_console.store.kinds import PublishedKind
from dlq_console.store.queries import count
from dlq_console.workers import steps
from tests.store.making import rows
from tests.store.recording import recording

KIND = "order.create"


@pytest.fixture
def hub(database_url: str) -> Iterator[Hub]:
    """A hub whose handler refuses everything; its kind has no columns yet."""
    hub = Hub(read_settings(database_url=database_url))
    hub.handler(KIND)(refuse)
    hub.publish_kinds("a-worker")
    yield hub
    hub.close()


def refuse(_event: object) -> None:
    raise PermanentError("no")


def dead(hub: Hub, numbers: range) -> list[int]:
    made = hub.enqueue_many(
        NewEvent(kind=KIND, account="a", entity_id=str(n), payload={"number": n, "total": n * 10})
        for n in numbers
    )
    hub.run_due(limit=len(numbers))
    return [each.id for each in made]


def configure(hub: Hub, **columns: str) -> None:
    """As a worker of a newer program publishes the kind."""
    policy = Policy(columns=columns)
    kind = PublishedKind(KIND, policy.max_attempts, policy.timeout, None, policy.published())
    kinds.publish(hub.store, [kind], "a-newer-worker")


def kept(hub: Hub) -> set[tuple[int, str, str]]:
    return {(row["event_id"], row["path"], row["value"]) for row in rows(hub.store, "event_field")}


def everything(hub: Hub) -> int:
    """Turns until nothing is left to be done; returns how many dead letters were looked at."""
    assert fill(hub.store) == 0, "the first turn only notices"
    looked = 0
    while (now := fill(hub.store)) > 0:
        looked += now
    return looked


def test_dead_letters_from_before_are_found_by_a_field_that_was_configured_since(hub: Hub) -> None:
    ids = dead(hub, range(1, 4))
    configure(hub, Order="number")
    assert everything(hub) == 3
    assert kept(hub) == {(id_, "number", str(n)) for n, id_ in enumerate(ids, start=1)}
    assert count(hub.store, EventFilter(status=("dead",), payload=(("number", "2"),))).number == 1


def test_a_turn_is_bounded_and_the_newest_come_first(hub: Hub) -> None:
    ids = dead(hub, range(1, CHUNK + 11))
    configure(hub, Order="number")
    fill(hub.store)
    assert fill(hub.store, most=CHUNK + 3) == CHUNK + 3
    assert {event_id for event_id, _, _ in kept(hub)} == set(ids[7:])
    assert fill(hub.store, most=CHUNK) == 7
    assert {event_id for event_id, _, _ in kept(hub)} == set(ids)


def test_nothing_is_written_and_no_event_read_where_nothing_has_changed(hub: Hub) -> None:
    dead(hub, range(1, 3))
    configure(hub, Order="number")
    everything(hub)
    configure(hub, Order="number")
    with recording(hub.store) as sent:
        assert steps.fill_fields(hub) == 0
    assert len(sent) == 1, sent
    assert hub.store.tables.event.name not in sent[0][0]


def test_a_further_field_is_filled_and_a_field_less_is_not_walked_for(hub: Hub) -> None:
    (event_id,) = dead(hub, range(1, 2))
    configure(hub, Order="number")
    everything(hub)
    configure(hub, Order="number", Total="total")
    assert everything(hub) == 1
    assert kept(hub) == {(event_id, "number", "1"), (event_id, "total", "10")}
    configure(hub, Total="total")
    assert everything(hub) == 0


def test_a_field_that_comes_back_is_filled_for_what_died_without_it(hub: Hub) -> None:
    configure(hub, Order="number")
    everything(hub)
    configure(hub)
    everything(hub)
    (event_id,) = dead(hub, range(1, 2))
    assert kept(hub) == set()
    configure(hub, Order="number")
    assert everything(hub) == 1
    assert kept(hub) == {(event_id, "number", "1")}


def test_fields_that_change_in_the_middle_begin_anew(hub: Hub) -> None:
    ids = dead(hub, range(1, 6))
    configure(hub, Order="number")
    fill(hub.store)
    fill(hub.store, most=3)
    configure(hub, Total="total")
    assert everything(hub) == 5
    assert {event_id for event_id, path, _ in kept(hub) if path == "total"} == set(ids)


def test_what_is_rebuilt_while_it_is_looked_at_keeps_the_values_of_its_new_payload(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.refresh(KIND)(lambda _event: {"number": 99})
    (event_id,) = dead(hub, range(1, 2))
    configure(hub, Order="number")
    fill(hub.store)

    def rebuilt_meanwhile(payload: str, paths: tuple[str, ...]) -> Pairs:
        hub.reprocess(event_id)
        hub.run(event_id)
        return values_of(payload, paths)

    monkeypatch.setattr("dlq_console.store.field_filling.values_of", rebuilt_meanwhile)
    assert fill(hub.store) == 1
    assert kept(hub) == {(event_id, "number", "99")}


def test_of_two_that_fill_at_once_one_goes_on_and_nothing_is_written_twice(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = dead(hub, range(1, CHUNK + 4))
    configure(hub, Order="number")
    fill(hub.store)
    others: list[int] = []

    def other_meanwhile(payload: str, paths: tuple[str, ...]) -> Pairs:
        if not others:
            others.append(0)
            others.append(fill(hub.store))
        return values_of(payload, paths)

    monkeypatch.setattr("dlq_console.store.field_filling.values_of", other_meanwhile)
    assert (fill(hub.store), others) == (0, [0, CHUNK + 3]), "the other one has done all of it"
    assert {event_id for event_id, _, _ in kept(hub)} == set(ids)
    assert fill(hub.store) == 0


@pytest.mark.parametrize("former", ["discarded", "sent again"])
def test_what_is_taken_back_after_the_others_were_filled_has_its_values(hub: Hub, former: str) -> None:
    (event_id,) = dead(hub, range(1, 2))
    if former == "discarded":
        hub.discard(event_id, actor="maria", note="a test order")
    else:
        hub.reprocess(event_id, actor="maria", after=3_600)
    configure(hub, Order="number")
    assert everything(hub) == 0
    back = hub.restore if former == "discarded" else hub.cancel_send
    assert back(event_id, actor="maria").status == "dead"
    assert kept(hub) == {(event_id, "number", "1")}
