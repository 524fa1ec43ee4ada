"""The address of a record in the ERP: only where its pattern says, whatever the event carries."""

from __future__ import annotations

from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

import pytest

from dlq_console.errors import ConfigurationError
from dlq_console.hub.open_urls import LONGEST_VALUE, check_open_url, open_url
from dlq_console.hub.policy import Policy
from dlq_console.runtime import Hub

ORDERS = "https://erp.example/orders/{entity_id}"


def address(pattern: str = ORDERS, payload: Any = None, **known: str) -> str | None:
    return open_url(pattern, **{"account": "filial-sp", "entity_id": "8841"} | known, payload=payload)


def test_the_values_of_the_event_are_filled_in() -> None:
    payload = {"order": {"ids": [7, "x y"]}, "total": Decimal("12.50")}
    pattern = "http://erp.example/{account}/{entity_id}?a={payload.order.ids.1}&b={payload.total}&c={payload.order.ids.0}"
    assert address(pattern, payload) == "http://erp.example/filial-sp/8841?a=x%20y&b=12.50&c=7"


@pytest.mark.parametrize(
    "hostile",
    ["../../admin", "//evil.example/", "8841?x=1#y", "a/b\\c", "javascript:alert(1)", '"><script>', "@evil"],
)
def test_no_value_leads_to_another_machine_or_out_of_its_place(hostile: str) -> None:
    made = address(entity_id=hostile)
    assert made is not None
    parts = urlsplit(made)
    assert (parts.scheme, parts.netloc, parts.query, parts.fragment) == ("https", "erp.example", "", "")
    assert parts.path.count("/") == 2
    assert made.isascii()


@pytest.mark.parametrize("value", ["", ".", "..", "x" * (LONGEST_VALUE + 1), "a\u202eb", "a\nb"])
def test_there_is_no_address_for_a_value_that_cannot_stand_in_one(value: str) -> None:
    assert address(entity_id=value) is None


@pytest.mark.parametrize(
    "payload",
    [None, "text", {}, {"a": None}, {"a": True}, {"a": {"b": 1}}, {"a": []}, {"a": ""}, {"b": 1}],
)
def test_there_is_no_address_where_the_payload_has_no_such_value(payload: Any) -> None:
    assert address("https://erp.example/{payload.a}", payload) is None


def test_a_value_beside_the_name_of_a_secret_is_left_out() -> None:
    pattern = "https://erp.example/{payload.header.value}"
    assert address(pattern, {"header": {"name": "authorization", "value": "canary"}}) is None
    assert address(pattern, {"header": {"name": "colour", "value": "red"}}) == "https://erp.example/red"


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        7,
        "erp.example/orders",
        "/orders/{entity_id}",
        "ftp://erp.example/",
        "javascript:alert({entity_id})",
        "https://",
        "https://[",
        "https://{account}.erp.example/",
        "https://erp.example:{payload.port}/",
        "https://user:word@erp.example/",
        "https://erp.example/{}",
        "https://erp.example/{status}",
        "https://erp.example/{payload}",
        "https://erp.example/{payload.}",
        "https://erp.example/{payload.a..b}",
        "https://erp.example/{payload.customer.cpf}",
        "https://erp.example/{payload.access_token}",
        "https://erp.example/{entity_id",
        "https://erp.example/{{entity_id}}",
        "https://erp.example/a b",
        "https://erp.example/\n",
        "https://erp.example/" + "x" * 1000,
    ],
)
def test_a_pattern_that_could_mislead_is_refused_when_the_policy_is_made(pattern: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"Policy\.open_url is wrong: write "):
        Policy(open_url=pattern)
    with pytest.raises(ConfigurationError):
        check_open_url(pattern)


def test_the_pattern_is_published_with_its_kind(sqlite_url: str) -> None:
    from dlq_console.settings import read_settings

    worker = Hub(read_settings(database_url=sqlite_url))
    worker.handler("order.create", policy=Policy(open_url=ORDERS))(lambda _event: None)
    worker.publish_kinds(worker.worker)
    console = Hub(read_settings(database_url=sqlite_url))
    assert console.policy("order.create").open_url == ORDERS
    assert console.policy("other").open_url is None
    worker.close()
    console.close()
