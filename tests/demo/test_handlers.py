"""The sample handlers let every error out; by its rules the hub does what each means, in the ERP's own words."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from dlq_console import Event, Hub, Policy
from dlq_console.demo.data import customers
from dlq_console.demo.erp import SimulatedErp
from dlq_console.demo.erp_temper import Temper
from dlq_console.demo.handlers import register
from tests.demo.erp_client import PLAIN

#: Long enough for an answer, short enough for a test that waits it out (seconds).
PATIENCE = 0.5
#: Only the end of the test ends such a call.
FOR_EVER = 3600.0


@pytest.fixture
def erp() -> Iterator[SimulatedErp]:
    with SimulatedErp({"plain": PLAIN}) as running:
        yield running


@pytest.fixture
def hub(erp: SimulatedErp) -> Iterator[Hub]:
    hub = Hub.in_memory()
    register(hub, erp.url, policy=Policy(timeout=20), patience=PATIENCE)
    yield hub
    hub.close()


def _run(hub: Hub, kind: str = "stock.move", **payload: Any) -> Event:
    made = hub.enqueue(kind, account="plain", entity_id="8841", payload={"quantity": 1} | payload)
    return hub.run(made.id)


def _run_again(hub: Hub, event: Event) -> Event:
    hub.clock.advance(3600)
    return hub.run(event.id)


@pytest.mark.parametrize("kind", ["order.create", "invoice.create", "stock.move", "customer.upsert"])
def test_every_kind_reaches_the_erp_under_its_effect_key(hub: Hub, erp: SimulatedErp, kind: str) -> None:
    known = next(one for one in customers(1, "plain") if one.registered)
    event = _run(hub, kind, customer_code=known.code, code=known.code, name=known.name)

    assert event.status == "done"
    assert event.result == {"document": "plain/1", "duplicate": False}
    assert erp.effects() == {"plain": {event.effect_key: 1}}


def test_a_missing_customer_is_dead_in_the_words_of_the_erp_and_reprocess_works_once_registered(
    hub: Hub, erp: SimulatedErp
) -> None:
    event = _run(hub, "order.create", customer_code="5521")

    assert (event.status, event.reason) == ("dead", "permanent")
    assert event.last_error == "Cliente não cadastrado para o código [5521]."

    erp.desk.books.register("plain", "5521", "Papelaria Sabiá Coral")
    hub.reprocess(event.id, actor="operator", note="customer registered")
    assert hub.run(event.id).status == "done"
    assert erp.effects() == {"plain": {event.effect_key: 1}}


@pytest.mark.parametrize(
    ("temper", "said"),
    [
        (Temper(glitch_rate=1), "The ERP answered 502 without a readable text."),
        (Temper(outage_every=1, outage_lasts=1), "Serviço temporariamente fora do ar."),
    ],
)
def test_an_erp_out_of_service_is_tried_again(hub: Hub, erp: SimulatedErp, temper: Temper, said: str) -> None:
    erp.desk.set_temper("plain", temper)
    event = _run(hub)

    assert (event.status, event.attempts, event.last_error) == ("failed", 1, said)


def test_a_hanging_call_is_tried_again(hub: Hub, erp: SimulatedErp) -> None:
    erp.desk.set_temper("plain", Temper(hang_rate=1, hang=FOR_EVER))
    event = _run(hub)

    assert (event.status, event.error_type) == ("failed", "TimeoutError")


@pytest.mark.parametrize(
    ("repeat_is_fault", "result"), [(False, {"document": "plain/1", "duplicate": True}), (True, None)]
)
def test_a_late_answer_is_tried_again_and_recognised_as_done(
    hub: Hub, erp: SimulatedErp, repeat_is_fault: bool, result: Any
) -> None:
    erp.desk.set_temper("plain", Temper(late_rate=1, late=FOR_EVER))
    event = _run(hub)
    assert event.status == "failed"

    erp.desk.set_temper("plain", Temper(latency=0, repeat_is_fault=repeat_is_fault))
    again = _run_again(hub, event)
    assert (again.status, again.result) == ("done", result)
    assert erp.effects() == {"plain": {event.effect_key: 1}}


def test_a_limit_gives_the_attempt_back_and_waits_as_long_as_the_erp_asks(
    hub: Hub, erp: SimulatedErp
) -> None:
    erp.desk.set_temper("plain", Temper(latency=0, calls_per_window=1, window=300))
    assert _run(hub, note="the only call of this window").status == "done"
    event = _run(hub, note="one call too many")

    assert event.status in {"pending", "failed"}
    assert event.attempts == 0
    assert event.waiting_for == "account_closed"
    assert event.waiting_until is not None
    # What one answer has closed opens at slightly different moments.
    assert timedelta(seconds=200) < event.waiting_until - event.created_at <= timedelta(seconds=304)


def test_an_erp_that_cannot_be_reached_is_tried_again(hub: Hub, erp: SimulatedErp) -> None:
    erp.stop()
    event = _run(hub)

    assert (event.status, event.error_type) == ("failed", "URLError")


def test_a_payload_that_is_no_record_is_refused_in_words(hub: Hub) -> None:
    made = hub.enqueue("stock.move", account="plain", entity_id="1", payload=[1, 2])
    event = hub.run(made.id)

    assert (event.status, event.reason) == ("dead", "permanent")
    assert event.last_error == "The payload is not an object with the fields of a record; send it as one."


def test_workers_find_the_handlers_under_their_dotted_name() -> None:
    from dlq_console.demo.handlers import hub

    assert isinstance(hub, Hub)
