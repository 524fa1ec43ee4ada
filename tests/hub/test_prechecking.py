"""Prechecks: a worker asks the outside system whether a dead event would pass now, and no question is ever a dead letter."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from dlq_console import (
    ActionNotAllowed,
    ConfigurationError,
    Event,
    Hub,
    NewEvent,
    PayloadRefused,
    PermanentError,
    Policy,
    RateLimited,
    Run,
    TransientError,
)
from dlq_console.hub.endings import died, timed_out
from dlq_console.hub.policy import DEFAULT_POLICY
from dlq_console.store import claims, queries, transitions
from dlq_console.store.filters import EventFilter
from dlq_console.store.states import Status
from dlq_console.workers import steps
from tests.store.making import WORKER, add_in, rows


def _dead(hub: Hub, answer: Any = "likely", **policy: Any) -> Event:
    def refuse(_event: Event) -> None:
        raise PermanentError("customer not registered")

    def ask(event: Event, run: Run) -> Any:
        if isinstance(answer, BaseException):
            raise answer
        assert run.effect_key == event.effect_key
        return answer(event) if callable(answer) else answer

    hub.handler("order.create", policy=Policy(**policy))(refuse)
    hub.precheck("order.create")(ask)
    made = hub.enqueue("order.create", account="filial-sp", entity_id="8841", payload={"n": 1})
    return hub.run(made.id)


def _ask(hub: Hub, event: Event) -> int:
    return hub.ask_precheck(event.id, actor="maria")


@pytest.mark.parametrize("answer", ["likely", "unchanged", "gone", "unknown"])
def test_the_answer_is_the_result_of_a_job(hub: Hub, answer: str) -> None:
    event = _dead(hub, lambda event: answer if event.payload == {"n": 1} else "")
    job = _ask(hub, event)
    waits = queries.last_precheck(hub.store, event.id)
    assert waits is not None
    assert (waits.id, waits.is_open, waits.answer) == (job, True, None)
    assert hub.get(job).account == event.account
    assert hub.run_due() == 1
    assert (hub.get(job).status, hub.get(job).result) == ("done", {"answer": answer})
    told = queries.last_precheck(hub.store, event.id)
    assert told is not None
    assert (told.is_open, told.answer, told.epoch) == (False, answer, event.lease_epoch)
    assert hub.get(event.id) == event
    (entry, *_) = queries.audit(hub.store, event.id)
    assert (entry.action, entry.actor) == ("precheck", "maria")


@pytest.mark.parametrize(
    "answer",
    [ValueError("broken"), TransientError("busy"), PermanentError("no"), SystemExit(1), None, "yes", 7],
)
def test_what_is_no_answer_means_that_nobody_can_tell(hub: Hub, answer: Any) -> None:
    job = _ask(hub, _dead(hub, answer))
    event = hub.run(job)
    assert (event.status, event.result) == ("done", {"answer": "unknown"})
    (attempt,) = queries.attempts(hub.store, job)
    assert attempt.error


def test_a_question_that_hangs_or_kills_its_worker_is_over(hub: Hub) -> None:
    for ending in (timed_out, died):
        job = _ask(hub, _dead(hub) if ending is timed_out else hub.get(1))
        claimed = claims.claim_one(hub.store, job, worker=WORKER)
        assert claimed is not None
        assert transitions.end(hub.store, claimed, ending(claimed, hub.policy(claimed.kind)))
        assert (hub.get(job).status, hub.get(job).result) == ("done", {"answer": "unknown"})


def test_a_question_whose_lease_lapsed_is_over(hub: Hub) -> None:
    job = _ask(hub, _dead(hub))
    assert claims.claim_one(hub.store, job, worker=WORKER) is not None
    hub.clock.advance(120)
    assert steps.rescue(hub) == 1
    assert hub.get(job).result == {"answer": "unknown"}


def test_a_closed_account_keeps_the_question_waiting_for_as_long_as_it_takes(hub: Hub) -> None:
    event = _dead(hub)
    hub.pause_account("filial-sp", actor="joana")
    job = _ask(hub, event)
    assert hub.run_due() == 0
    hub.clock.advance(30 * 86_400)
    assert hub.run_due() == 0
    assert hub.get(job).status == "pending"
    hub.resume_account("filial-sp", actor="joana")
    assert hub.run_due() == 1
    assert hub.get(job).result == {"answer": "likely"}


def test_a_provider_that_is_left_alone_is_not_asked(hub: Hub) -> None:
    asked: list[int] = []

    def ask(event: Event) -> str:
        asked.append(event.id)
        return "likely"

    event = _dead(hub, ask, provider="omie")
    hub.publish_kinds(hub.worker)

    @hub.handler("order.list", policy=Policy(provider="omie"))
    def limited(_event: Event) -> None:
        raise RateLimited(60, scope="provider")

    hub.run(hub.enqueue("order.list", account="filial-rj", entity_id="1", payload={}).id)
    job = _ask(hub, event)
    assert hub.run(job).status == "pending"
    assert asked == []
    hub.clock.advance(120)
    assert hub.run(job).result == {"answer": "likely"}


def test_a_question_that_meets_a_limit_closes_the_door_and_waits(hub: Hub) -> None:
    job = _ask(hub, _dead(hub, RateLimited(60)))
    assert hub.run(job).status == "pending"
    (door,) = queries.closed_doors(hub.store)
    assert (door.type, door.name, door.cause) == ("account", "filial-sp", "provider")
    assert hub.run(job).total_attempts == 0


def test_asked_twice_at_once_it_is_one_question(hub: Hub) -> None:
    event = _dead(hub)
    with ThreadPoolExecutor(5) as pool:
        jobs = set(pool.map(lambda _number: _ask(hub, event), range(5)))
    assert len(jobs) == 1
    hub.run_due()
    assert _ask(hub, event) not in jobs


def test_an_answer_about_an_earlier_death_is_none_about_this_one(hub: Hub) -> None:
    event = _dead(hub)
    job = _ask(hub, event)
    hub.reprocess(event.id)
    hub.run(event.id)
    assert hub.run(job).result == {"answer": "unknown"}
    told = queries.last_precheck(hub.store, event.id)
    assert told is not None
    assert not told.is_about(hub.get(event.id))


def test_what_was_said_about_a_death_is_still_true_once_the_act_after_it_was_taken_back(hub: Hub) -> None:
    event = _dead(hub)
    answered = _ask(hub, event)
    hub.run(answered)
    hub.reprocess(event.id)
    hub.cancel_send(event.id, actor="maria")
    told = queries.last_precheck(hub.store, event.id)
    assert told is not None
    assert (told.is_about(hub.get(event.id)), told.answer) == (True, "likely")
    waits = _ask(hub, event)
    assert waits != answered
    hub.discard(event.id, actor="maria")
    hub.restore(event.id, actor="maria")
    assert _ask(hub, event) == waits
    assert hub.run(waits).result == {"answer": "likely"}


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.DEAD])
def test_only_a_dead_event_is_asked_about(hub: Hub, status: Status) -> None:
    hub.precheck("order.create")(lambda event: "likely")
    id_ = add_in(hub.store, status)
    with pytest.raises(ActionNotAllowed) as caught:
        hub.ask_precheck(id_, actor="maria")
    assert (caught.value.status, caught.value.action) == (status, "precheck")
    assert len(rows(hub.store)) == 1


def test_a_kind_without_a_precheck_says_so(hub: Hub) -> None:
    id_ = add_in(hub.store, Status.DEAD)
    assert not hub.has_precheck("order.create")
    with pytest.raises(ActionNotAllowed, match=r'write one with @hub.precheck\("order.create"\)'):
        hub.ask_precheck(id_, actor="maria")


def test_the_console_knows_from_the_workers_which_kinds_have_one(hub: Hub) -> None:
    event = _dead(hub)
    hub.publish_kinds(hub.worker)
    console = Hub(hub.settings)
    assert console.has_precheck("order.create")
    assert not console.has_precheck("order.cancel")
    job = console.ask_precheck(event.id, actor="maria")
    assert hub.run(job).result == {"answer": "likely"}
    console.close()


def test_a_worker_that_has_no_such_precheck_leaves_the_question_to_another(hub: Hub) -> None:
    event = _dead(hub)
    job = _ask(hub, event)
    other = Hub(hub.settings)
    assert other.run(job).status == "pending"
    other.close()
    hub.clock.advance(10)
    assert hub.run(job).result == {"answer": "likely"}


def test_questions_are_in_no_list_and_no_figure_of_events(hub: Hub) -> None:
    event = _dead(hub)
    _ask(hub, event)
    for asked in (EventFilter(), EventFilter(status=("pending",)), EventFilter(account=("filial-sp",))):
        assert all(one.id == event.id for one in queries.events_page(hub.store, asked).items)
    assert queries.count(hub.store, EventFilter()).number == 1
    (account,) = queries.overview(hub.store).accounts
    assert (account.due.number, account.running.number) == (0, 0)
    hub.run_due()
    assert queries.overview(hub.store).done_last_hour.number == 0
    assert queries.count(hub.store, EventFilter(status=("done",))).number == 0


def test_nobody_else_uses_the_names_that_the_hub_keeps(hub: Hub) -> None:
    new = NewEvent(kind="dlq.precheck", account="a", entity_id="1", payload={})
    for put_in in (
        lambda: hub.enqueue("dlq.precheck", account="a", entity_id="1", payload={}),
        lambda: hub.enqueue_many([new]),
    ):
        with pytest.raises(PayloadRefused, match=r"names that begin with dlq\. are kept for the hub itself"):
            put_in()
    for register in (hub.handler, hub.verifier, hub.refresh, hub.precheck):
        with pytest.raises(ConfigurationError, match=r"names that begin with dlq\."):
            register("dlq.precheck")
    assert hub.policy("order.create") == DEFAULT_POLICY
