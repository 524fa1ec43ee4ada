"""Refresh: after a reprocess the payload is rebuilt once, and stored with its effect key before anything is sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dlq_console import (
    ConfigurationError,
    Event,
    Hub,
    IdempotencyConflict,
    OutcomeUnknown,
    PermanentError,
    Policy,
    RateLimited,
    Run,
    TransientError,
)
from dlq_console.hub.endings import MOST_UNKNOWN
from dlq_console.hub.execution import TimeLimitReached, run_claimed
from dlq_console.store import queries
from dlq_console.workers.steps import rescue
from tests.store.making import claimed, row

#: What the shop holds by the time of the reprocess.
TRUE_NOW = {"customer": "C2", "total": 12.5}


class Shop:
    """Orders with a customer that the ERP refuses at first; what was sent, and under which key."""

    def __init__(self, hub: Hub, **policy: Any) -> None:
        self.hub = hub
        self.sent: list[tuple[Any, str]] = []
        self.error: Exception | None = PermanentError("refused")
        self.asked = 0
        self.answer: Any = TRUE_NOW
        hub.handler("order.create", policy=Policy(**policy))(self._create)
        hub.refresh("order.create")(self._refresh)

    def _create(self, event: Event, run: Run) -> None:
        # What a second process would find in the database at this moment.
        kept = self.hub.get(event.id)
        assert (kept.payload, kept.effect_key) == (event.payload, run.effect_key)
        assert event.effect_key == run.effect_key
        self.sent.append((event.payload, run.effect_key))
        if self.error:
            raise self.error

    def _refresh(self, event: Event) -> Any:
        self.asked += 1
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer

    def dead(self) -> int:
        """A dead order whose customer the ERP knows by now."""
        made = self.hub.enqueue(
            "order.create", account="a", entity_id="1", payload={"customer": "C1", "total": 10}
        )
        assert self.hub.run(made.id).status == "dead"
        self.error = None
        return made.id

    def again(self, event_id: int, seconds: float = 0) -> Event:
        """Reprocess and run."""
        self.hub.reprocess(event_id)
        self.hub.clock.advance(seconds)
        return self.hub.run(event_id)


def test_a_first_run_sends_what_came_in(hub: Hub) -> None:
    shop = Shop(hub)
    shop.dead()
    assert shop.asked == 0
    assert [payload for payload, _ in shop.sent] == [{"customer": "C1", "total": 10}]


def test_after_a_reprocess_the_rebuilt_payload_is_sent_under_a_new_effect_key(hub: Hub) -> None:
    shop = Shop(hub)
    id_ = shop.dead()
    before = hub.get(id_)
    done = shop.again(id_)
    assert (done.status, done.payload, shop.asked) == ("done", TRUE_NOW, 1)
    assert shop.sent[-1] == (TRUE_NOW, done.effect_key)
    assert done.effect_key not in {before.effect_key, shop.sent[0][1]}


def test_the_audit_has_the_hashes_of_both_payloads(hub: Hub) -> None:
    shop = Shop(hub)
    id_ = shop.dead()
    shop.again(id_)
    said = queries.audit(hub.store, id_)[0]
    assert (said.actor, said.action) == ("hub", "refresh")
    hashes = {said.before, said.after}
    assert len(hashes) == 2
    assert {len(str(each)) for each in hashes} == {64}


@pytest.mark.parametrize("same", [{"customer": "C1", "total": 10}, {"total": 10.0, "customer": "C1"}])
def test_a_payload_that_means_the_same_keeps_its_text_and_its_effect_key(hub: Hub, same: Any) -> None:
    shop = Shop(hub)
    id_ = shop.dead()
    before = hub.get(id_)
    shop.answer = same
    done = shop.again(id_)
    assert (done.payload_json, done.effect_key) == (before.payload_json, before.effect_key)
    said = queries.audit(hub.store, id_)[0]
    assert said.action == "refresh"
    assert said.before == said.after


def test_a_retry_sends_the_same_payload_under_the_same_key(hub: Hub) -> None:
    shop = Shop(hub)
    id_ = shop.dead()
    shop.error = TransientError("busy")
    assert shop.again(id_).status == "failed"
    shop.answer, shop.error = {"customer": "C3"}, None
    hub.clock.advance(3600)
    assert hub.run(id_).status == "done"
    assert (shop.asked, shop.sent[-1]) == (1, shop.sent[-2])


def test_every_reprocess_asks_again(hub: Hub) -> None:
    shop = Shop(hub)
    id_ = shop.dead()
    keys = {hub.get(id_).effect_key}
    for number in range(1, 4):
        # There and back again: no key may come back with the payload.
        shop.answer = {"customer": f"C{number % 2}"}
        shop.error = TransientError("busy") if number < 3 else None
        hub.reprocess(id_, attempts=1)
        keys.add(hub.run(id_).effect_key)
    assert (shop.asked, hub.get(id_).status, len(keys)) == (3, "done", 4)


def test_what_was_not_applied_is_sent_under_yet_another_key(hub: Hub) -> None:
    shop = Shop(hub)
    id_ = shop.dead()
    shop.error = PermanentError("refused again")
    refreshed = shop.again(id_)
    assert refreshed.effect_key != shop.sent[-1][1]
    shop.error = None
    shop.again(id_)
    keys = [key for _, key in shop.sent]
    assert len(set(keys)) == len(keys) == 3


def test_an_event_in_doubt_keeps_its_payload_and_its_key(hub: Hub) -> None:
    shop = Shop(hub, on_unknown="hold")
    shop.error = OutcomeUnknown()
    id_ = shop.dead()
    assert hub.get(id_).reason == "in_doubt"
    assert shop.again(id_).status == "done"
    assert shop.asked == 0
    assert shop.sent[0] == shop.sent[1]


def test_a_verifier_that_does_not_find_it_ends_the_doubt_and_the_payload_is_rebuilt(hub: Hub) -> None:
    shop = Shop(hub)
    answer = "unknown"
    hub.verifier("order.create")(lambda event: answer)
    shop.error = OutcomeUnknown()
    id_ = hub.enqueue("order.create", account="a", entity_id="1", payload={"customer": "C1", "total": 10}).id
    for _ in range(MOST_UNKNOWN + 1):
        hub.run(id_)
        hub.clock.advance(3600)
    assert (hub.get(id_).reason, shop.asked) == ("in_doubt", 0)
    answer, shop.error = "not_applied", None
    assert (shop.again(id_).status, shop.asked) == ("failed", 0)
    assert (hub.run(id_).status, shop.asked) == ("done", 1)
    assert shop.sent[-1][0] == TRUE_NOW


def test_what_only_reads_is_rebuilt_whatever_became_of_its_last_call(hub: Hub) -> None:
    shop = Shop(hub, writes=False, max_attempts=1)
    shop.error = OutcomeUnknown()
    id_ = shop.dead()
    assert (shop.again(id_).status, shop.sent[-1][0]) == ("done", TRUE_NOW)


def test_a_repeat_of_what_came_in_is_still_a_repeat(hub: Hub) -> None:
    shop = Shop(hub)
    id_ = shop.dead()
    shop.again(id_)
    made = hub.enqueue("order.create", account="a", entity_id="1", payload={"customer": "C1", "total": 10})
    assert (made.id, made.created) == (id_, False)
    own: dict[str, Any] = {"account": "a", "entity_id": "2", "idempotency_key": "mine"}
    hub.enqueue("order.create", payload=1, **own)
    with pytest.raises(IdempotencyConflict):
        hub.enqueue("order.create", payload=2, **own)


# What goes wrong


@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        (TransientError("the shop is away"), "failed", None),
        (ConnectionError("refused"), "failed", None),
        (TimeoutError("timed out"), "failed", None),
        (PermanentError("the order was cancelled"), "dead", "permanent"),
        (KeyError("customer"), "dead", "unclassified"),
        (RateLimited(5), "pending", None),
    ],
    ids=repr,
)
def test_an_error_of_the_refresh_counts_as_one_of_the_handler_and_sends_nothing(
    hub: Hub, error: Exception, status: str, reason: str | None
) -> None:
    shop = Shop(hub)
    id_ = shop.dead()
    shop.answer = error
    event = shop.again(id_)
    assert (event.status, event.reason, event.doubts, len(shop.sent)) == (status, reason, 0, 1)
    if status == "dead":
        return
    shop.answer = TRUE_NOW
    hub.clock.advance(3600)
    assert (hub.run(id_).status, shop.sent[-1][0]) == ("done", TRUE_NOW)


def test_a_refresh_that_runs_into_the_time_limit_leaves_nothing_in_doubt(hub: Hub) -> None:
    shop = Shop(hub, on_unknown="hold")
    id_ = shop.dead()
    shop.answer = TimeLimitReached()
    event = shop.again(id_)
    assert (event.status, event.error_type, event.doubts) == ("failed", "TimeLimitExceeded", 0)
    assert len(shop.sent) == 1


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (None, "The refresh of order.create returned NoneType; it must return the payload as a dict."),
        ([1], "The refresh of order.create returned list; it must return the payload as a dict."),
        ({"a": object()}, "payload.a: "),
        ({"a": "x" * 300_000}, "payload: "),
    ],
    ids=["nothing", "a list", "an object", "too large"],
)
def test_what_is_no_payload_is_dead_with_a_sentence_and_keeps_the_old_one(
    hub: Hub, answer: Any, sentence: str
) -> None:
    shop = Shop(hub)
    id_ = shop.dead()
    before = row(hub.store, id_)["payload"]
    shop.answer = answer
    event = shop.again(id_)
    assert (event.status, event.reason) == ("dead", "unclassified")
    assert str(event.last_error).startswith(sentence)
    assert (row(hub.store, id_)["payload"], len(shop.sent)) == (before, 1)


def test_a_late_refresh_changes_nothing_and_sends_nothing(hub: Hub) -> None:
    shop = Shop(hub)
    id_ = shop.dead()
    hub.reprocess(id_)
    frozen = claimed(hub.store, id_, lease_seconds=1)
    hub.clock.advance(60)
    assert rescue(hub) == 1
    before = row(hub.store, id_)
    assert not run_claimed(hub.store, hub.registry, frozen)
    assert (row(hub.store, id_), shop.asked, len(shop.sent)) == (before, 1, 1)


# How it is written


async def _async(event: Event) -> dict[str, Any]:
    return TRUE_NOW


FORMS: dict[str, Callable[..., Any]] = {
    "event": lambda event: TRUE_NOW,
    "event and run": lambda event, run: TRUE_NOW | {"left": run.remaining() > 0},
    "async": _async,
}


@pytest.mark.parametrize("function", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("first", ["handler", "refresh"])
def test_a_refresh_takes_every_form_of_a_handler_before_or_after_it(
    hub: Hub, function: Callable[..., Any], first: str
) -> None:
    sent: list[Any] = []

    def handle(event: Event) -> None:
        sent.append(event.payload)
        if len(sent) == 1:
            raise PermanentError

    if first == "refresh":
        assert hub.refresh("order.create")(function) is function
    hub.handler("order.create")(handle)
    if first == "handler":
        hub.refresh("order.create")(function)
    made = hub.enqueue("order.create", account="a", entity_id="1", payload=None)
    hub.run(made.id)
    hub.reprocess(made.id)
    assert hub.run(made.id).status == "done"
    assert sent[1]["customer"] == "C2"


def _takes_nothing() -> dict[str, Any]:
    return TRUE_NOW


def test_a_kind_has_one_refresh_that_takes_an_event() -> None:
    hub = Hub.in_memory()
    hub.refresh("order.create")(lambda event: {})
    with pytest.raises(ConfigurationError, match=r"The kind order\.create has a refresh already"):
        hub.refresh("order.create")(lambda event: {})
    with pytest.raises(ConfigurationError, match=r"The refresh of stock\.move must take"):
        hub.refresh("stock.move")(_takes_nothing)
    with pytest.raises(ConfigurationError, match="A refresh needs the name of its kind"):
        hub.refresh(" ")
    hub.close()
