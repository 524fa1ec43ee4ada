"""What is an event about, in words? "Order 8841 did not reach filial-sp."."""

from __future__ import annotations

from functools import lru_cache
from typing import Protocol

from flask_babel import gettext, lazy_gettext
from flask_babel.speaklater import LazyString

from dlq_console.store.events import EventSummary
from dlq_console.store.states import Reason, Status
from dlq_console.web.i18n import locale_name

#: The first word of a kind, and what people call such a thing.
_THINGS: dict[str, LazyString] = {
    "order": lazy_gettext("Order %(id)s"),
    "invoice": lazy_gettext("Invoice %(id)s"),
    "customer": lazy_gettext("Customer %(id)s"),
    "product": lazy_gettext("Product %(id)s"),
    "payment": lazy_gettext("Payment %(id)s"),
    "shipment": lazy_gettext("Shipment %(id)s"),
    "stock": lazy_gettext("Stock move %(id)s"),
}


class Thing(Protocol):
    """Something that carries a record."""

    @property
    def kind(self) -> str | None: ...  # noqa: D102 - as in an event
    @property
    def entity_id(self) -> str | None: ...  # noqa: D102 - as in an event


def thing(event: Thing) -> str:
    """The record that an event carries: `Order 8841`, or the kind itself where nobody gave it a name."""
    pattern = _pattern(locale_name(), str(event.kind).partition(".")[0])
    return pattern % {"id": event.entity_id} if pattern else f"{event.kind} {event.entity_id}"


@lru_cache(maxsize=256)
def _pattern(locale: str, word: str) -> str:
    """What to call it in `locale`, the language of the request; empty where nobody gave it a name."""
    return str(_THINGS[word]) if word in _THINGS else ""


def headline(event: EventSummary) -> str:
    """One sentence that says whether the record arrived."""
    words = {"thing": thing(event), "account": event.account}
    match event.status:
        case Status.DONE:
            return gettext("%(thing)s reached %(account)s.", **words)
        case Status.RUNNING:
            return gettext("%(thing)s is being sent to %(account)s now.", **words)
        case Status.FAILED:
            return gettext("%(thing)s has not reached %(account)s yet and will be tried again.", **words)
        case Status.PENDING:
            return gettext("%(thing)s is queued for %(account)s.", **words)
        case Status.BLOCKED:
            return gettext("%(thing)s waits behind an earlier event for %(account)s.", **words)
        case Status.DISCARDED:
            return gettext("%(thing)s was discarded and will not be sent to %(account)s.", **words)
    if event.reason == Reason.IN_DOUBT:
        return gettext("It is not known whether %(thing)s reached %(account)s.", **words)
    return gettext("%(thing)s did not reach %(account)s.", **words)
