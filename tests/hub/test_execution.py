"""Execution: what a handler raises decides, whatever it raises, and a late result changes nothing."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from dlq_console import (
    Event,
    Hub,
    LeaseLost,
    OutcomeUnknown,
    PermanentError,
    Policy,
    RateLimited,
    Run,
    StoreUnavailable,
    TransientError,
)
from dlq_console.hub import endings, execution
from dlq_console.hub.execution import TimeLimitReached, run_claimed
from dlq_console.settings import read_settings
from dlq_console.store import claims, queries, transitions
from dlq_console.store.events import Attempt
from dlq_console.store.states import Reason
from tests.services.postgres import PostgresServer
from tests.store import closing
from tests.store.making import announce, claimed, row, rows

Handle = Callable[..., Any]


def _raising(error: BaseException) -> Handle:
    def handle(_event: Event) -> None:
        raise error

    return handle


def _handled(hub: Hub, handle: Handle, **policy: Any) -> Event:
    """An event that this handler has run once."""
    hub.handler("order.create", policy=Policy(**policy))(handle)
    return hub.run(_made(hub))


def _made(hub: Hub, kind: str = "order.create", number: int = 1, account: str = "filial-sp") -> int:
    return hub.enqueue(kind, account=account, entity_id=str(number), payload={"n": number}).id


def _attempts(hub: Hub, event: Event) -> list[Attempt]:
    """Oldest first."""
    return list(reversed(queries.attempts(hub.store, event.id)))


def _again(hub: Hub, event: Event, seconds: float = 7200) -> Event:
    hub.clock.advance(seconds)
    return hub.run(event.id)


# Done


@pytest.mark.parametrize("result", [{"document": "4711"}, "text", 0, False, [], {}, [1, {"a": None}]])
def test_a_handler_that_returns_is_done_and_its_result_kept(hub: Hub, result: Any) -> None:
    event = _handled(hub, lambda event: result)
    assert (event.status, event.result, event.reason, event.attempts) == ("done", result, None, 1)
    [attempt] = _attempts(hub, event)
    assert (attempt.outcome, attempt.error, attempt.worker) == ("done", None, hub.worker)


def test_a_handler_that_returns_nothing_is_done_without_a_result(hub: Hub) -> None:
    event = _handled(hub, lambda event: None)
    assert (event.status, event.result) == ("done", None)


class HostileDict(dict[str, Any]):
    def items(self) -> Any:
        raise RuntimeError("not to be looked at")


def _endless() -> Any:
    found: list[Any] = []
    found.append(found)
    return found


NOT_STORABLE: dict[str, Callable[[], Any]] = {
    "object": object,
    "bytes": lambda: b"\x00",
    "set": lambda: {1},
    "NUL": lambda: {"a": "\x00"},
    "half a character": lambda: "\ud800",
    "not a number": lambda: float("nan"),
    "not a decimal": lambda: Decimal("NaN"),
    "too large": lambda: "x" * 300_000,
    "too many digits": lambda: 10**5000,
    "contains itself": _endless,
    "naive time": lambda: datetime(2026, 3, 1),  # noqa: DTZ001 - what is refused
    "generator": lambda: (n for n in range(3)),
    "hostile dict": lambda: HostileDict(a=1),
    "function": lambda: print,
}


@pytest.mark.parametrize("make", NOT_STORABLE.values(), ids=NOT_STORABLE)
def test_a_result_that_cannot_be_stored_is_done_with_a_warning_and_not_run_again(
    hub: Hub, make: Callable[[], Any]
) -> None:
    calls: list[int] = []

    def handle(event: Event) -> Any:
        calls.append(event.id)
        return make()

    event = _handled(hub, handle)
    assert (event.status, event.result, event.last_error) == ("done", None, None)
    [attempt] = _attempts(hub, event)
    assert (attempt.outcome, attempt.error_type) == ("done", "ResultNotStored")
    assert attempt.error
    _again(hub, event)
    assert calls == [event.id]


# Every row of the table


@dataclass(frozen=True)
class Said:
    """What a handler raised, under which policy, and what follows: status, reason, verdict."""

    error: BaseException
    status: str
    reason: str | None
    verdict: str
    policy: dict[str, Any]


class OfTheHouse(Exception):
    pass


class Special(TransientError):
    pass


TABLE: dict[str, Said] = {
    "transient": Said(TransientError("busy"), "failed", None, "transient", {}),
    "its subclass": Said(Special("busy"), "failed", None, "transient", {}),
    "connection": Said(ConnectionResetError("reset"), "failed", None, "transient", {}),
    "time-out": Said(TimeoutError("slow"), "failed", None, "transient", {}),
    "retry_on": Said(OfTheHouse("x"), "failed", None, "transient", {"retry_on": (OfTheHouse,)}),
    "judged by rules": Said(ConnectionRefusedError("no"), "failed", None, "transient", {"retry_on": ()}),
    "memory": Said(MemoryError(), "failed", None, "transient", {"retry_on": ()}),
    "database away": Said(StoreUnavailable(), "failed", None, "transient", {"retry_on": ()}),
    "time limit": Said(TimeLimitReached(), "failed", None, "transient", {"retry_on": ()}),
    "the last attempt": Said(TransientError("busy"), "dead", "exhausted", "transient", {"max_attempts": 1}),
    "time limit at last": Said(TimeLimitReached(), "dead", "exhausted", "transient", {"max_attempts": 1}),
    "permanent": Said(PermanentError("refused"), "dead", "permanent", "permanent", {}),
    "permanent is no retry": Said(
        PermanentError("refused"), "dead", "permanent", "permanent", {"retry_on": (PermanentError,)}
    ),
    "in doubt": Said(OutcomeUnknown("sent?"), "failed", None, "unknown", {}),
    "in doubt, held": Said(OutcomeUnknown("sent?"), "dead", "in_doubt", "unknown", {"on_unknown": "hold"}),
    "in doubt at last": Said(OutcomeUnknown("sent?"), "dead", "exhausted", "unknown", {"max_attempts": 1}),
    "anything else": Said(OfTheHouse("what?"), "dead", "unclassified", "unknown", {}),
    "key error": Said(KeyError("sku"), "dead", "unclassified", "unknown", {}),
    "leaving": Said(SystemExit(1), "dead", "unclassified", "unknown", {}),
    "leaving a generator": Said(GeneratorExit(), "dead", "unclassified", "unknown", {}),
    "cancelled": Said(asyncio.CancelledError(), "dead", "unclassified", "unknown", {}),
    "recursion": Said(RecursionError("deep"), "dead", "unclassified", "unknown", {}),
    "a group": Said(
        ExceptionGroup("two", [OfTheHouse(), OfTheHouse()]), "dead", "unclassified", "unknown", {}
    ),
}


@pytest.mark.parametrize("said", TABLE.values(), ids=TABLE)
def test_what_a_handler_raises_decides(hub: Hub, said: Said) -> None:
    event = _handled(hub, _raising(said.error), **said.policy)
    assert (event.status, event.reason, event.verdict) == (said.status, said.reason, said.verdict)
    assert (event.attempts, event.total_attempts, event.lease_owner) == (1, 1, None)
    [attempt] = _attempts(hub, event)
    assert (attempt.outcome, attempt.verdict) == (said.status, said.verdict)
    assert attempt.error == event.last_error
    assert (attempt.wait_seconds is not None) == (said.status == "failed")


def test_waits_double_between_attempts_and_the_last_one_is_dead(hub: Hub) -> None:
    event = _handled(hub, _raising(TransientError("busy")), jitter=0, max_delay=200)
    waits = []
    while event.status == "failed":
        waits.append((event.next_run_at - event.updated_at).total_seconds())
        assert event.due_at == event.next_run_at
        # Not a moment before.
        assert _again(hub, event, waits[-1] - 2).attempts == len(waits)
        event = _again(hub, event, 4)
    assert waits == [30, 60, 120, 200, 200]
    assert (event.status, event.reason, event.attempts, event.lease_epoch) == ("dead", "exhausted", 6, 6)
    assert [attempt.number for attempt in _attempts(hub, event)] == [1, 2, 3, 4, 5, 6]
    assert [attempt.wait_seconds for attempt in _attempts(hub, event)] == [30, 60, 120, 200, 200, None]


def test_an_event_that_succeeds_at_last_has_no_error_left(hub: Hub) -> None:
    answers = [TransientError("busy"), TransientError("busy"), None]

    def handle(event: Event) -> str:
        answer = answers.pop(0)
        if answer:
            raise answer
        return "done"

    event = _handled(hub, handle)
    event = _again(hub, _again(hub, event))
    assert (event.status, event.last_error, event.error_type, event.attempts) == ("done", None, None, 3)


def test_a_keyboard_interrupt_gives_the_event_back_unspent_and_ends_the_worker(hub: Hub) -> None:
    hub.handler("order.create")(_raising(KeyboardInterrupt()))
    id_ = _made(hub)
    with pytest.raises(KeyboardInterrupt):
        hub.run(id_)
    event = hub.get(id_)
    assert (event.status, event.attempts, event.lease_owner) == ("pending", 0, None)
    assert _attempts(hub, event) == []


def test_the_worker_lives_on_after_whatever_a_handler_raised(hub: Hub) -> None:
    errors = [said.error for said in TABLE.values()]

    @hub.handler("order.create", policy=Policy(max_attempts=1))
    def handle(event: Event) -> None:
        raise errors[event.payload["n"]]

    for number in range(len(errors)):
        # An account each: the circuit of one would close before the end.
        _made(hub, number=number, account=f"filial-{number}")
    assert hub.run_due(limit=1000) == len(errors)
    assert {kept["status"] for kept in rows(hub.store)} == {"dead"}


# Errors with a will of their own


class Broken(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")


class Doubtful(Exception):
    def __str__(self) -> str:
        return "\x00\ud800 password=hunter2 " + "x" * 100_000


@pytest.mark.parametrize(
    "error", [Broken(), Doubtful(), PermanentError("a\x00b\ud800"), TransientError("x" * 10_000_000)]
)
def test_no_text_of_an_error_can_keep_the_result_from_being_written(hub: Hub, error: Exception) -> None:
    event = _handled(hub, _raising(error), retry_on=(Broken, Doubtful))
    assert event.status in ("failed", "dead")
    [attempt] = _attempts(hub, event)
    assert "hunter2" not in f"{event.last_error}{attempt.error}{attempt.traceback}"
    assert 0 < len(str(event.last_error)) <= 2000


# Rate limits


@pytest.mark.parametrize(
    ("scope", "policy", "closed"),
    [
        ("account", {}, ("account", "filial/sp")),
        ("method", {}, ("method", "filial%2Fsp/order.create")),
        ("provider", {"provider": "erp"}, ("provider", "erp")),
        ("provider", {}, ("account", "filial/sp")),
        ("planet", {}, ("account", "filial/sp")),
        (None, {}, ("account", "filial/sp")),
    ],
)
def test_a_rate_limit_closes_its_scope_and_gives_the_attempt_back(
    hub: Hub, scope: Any, policy: dict[str, Any], closed: tuple[str, str]
) -> None:
    hub.handler("order.create", policy=Policy(**policy))(_raising(RateLimited(90, scope, "slow down")))
    event = hub.run(_made(hub, account="filial/sp"))
    assert (event.status, event.attempts, event.total_attempts) == ("pending", 0, 0)
    [door] = closing.closed_scopes(hub.store)
    assert (door.type, door.name, door.reason) == (*closed, "slow down")
    assert door.until - door.since == timedelta(seconds=90)
    [attempt] = _attempts(hub, event)
    assert (attempt.outcome, attempt.verdict, attempt.error) == ("released", "rate_limited", "slow down")


def test_what_is_behind_the_closed_door_runs_when_it_opens(hub: Hub) -> None:
    answers: list[BaseException | None] = [RateLimited(90, "account"), None, None]

    @hub.handler("order.create")
    def handle(event: Event) -> None:
        answer = answers.pop(0)
        if answer:
            raise answer

    _made(hub, number=1)
    _made(hub, number=2)
    assert hub.run_due() == 1
    assert hub.run_due() == 0
    hub.clock.advance(91)
    assert hub.run_due() == 2


@pytest.mark.parametrize(
    ("retry_after", "seconds"),
    [
        (0, 60),
        (-5, 60),
        ("-5", 60),
        (0.2, 1),
        (2.5, 2.5),
        (10**9, 86_400),
        (float("nan"), 60),
        (float("inf"), 60),
        (float("-inf"), 60),
        (1e309, 60),
        (10**400, 60),
        ("120", 120),
        (" 7 ", 7),
        ("soon", 60),
        (True, 60),
        ("Wed, 21 Oct 2026 07:28:00 GMT", 60),
        (None, 60),
        (Decimal("1.5"), 1.5),
        (timedelta(seconds=5), 60),
        ([], 60),
    ],
    ids=repr,
)
def test_whatever_a_provider_asked_for_closes_the_door_for_a_sensible_time(
    hub: Hub, retry_after: Any, seconds: float
) -> None:
    event = _handled(hub, _raising(RateLimited(retry_after)))
    assert event.status == "pending"
    [door] = closing.closed_scopes(hub.store)
    assert door.until - door.since == timedelta(seconds=seconds)


def test_a_late_rate_limit_closes_nothing(hub: Hub) -> None:
    hub.handler("order.create")(_raising(RateLimited(90)))
    frozen = claimed(hub.store, _made(hub))
    hub.clock.advance(60)
    assert transitions.end(hub.store, frozen, transitions.released(), lapsed_only=True)
    assert not run_claimed(hub.store, hub.registry, frozen)
    assert closing.closed_scopes(hub.store) == ()
    assert rows(hub.store, "scope") == []


# Who owns the event


def test_the_result_of_a_run_that_lost_its_lease_is_refused(
    hub: Hub, caplog: pytest.LogCaptureFixture
) -> None:
    @hub.handler("order.create")
    def handle(event: Event) -> str:
        # The worker was frozen meanwhile, and the event is run by another one.
        hub.clock.advance(60)
        assert transitions.end(hub.store, event, transitions.released(), lapsed_only=True)
        claimed(hub.store, event.id)
        return "too late"

    event = claimed(hub.store, _made(hub))
    with caplog.at_level(logging.WARNING):
        assert not run_claimed(hub.store, hub.registry, event)
    now = hub.get(event.id)
    assert (now.status, now.lease_epoch, now.result) == ("running", 2, None)
    assert _attempts(hub, now) == []
    assert "its result is refused" in caplog.text


def test_a_run_that_checks_finds_out_that_it_lost_its_lease(hub: Hub) -> None:
    effects: list[str] = []

    @hub.handler("order.create")
    def handle(event: Event, run: Run) -> None:
        run.check()
        hub.clock.advance(60)
        assert transitions.end(hub.store, event, transitions.released(), lapsed_only=True)
        run.check()
        effects.append("sent")

    event = claimed(hub.store, _made(hub))
    assert not run_claimed(hub.store, hub.registry, event)
    assert (effects, hub.get(event.id).status, _attempts(hub, event)) == ([], "pending", [])


def test_a_lease_that_is_said_to_be_lost_writes_nothing(hub: Hub) -> None:
    event = _handled(hub, _raising(LeaseLost()))
    assert (event.status, event.attempts, _attempts(hub, event)) == ("running", 1, [])


def test_the_worker_knows_when_the_handler_runs(hub: Hub) -> None:
    seen: list[str] = []

    class While:
        def __enter__(self) -> None:
            seen.append("entered")

        def __exit__(self, *_: object) -> None:
            seen.append("left")

    hub.handler("order.create")(lambda event: seen.append("ran"))
    run_claimed(hub.store, hub.registry, claimed(hub.store, _made(hub)), while_running=While())
    run_claimed(hub.store, hub.registry, claimed(hub.store, _made(hub, "unknown")), while_running=While())
    assert seen == ["entered", "ran", "left"]


# Too old


def test_an_event_older_than_its_kind_allows_is_dead_without_being_run(hub: Hub) -> None:
    ran: list[int] = []
    hub.handler("order.create", policy=Policy(max_age=3600))(lambda event: ran.append(event.id))
    young, old = _made(hub, number=1), _made(hub, number=2)
    hub.clock.advance(3500)
    assert hub.run(young).status == "done"
    hub.clock.advance(200)
    event = hub.run(old)
    assert (event.status, event.reason, event.error_type) == ("dead", "too_old", "TooOld")
    assert (
        event.last_error == "It is older than the 3600 seconds after which this kind must not run any more."
    )
    assert ran == [young]


# Nobody to run it


def test_an_event_without_a_handler_waits_for_one_and_is_dead_after_an_hour(hub: Hub) -> None:
    id_ = _made(hub, "unknown")
    for _ in range(3):
        event = hub.run(id_)
        assert (event.status, event.attempts) == ("pending", 0)
        assert timedelta(seconds=29) < event.next_run_at - event.updated_at < timedelta(seconds=31)
        hub.clock.advance(31)
    assert rows(hub.store, "attempt") == []
    hub.clock.advance(3600)
    event = hub.run(id_)
    assert (event.status, event.reason, event.error_type) == ("dead", "no_handler", "NoHandler")
    assert event.last_error == 'No worker had a handler for "unknown" for an hour.'


def test_an_event_without_a_handler_runs_as_soon_as_there_is_one(hub: Hub) -> None:
    id_ = _made(hub, "unknown")
    hub.run(id_)
    hub.clock.advance(1800)
    hub.handler("unknown")(lambda event: "at last")
    event = hub.run(id_)
    assert (event.status, event.result, event.attempts) == ("done", "at last", 1)


def test_an_old_event_is_left_to_the_living_worker_that_can_run_it(hub: Hub, database_url: str) -> None:
    """It waited for a closed account, and a worker that cannot run it happens to look at it first."""
    other = Hub(read_settings(database_url=database_url))
    other.handler("order.create")(lambda event: "done")
    other.publish_kinds("other")
    id_ = _made(hub)
    hub.clock.advance(7200)
    other.clock.advance(7200)
    announce(hub.store, 4, "other")
    assert hub.run(id_).status == "pending"
    other.clock.advance(31)
    assert other.run(id_).status == "done"
    other.close()


def test_an_old_event_whose_only_worker_is_gone_is_dead_after_all(hub: Hub, database_url: str) -> None:
    other = Hub(read_settings(database_url=database_url))
    other.handler("order.create")(lambda event: "done")
    other.publish_kinds("other")
    id_ = _made(hub)
    announce(hub.store, 4, "other")
    hub.clock.advance(7200)
    assert hub.run(id_).reason == "no_handler"
    other.close()


# Died, timed out


def test_a_worker_that_died_has_spent_an_attempt_and_is_named_as_the_cause(hub: Hub) -> None:
    id_ = hub.enqueue("k", account="a", entity_id="1", payload=1).id
    policy = Policy(jitter=0)
    for number in range(1, 7):
        event = claimed(hub.store, id_)
        hub.clock.advance(60)
        ending = endings.died(event, policy, how="was killed by SIGKILL")
        assert transitions.end(hub.store, event, ending, lapsed_only=True)
        assert hub.get(id_).attempts == number
        assert hub.get(id_).status == ("failed" if number < 6 else "dead")
        hub.clock.advance(7200)
    now = hub.get(id_)
    assert now.reason == Reason.ORPHANED
    assert now.last_error == (
        "The worker was killed by SIGKILL while it was running this event (attempt 6 of 6)."
    )
    assert [attempt.outcome for attempt in _attempts(hub, now)] == ["lost"] * 6


def test_a_run_past_its_time_limit_is_told_with_the_limit(hub: Hub) -> None:
    event = claimed(hub.store, _made(hub))
    assert execution.finish(hub.store, event, endings.timed_out(event, Policy(timeout=2.5, jitter=0)))
    now = hub.get(event.id)
    assert (now.status, now.error_type) == ("failed", "TimeLimitExceeded")
    assert now.last_error == "The run was stopped at its time limit of 2.5 seconds."
    assert now.next_run_at - now.updated_at == timedelta(seconds=30)


# The database is away when the result is there


def test_a_result_waits_for_a_database_that_is_away_for_a_moment() -> None:
    with PostgresServer() as server:
        hub = Hub(read_settings(database_url=server.url()))
        hub.migrate()
        back = threading.Thread(target=server.start)

        @hub.handler("order.create")
        def handle(event: Event) -> str:
            server.stop()
            back.start()
            return "effect"

        event = claimed(hub.store, _made(hub))
        assert run_claimed(hub.store, hub.registry, event)
        back.join(30)
        assert (hub.get(event.id).status, hub.get(event.id).result) == ("done", "effect")
        hub.close()


def test_a_result_that_finds_no_database_is_given_up_with_the_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "RESULT_PATIENCE", 0.5)
    with PostgresServer() as server:
        hub = Hub(read_settings(database_url=server.url()))
        hub.migrate()
        hub.handler("order.create")(lambda event: server.stop())
        event = claimed(hub.store, _made(hub))
        with pytest.raises(StoreUnavailable):
            run_claimed(hub.store, hub.registry, event)
        server.start()
        # Whoever rescues it counts the attempt.
        kept = row(hub.store, event.id)
        assert (kept["status"], kept["attempts"]) == ("running", 1)
        assert claims.claim_any(hub.store, worker="another", limit=1) == []
        hub.close()
