"""How does the code of a user of the hub look? Four handlers that send records to the simulated ERP.

Workers load them with `DLQ_APP=dlq_console.demo.handlers:hub`; `DLQ_DEMO_ERP_URL` says where the ERP is.
"""

from __future__ import annotations

import asyncio
import os
from typing import Any

from dlq_console import Event, Hub, Policy, Run
from dlq_console.demo.erp_client import PATIENCE, ErpClient

#: Shorter delays than the defaults of the hub, so that a newcomer sees an event heal within minutes.
DEMO_POLICY = Policy(timeout=30, base_delay=5, max_delay=120)


def register(hub: Hub, erp_url: str, *, policy: Policy = DEMO_POLICY, patience: float = PATIENCE) -> None:
    """Register the sample handlers on a hub.

    Args:
        hub: gets the kinds order.create, invoice.create, stock.move and customer.upsert.
        erp_url: address of the simulated ERP.
        policy: of all four kinds.
        patience: seconds a handler waits for an answer of the ERP.
    """
    erp = ErpClient(erp_url, patience)

    @hub.handler("order.create", policy=policy)
    def create_order(event: Event, run: Run) -> dict[str, Any]:
        return erp.send(event, run, "orders")

    @hub.handler("invoice.create", policy=policy)
    def create_invoice(event: Event, run: Run) -> dict[str, Any]:
        return erp.send(event, run, "invoices")

    @hub.handler("stock.move", policy=policy)
    def move_stock(event: Event, run: Run) -> dict[str, Any]:
        return erp.send(event, run, "stock-moves")

    @hub.handler("customer.upsert", policy=policy)
    async def upsert_customer(event: Event, run: Run) -> dict[str, Any]:
        return await asyncio.to_thread(erp.send, event, run, "customers")


hub = Hub()
register(hub, os.environ.get("DLQ_DEMO_ERP_URL", "http://127.0.0.1:8100"))
