"""Where does the traffic of the demo come from? Invented shops that send orders, invoices, customers and stock moves.

They behave like real senders: some orders are for customers nobody registered, some invoices add up wrongly, now and
then the same event is sent again by mistake, and a credit limit goes up and back down again.
"""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from random import Random
from typing import Any

from dlq_console import Hub, NewEvent
from dlq_console.clock import monotonic, utc_now
from dlq_console.demo import data
from dlq_console.demo.erp_temper import TEMPERS

#: Share of orders whose customer the ERP does not know.
UNREGISTERED_SHARE = 0.04
#: Share of invoices that add up wrongly.
WRONG_TOTAL_SHARE = 0.02
#: Share of events that are one of the latest events sent once more.
REPEATED_SHARE = 0.03

#: How many events a sender may repeat by mistake, or orders wait for their invoice.
_REMEMBERED = 50
_KINDS = ("order.create", "invoice.create", "stock.move", "customer.upsert")
_WEIGHTS = (55, 20, 15, 10)

#: What the event page says of where an event came from; the summary counts these and no other.
ORIGIN = "demo"


class Producer:
    """Makes one event after another; the same arguments make the same stream.

    Args:
        seed: of the choices, and of the customers, which the ERP must have been started with.
        accounts: whose events are made.
        first_number: the first order number. A stream that continues in the same database begins higher.
        today: the date on the documents; today in UTC by default.
    """

    def __init__(
        self,
        seed: int,
        accounts: Sequence[str] = tuple(TEMPERS),
        *,
        first_number: int = 8800,
        today: date | None = None,
    ) -> None:
        self._seed = seed
        self._random = Random(f"traffic:{seed}")
        self._accounts = tuple(accounts)
        self._numbers = itertools.count(first_number)
        self._today = today or utc_now().date()
        self._recent: deque[NewEvent] = deque(maxlen=_REMEMBERED)
        self._to_invoice: deque[tuple[str, dict[str, Any]]] = deque(maxlen=_REMEMBERED)
        self._to_follow: deque[NewEvent] = deque()

    def next_event(self) -> NewEvent:
        """The next event of the stream."""
        if self._recent and self._happens(REPEATED_SHARE):
            return self._random.choice(self._recent)
        event = self._to_follow.popleft() if self._to_follow and self._happens(0.3) else self._new_event()
        self._recent.append(event)
        return event

    def order(self, account: str, *, registered: bool) -> NewEvent:
        """An order of a customer whom the ERP knows from the start, or of one whom nobody has registered there."""
        return self.order_of(account, self.customer(account, registered=registered))

    def order_of(self, account: str, customer: data.Customer) -> NewEvent:
        """An order of this customer."""
        number = next(self._numbers)
        payload = data.order(self._random, customer, number, self._today)
        if customer.registered:
            self._to_invoice.append((account, payload))
        return NewEvent(kind="order.create", account=account, entity_id=str(number), payload=payload)

    def invoice(self, account: str, of_order: dict[str, Any], *, wrong_total: bool) -> NewEvent:
        """The invoice of an order, given as its payload; with `wrong_total` the ERP refuses it."""
        number = next(self._numbers)
        payload = data.invoice(of_order, number, wrong_total=wrong_total)
        return NewEvent(kind="invoice.create", account=account, entity_id=str(number), payload=payload)

    def upsert(self, account: str, customer: data.Customer, limit: str) -> NewEvent:
        """A customer's record with a credit limit."""
        return NewEvent(
            kind="customer.upsert",
            account=account,
            entity_id=customer.code,
            payload=data.customer_record(customer, Decimal(limit)),
            version=str(next(self._numbers)),
        )

    def customer(self, account: str, *, registered: bool) -> data.Customer:
        """Any customer of an account whom the ERP knows from the start, or any other."""
        known = data.customers(self._seed, account)
        return self._random.choice([one for one in known if one.registered is registered])

    def newcomer(self, account: str) -> data.Customer:
        """The first customer of an account whom nobody has registered in the ERP."""
        return next(one for one in data.customers(self._seed, account) if not one.registered)

    def _happens(self, share: float) -> bool:
        return self._random.random() < share

    def _new_event(self) -> NewEvent:
        account = self._random.choice(self._accounts)
        match self._random.choices(_KINDS, _WEIGHTS)[0]:
            case "invoice.create" if self._to_invoice:
                return self.invoice(*self._to_invoice.popleft(), wrong_total=self._happens(WRONG_TOTAL_SHARE))
            case "stock.move":
                return self._stock_move(account)
            case "customer.upsert":
                return self._credit_goes_up_and_back(account)
        return self.order(account, registered=not self._happens(UNREGISTERED_SHARE))

    def _stock_move(self, account: str) -> NewEvent:
        payload = data.stock_move(self._random, self._today)
        return NewEvent(
            kind="stock.move", account=account, entity_id=f"M-{next(self._numbers)}", payload=payload
        )

    def _credit_goes_up_and_back(self, account: str) -> NewEvent:
        """A customer's credit limit, raised and lowered again: three events, the third with the content of the first."""
        customer = self.customer(account, registered=True)
        first, second, third = (
            self.upsert(account, customer, limit) for limit in ("1000.00", "1500.00", "1000.00")
        )
        self._to_follow.extend((second, third))
        return first


@dataclass(frozen=True, slots=True)
class Production:
    """What a producer did: events sent, events that were new, and repeats folded into an event that existed."""

    sent: int
    created: int

    @property
    def folded(self) -> int:
        """Repeats that became no event of their own."""
        return self.sent - self.created


def run_producer(
    hub: Hub,
    rate: float,
    seconds: float | None,
    seed: int,
    stop: threading.Event,
    *,
    first_number: int = 8800,
    opening: Callable[[Producer], Sequence[NewEvent]] = lambda _: (),
) -> Production:
    """Enqueue events at a steady rate until the time is over or `stop` is set.

    Args:
        hub: takes the events.
        rate: events per second.
        seconds: how long; None until `stop`.
        seed: of the stream; the ERP must have been started with the same one.
        stop: ends the work early.
        first_number: see Producer.
        opening: makes what is sent at once, before the stream begins.
    """
    producer = Producer(seed, first_number=first_number)
    first = deque(opening(producer))
    at_once = len(first)
    began, sent, created = monotonic(), 0, 0
    while not stop.wait(max(0.0, began + max(0, sent - at_once) / rate - monotonic())):
        if seconds is not None and monotonic() - began >= seconds:
            break
        event = first.popleft() if first else producer.next_event()
        made = hub.enqueue(
            event.kind,
            account=event.account,
            entity_id=event.entity_id,
            payload=event.payload,
            version=event.version,
            run_at=event.run_at,
            origin=ORIGIN,
        )
        sent += 1
        created += made.created
    return Production(sent, created)
