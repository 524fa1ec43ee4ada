"""The limits of a provider: no more a minute, at once or failing than it allows, and nothing while it blocks."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import httpx
import pytest

from dlq_console import CircuitOpenError, Hub, PermanentError, Policy, RateLimited
from dlq_console.errors import ActionNotAllowed
from dlq_console.hub import doors as hub_doors
from dlq_console.store import doors
from dlq_console.store.events import Event
from dlq_console.store.scope_names import method_scope
from tests.hub.simulation import Provider, Workers
from tests.store.making import row, rows

OMIE = Policy(provider="omie", jitter=0, max_running=4)
#: What Omie allows for one kind of one account, and for all of them, in a minute.
METHOD, ADDRESS = 240, 960


@pytest.fixture
def provider(hub: Hub) -> Provider:
    return Provider(hub)


def _serve(provider: Provider, *kinds: str, policy: Policy = OMIE) -> None:
    for kind in kinds:
        provider.hub.handler(kind, policy=policy)(provider.handle)
    provider.hub.publish_kinds("simulated")


def _enqueue(
    hub: Hub, count: int, kind: str = "order.create", account: str = "filial-sp", start: int = 0
) -> list[int]:
    return [
        hub.enqueue(kind, account=account, entity_id=f"{kind}-{number}", payload={"n": number}).id
        for number in range(start, start + count)
    ]


def _fault(status: int, code: str, text: str) -> httpx.HTTPStatusError:
    request = httpx.Request("POST", "http://erp.invalid/api/v1/")
    response = httpx.Response(status, json={"faultcode": code, "faultstring": text}, request=request)
    return httpx.HTTPStatusError(str(status), request=request, response=response)


def test_a_backlog_never_calls_faster_than_the_provider_allows(hub: Hub, provider: Provider) -> None:
    reads = Policy(provider="omie", jitter=0, writes=False)
    _serve(provider, "stock.read", policy=reads)
    _enqueue(hub, 400, "stock.read")
    Workers(provider).run(90)
    assert METHOD * 0.85 < provider.most_in_a_minute() <= METHOD


def test_accounts_behind_one_address_share_its_limit(hub: Hub, provider: Provider) -> None:
    reads = Policy(provider="omie", jitter=0, writes=False)
    _serve(provider, "stock.read", policy=reads)
    for number in range(6):
        _enqueue(hub, 200, "stock.read", f"filial-{number}")
    Workers(provider, slots=20).run(45)
    called = Counter(event.account for _, event in provider.calls)
    assert 45 / 60 * ADDRESS * 0.85 < sum(called.values()) <= ADDRESS
    assert provider.most_in_a_minute(lambda event: event.account) <= METHOD
    assert min(called.values()) > 0, "none is left out"


def test_writes_of_an_account_run_one_at_a_time(hub: Hub, provider: Provider) -> None:
    _serve(provider, "order.create", "customer.create")
    provider.takes = 2.0
    _enqueue(hub, 8)
    _enqueue(hub, 8, "customer.create")
    writing = Workers(provider, slots=8)
    writing.run(40)
    assert writing.most_at_once == 1
    assert len(provider.calls) >= 15


def test_at_most_four_calls_of_one_method_run_at_once(hub: Hub, provider: Provider) -> None:
    _serve(provider, "stock.read", policy=Policy(provider="omie", writes=False))
    provider.takes = 5.0
    _enqueue(hub, 30, "stock.read")
    workers = Workers(provider, slots=20)
    workers.run(20)
    assert workers.most_at_once == 4


def test_a_kind_runs_as_often_at_once_as_its_policy_says(hub: Hub, provider: Provider) -> None:
    _serve(provider, "order.create", policy=Policy(max_running=2))
    provider.takes = 5.0
    _enqueue(hub, 12)
    workers = Workers(provider, slots=8)
    workers.run(20)
    assert workers.most_at_once == 2


def test_live_traffic_goes_before_what_is_reprocessed(hub: Hub, provider: Provider) -> None:
    _serve(provider, "order.create")

    def refuse(event: Event) -> object:
        raise PermanentError("no")

    provider.answer = refuse
    dead = _enqueue(hub, 6)
    Workers(provider).run(30, until=lambda: len(provider.calls) == 6)
    provider.answer = lambda event: None
    for id_ in dead:
        hub.reprocess(id_, actor="ana")
    live = _enqueue(hub, 6, start=100)
    provider.calls.clear()
    Workers(provider).run(30, until=lambda: len(provider.calls) == 12)
    assert {event.id for _, event in provider.calls[:6]} == set(live)


# Blocks


def test_a_block_is_waited_out_without_a_call_and_the_work_comes_back_slowly(
    hub: Hub, provider: Provider
) -> None:
    _serve(provider, "order.create")
    text = "API bloqueada por consumo indevido, tente novamente em 900 segundos"

    def blocked(event: Event) -> object:
        raise _fault(425, "SOAP-ENV:Client-8020", text)

    provider.answer = blocked
    ids = _enqueue(hub, 40)
    workers = Workers(provider)
    workers.run(5)
    begun = provider.calls[0][0]
    assert len(provider.calls) <= 4, "what had begun at the same moment"
    assert sum(row(hub.store, id_)["attempts"] for id_ in ids) == 0, "no attempt was spent"
    provider.answer = lambda event: None
    met = len(provider.calls)
    workers.run(890, step=10)
    assert len(provider.calls) == met, "not one call while it is blocked"
    workers.run(16)
    first = provider.calls[met][0]
    assert 900 <= first - begun <= 905 + 1
    within_a_second = [at for at, _ in provider.calls[met:] if at < first + 1]
    assert len(within_a_second) <= 2 * METHOD / 60, "it comes back at its pace, not all at once"
    workers.run(120, until=lambda: len(provider.calls) == met + 40)
    assert {row(hub.store, id_)["status"] for id_ in ids} == {"done"}


def test_a_block_of_one_method_leaves_the_others_of_the_account_alone(hub: Hub, provider: Provider) -> None:
    _serve(provider, "order.create", "customer.create")

    def answer(event: Event) -> object:
        if event.kind == "order.create":
            raise _fault(425, "SOAP-ENV:Client-8020", "API bloqueada, tente novamente em 900 segundos")
        return None

    provider.answer = answer
    _enqueue(hub, 5)
    others = _enqueue(hub, 5, "customer.create")
    Workers(provider).run(30)
    assert {row(hub.store, id_)["status"] for id_ in others} == {"done"}
    door, now = doors.read(hub.store, method_scope("filial-sp", "order.create"))
    assert door.closed_until is not None
    assert 860 < door.closed_until - now <= 903


# The error budget


def test_nothing_is_called_any_more_before_the_failing_answer_that_blocks(
    hub: Hub, provider: Provider
) -> None:
    _serve(provider, "order.create")

    def refuse(event: Event) -> object:
        raise _fault(500, "SOAP-ENV:Client-5001", "Pedido não encontrado")

    provider.answer = refuse
    _enqueue(hub, 30)
    Workers(provider).run(60)
    assert len(provider.calls) == 9
    assert hub.get(rows(hub.store)[-1]["id"]).waiting_for == "method_closed"
    provider.answer = lambda event: None
    workers = Workers(provider)
    workers.run(1_500, step=20)
    assert len(provider.calls) == 9
    workers.run(400, step=5)
    assert len(provider.calls) == 30


def test_the_last_failing_answers_are_kept_for_fresh_work(hub: Hub, provider: Provider) -> None:
    _serve(provider, "order.create")

    def refuse(event: Event) -> object:
        raise _fault(500, "SOAP-ENV:Client-5001", "Pedido não encontrado")

    provider.answer = refuse
    dead = _enqueue(hub, 7)
    workers = Workers(provider)
    workers.run(10)
    assert len(provider.calls) == 7
    for id_ in dead:
        hub.reprocess(id_, actor="ana")
    workers.run(60, step=2)
    assert len(provider.calls) == 7, "what is run again leaves the last two alone"
    [fresh] = _enqueue(hub, 1, start=500)
    workers.run(10)
    assert provider.calls[-1][1].id == fresh


# Doors that time changes


def test_a_scope_that_has_come_back_is_claimed_from_plainly_again(hub: Hub, provider: Provider) -> None:
    def limited(event: Event) -> object:
        raise RateLimited(60)

    provider.answer = limited
    _serve(provider, "order.create", policy=Policy())
    _enqueue(hub, 1)
    workers = Workers(provider)
    workers.look()
    assert [kept["guarded"] for kept in rows(hub.store, "scope")] == [1]
    provider.advance(60 + 11)
    assert hub_doors.settle(hub.store) == 1
    assert [kept["guarded"] for kept in rows(hub.store, "scope")] == [0]


# What a person lifts, and what stands in nobody's way


@pytest.mark.parametrize("scope", ["account", "method", "provider"])
def test_a_person_lifts_what_a_provider_had_closed(hub: Hub, provider: Provider, scope: str) -> None:
    def limited(event: Event) -> object:
        raise RateLimited(86_400, scope)  # type: ignore[arg-type]  # one of the three

    provider.answer = limited
    _serve(provider, "order.create", policy=Policy(provider="erp"))
    [id_] = _enqueue(hub, 1)
    assert hub.run(id_).status == "pending"
    provider.answer = lambda event: None
    assert hub.run_due() == 0
    if scope == "provider":
        hub.open_provider("erp", actor="ana")
    else:
        hub.resume_account("filial-sp", actor="ana")
    assert hub.run(id_).status == "done"
    with pytest.raises(ActionNotAllowed):
        hub.resume_account("filial-sp", actor="ana")
    with pytest.raises(ActionNotAllowed):
        hub.open_provider("erp", actor="ana")


def test_the_backlog_of_one_kind_keeps_no_other_kind_waiting(hub: Hub, provider: Provider) -> None:
    _serve(provider, "order.create", policy=Policy(max_running=1))
    hub.handler("stock.read")(provider.handle)
    hub.publish_kinds("simulated")
    provider.takes = 60.0
    _enqueue(hub, 150)
    workers = Workers(provider)
    workers.look()
    [other] = _enqueue(hub, 1, "stock.read")
    workers.look()
    assert row(hub.store, other)["status"] == "running"


def test_limits_of_a_whole_account_are_kept_over_all_of_its_kinds(
    hub: Hub, provider: Provider, tmp_path: Path
) -> None:
    rules = tmp_path / "small.toml"
    limits = "account = { per_minute = 12, at_once = 2 }"
    rules.write_text(f'name = "small"\nabout = "Small"\nproviders = ["small"]\n\n[limits]\n{limits}\n')
    hub.registry.rules_path = rules
    _serve(provider, "order.create", "stock.read", policy=Policy(provider="small"))
    provider.takes = 3.0
    _enqueue(hub, 20)
    _enqueue(hub, 20, "stock.read")
    workers = Workers(provider, slots=8)
    workers.run(120)
    assert workers.most_at_once <= 2
    assert 8 < provider.most_in_a_minute() <= 12


@pytest.mark.parametrize("wait", [0, -5, float("nan"), float("inf"), None])
def test_a_refusal_of_the_own_circuit_is_never_a_loop_without_a_wait(
    hub: Hub, provider: Provider, wait: float | None
) -> None:
    def refused(event: Event) -> object:
        raise CircuitOpenError("open", name="erp", retry_after=wait)

    provider.answer = refused
    _serve(provider, "order.create", policy=Policy())
    [id_] = _enqueue(hub, 1)
    assert hub.run_due() == 1
    assert (hub.get(id_).status, hub.get(id_).attempts) == ("pending", 0)
    assert hub.get(id_).next_run_at > hub.get(id_).updated_at
