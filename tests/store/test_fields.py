"""Which values of a payload are kept for lists and search, when, and what of them is ever shown?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from dlq_console.errors import IdempotencyConflict, PermanentError
from dlq_console.hub.enqueue import NewEvent
from dlq_console.hub.policy import Policy
from dlq_console.redact import MASK
from dlq_console.runtime import Hub
from dlq_console.settings import read_settings
from dlq_console.store import fields
from dlq_console.store.field_values import shown, values_of
from tests.store.making import rows

KIND = "order.create"
POLICY = Policy(columns={"Order": "number", "Total": "total", "First": "items.0.sku", "CPF": "customer.cpf"})
PAYLOAD: dict[str, Any] = {
    "number": 8841,
    "total": 12.5,
    "items": [{"sku": "P-1"}],
    "customer": {"cpf": "52998224725"},
}


@pytest.fixture
def hub(database_url: str) -> Iterator[Hub]:
    hub = Hub(read_settings(database_url=database_url))
    yield hub
    hub.close()


def refuse(_event: object) -> None:
    raise PermanentError("no")


def kept(hub: Hub) -> set[tuple[int, str, str]]:
    return {(row["event_id"], row["path"], row["value"]) for row in rows(hub.store, "event_field")}


def sent(hub: Hub, entity: str = "1", payload: Any = PAYLOAD, **more: Any) -> int:
    return hub.enqueue(KIND, account="filial-sp", entity_id=entity, payload=payload, **more).id


ALL = {("number", "8841"), ("total", "12.5"), ("items.0.sku", "P-1"), ("customer.cpf", "52998224725")}


def test_the_values_of_configured_fields_are_kept_as_the_event_comes_in(hub: Hub) -> None:
    hub.handler(KIND, policy=POLICY)(refuse)
    event_id = sent(hub)
    assert kept(hub) == {(event_id, path, value) for path, value in ALL}
    sent(hub)
    assert len(kept(hub)) == 4, "a repeat is folded into the first"


def test_a_producer_knows_the_fields_that_workers_have_published(hub: Hub) -> None:
    worker = Hub(hub.settings)
    worker.handler(KIND, policy=POLICY)(refuse)
    worker.publish_kinds("a-worker")
    event_id = sent(hub)
    assert kept(hub) == {(event_id, path, value) for path, value in ALL}
    worker.close()


def test_nothing_is_kept_of_kinds_without_columns(hub: Hub) -> None:
    sent(hub)
    assert kept(hub) == set()


def test_a_rollback_takes_the_values_along(hub: Hub) -> None:
    hub.handler(KIND, policy=POLICY)(refuse)
    with hub.store.engines.write().connect() as connection, connection.begin() as transaction:
        sent(hub, session=connection)
        transaction.rollback()
    assert kept(hub) == set()


def test_a_raw_connection_takes_the_values_into_its_own_transaction(hub: Hub) -> None:
    hub.handler(KIND, policy=POLICY)(refuse)
    pooled = hub.store.engines.write().raw_connection()
    connection = pooled.driver_connection
    assert connection is not None
    connection.execute("BEGIN")
    event_id = sent(hub, session=connection)
    connection.commit()
    pooled.close()
    assert kept(hub) == {(event_id, path, value) for path, value in ALL}


def test_many_at_once_keep_their_values_and_a_conflict_keeps_none(hub: Hub) -> None:
    hub.handler(KIND, policy=POLICY)(refuse)
    news = [NewEvent(kind=KIND, account="a", entity_id=str(n), payload={"number": n}) for n in range(3)]
    made = hub.enqueue_many(news)
    expected = {(one.id, "number", str(n)) for n, one in enumerate(made)}
    assert kept(hub) == expected
    clash = [
        NewEvent(kind=KIND, account="a", entity_id="9", payload={"number": 9}),
        NewEvent(kind=KIND, account="a", entity_id="9", payload={"number": 10}, idempotency_key="mine"),
        NewEvent(kind=KIND, account="a", entity_id="9", payload={"number": 11}, idempotency_key="mine"),
    ]
    with pytest.raises(IdempotencyConflict):
        hub.enqueue_many(clash)
    assert kept(hub) == expected


def test_what_dies_without_its_values_gets_them_then(hub: Hub) -> None:
    event_id = sent(hub)
    assert kept(hub) == set()
    hub.handler(KIND, policy=POLICY)(refuse)
    hub.publish_kinds("a-worker")
    assert hub.run(event_id).status == "dead"
    assert kept(hub) == {(event_id, path, value) for path, value in ALL}


def test_a_rebuilt_payload_has_the_values_of_what_is_sent(hub: Hub) -> None:
    hub.handler(KIND, policy=POLICY)(refuse)
    hub.refresh(KIND)(lambda _event: {"number": 8842})
    hub.publish_kinds("a-worker")
    event_id = sent(hub)
    hub.run(event_id)
    hub.reprocess(event_id)
    hub.run(event_id)
    assert kept(hub) == {(event_id, "number", "8842")}


def test_an_edited_payload_is_found_by_its_own_values(hub: Hub) -> None:
    hub.handler(KIND, policy=POLICY)(refuse)
    hub.publish_kinds("a-worker")
    event_id = sent(hub)
    hub.run(event_id)
    new = hub.edit(event_id, PAYLOAD | {"number": 8842}, actor="maria", note="wrong number")
    assert (new.id, "number", "8842") in kept(hub)
    assert (event_id, "number", "8841") in kept(hub)


def test_the_values_are_forgotten_with_their_event(hub: Hub) -> None:
    from dlq_console.store.pruning import prune

    hub.handler(KIND, policy=POLICY)(lambda _event: None)
    assert hub.run(sent(hub)).status == "done"
    hub.store.clock.advance(90 * 86_400)
    assert prune(hub.store, days=30) == 1
    assert kept(hub) == set()


def test_lists_show_the_values_and_mask_what_belongs_to_people(hub: Hub) -> None:
    hub.handler(KIND, policy=POLICY)(refuse)
    event_id = sent(hub)
    values = {"number": "8841", "total": "12.5", "items.0.sku": "P-1", "customer.cpf": MASK}
    assert fields.read(hub.store, [event_id, 999, -1, 2**70]) == {event_id: values}
    assert fields.read(hub.store, []) == {}


def test_what_kinds_have_configured_is_told(hub: Hub) -> None:
    hub.handler(KIND, policy=POLICY)(refuse)
    hub.handler("stock.move")(refuse)
    hub.publish_kinds("a-worker")
    assert fields.columns(hub.store) == {KIND: dict(POLICY.columns)}


# Which values

LONG = "x" * 500


@pytest.mark.parametrize(
    ("payload", "path", "value"),
    [
        ('{"a": "text"}', "a", "text"),
        ('{"a": "  spaced "}', "a", "spaced"),
        ('{"a": 12.50}', "a", "12.50"),
        ('{"a": 1e3}', "a", "1000"),
        ('{"a": true}', "a", "true"),
        ('{"a": [10, {"b": "c"}]}', "a.1.b", "c"),
        ('{"a": {"0": "name"}}', "a.0", "name"),
        ('{"a": "Sa\u0303o"}', "a", "S\u00e3o"),
        (f'{{"a": "{LONG}"}}', "a", LONG[:200]),
        ('{"customer": {"cpf": "52998224725"}}', "customer.cpf", "52998224725"),
    ],
)
def test_plain_values_are_kept_as_text(payload: str, path: str, value: str) -> None:
    assert values_of(payload, [path]) == ((path, value),)


@pytest.mark.parametrize(
    ("payload", "path"),
    [
        ('{"a": null}', "a"),
        ('{"a": ""}', "a"),
        ('{"a": {"b": 1}}', "a"),
        ('{"a": [1]}', "a"),
        ('{"a": [1]}', "a.7"),
        ('{"a": [1]}', "a.b"),
        ('"text"', "a"),
        ('{"a": "1"}', "b"),
        # Secrets: by name, by the name beside them, and inside of a text.
        ('{"password": "hunter2hunter2"}', "password"),
        ('{"headers": [{"name": "app_secret", "value": "s3cr3t-value"}]}', "headers.0.value"),
        ('{"url": "https://maria:hunter2hunter2@erp.example/orders"}', "url"),
    ],
)
def test_what_is_no_plain_value_and_what_is_secret_is_never_kept(payload: str, path: str) -> None:
    assert values_of(payload, [path]) == ()


def test_a_number_of_a_person_is_shown_masked_wherever_it_stands() -> None:
    assert shown("customer.cpf", "52998224725") == MASK
    assert shown("customers.0.cnpj", "11222333000181") == MASK
    assert shown("number", "8841") == "8841"
