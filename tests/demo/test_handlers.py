"""The sample handlers let every error out; by its rules the hub does what each means, in the ERP's own words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from datetime import timedelta
from typing import Any

import pytest

from dlq_console import Event, Hub, PayloadRefused, Policy
from dlq_console.demo.data import customers
from dlq_console.demo.erp import SimulatedErp
from dlq_console.demo.erp_temper import Temper
from dlq_console.demo.handlers import register
from dlq_console.demo.kinds import COLUMNS, SCHEMAS
from dlq_console.demo.opening import opening
from dlq_console.demo.producers import Producer
from dlq_console.hub.open_urls import open_url
from dlq_console.hub.schemas import check_payload
from dlq_console.settings import LOCALES
from dlq_console.store.canonical import decode_payload, read_payload
from tests.demo.erp_client import PLAIN, call

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


def _asked(hub: Hub, event: Event) -> Any:
    job = hub.ask_precheck(event.id, actor="operator")
    hub.run_due()
    result = hub.get(job).result
    return None if result is None else result["answer"]


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


@pytest.mark.parametrize("kind", ["order.create", "invoice.create"])
def test_the_precheck_asks_the_erp_and_changes_nothing(hub: Hub, erp: SimulatedErp, kind: str) -> None:
    event = _run(hub, kind, customer_code="5521")
    assert _asked(hub, event) == "unchanged"

    erp.desk.books.register("plain", "5521", "Papelaria Sabiá Coral")
    assert _asked(hub, event) == "likely"
    assert hub.get(event.id).status == "dead"
    figures = erp.stats()["by_account"]["plain"]
    assert (figures["applied"], figures["refused"]) == (0, 1)


def test_a_precheck_of_an_erp_that_does_not_answer_cannot_tell(hub: Hub, erp: SimulatedErp) -> None:
    event = _run(hub, "order.create", customer_code="5521")
    erp.desk.start_outage("plain")

    assert _asked(hub, event) == "unknown"


@pytest.mark.parametrize("kind", sorted(SCHEMAS))
def test_the_link_of_every_kind_leads_to_a_page_of_the_erp(hub: Hub, erp: SimulatedErp, kind: str) -> None:
    known = next(one for one in customers(1, "plain") if one.registered)
    event = _run(hub, kind, customer_code=known.code, code=known.code, name=known.name)
    pattern = hub.policy(kind).open_url
    assert pattern is not None
    address = open_url(pattern, account=event.account, entity_id=event.entity_id, payload=event.payload)

    assert address is not None
    page = call(erp.url, "GET", address.removeprefix(erp.url) + "?lang=en")
    assert page.status == 200
    assert event.entity_id in page.text


def test_what_the_producers_send_has_the_shape_that_its_kind_declares() -> None:
    producer = Producer(1)
    for event in [*opening(producer), *(producer.next_event() for _ in range(300))]:
        wrong_on_purpose = event.kind == "customer.upsert" and not event.payload["name"]
        content = decode_payload(read_payload(event.payload, max_bytes=256_000).stored, exact=True)
        with pytest.raises(PayloadRefused) if wrong_on_purpose else nullcontext():
            check_payload(content, SCHEMAS[event.kind], event.kind)


@pytest.mark.parametrize("locale", LOCALES)
def test_every_kind_has_columns_that_its_payload_fills(locale: str) -> None:
    assert set(COLUMNS[locale]) == set(SCHEMAS)
    for kind, columns in COLUMNS[locale].items():
        assert set(columns.values()) <= set(SCHEMAS[kind]["properties"])


def test_workers_find_the_handlers_under_their_dotted_name() -> None:
    from dlq_console.demo.handlers import hub

    assert isinstance(hub, Hub)
