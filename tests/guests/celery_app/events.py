"""What the shop tells its ERP."""

import time

from dlq_console import Event, Hub, Policy, Run

hub = Hub()


@hub.handler("order.create", policy=Policy(timeout=60))
def create_order(event: Event, run: Run) -> dict[str, str]:
    """Send an order to the ERP."""
    return {"sent": event.entity_id, "key": run.effect_key}


@hub.handler("catalogue.print", policy=Policy(timeout=3, max_attempts=1))
def print_catalogue(event: Event) -> None:
    """Takes its time."""
    time.sleep(event.payload["seconds"])
