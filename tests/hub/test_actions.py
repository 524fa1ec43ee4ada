"""Actions: the table says which is allowed, the row that was seen must be the row that is there, and it is written down."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from threading import Barrier
from typing import Any

import pytest

from dlq_console import ActionNotAllowed, Event, EventNotFound, Hub, PayloadRefused, PermanentError, Policy
from dlq_console.clock import utc_now
from dlq_console.hub.actions import NOTE_LIMIT
from dlq_console.store import queries
from dlq_console.store.states import ALLOWED, Action, Status
from tests.store.making import add_in, row, rows


def _reprocess(hub: Hub, event_id: int, **values: Any) -> Event:
    return hub.reprocess(event_id, **({"actor": "maria"} | values))


def _discard(hub: Hub, event_id: int, **values: Any) -> Event:
    return hub.discard(event_id, **({"actor": "maria"} | values))


ACTS: dict[Action, Callable[..., Event]] = {Action.REPROCESS: _reprocess, Action.DISCARD: _discard}
every_action = pytest.mark.parametrize("action", list(ACTS))


@pytest.mark.parametrize("status", list(Status))
@every_action
def test_an_action_is_allowed_exactly_where_the_table_says(hub: Hub, action: Action, status: Status) -> None:
    id_ = add_in(hub.store, status)
    before = row(hub.store, id_)
    if status in ALLOWED[action]:
        event = ACTS[action](hub, id_)
        assert event.status == ("pending" if action is Action.REPROCESS else "discarded")
        assert event.lease_epoch == before["lease_epoch"] + 1
    else:
        with pytest.raises(
            ActionNotAllowed, match=f"The event is {status}; {action} is not allowed now"
        ) as caught:
            ACTS[action](hub, id_)
        assert (caught.value.status, caught.value.action) == (status, action)
        assert row(hub.store, id_) == before


@every_action
@pytest.mark.parametrize("event_id", [0, -1, 99, 2**63, 2**70])
def test_an_event_that_does_not_exist_is_said_not_to(hub: Hub, action: Action, event_id: int) -> None:
    with pytest.raises(EventNotFound):
        ACTS[action](hub, event_id)
    with pytest.raises(EventNotFound):
        hub.get(event_id)
    with pytest.raises(EventNotFound):
        hub.run(event_id)


@pytest.mark.parametrize("event_id", ["8841", None, 1.0, True, b"1", [1]])
def test_what_is_no_id_is_told_in_one_sentence(hub: Hub, event_id: Any) -> None:
    add_in(hub.store, Status.DEAD)
    sentence = re.escape(f"event_id: write the whole number that enqueue returned as .id, not {event_id!r}.")
    acts: list[Callable[[Any], Event]] = [hub.get, hub.run, *(partial(act, hub) for act in ACTS.values())]
    for act in acts:
        with pytest.raises(TypeError, match=sentence):
            act(event_id)


@every_action
def test_an_event_that_moved_on_since_it_was_seen_is_not_acted_upon(hub: Hub, action: Action) -> None:
    id_ = add_in(hub.store, Status.DEAD)
    seen = hub.get(id_).lease_epoch
    hub.handler("order.create")(_refuse)
    hub.reprocess(id_)
    assert hub.run(id_).status == "dead"
    with pytest.raises(ActionNotAllowed, match="has changed since you saw it") as caught:
        ACTS[action](hub, id_, seen_epoch=seen)
    assert caught.value.status == "dead"
    assert ACTS[action](hub, id_, seen_epoch=hub.get(id_).lease_epoch).status != "dead"


def _refuse(_event: Event) -> None:
    raise PermanentError("no such customer")


@every_action
def test_ten_clicks_at_once_do_it_once(hub: Hub, action: Action) -> None:
    id_ = add_in(hub.store, Status.DEAD)
    together = Barrier(10)

    def click(_: int) -> str:
        together.wait(10)
        try:
            return ACTS[action](hub, id_).status
        except ActionNotAllowed as refused:
            return f"refused, {refused.status}"

    with ThreadPoolExecutor(10) as pool:
        answers = sorted(pool.map(click, range(10)))
    after = "pending" if action is Action.REPROCESS else "discarded"
    assert answers == sorted([after] + [f"refused, {after}"] * 9)
    assert len(rows(hub.store, "audit")) == 1


def test_a_reprocessed_event_runs_once_more_with_fresh_attempts(hub: Hub) -> None:
    registered: set[str] = set()

    @hub.handler("order.create")
    def handle(event: Event) -> str:
        if event.payload["customer"] not in registered:
            raise PermanentError(f"customer {event.payload['customer']} is unknown")
        return "4711"

    made = hub.enqueue("order.create", account="a", entity_id="1", payload={"customer": "C1"})
    dead = hub.run(made.id)
    assert (dead.status, dead.last_error) == ("dead", "customer C1 is unknown")
    registered.add("C1")
    again = hub.reprocess(made.id, actor="maria", note="customer registered")
    assert (again.status, again.attempts, again.cycle) == ("pending", 0, 1)
    done = hub.run(made.id)
    assert (done.status, done.result, done.total_attempts, done.effect_key) == (
        "done",
        "4711",
        2,
        dead.effect_key,
    )
    [said] = queries.audit(hub.store, made.id)
    assert (said.actor, said.action, said.note, said.before, said.after) == (
        "maria",
        "reprocess",
        "customer registered",
        "dead",
        "pending",
    )


def test_a_reprocessed_event_keeps_to_the_policy_of_its_kind(hub: Hub) -> None:
    hub.handler("order.create", policy=Policy(max_attempts=2, max_wait=60))(_refuse)
    id_ = add_in(hub.store, Status.DEAD)
    _reprocess(hub, id_)
    kept = row(hub.store, id_)
    assert kept["give_up_at"] - kept["due_at"] == timedelta(seconds=60)
    assert hub.run(id_).max_attempts == 2


def test_a_reprocess_may_be_put_off_and_given_its_own_number_of_attempts(hub: Hub) -> None:
    hub.handler("order.create")(_refuse)
    id_ = add_in(hub.store, Status.DEAD)
    event = _reprocess(hub, id_, after=30, attempts=1)
    assert event.next_run_at - event.updated_at == timedelta(seconds=30)
    assert hub.run(id_).status == "pending"
    hub.clock.advance(31)
    assert hub.run(id_).max_attempts == 1


def test_a_reprocess_at_a_moment_is_due_at_that_very_moment(hub: Hub) -> None:
    hub.handler("order.create", policy=Policy(max_wait=60))(_refuse)
    id_ = add_in(hub.store, Status.DEAD)
    at = (utc_now() + timedelta(minutes=2)).replace(microsecond=0)
    event = _reprocess(hub, id_, at=at)
    assert event.next_run_at == event.due_at == at
    assert row(hub.store, id_)["give_up_at"] == at + timedelta(seconds=60)
    assert hub.run(id_).status == "pending"
    hub.clock.advance(121)
    assert hub.run(id_).status == "dead"


@pytest.mark.parametrize(
    "values",
    [
        {"at": datetime(2026, 1, 1)},  # noqa: DTZ001 - that is the point
        {"at": datetime.max.replace(tzinfo=UTC)},
        {"attempts": 0},
        {"attempts": 101},
        {"attempts": 2.5},
        {"attempts": True},
        {"attempts": "2"},
        {"after": -1},
        {"after": float("nan")},
        {"after": float("inf")},
        {"after": 31 * 86_400},
        {"actor": ""},
        {"actor": "maria\x00"},
        {"actor": "x" * 201},
        {"note": "x" * (NOTE_LIMIT + 1)},
        {"note": "line\n" * 1000},
        {"note": "\x00"},
        {"note": "\ud800"},
    ],
    ids=repr,
)
def test_an_argument_beyond_its_limits_is_refused_and_changes_nothing(
    hub: Hub, values: dict[str, Any]
) -> None:
    id_ = add_in(hub.store, Status.DEAD)
    before = row(hub.store, id_)
    with pytest.raises(PayloadRefused):
        _reprocess(hub, id_, **values)
    if not {"attempts", "after", "at"} & set(values):
        with pytest.raises(PayloadRefused):
            _discard(hub, id_, **values)
    assert (row(hub.store, id_), rows(hub.store, "audit")) == (before, [])


@pytest.mark.parametrize(
    ("note", "kept"),
    [
        (None, None),
        ("", None),
        (" \n\t ", None),
        ("  registered  ", "registered"),
        ("first\r\nsecond\n\n", "first\nsecond"),
        ("a\tb", "a   b"),
        ("<b>bold</b>", "<b>bold</b>"),
        ("login was password=hunter2", "login was password=•••"),
        ("x" * NOTE_LIMIT, "x" * NOTE_LIMIT),
    ],
    ids=repr,
)
@every_action
def test_a_note_is_kept_redacted_and_in_plain_characters(
    hub: Hub, action: Action, note: str | None, kept: str | None
) -> None:
    id_ = add_in(hub.store, Status.DEAD)
    ACTS[action](hub, id_, note=note)
    assert [said["note"] for said in rows(hub.store, "audit")] == [kept]


def test_a_discarded_event_never_runs(hub: Hub) -> None:
    ran: list[int] = []
    hub.handler("order.create")(lambda event: ran.append(event.id))
    made = hub.enqueue("order.create", account="a", entity_id="1", payload=1)
    event = hub.discard(made.id, actor="maria", note="a test order")
    assert (event.status, event.reason) == ("discarded", "operator")
    assert event.finished_at is not None
    assert hub.run(made.id).status == "discarded"
    assert hub.run_due() == 0
    assert ran == []


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"after": "5"}, r"^after: write a number"),
        ({"after": None}, r"^after: "),
        ({"note": 7}, r"^note: write text"),
    ],
)
def test_an_argument_of_a_wrong_type_is_refused_in_words(
    hub: Hub, values: dict[str, Any], sentence: str
) -> None:
    id_ = add_in(hub.store, Status.DEAD)
    with pytest.raises(PayloadRefused, match=sentence):
        hub.reprocess(id_, **values)
