"""Which handlers does the worker of the stories run? Three kinds for the ERP whose folder `STORY_ERP` names."""

from __future__ import annotations

import os
from pathlib import Path

from dlq_console import Event, Hub, Policy
from tests.browser.stories.erp import FOLDER, HANGS_AT_MOST, FolderErp

hub = Hub()
_erp = FolderErp(Path(os.environ[FOLDER]))

ORDER = {
    "type": "object",
    "required": ["customer_code"],
    "properties": {"customer_code": {"type": "string", "pattern": "^[0-9]{4}$"}},
}


@hub.handler(
    "order.create",
    policy=Policy(
        max_attempts=1, schema=ORDER, columns={"Pedido de compra": "purchase_order", "Total": "total"}
    ),
)
def create_order(event: Event) -> dict[str, str]:
    _erp.take_order(event.account, event.payload["customer_code"])
    return {"document": f"P-{event.entity_id}"}


@hub.handler("invoice.create", policy=Policy(max_attempts=1, timeout=2 * HANGS_AT_MOST))
def create_invoice(event: Event) -> None:
    _erp.take_invoice(event.account, int(event.entity_id))


@hub.handler("price.set", policy=Policy(max_attempts=1, replay_policy="latest_wins"))
def set_price(event: Event) -> None:
    _erp.take_price(event.account, event.entity_id)
