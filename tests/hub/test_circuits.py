"""The circuit of an account in the claim: five counted failures close it, one probe decides, nothing is spent meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import httpx
import pytest

from dlq_console import Hub, PermanentError, Policy, RateLimited, TransientError
from dlq_console.clock import utc_now
from dlq_console.errors import EventNotFound, PayloadRefused
from dlq_console.hub import doors as hub_doors
from dlq_console.hub import endings
from dlq_console.hub.failures import failure
from dlq_console.resilience import CircuitBreakerConfig
from dlq_console.resilience.breaker import rules
from dlq_console.resilience.breaker.window import Evidence
from dlq_console.store import claims, door_acts, doors, transitions
from dlq_console.store.door_acts import probe_token
from dlq_console.store.events import Event
from dlq_console.store.scope_names import account_scope, method_scope
from dlq_console.store.store import Store
from tests.store.making import row, rows

ACCOUNT = "filial-sp"
OPEN_FOR = 120


class Erp:
    """An outside system that answers as it is told."""

    def __init__(self, hub: Hub, **policy: Any) -> None:
        self.hub = hub
        self.calls: list[int] = []
        self.answer: Callable[[Event], object] = lambda event: None
        self.policy = Policy(**({"jitter": 0.0} | policy))
        self.serve("order.create", self.policy)

    def serve(self, kind: str, policy: Policy) -> None:
        @self.hub.handler(kind, policy=policy)
        def handle(event: Event) -> object:
            self.calls.append(event.id)
            return self.answer(event)

    def fails(self, error: BaseException) -> None:
        def answer(event: Event) -> object:
            raise error

        self.answer = answer

    def works(self) -> None:
        self.answer = lambda event: None

    def enqueue(self, count: int, kind: str = "order.create") -> list[int]:
        return [
            self.hub.enqueue(kind, account=ACCOUNT, entity_id=f"{kind}-{number}", payload={"n": number}).id
            for number in range(count)
        ]


@pytest.fixture
def erp(hub: Hub) -> Erp:
    return Erp(hub)


def _state(hub: Hub, kind: str | None = None) -> str:
    scope = account_scope(ACCOUNT) if kind is None else method_scope(ACCOUNT, kind)
    door, now = doors.read(hub.store, scope)
    return rules.effective_state(door.circuit, now)


def _history(hub: Hub) -> list[tuple[str, str]]:
    return [(moved["before"], moved["after"]) for moved in rows(hub.store, "scope_change")]


def _claim(store: Store, limit: int = 4) -> list[Event]:
    return claims.claim_any(store, worker="of-the-test", limit=limit)


# Opening


def test_five_failures_in_a_row_close_the_account_and_no_further_attempt_is_spent(hub: Hub, erp: Erp) -> None:
    ids = erp.enqueue(8)
    erp.fails(TransientError("down"))
    assert hub.run_due() == 5
    assert _state(hub) == "open"
    assert hub.run_due() == 0
    hub.clock.advance(OPEN_FOR - 2)
    assert hub.run_due() == 0
    assert [row(hub.store, id_)["attempts"] for id_ in ids] == [1] * 5 + [0] * 3
    waiting = hub.get(ids[-1])
    assert waiting.waiting_for == "account_closed"
    assert waiting.waiting_until is not None


def test_a_success_in_between_starts_the_count_anew(hub: Hub, erp: Erp) -> None:
    answers = [True, True, True, True, False, True, True, True, True]

    def answer(event: Event) -> object:
        if answers.pop(0):
            raise TransientError("down")
        return None

    erp.answer = answer
    erp.enqueue(9)
    assert hub.run_due() == 9
    assert _state(hub) == "closed"


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (PermanentError("unknown customer"), "a business answer proves that the provider is alive"),
        (KeyError("sku"), "an error of the handler's own proves nothing"),
        (RateLimited(0.001), "a limit is no failure"),
    ],
    ids=["business answer", "local error", "rate limit"],
)
def test_what_is_no_failure_of_the_provider_never_opens_the_circuit(
    hub: Hub, erp: Erp, error: BaseException, why: str
) -> None:
    erp.fails(error)
    erp.enqueue(7)
    for _ in range(7):
        hub.run_due()
        hub.clock.advance(2)
    assert _state(hub) == "closed", why


def test_a_business_answer_counts_as_success_and_a_local_error_as_nothing(hub: Hub, erp: Erp) -> None:
    down = TransientError("down")
    errors: list[BaseException] = [
        down,
        down,
        down,
        down,
        KeyError("sku"),
        PermanentError("no"),
        down,
        down,
        down,
    ]

    def answer(event: Event) -> object:
        raise errors.pop(0)

    erp.answer = answer
    erp.enqueue(9)
    for left in (5, 4):
        hub.run_due(limit=left)
        door, _ = doors.read(hub.store, account_scope(ACCOUNT))
        # Four failures, untouched by the local error; then the business answer began a new count.
        assert door.circuit.failures == {5: 4, 4: 3}[left]


def test_a_refused_connection_counts_and_an_answer_of_the_provider_does_not(hub: Hub, erp: Erp) -> None:
    request = httpx.Request("POST", "http://erp.invalid/")
    refused = httpx.HTTPStatusError("422", request=request, response=httpx.Response(422, request=request))
    erp.enqueue(10)
    erp.fails(refused)
    assert hub.run_due(limit=5) == 5
    assert _state(hub) == "closed"
    erp.fails(httpx.ConnectError("refused", request=request))
    hub.run_due(limit=5)
    assert _state(hub) == "open"


# Probing


def test_one_probe_decides_the_least_tried_first(hub: Hub, erp: Erp) -> None:
    ids = erp.enqueue(6)
    erp.fails(TransientError("down"))
    hub.run_due()
    hub.clock.advance(OPEN_FOR + 1)
    [probe] = _claim(hub.store)
    assert probe.id == ids[5], "the only one that was never tried"
    assert _claim(hub.store) == []
    assert _state(hub) == "half_open"
    assert transitions.end(hub.store, probe, transitions.completed(None))
    assert _state(hub) == "closed"
    assert len(_claim(hub.store)) > 1
    assert _history(hub) == [("closed", "open"), ("open", "half_open"), ("half_open", "closed")]


def test_workers_that_claim_at_the_same_moment_let_one_probe_through(hub: Hub, erp: Erp) -> None:
    erp.enqueue(20)
    erp.fails(TransientError("down"))
    hub.run_due()
    stores = [Store(hub.settings.database_url, pool_size=2) for _ in range(4)]
    for store in stores:
        store.clock.advance(OPEN_FOR + 1)
    with ThreadPoolExecutor(4) as pool:
        taken = [event for events in pool.map(_claim, stores) for event in events]
    assert len(taken) == 1
    assert [pair for pair in _history(hub) if pair == ("open", "half_open")] == [("open", "half_open")]
    for store in stores:
        store.engines.dispose()


def test_a_failed_probe_closes_the_door_again_and_spends_no_other_event(hub: Hub, erp: Erp) -> None:
    ids = erp.enqueue(10)
    erp.fails(TransientError("down"))
    hub.run_due()
    for _ in range(5):
        hub.clock.advance(OPEN_FOR + 1)
        assert hub.run_due() == 1
    assert _state(hub) == "open"
    # Each probe was another event: none was tried twice while one was left untried.
    assert [row(hub.store, id_)["attempts"] for id_ in ids] == [1] * 10


def test_a_probe_never_makes_its_event_dead_while_others_fail_too(hub: Hub) -> None:
    erp = Erp(hub, max_attempts=2)
    ids = erp.enqueue(5)
    erp.fails(TransientError("down"))
    hub.run_due()
    for _ in range(12):
        hub.clock.advance(OPEN_FOR + 1)
        assert hub.run_due() == 1
    assert {row(hub.store, id_)["status"] for id_ in ids} == {"failed"}
    erp.works()
    for _ in range(2):
        hub.clock.advance(7200)
        hub.run_due()
    assert {row(hub.store, id_)["status"] for id_ in ids} == {"done"}


def test_an_event_that_alone_fails_is_dead_after_its_last_attempt(hub: Hub, erp: Erp) -> None:
    [id_] = erp.enqueue(1)
    erp.fails(TransientError("down"))
    for _ in range(6):
        hub.run_due()
        hub.clock.advance(3600)
    assert (hub.get(id_).status, hub.get(id_).reason) == ("dead", "exhausted")


def test_a_probe_whose_worker_dies_gives_its_permit_back_when_it_is_rescued(hub: Hub, erp: Erp) -> None:
    erp.enqueue(6)
    erp.fails(TransientError("down"))
    hub.run_due()
    hub.clock.advance(OPEN_FOR + 1)
    [lost] = _claim(hub.store)
    hub.clock.advance(46)
    assert transitions.end(hub.store, lost, endings.died(lost, erp.policy), lapsed_only=True)
    [next_one] = _claim(hub.store)
    assert next_one.id != lost.id
    # The dead worker comes back late.
    assert not transitions.end(hub.store, lost, transitions.completed(None))
    assert _state(hub) == "half_open"


def test_a_probe_that_nobody_ever_rescues_blocks_the_door_no_longer_than_its_time_limit(
    hub: Hub, erp: Erp
) -> None:
    erp.enqueue(6)
    erp.fails(TransientError("down"))
    hub.run_due()
    hub.clock.advance(OPEN_FOR + 1)
    [lost] = _claim(hub.store)
    with hub.store.write() as connection:
        # As if the row had ended without its circuit being told.
        connection.execute(hub.store.tables.event.delete().where(hub.store.tables.event.c.id == lost.id))
    assert _claim(hub.store) == []
    hub.clock.advance(60 + 11)
    assert len(_claim(hub.store)) == 1


def test_a_probe_that_proved_nothing_lets_the_next_one_through(hub: Hub, erp: Erp) -> None:
    erp.enqueue(7)
    erp.fails(TransientError("down"))
    hub.run_due()
    hub.clock.advance(OPEN_FOR + 1)
    [probe] = _claim(hub.store)
    assert transitions.end(hub.store, probe, transitions.released())
    assert _state(hub) == "half_open"
    assert len(_claim(hub.store)) == 1


def test_a_late_result_of_an_older_generation_decides_nothing(hub: Hub, erp: Erp) -> None:
    erp.enqueue(8)
    early = _claim(hub.store, limit=2)
    erp.fails(TransientError("down"))
    hub.run_due()
    assert _state(hub) == "open"
    assert transitions.end(hub.store, early[0], transitions.completed(None))
    assert _state(hub) == "open"
    hub.clock.advance(OPEN_FOR + 1)
    [probe] = _claim(hub.store)
    failing = endings.retried_or_exhausted(
        failure("TransientError", "down", verdict="transient"),
        early[1],
        erp.policy,
        proof=Evidence(failed=1, error="TransientError"),
    )
    assert transitions.end(hub.store, early[1], failing)
    assert _state(hub) == "half_open"
    door, _ = doors.read(hub.store, account_scope(ACCOUNT))
    assert [each.token for each in door.circuit.probes] == [probe_token(probe.id, probe.lease_epoch)]


def test_one_event_is_claimed_by_its_message_as_the_door_allows(hub: Hub, erp: Erp) -> None:
    ids = erp.enqueue(8)
    erp.fails(TransientError("down"))
    hub.run_due()
    hub.clock.advance(OPEN_FOR + 1)
    first = claims.claim_one(hub.store, ids[6], worker="one")
    assert first is not None
    with hub.store.write() as connection:
        event = hub.store.tables.event
        connection.execute(event.update().where(event.c.id == ids[7]).values(dispatch_count=1))
    assert claims.claim_one(hub.store, ids[7], worker="two") is None
    # Its message is spent, so the relay sends another one as soon as there is room.
    assert (row(hub.store, ids[7])["dispatched_at"], row(hub.store, ids[7])["dispatch_count"]) == (None, 0)


def test_many_results_at_once_are_counted_one_by_one(hub: Hub, erp: Erp) -> None:
    erp.enqueue(6)
    runs = _claim(hub.store, limit=6)
    cause = failure("TransientError", "down", verdict="transient")
    failing = [
        endings.retried_or_exhausted(
            cause, event, erp.policy, proof=Evidence(failed=1, error="TransientError")
        )
        for event in runs
    ]
    assert all(transitions.end_many(hub.store, list(zip(runs[:4], failing[:4], strict=True))))
    door, _ = doors.read(hub.store, account_scope(ACCOUNT))
    assert (door.circuit.failures, _state(hub)) == (4, "closed")
    # A success among them, though its statement is the short one.
    last = [(runs[4], transitions.completed(None)), (runs[5], failing[5])]
    assert all(transitions.end_many(hub.store, last))
    door, _ = doors.read(hub.store, account_scope(ACCOUNT))
    assert door.circuit.failures == 1


# Waits of the provider


@pytest.mark.parametrize(
    ("asked", "closed"), [("300", 300), ("5", 5), ("999999", 3600)], ids=["longer", "shorter", "capped"]
)
def test_what_the_provider_asks_for_wins_over_the_own_timer(
    hub: Hub, erp: Erp, asked: str, closed: float
) -> None:
    request = httpx.Request("POST", "http://erp.invalid/")
    response = httpx.Response(503, headers={"Retry-After": asked}, request=request)
    erp.fails(httpx.HTTPStatusError("503", request=request, response=response))
    erp.enqueue(6)
    hub.run_due()
    door, now = doors.read(hub.store, account_scope(ACCOUNT))
    assert door.closed_until is not None
    assert closed - 5 < door.closed_until - now <= closed


# A kind of its own


def test_a_kind_with_its_own_circuit_closes_alone(hub: Hub, erp: Erp) -> None:
    own = CircuitBreakerConfig(failure_threshold=2, success_threshold=1, recovery_timeout=30)
    erp.serve("stock.sync", Policy(breaker=own, jitter=0))

    def answer(event: Event) -> object:
        if event.kind == "stock.sync":
            raise TransientError("down")
        return None

    erp.answer = answer
    stock, orders = erp.enqueue(4, "stock.sync"), erp.enqueue(4)
    assert hub.run_due() == 6
    assert (_state(hub, "stock.sync"), _state(hub)) == ("open", "closed")
    assert [row(hub.store, id_)["attempts"] for id_ in stock] == [1, 1, 0, 0]
    assert {row(hub.store, id_)["status"] for id_ in orders} == {"done"}
    erp.works()
    hub.clock.advance(31)
    hub.run_due()
    assert _state(hub, "stock.sync") == "closed"


def test_a_kind_with_its_own_circuit_is_no_probe_of_the_accounts(hub: Hub, erp: Erp) -> None:
    own = CircuitBreakerConfig(failure_threshold=2, success_threshold=1, recovery_timeout=30)
    erp.serve("stock.sync", Policy(breaker=own, jitter=0))
    orders = erp.enqueue(6)
    erp.fails(TransientError("down"))
    hub.run_due()
    assert (_state(hub), _state(hub, "stock.sync")) == ("open", "closed")
    for id_ in orders:
        hub.discard(id_, actor="ana")
    erp.works()
    stock = erp.enqueue(3, "stock.sync")
    assert hub.run_due() == 0, "the door of the account stands before all of its kinds"
    hub.clock.advance(OPEN_FOR + 1)
    assert hub.run_due() == 3, "nothing waits for a probe that may never come"
    assert {row(hub.store, id_)["status"] for id_ in stock} == {"done"}
    assert hub.enqueue("order.create", account=ACCOUNT, entity_id="new", payload={}).id
    assert hub.run_due() == 1
    assert _state(hub) == "closed"


# What a person decides


def test_a_breaker_that_is_forced_open_lets_nothing_start_until_it_is_reset(hub: Hub, erp: Erp) -> None:
    erp.enqueue(2)
    hub.force_breaker(ACCOUNT, "open", actor="ana", note="ERP is migrated")
    assert hub.run_due() == 0
    hub.clock.advance(86_400)
    assert hub.run_due() == 0
    hub.reset_breaker(ACCOUNT, actor="ana")
    assert hub.run_due() == 2
    assert [(kept["actor"], kept["action"], kept["subject"]) for kept in rows(hub.store, "audit")] == [
        ("ana", "forced_open", ACCOUNT),
        ("ana", "reset_breaker", ACCOUNT),
    ]


def test_a_breaker_that_is_forced_open_for_some_time_opens_by_itself(hub: Hub, erp: Erp) -> None:
    erp.enqueue(1)
    hub.force_breaker(ACCOUNT, "open", actor="ana", seconds=60)
    assert hub.run_due() == 0
    hub.clock.advance(61)
    assert hub.run_due() == 1


def test_a_breaker_that_is_forced_closed_lets_everything_start_while_it_fails(hub: Hub, erp: Erp) -> None:
    erp.fails(TransientError("down"))
    erp.enqueue(12)
    hub.force_breaker(ACCOUNT, "closed", actor="ana", note="they say it works")
    assert hub.run_due() == 12
    assert _state(hub) == "closed"
    door, now = doors.read(hub.store, account_scope(ACCOUNT))
    assert rules.computed_state(door.circuit, now) == "open", "what was computed goes on underneath"


def test_a_breaker_that_does_not_exist_cannot_be_reset(hub: Hub) -> None:
    with pytest.raises(EventNotFound, match="no breaker nobody"):
        hub.reset_breaker("nobody", actor="ana")
    assert rows(hub.store, "audit") == []


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), 1e12])
def test_a_breaker_is_not_held_for_a_time_that_is_none(hub: Hub, seconds: float) -> None:
    with pytest.raises(PayloadRefused, match="seconds"):
        hub.force_breaker(ACCOUNT, "open", actor="ana", seconds=seconds)


@pytest.mark.parametrize("position", ["half", "Open", "", None])
def test_a_breaker_is_held_open_or_closed_and_nowhere_else(hub: Hub, position: Any) -> None:
    with pytest.raises(PayloadRefused, match="position"):
        hub.force_breaker(ACCOUNT, position, actor="ana")


@pytest.mark.parametrize("seconds", ["5", True, [5]])
def test_a_time_that_is_no_number_is_refused_in_words(hub: Hub, seconds: Any) -> None:
    with pytest.raises(PayloadRefused, match="seconds"):
        hub.force_breaker(ACCOUNT, "open", actor="ana", seconds=seconds)
    with pytest.raises(PayloadRefused, match="until"):
        hub.pause_account(ACCOUNT, actor="ana", until=seconds)


def test_a_probe_starts_while_a_kind_with_its_own_circuit_hangs(hub: Hub, erp: Erp) -> None:
    own = CircuitBreakerConfig(failure_threshold=2, success_threshold=1, recovery_timeout=30)
    erp.serve("stock.sync", Policy(breaker=own, jitter=0))
    erp.enqueue(6)
    erp.fails(TransientError("down"))
    hub.run_due()
    erp.enqueue(1, "stock.sync")
    hub.clock.advance(OPEN_FOR + 1)
    kinds = [event.kind for event in [*_claim(hub.store, limit=1), *_claim(hub.store, limit=1)]]
    assert sorted(kinds) == ["order.create", "stock.sync"]


@pytest.mark.parametrize("first", ["refused log-in", "person"])
def test_only_a_person_ends_a_pause_after_a_refused_log_in(hub: Hub, erp: Erp, first: str) -> None:
    erp.enqueue(1)
    soon = utc_now() + timedelta(minutes=5)
    refused = door_acts.paused(by="hub", note="401", seconds=None, cause="auth")
    if first == "person":
        hub.pause_account(ACCOUNT, actor="ana", until=soon)
    with hub.store.write() as connection:
        doors.change(hub.store, connection, account_scope(ACCOUNT), refused)
    if first != "person":
        hub.pause_account(ACCOUNT, actor="ana", until=soon)
    hub.clock.advance(3600)
    assert hub.run_due() == 0
    hub.resume_account(ACCOUNT, actor="ana")
    assert hub.run_due() == 1


# Clocks


def test_a_clock_that_is_set_back_keeps_no_door_closed_for_longer(hub: Hub, erp: Erp) -> None:
    hub.clock.advance(30 * 86_400)
    erp.enqueue(6)
    erp.fails(TransientError("down"))
    hub.run_due()
    hub.clock.advance(-30 * 86_400 + 10)
    assert hub_doors.settle(hub.store) == 1
    door, now = doors.read(hub.store, account_scope(ACCOUNT))
    assert door.closed_until is None or door.closed_until - now <= OPEN_FOR
    assert hub_doors.settle(hub.store) == 0


def test_a_pause_and_a_circuit_stand_beside_each_other(hub: Hub, erp: Erp) -> None:
    ids = erp.enqueue(7)
    erp.fails(TransientError("down"))
    hub.run_due()
    hub.pause_account(ACCOUNT, actor="ana", note="stock-taking")
    hub.clock.advance(OPEN_FOR + 1)
    assert hub.run_due() == 0
    hub.resume_account(ACCOUNT, actor="ana")
    erp.works()
    assert hub.run_due() >= 1
    assert row(hub.store, ids[6])["status"] == "done"


def test_a_pause_ends_at_its_time(hub: Hub, erp: Erp) -> None:
    erp.enqueue(1)
    hub.pause_account(ACCOUNT, actor="ana", until=utc_now() + timedelta(minutes=5))
    assert hub.run_due() == 0
    hub.clock.advance(301)
    assert hub.run_due() == 1
