"""How does the code of a user of the hub look? Four handlers that send records to the simulated ERP.

Workers load them with `DLQ_APP=dlq_console.demo.handlers:hub`; `DLQ_DEMO_ERP_URL` says where the ERP is.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from functools import partial
from typing import Any, Literal

from dlq_console import Event, Hub, Policy, Run
from dlq_console.demo.erp_client import PATIENCE, PROVIDER, RULES, ErpClient
from dlq_console.demo.kinds import for_people

#: Shorter delays than the defaults of the hub, so that a newcomer sees an event heal within minutes. One call of a kind
#: at a time, so that none is on its way when the ERP blocks an account.
DEMO_POLICY = Policy(timeout=30, base_delay=5, max_delay=120, max_running=1)


def register(hub: Hub, erp_url: str, *, policy: Policy = DEMO_POLICY, patience: float = PATIENCE) -> None:
    """Register the sample handlers on a hub, and the rules of their ERP where DLQ_RULES names none.

    Args:
        hub: gets the kinds order.create, invoice.create, stock.move and customer.upsert.
        erp_url: address of the simulated ERP.
        policy: of all four kinds; each adds what is its own.
        patience: seconds a handler waits for an answer of the ERP.
    """
    hub.registry.rules_path = hub.registry.rules_path or RULES
    erp = ErpClient(erp_url, patience)
    asked = replace(policy, provider=PROVIDER)
    # The ERP recognises the effect key, so a repeat doubles nothing.
    recognised = replace(asked, unique_at_provider=True)
    shown = partial(for_people, erp_url=erp_url, locale=hub.settings.locale)

    @hub.handler("order.create", policy=shown("order.create", asked))
    def create_order(event: Event, run: Run) -> dict[str, Any]:
        return erp.send(event, run, "orders")

    @hub.verifier("order.create")
    def find_order(event: Event, run: Run) -> dict[str, Any] | Literal["not_applied"]:
        document = erp.find(event, run, "orders")
        return "not_applied" if document is None else {"document": document}

    @hub.precheck("order.create")
    def would_order_pass(event: Event, run: Run) -> Literal["likely", "unchanged"]:
        return "likely" if erp.would_take(event, run, "orders") else "unchanged"

    @hub.handler("invoice.create", policy=shown("invoice.create", recognised))
    def create_invoice(event: Event, run: Run) -> dict[str, Any]:
        return erp.send(event, run, "invoices")

    @hub.precheck("invoice.create")
    def would_invoice_pass(event: Event, run: Run) -> Literal["likely", "unchanged"]:
        return "likely" if erp.would_take(event, run, "invoices") else "unchanged"

    @hub.handler("stock.move", policy=shown("stock.move", recognised))
    def move_stock(event: Event, run: Run) -> dict[str, Any]:
        return erp.send(event, run, "stock-moves")

    # An older record of a customer must not undo a newer one.
    latest = replace(recognised, replay_policy="latest_wins")

    @hub.handler("customer.upsert", policy=shown("customer.upsert", latest))
    async def upsert_customer(event: Event, run: Run) -> dict[str, Any]:
        return await asyncio.to_thread(erp.send, event, run, "customers")


hub = Hub()
register(hub, os.environ.get("DLQ_DEMO_ERP_URL", "http://127.0.0.1:8100"))
