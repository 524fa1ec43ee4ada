"""What is done with the events."""

from shop.hub import hub

from dlq_console import Event, Policy, Run
from orders.models import Order

__all__ = ["hub"]


@hub.handler("order.create", policy=Policy(timeout=60))
def create_order(event: Event, run: Run) -> None:
    """Send an order to the ERP, with `run.effect_key` as the key of the call, and note that it is there."""
    Order.objects.filter(number=event.entity_id).update(at_erp=True)
