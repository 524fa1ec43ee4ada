"""The demo shows what it promises: a circuit that opens and closes, a block waited out, doubt settled, a stale replay refused.

Each scene is played by the demo's own parts: what it sends first, the tempers of its accounts, its handlers and rules.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import pytest

from dlq_console import ActionNotAllowed, Event, Hub, NewEvent, PayloadRefused
from dlq_console.demo import opening
from dlq_console.demo.erp import SimulatedErp
from dlq_console.demo.erp_temper import TEMPERS, Temper
from dlq_console.demo.greeting import greet
from dlq_console.demo.handlers import register
from dlq_console.demo.producers import ORIGIN, Producer
from dlq_console.demo.summary import summarise
from dlq_console.store import doors
from dlq_console.store.filters import EventFilter
from dlq_console.store.scope_names import account_scope
from dlq_console.workers import steps
from tests.demo.erp_client import SettableClock

SEED = 2026
#: Only the end of the test ends a call that is late or hangs, so the handler gives up first (seconds).
FOR_EVER, PATIENCE = 3600.0, 0.5
#: Where every call is answered: more than a loaded machine needs for it (seconds).
ENOUGH = 25.0


@dataclass(frozen=True)
class Stage:
    hub: Hub
    erp: SimulatedErp
    clock: SettableClock

    def pass_time(self, seconds: float) -> None:
        self.hub.clock.advance(seconds)
        self.clock.now += seconds

    def send(self, events: list[NewEvent]) -> list[int]:
        return [made.id for made in self.hub.enqueue_many(events)]

    def statuses(self, ids: list[int]) -> list[str]:
        return [self.hub.get(id_).status for id_ in ids]

    def figures(self, account: str) -> dict[str, int]:
        figures: dict[str, int] = self.erp.stats()["by_account"][account]
        return figures

    def circuit(self, account: str) -> list[tuple[str, str]]:
        """How the circuit of an account has moved: where it stood before and after, oldest first."""
        door, _now = doors.read(self.hub.store, account_scope(account))
        return [(moved.before, moved.after) for moved in door.circuit.history]


@contextmanager
def stage(account: str, temper: Temper | None = None, *, patience: float = ENOUGH) -> Iterator[Stage]:
    """One account of the demo, with its own temper unless another is given."""
    clock, hub = SettableClock(), Hub.in_memory()
    played = {account: temper or TEMPERS[account]}
    try:
        with SimulatedErp(played, seed=SEED, clock=clock) as erp:
            register(hub, erp.url, patience=patience)
            yield Stage(hub, erp, clock)
    finally:
        hub.close()


def first_events(account: str, kind: str) -> list[NewEvent]:
    return [
        event for event in opening.opening(Producer(SEED)) if (event.account, event.kind) == (account, kind)
    ]


def errors(hub: Hub, event: Event) -> list[str | None]:
    """The types of error of an event's attempts, oldest first."""
    attempt = hub.store.tables.attempt
    with hub.store.read() as connection:
        found = connection.execute(
            attempt.select().where(attempt.c.event_id == event.id).order_by(attempt.c.id)
        )
        return [row.error_type for row in found]


def test_the_circuit_of_the_account_that_fails_opens_lets_a_probe_through_and_closes() -> None:
    with stage(opening.FAILING) as on:
        ids = on.send(
            [replace(event, run_at=None) for event in first_events(opening.FAILING, "order.create")]
        )
        later = on.send([Producer(SEED, first_number=9900).order(opening.FAILING, registered=True)])
        on.pass_time(TEMPERS[opening.FAILING].outage_after + opening.INTO_OUTAGE)
        on.hub.run_due()
        assert on.statuses(ids) == ["failed"] * opening.MEETING_OUTAGE
        assert on.circuit(opening.FAILING) == [("closed", "open")]

        on.pass_time(TEMPERS[opening.FAILING].outage_lasts)
        assert on.hub.run_due() == 0
        assert on.figures(opening.FAILING)["calls"] == opening.MEETING_OUTAGE
        assert on.hub.get(later[0]).waiting_for == "account_closed"

        on.pass_time(120)
        on.hub.run_due()
        assert on.statuses(ids + later) == ["done"] * (opening.MEETING_OUTAGE + 1)
        assert on.circuit(opening.FAILING) == [
            ("closed", "open"),
            ("open", "half_open"),
            ("half_open", "closed"),
        ]


def test_the_account_that_blocks_is_not_called_during_its_block_and_goes_on_after_it() -> None:
    with stage(opening.BLOCKING) as on:
        ids = on.send(first_events(opening.BLOCKING, "order.create"))
        refused, waiting = ids[:-2], ids[-2:]
        on.hub.run_due()
        assert on.statuses(refused) == ["dead"] * TEMPERS[opening.BLOCKING].block_after
        told = on.hub.get(waiting[0])
        assert (told.status, told.attempts, errors(on.hub, told)) == ("pending", 0, ["ErpError"])
        calls = on.figures(opening.BLOCKING)["calls"]
        assert on.figures(opening.BLOCKING)["blocked"] == 1

        on.pass_time(TEMPERS[opening.BLOCKING].block_lasts - 1)
        assert on.hub.run_due() == 0
        assert on.figures(opening.BLOCKING)["calls"] == calls

        for _ in waiting:
            on.pass_time(4)
            on.hub.run_due()
        assert on.statuses(waiting) == ["done", "done"]
        assert on.figures(opening.BLOCKING).get("while_blocked", 0) == 0


def test_an_order_whose_answer_comes_too_late_is_found_by_the_verifier_and_not_sent_again() -> None:
    with stage(opening.DOUBTFUL, replace(TEMPERS[opening.DOUBTFUL], late=FOR_EVER), patience=PATIENCE) as on:
        (id_,) = on.send(first_events(opening.DOUBTFUL, "order.create"))
        assert on.hub.run(id_).status == "failed"

        on.pass_time(60)
        event = on.hub.run(id_)
        assert event.status == "done"
        assert event.result == {"document": f"{opening.DOUBTFUL}/1"}
        assert errors(on.hub, event) == ["TimeoutError", "Verified"]
        figures = on.figures(opening.DOUBTFUL)
        assert (figures["calls"], figures["applied"], figures["replayed"]) == (2, 1, 0)


def test_an_order_that_the_verifier_does_not_find_is_sent_again_once() -> None:
    with stage("plain", Temper(hang_rate=1, hang=FOR_EVER), patience=PATIENCE) as on:
        (id_,) = on.send([Producer(SEED).order("plain", registered=True)])
        assert on.hub.run(id_).status == "failed"

        on.erp.desk.set_temper("plain", Temper(latency=0))
        on.pass_time(60)
        on.hub.run_due()
        event = on.hub.get(id_)
        assert event.status == "done"
        assert errors(on.hub, event)[:2] == ["TimeoutError", "Verified"]
        assert on.erp.effects() == {"plain": {event.effect_key: 1}}


def test_reprocess_of_a_refused_record_is_refused_once_the_mended_one_has_arrived() -> None:
    with stage(opening.CORRECTED) as on:
        older, newer = on.send(first_events(opening.CORRECTED, "customer.upsert"))
        on.hub.run_due()
        assert on.statuses([older, newer]) == ["dead", "pending"]
        on.pass_time(opening.MENDED_AFTER)
        on.hub.run_due()
        assert on.statuses([older, newer]) == ["dead", "done"]

        with pytest.raises(
            ActionNotAllowed, match=f"Event {newer}, a newer one .* is done and takes the place"
        ):
            on.hub.reprocess(older, actor="operator")
        assert on.hub.get(older).status == "dead"


def test_many_orders_wait_for_one_customer_and_all_arrive_once_it_is_registered() -> None:
    with stage(opening.ONE_CAUSE) as on:
        customer = Producer(SEED).newcomer(opening.ONE_CAUSE)
        orders = [
            event
            for event in first_events(opening.ONE_CAUSE, "order.create")
            if event.payload["customer_code"] == customer.code
        ]
        ids = on.send(orders)
        on.hub.run_due()
        assert len(ids) >= opening.OF_ONE_CUSTOMER
        assert on.statuses(ids) == ["dead"] * len(ids)
        assert len({on.hub.get(id_).fingerprint for id_ in ids}) == 1

        on.erp.desk.books.register(opening.ONE_CAUSE, customer.code, customer.name)
        wanted = EventFilter(payload=(("customer_code", customer.code),))
        run_id = on.hub.bulk.start("reprocess", wanted, actor="operator", note="registered", canary=True)
        for _ in range(20):
            steps.advance_bulk(on.hub)
            on.hub.run_due()
        assert on.hub.bulk.get(run_id).succeeded == len(ids)
        assert on.statuses(ids) == ["done"] * len(ids)
        assert on.figures(opening.ONE_CAUSE)["applied"] == len(ids)


def test_an_invoice_that_adds_up_wrongly_arrives_with_its_total_corrected() -> None:
    with stage(opening.MISCOUNTED) as on:
        (id_,) = on.send(first_events(opening.MISCOUNTED, "invoice.create"))
        on.hub.run(id_)
        wrong = on.hub.get(id_)
        assert wrong.status == "dead"

        with pytest.raises(PayloadRefused, match="total"):
            on.hub.edit(id_, wrong.payload | {"total": -1}, actor="editor")
        right = sum(line["amount"] for line in wrong.payload["lines"])
        edited = on.hub.edit(id_, wrong.payload | {"total": round(right, 2)}, actor="editor")
        on.hub.run_due()
        assert on.hub.get(edited.id).status == "done"
        assert on.erp.stats()["doubled"] == []


def test_nothing_counts_as_lost_or_doubled_after_people_have_edited_asked_and_reprocessed() -> None:
    with stage(opening.MISCOUNTED) as on:
        sent = [event for event in opening.opening(Producer(SEED)) if event.account == opening.MISCOUNTED]
        ids = [
            on.hub.enqueue(
                event.kind,
                account=event.account,
                entity_id=event.entity_id,
                payload=event.payload,
                version=event.version,
                origin=ORIGIN,
            ).id
            for event in sent
        ]
        on.hub.run_due()
        invoice = next(one for id_ in ids if (one := on.hub.get(id_)).kind == "invoice.create")
        order = next(
            one for id_ in ids if (one := on.hub.get(id_)).status == "dead" and one.kind == "order.create"
        )
        on.hub.edit(invoice.id, invoice.payload | {"total": 1}, actor="editor")
        on.hub.ask_precheck(order.id, actor="operator")
        on.erp.desk.books.register(order.account, order.payload["customer_code"], "Padaria Arara Azul")
        on.hub.reprocess(order.id, actor="operator")
        on.hub.run_due()

        summary = summarise(on.hub, on.erp.url, before=0, created=len(ids), folded=0)
        assert (summary.lost, summary.doubled) == (0, 0)
        assert summary.discarded >= 1


def test_the_demo_says_in_at_most_six_lines_where_each_scene_is_to_be_seen(
    capsys: pytest.CaptureFixture[str],
) -> None:
    hub = Hub.in_memory()
    try:
        greet("http://console", "http://erp", {}, hub, None)
    finally:
        hub.close()
    lines = capsys.readouterr().out.splitlines()
    scenes = [line for line in lines if line.lstrip()[:2].rstrip(".").isdigit()]

    assert len(scenes) <= 6
    for place in (
        f"/search?q={Producer(SEED).newcomer(opening.ONE_CAUSE).code};",
        f"http://erp/{opening.ONE_CAUSE},",
        "/dead-letters?kind=invoice.create",
        "/dead-letters?kind=customer.upsert",
        f"/events?account={opening.DOUBTFUL}&kind=order.create",
        f"/events?account={opening.BLOCKING}&kind=order.create",
        f"{opening.FAILING} fails",
    ):
        assert any(place in scene for scene in scenes), place
    for place in ("/alerts", "/health/doctor", "/metrics"):
        assert any(f"http://console{place}" in line for line in lines), place
