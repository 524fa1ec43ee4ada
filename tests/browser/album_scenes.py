"""What stands on the pages of the album? A plausible morning: orders of invented companies, some of which went wrong."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from random import Random
from typing import Any

from dlq_console.clock import utc_now
from dlq_console.demo import data
from dlq_console.errors import TransientError
from dlq_console.health.values import Word
from dlq_console.hub import alerting, bulk_progress, embed_tokens
from dlq_console.hub.policy import Policy
from dlq_console.resilience import BulkheadConfig, CircuitBreakerConfig
from dlq_console.store import claims, embeds, groups, leases, presence, scopes
from dlq_console.store.filters import EventFilter
from dlq_console.workers.steps import take_snapshot
from tests.web import alerted
from tests.web.desk import SECRET_KEY, Desk
from tests.web.refusals import OMIE, refusal
from tests.web.standing import account, blocked, look

SEED = 7
WHO = "maria"

ORDERS = Policy(
    max_attempts=6,
    columns={"Cliente": "customer_name", "Total": "total"},
    open_url="https://erp.example/pedidos/{entity_id}",
)
LANE = Policy(max_attempts=1, order="account")
PRICES = Policy(max_attempts=1, replay_policy="latest_wins")

UNREGISTERED = "Cliente não cadastrado para o código [{code}]."
WRONG_TOTAL = "O total da nota (1.241,50) difere da soma dos itens (1.240,50)."
BLOCKED = "Produto P-0031 bloqueado para alteração."


@dataclass(frozen=True, slots=True)
class Morning:
    """The ids of what has happened, by what it shows."""

    refused: int
    again: int
    taken: int
    retries: int
    waits: int
    stops: int
    behind: int
    aside: int
    overtaken: int
    unknown: int


class Orders:
    """Orders one after the other, each with a number of its own."""

    def __init__(self, account: str) -> None:
        self._chance = Random(f"{SEED}:{account}")
        self._customers = data.customers(SEED, account)

    def payload(self, number: str) -> dict[str, Any]:
        """The next one."""
        customer = self._chance.choice(self._customers)
        return data.order(self._chance, customer, int(number), date(2026, 3, 2))


def fill(desk: Desk) -> Morning:
    """Let it happen; returns what is where."""
    presence.announce(desk.hub.store, presence.new_worker_id(), mode="table", slots=4)
    desk.person("joana", "operator")
    sp, rj = Orders("filial-sp"), Orders("filial-rj")
    for number in range(8841, 8849):
        _unregistered(desk, str(number), sp, "filial-sp")
    for number in range(9120, 9123):
        _unregistered(desk, str(number), rj, "filial-rj")
    refused = _unregistered(desk, "8850", sp, "filial-sp")
    invoice = data.invoice(sp.payload("8851"), 5012, wrong_total=True)
    again = desk.dead("5012", kind="invoice.create", error=WRONG_TOTAL, payload=invoice)
    desk.hub.reprocess(again, actor="joana", note="arredondamento conferido")
    desk.hub.run(again)
    morning = Morning(
        refused=refused,
        again=again,
        taken=desk.done("8800", policy=ORDERS, payload=sp.payload("8800")),
        retries=desk.failed(
            "8860", error=TransientError("O serviço não respondeu."), payload=sp.payload("8860")
        ),
        waits=_closed(desk, sp),
        stops=desk.dead("M-310", kind="stock.move", error="Depósito fechado para inventário.", policy=LANE),
        behind=desk.add("M-311", kind="stock.move", policy=LANE),
        aside=_put_aside(desk),
        overtaken=_overtaken(desk),
        unknown=desk.dead(
            "N-77",
            kind="invoice.send",
            policy=OMIE,
            error=refusal(200, {"mensagem": "perfil fiscal ausente"}),
        ),
    )
    _team(desk, morning)
    groups.sample(desk.hub.store)
    return morning


def _unregistered(desk: Desk, number: str, orders: Orders, account: str) -> int:
    payload = orders.payload(number)
    said = UNREGISTERED.format(code=payload["customer_code"])
    return desk.dead(number, account=account, policy=ORDERS, payload=payload, error=said)


def _closed(desk: Desk, orders: Orders) -> int:
    desk.hub.pause_account("filial-ce", actor="joana", note="inventário até as 15h")
    return desk.add("8870", account="filial-ce", payload=orders.payload("8870"))


def _put_aside(desk: Desk) -> int:
    event_id = desk.dead("5013", kind="invoice.create", error="Nota em duplicidade.")
    desk.hub.discard(event_id, actor="joana", note="já emitida à mão")
    return event_id


def _overtaken(desk: Desk) -> int:
    price = {"sku": "P-0031", "price": Decimal("18.90")}
    event_id = desk.dead("P-0031", kind="price.set", policy=PRICES, error=BLOCKED, payload=price, version="1")
    desk.answers.clear()
    desk.done("P-0031", kind="price.set", payload=price | {"price": Decimal("19.90")}, version="2")
    return event_id


def _team(desk: Desk, morning: Morning) -> None:
    """What people have put on events and causes."""
    hub, fingerprint = desk.hub, str(desk.hub.get(morning.refused).fingerprint)
    hub.set_playbook(fingerprint, "Cadastre o cliente no ERP e reprocesse o grupo.", actor="joana")
    hub.assign(morning.refused, WHO, actor="joana")
    hub.tag(morning.refused, ["urgente", "atacado"], actor=WHO)
    hub.add_note(morning.refused, "O cliente confirma o cadastro até as 15h.", actor="joana")
    hub.assign(morning.again, WHO, actor="joana")


def runs(desk: Desk) -> Iterator[tuple[str, int]]:
    """A bulk run in each of its states, one after the other: how it stands, and its id."""
    hub = desk.hub
    run_id = hub.bulk.start(
        "reprocess",
        EventFilter(account=("filial-sp",)),
        actor=WHO,
        note="clientes cadastrados",
        canary=[1, 5],
    )
    for _ in range(2):
        bulk_progress.advance(hub)
    yield "under-way", run_id
    hub.run_due()
    bulk_progress.advance(hub)
    yield "moved-on", run_id
    for _ in range(6):
        hub.run_due()
        bulk_progress.advance(hub)
    yield "over", run_id


def frames(desk: Desk) -> str:
    """Status frames for other pages, one of them seen where it may not be; the address of another one."""
    look(desk, account("filial-sp"), blocked("filial-rj"), account("filial-pe", Word.DEGRADED))
    # As long as the console does not look again.
    time.sleep(1.1)
    store = desk.hub.store
    pages = ["https://intranet.example", "https://portal.example:8443"]
    accounts = ["filial-sp", "filial-rj", "filial-pe"]
    known = embeds.add(store, "Integrações com o ERP", origins=pages, accounts=accounts, detail="figures")
    near = embeds.add(store, "Filial RJ", origins=pages[:1], accounts=["filial-rj"], days=5, actor="joana")
    embeds.note_use(store, near.id, hits=1_312, origin="https://elsewhere.example")
    embeds.add(store, "Selo", origins=[], actor="joana")
    embeds.revoke(store, embeds.add(store, "Antigo", origins=pages[:1], actor="joana"))
    return f"/embed/{embed_tokens.sign(SECRET_KEY, known.id, known.version)}"


class ServiceError(Exception):
    """What a service answers that is out of order."""


def circuits(desk: Desk) -> None:
    """Circuits in every state, slots that are nearly full, limits of a provider, and workers of two versions."""
    hub = desk.hub
    for number in range(5):
        desk.failed(f"R-{number}", account="filial-rj")
    desk.failed("R-9", account="filial-sp")
    hub.force_breaker("filial-pe", "open", actor="joana", note="manutenção do ERP até as 15h", seconds=5_400)
    for number in range(2):
        desk.failed(f"N-{number}", kind="invoice.send", account="filial-mg", policy=OMIE)
    with suppress(ServiceError):
        hub.breaker("frete_api", CircuitBreakerConfig(failure_threshold=1)).call(_fail)
    hub.bulkhead("frete_api", BulkheadConfig(max_concurrent=4)).run(lambda: None)
    take_snapshot(hub)
    scopes.limit_account(hub.store, "filial-ba", 3)
    for number in range(4):
        desk.add(f"B-{number}", account="filial-ba")
    worker = presence.new_worker_id()
    presence.announce(hub.store, worker, mode="celery", slots=8, accounts=["filial-ba", "filial-sp"])
    hub.publish_kinds(worker)
    claims.claim_any(hub.store, worker=worker, limit=8, only=["filial-ba"])
    leases.take(hub.store, "relay", worker, 5)
    leases.report(hub.store, "relay", worker, None)


def _fail() -> None:
    raise ServiceError


def alerts(desk: Desk) -> None:
    """Notices that stand and that are over, told in every way there is, and a rule that is snoozed."""
    store, both = desk.hub.store, ("webhook", "mail")
    alerted.look(desk)
    over = alerted.find(store, "lag_p95", "filial-sp", value=480, level="page", to=both)
    alerted.find(store, "dead_letters", "filial-sp", value=13, to=both)
    alerted.brought(store, "webhook")
    alerted.bring(desk)
    alerted.close(store, *over)
    alerted.snooze(desk, "lane_stopped")
    alerted.find(store, "breaker_open", "filial-pe", value=1, level="page", to=both)
    alerted.find(store, "lane_stopped", "filial-sp", value=2, level="page", to=())
    until = {"until": (utc_now() + timedelta(minutes=40)).isoformat(), "reason": "Consumo indevido"}
    alerted.find(store, "provider_block", "filial-rj", value=20, figures=until)
    alerting.test_channel(store, "webhook", {"title": "x", "text": "x"}, actor=WHO)
