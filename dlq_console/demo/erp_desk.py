"""How does the simulated ERP answer one call?

The temper of the account comes first (an outage answers before anybody looks at the order), then the business rules,
then the books. Fault texts are in Portuguese, as an ERP of Brazil would write them.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from random import Random
from typing import Any

from dlq_console.clock import monotonic
from dlq_console.demo.data import customers
from dlq_console.demo.erp_books import Books, BooksClosed, Outcome, Refusal
from dlq_console.demo.erp_mood import Mood
from dlq_console.demo.erp_temper import Fate, Temper

#: What may be sent to an account, by the last part of the path.
RESOURCES = ("orders", "invoices", "customers", "stock-moves")


@dataclass(frozen=True, slots=True)
class Call:
    """One call to one account, with the caller's effect key."""

    account: str
    resource: str
    effect_key: str
    body: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back: a JSON object, or the text of a broken gateway."""

    status: int
    body: dict[str, Any] | str
    headers: dict[str, str] = field(default_factory=dict)


_OUT_OF_SERVICE = Answer(503, {"error": "Serviço temporariamente fora do ar."})

#: Fates that answer without touching the books.
_NOTHING_DONE = {
    Fate.UNAVAILABLE: _OUT_OF_SERVICE,
    Fate.GLITCH: Answer(502, "<html><head><title>502</title></head><body><h1>Bad gateway</h1></body></html>"),
    Fate.HUNG: Answer(504, {"error": "Tempo de processamento esgotado."}),
}


class Refused(Exception):
    """A business rule refuses the call."""

    def __init__(self, code: str, text: str, *, missing_customer: tuple[str, str] | None = None) -> None:
        super().__init__(text)
        self.text = text
        self.code = code
        self.missing_customer = missing_customer


class UnknownAccount(LookupError):
    """The ERP has no such account."""


class Desk:
    """Answers calls to any account.

    Args:
        books: what the ERP holds.
        tempers: the accounts and their tempers.
        seed: of the faults, and of the customers registered from the start.
        clock: seconds that never go back.
    """

    def __init__(
        self,
        books: Books,
        tempers: Mapping[str, Temper],
        *,
        seed: int = 1,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.books = books
        self._seed = seed
        self._clock = clock
        self._lock = threading.Lock()
        self._moods: dict[str, Mood] = {}
        self._closing = threading.Event()
        for account, temper in tempers.items():
            self.set_temper(account, temper)

    @property
    def accounts(self) -> list[str]:
        """The accounts, in the order they were opened."""
        return list(self._moods)

    def set_temper(self, account: str, temper: Temper) -> None:
        """Change how an account behaves; an unknown account is opened."""
        known = customers(self._seed, account)
        self.books.open_account(account, ((one.code, one.name) for one in known if one.registered))
        with self._lock:
            if account in self._moods:
                self._moods[account].adopt(temper)
            else:
                self._moods[account] = Mood(temper, Random(f"faults:{self._seed}:{account}"), self._clock)

    def mood(self, account: str) -> Mood:
        """The present mood of an account, to look at.

        Raises:
            UnknownAccount: there is no such account.
        """
        try:
            return self._moods[account]
        except KeyError:
            raise UnknownAccount(account) from None

    def start_outage(self, account: str, seconds: float = math.inf) -> None:
        """Put an account out of service, until `end_outage` or for so many seconds.

        Raises:
            UnknownAccount: there is no such account.
        """
        with self._lock:
            self.mood(account).start_outage(seconds)

    def end_outage(self, account: str) -> None:
        """Put an account back into service.

        Raises:
            UnknownAccount: there is no such account.
        """
        with self._lock:
            self.mood(account).end_outage()

    def receive(self, call: Call) -> Answer:
        """Answer one call, as slowly as the temper wants it.

        Raises:
            UnknownAccount: there is no such account.
        """
        fate, temper, turned_away = self._meet(call.account, call.resource, writes=True)
        if turned_away is not None:
            self._pause(temper.hang if fate is Fate.HUNG else 0)
            return turned_away
        if fate is Fate.LATE:
            answer = self._decide(call, temper)
            self._pause(temper.late)
            return answer
        self._pause(temper.latency + (temper.slow_by if fate is Fate.SLOW else 0))
        return self._decide(call, temper)

    def look_up(self, account: str, resource: str, code: str) -> Answer:
        """Tell the document of the record with this code of its sender: `{"document": null}` where there is none.

        Raises:
            UnknownAccount: there is no such account.
        """
        fate, temper, turned_away = self._meet(account, resource, writes=False)
        if turned_away is not None:
            return turned_away
        self._pause(temper.latency + (temper.slow_by if fate is Fate.SLOW else 0))
        return Answer(200, {"document": self.books.document_of(account, f"{resource} {code}")})

    def check(self, call: Call) -> Answer:
        """Tell whether a call would be taken now: `{"accepted": true}`, or false and what stands in its way.

        Nothing is done, and nobody is reproached with it: it is no refusal.

        Raises:
            UnknownAccount: there is no such account.
        """
        fate, temper, turned_away = self._meet(call.account, call.resource, writes=False)
        if turned_away is not None:
            return turned_away
        self._pause(temper.latency + (temper.slow_by if fate is Fate.SLOW else 0))
        try:
            self._check(call)
        except Refused as refusal:
            return Answer(200, {"accepted": False, "why": refusal.text})
        return Answer(200, {"accepted": True})

    def close(self) -> None:
        """Wake every call that is still being slow, and close the books."""
        self._closing.set()
        self.books.close()

    def _meet(self, account: str, resource: str, *, writes: bool) -> tuple[Fate, Temper, Answer | None]:
        """What the temper does to a call, and the answer where nobody looks at it."""
        mood = self.mood(account)
        with self._lock:
            fate, temper = mood.next_fate(resource, writes=writes), mood.temper
            wait = mood.seconds_to_wait(resource)
        self.books.count(account, "calls")
        if fate is not Fate.ANSWERED:
            self.books.count(account, fate.value)
        if fate is Fate.LIMITED:
            return fate, temper, _limited(wait)
        if fate in (Fate.BLOCKED, Fate.WHILE_BLOCKED):
            return fate, temper, _blocked(wait)
        return fate, temper, _NOTHING_DONE.get(fate)

    def _pause(self, seconds: float) -> None:
        self._closing.wait(seconds)

    def _decide(self, call: Call, temper: Temper) -> Answer:
        try:
            self._check(call)
            return self._write(call, temper)
        except Refused as refusal:
            self.books.refuse(call.account, _record(call), Refusal(refusal.text, refusal.missing_customer))
            with self._lock:
                self.mood(call.account).has_refused(call.resource)
            if refusal.missing_customer:
                wanted_by = str(call.body.get("integration_code", ""))
                self.books.ask_for(call.account, refusal.missing_customer, call.resource, wanted_by)
            return _fault(refusal.code, refusal.text)
        except BooksClosed:
            return _OUT_OF_SERVICE

    def _write(self, call: Call, temper: Temper) -> Answer:
        body, deduplicates = call.body, temper.deduplicates
        if call.resource == "customers":
            customer = (str(body["code"]), str(body["name"]))
            entry = self.books.apply(
                call.account, call.effect_key, customer=customer, deduplicates=deduplicates
            )
        else:
            entry = self.books.apply(
                call.account, call.effect_key, record=_record(call), deduplicates=deduplicates
            )
        repeated = entry.outcome is Outcome.REPLAYED
        if repeated and temper.repeat_is_fault:
            return _fault("SOAP-ENV:Client-102", f"Registro já incluído com a chave [{call.effect_key}].")
        return Answer(200, {"document": entry.document, "duplicate": repeated})

    def _check(self, call: Call) -> None:
        body = call.body
        match call.resource:
            case "orders" | "invoices":
                self._check_customer(
                    call.account, str(body.get("customer_code", "")), str(body.get("customer_name", ""))
                )
                _check_total(body)
            case "customers":
                if not (body.get("code") and body.get("name")):
                    raise Refused("SOAP-ENV:Client-103", "Informe o código e o nome do cliente.")
            case "stock-moves":
                if not body.get("quantity"):
                    raise Refused("SOAP-ENV:Client-310", "A quantidade do movimento não pode ser zero.")

    def _check_customer(self, account: str, code: str, name: str) -> None:
        if not self.books.is_registered(account, code):
            text = f"Cliente não cadastrado para o código [{code}]."
            raise Refused("SOAP-ENV:Client-101", text, missing_customer=(code, name))


def _check_total(body: dict[str, Any]) -> None:
    try:
        lines = sum((Decimal(str(line["amount"])) for line in body.get("lines", ())), Decimal(0))
        total = Decimal(str(body.get("total", 0)))
        equal = lines == total
    except (ArithmeticError, KeyError, TypeError, ValueError):
        raise Refused("SOAP-ENV:Client-204", "Valores do documento ilegíveis.") from None
    if not equal:
        raise Refused("SOAP-ENV:Client-205", f"O total [{total:.2f}] difere da soma dos itens [{lines:.2f}].")


def _record(call: Call) -> str:
    """What a call is about, in the caller's own code: "orders 8841" or, for a later version, "orders 8841 v2"."""
    version = call.body.get("version")
    suffix = "" if version is None else f" v{version}"
    return f"{call.resource} {call.body.get('integration_code', '')}{suffix}"


def _limited(wait: int) -> Answer:
    error = f"Limite de requisições atingido. Tente de novo em {wait} segundos."
    return Answer(429, {"error": error}, {"Retry-After": str(wait)})


def _blocked(wait: int) -> Answer:
    text = f"API bloqueada por excesso de recusas. Tente novamente em {wait} segundos."
    return _fault("SOAP-ENV:Client-425", text, status=425)


def _fault(code: str, text: str, *, status: int = 500) -> Answer:
    return Answer(status, {"faultstring": text, "faultcode": code})
