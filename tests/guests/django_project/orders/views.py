"""Where orders come in."""

from django.db import connection, transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_POST
from shop.hub import hub

from orders.models import Order


@require_POST
def create(request: HttpRequest) -> HttpResponse:
    """Take an order: its row and its event are committed together, or neither is."""
    with transaction.atomic():
        order = Order.objects.create(number=request.POST["number"])
        made = hub.enqueue(
            "order.create",
            account="filial-sp",
            entity_id=order.number,
            payload={"number": order.number},
            session=connection,
        )
    return JsonResponse({"event": made.id}, status=201)
