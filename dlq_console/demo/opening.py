"""What does the demo send first, so that a newcomer need not wait for luck? One scene for each thing worth seeing.

The tempers of the accounts (`erp_temper.py`) play the other half of each scene.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from dlq_console import NewEvent
from dlq_console.clock import utc_now
from dlq_console.demo.erp_temper import TEMPERS
from dlq_console.demo.producers import Producer

#: Whose answer to the first order comes too late.
DOUBTFUL = "filial-rs"
#: Which blocks its orders after a few refusals.
BLOCKING = "filial-go"
#: Which is out of service for a while, so that its circuit opens.
FAILING = "filial-ba"
#: Where an older record of a customer must not undo a newer one.
CORRECTED = "filial-sp"
#: Where orders are refused for a customer whom a person can register.
REFUSING = ("filial-sp", "filial-rj", "filial-mg", "filial-pr")

#: Where an operator of the demo has taken on the first refused order.
TAKEN_ON = "filial-rj"
#: Where many orders fail of one cause, and an invoice adds up wrongly.
ONE_CAUSE, MISCOUNTED = "filial-sp", "filial-sp"
#: So many orders of a customer whom nobody has registered.
OF_ONE_CUSTOMER = 30

#: The record that mends an older one comes after so many seconds.
MENDED_AFTER = 8.0
#: Orders that meet the outage: how many seconds after it has begun the first comes, and how many come, one a second.
#: The ERP was started a few seconds before anything is sent.
INTO_OUTAGE, MEETING_OUTAGE = 3.0, 5


def opening(producer: Producer) -> list[NewEvent]:
    """The events in the order in which they are sent."""
    return [
        *_in_doubt(producer),
        *_block(producer),
        *_stale_replay(producer),
        *(producer.order(account, registered=False) for account in REFUSING for _ in range(2)),
        *_miscounted(producer),
        *_one_cause(producer),
        *_outage(producer),
    ]


def _in_doubt(producer: Producer) -> list[NewEvent]:
    """The ERP takes an order, but its answer never arrives: it is asked before anything is sent again."""
    return [producer.order(DOUBTFUL, registered=True)]


def _block(producer: Producer) -> list[NewEvent]:
    """So many refusals that the next order is told of a block; it and the one after it wait for its end."""
    refused = TEMPERS[BLOCKING].block_after
    return [producer.order(BLOCKING, registered=number >= refused) for number in range(refused + 2)]


def _stale_replay(producer: Producer) -> list[NewEvent]:
    """A record without a name is refused; the mended one arrives. To send the first again would undo the second."""
    customer = producer.customer(CORRECTED, registered=True)
    mended = producer.upsert(CORRECTED, customer, "2000.00")
    return [
        producer.upsert(CORRECTED, replace(customer, name=""), "1000.00"),
        replace(mended, run_at=utc_now() + timedelta(seconds=MENDED_AFTER)),
    ]


def _miscounted(producer: Producer) -> list[NewEvent]:
    """An order that arrives, and its invoice, whose total is not the sum of its lines: a person has to correct it."""
    order = producer.order(MISCOUNTED, registered=True)
    return [order, producer.invoice(MISCOUNTED, order.payload, wrong_total=True)]


def _one_cause(producer: Producer) -> list[NewEvent]:
    """Many orders that wait for one person to register one customer."""
    customer = producer.newcomer(ONE_CAUSE)
    return [producer.order_of(ONE_CAUSE, customer) for _ in range(OF_ONE_CUSTOMER)]


def _outage(producer: Producer) -> list[NewEvent]:
    begins = utc_now() + timedelta(seconds=TEMPERS[FAILING].outage_after + INTO_OUTAGE)
    return [
        replace(producer.order(FAILING, registered=True), run_at=begins + timedelta(seconds=number))
        for number in range(MEETING_OUTAGE)
    ]
