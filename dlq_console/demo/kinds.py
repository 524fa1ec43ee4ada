"""What do people see of the demo's kinds, and what may they write? Columns, links into the ERP, and shapes of payloads.

A policy carries all of it; workers publish it, and the console needs no setting of its own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dlq_console import Policy

#: What the company of the demo wants to see beside the number of a record, by the language of the installation: its name
#: for the field, and where it stands in the payload.
COLUMNS: dict[str, dict[str, dict[str, str]]] = {
    "pt_BR": {
        "order.create": {"Cliente": "customer_code", "Total": "total"},
        "invoice.create": {"Pedido": "order_number", "Total": "total"},
        "stock.move": {"Produto": "sku", "Quantidade": "quantity"},
        "customer.upsert": {"Nome": "name", "Limite": "credit_limit"},
    },
    "en": {
        "order.create": {"Customer": "customer_code", "Total": "total"},
        "invoice.create": {"Order": "order_number", "Total": "total"},
        "stock.move": {"Product": "sku", "Quantity": "quantity"},
        "customer.upsert": {"Name": "name", "Limit": "credit_limit"},
    },
}

_DIGITS = {"type": "string", "pattern": "^[0-9]+$"}
_MONEY = {"type": "number", "minimum": 0, "multipleOf": 0.01}
_LINES = {
    "type": "array",
    "minItems": 1,
    "items": {
        "type": "object",
        "required": ["sku", "quantity", "unit_price", "amount"],
        "properties": {
            "sku": {"type": "string", "minLength": 1},
            "quantity": {"type": "integer", "minimum": 1},
            "unit_price": _MONEY,
            "amount": _MONEY,
        },
    },
}


def _document(**more: Any) -> dict[str, Any]:
    """The shape of an order, or of an invoice with the field that it has besides."""
    fields = {"number": _DIGITS, "customer_code": _DIGITS, **more, "lines": _LINES, "total": _MONEY}
    return {"type": "object", "required": list(fields), "properties": fields}


#: JSON Schema of each payload; what a person corrects is checked against it before it is saved.
SCHEMAS: dict[str, dict[str, Any]] = {
    "order.create": _document(),
    "invoice.create": _document(order_number=_DIGITS),
    "stock.move": {
        "type": "object",
        "required": ["sku", "quantity"],
        "properties": {"sku": {"type": "string", "minLength": 1}, "quantity": {"type": "integer"}},
    },
    "customer.upsert": {
        "type": "object",
        "required": ["code", "name", "credit_limit"],
        "properties": {"code": _DIGITS, "name": {"type": "string", "minLength": 1}, "credit_limit": _MONEY},
    },
}

#: What each kind is called in addresses of the ERP.
RESOURCES = {
    "order.create": "orders",
    "invoice.create": "invoices",
    "stock.move": "stock-moves",
    "customer.upsert": "customers",
}


def for_people(kind: str, policy: Policy, *, erp_url: str, locale: str) -> Policy:
    """The policy of a kind with its columns, its shape, and the address of its records in the ERP.

    Args:
        kind: one of the four.
        policy: what it adds to.
        erp_url: address of the simulated ERP.
        locale: of the labels: one of the settings' LOCALES.
    """
    columns = COLUMNS[locale][kind]
    address = f"{erp_url}/{{account}}/records/{RESOURCES[kind]}/{{entity_id}}"
    return replace(policy, columns=columns, schema=SCHEMAS[kind], open_url=address)
