"""Where nobody knows whether the provider has it, the verifier is asked before anything is sent again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from dlq_console import Hub, OutcomeUnknown, PermanentError, Policy, TransientError
from dlq_console.errors import ConfigurationError
from dlq_console.hub import endings
from dlq_console.hub.endings import MOST_UNKNOWN
from dlq_console.hub.execution import TimeLimitReached
from dlq_console.store import claims, doors, queries, transitions
from dlq_console.store.events import Attempt, Event
from dlq_console.store.scope_names import account_scope
from tests.store.making import row, rows

REQUEST = httpx.Request("POST", "http://erp.invalid/")


@dataclass
class Erp:
    """A provider that is sent to, and asked whether it has something."""

    hub: Hub
    sends: list[Callable[[], object]] = field(default_factory=list)
    answers: list[object] = field(default_factory=list)
    sent_with: list[str] = field(default_factory=list)
    asked: int = 0

    def serve(self, *, verifier: bool = True, **policy: Any) -> None:
        @self.hub.handler("order.create", policy=Policy(**({"jitter": 0.0} | policy)))
        def send(event: Event, run: Any) -> object:
            self.sent_with.append(run.effect_key)
            return self.sends.pop(0)() if self.sends else {"number": 1}

        if not verifier:
            return

        @self.hub.verifier("order.create")
        def verify(event: Event) -> object:
            self.asked += 1
            answer = self.answers.pop(0)
            if isinstance(answer, BaseException):
                raise answer
            return answer

    def enqueue(self) -> int:
        return self.hub.enqueue("order.create", account="filial-sp", entity_id="1", payload={"n": 1}).id

    def run(self, id_: int, times: int = 1) -> Event:
        event = self.hub.run(id_)
        for _ in range(times - 1):
            self.hub.clock.advance(4000)
            event = self.hub.run(id_)
        return event


@pytest.fixture
def erp(hub: Hub) -> Erp:
    return Erp(hub)


def _raises(error: BaseException) -> Callable[[], object]:
    def send() -> object:
        raise error

    return send


def _timeline(hub: Hub, id_: int) -> list[Attempt]:
    return list(reversed(queries.attempts(hub.store, id_)))


DOUBTS: dict[str, BaseException] = {
    "said by the handler": OutcomeUnknown("no answer"),
    "a read time-out of a client": httpx.ReadTimeout("slow", request=REQUEST),
    "a connection reset after the request": httpx.RemoteProtocolError("closed", request=REQUEST),
    "a time-out in retry_on": TimeoutError("read timed out"),
    "the time limit of the run": TimeLimitReached(),
}


@pytest.mark.parametrize("error", DOUBTS.values(), ids=DOUBTS)
def test_what_the_provider_has_is_adopted_and_never_sent_twice(
    hub: Hub, erp: Erp, error: BaseException
) -> None:
    erp.serve()
    erp.sends = [_raises(error)]
    erp.answers = [{"number": 8841}]
    id_ = erp.enqueue()
    assert erp.run(id_).doubts == 1
    event = erp.run(id_, 2)
    assert (event.status, event.result, event.doubts) == ("done", {"number": 8841}, 0)
    assert (len(erp.sent_with), erp.asked) == (1, 1)
    assert "found it" in str(_timeline(hub, id_)[-1].error)


def test_what_the_provider_does_not_have_is_sent_again_at_once_as_a_new_call(hub: Hub, erp: Erp) -> None:
    erp.serve()
    erp.sends = [_raises(OutcomeUnknown("no answer"))]
    erp.answers = ["not_applied"]
    id_ = erp.enqueue()
    erp.run(id_)
    hub.clock.advance(31)
    asked = hub.run(id_)
    assert (asked.status, asked.doubts, asked.attempts) == ("failed", 0, 1), "asking is no attempt"
    event = hub.run(id_)
    assert (event.status, event.attempts) == ("done", 2)
    assert erp.sent_with[0] != erp.sent_with[1]
    assert [attempt.outcome for attempt in _timeline(hub, id_)] == ["failed", "asked", "done"]


def test_a_verifier_that_never_knows_leaves_it_to_a_person(hub: Hub, erp: Erp) -> None:
    erp.serve()
    erp.sends = [_raises(OutcomeUnknown("no answer"))]
    erp.answers = ["unknown"] * MOST_UNKNOWN
    id_ = erp.enqueue()
    event = erp.run(id_, 1 + MOST_UNKNOWN)
    assert (event.status, event.reason) == ("dead", "in_doubt")
    assert (len(erp.sent_with), erp.asked) == (1, MOST_UNKNOWN)
    # What a person runs again is asked about once more, not sent blindly.
    hub.reprocess(id_, actor="ana")
    erp.answers = ["applied"]
    assert hub.run(id_).status == "done"
    assert len(erp.sent_with) == 1


def test_the_last_attempt_in_doubt_is_verified_too(hub: Hub, erp: Erp) -> None:
    erp.serve(max_attempts=1)
    erp.sends = [_raises(OutcomeUnknown("no answer"))]
    erp.answers = ["applied"]
    id_ = erp.enqueue()
    assert erp.run(id_).status == "failed"
    assert erp.run(id_, 2).status == "done"


def test_an_error_of_the_verifier_is_no_answer_and_sends_nothing(hub: Hub, erp: Erp) -> None:
    erp.serve()
    erp.sends = [_raises(OutcomeUnknown("no answer"))]
    erp.answers = [httpx.ConnectError("refused", request=REQUEST), KeyError("id"), "maybe", None, "applied"]
    id_ = erp.enqueue()
    event = erp.run(id_, 5)
    assert (event.status, event.doubts) == ("failed", 5)
    assert len(erp.sent_with) == 1
    assert "must say" in str(event.last_error)
    assert erp.run(id_, 2).status == "done"


def test_the_verifier_stands_behind_the_circuit_and_its_errors_open_it(hub: Hub, erp: Erp) -> None:
    erp.serve()
    erp.sends = [_raises(OutcomeUnknown("no answer"))]
    refused = httpx.ConnectError("refused", request=REQUEST)
    erp.answers = [refused, refused, refused, refused, "applied"]
    id_ = erp.enqueue()
    erp.run(id_, 5)
    door, _ = doors.read(hub.store, account_scope("filial-sp"))
    assert door.circuit.state == "open"
    assert hub.run(id_).status == "failed"
    assert erp.asked == 4, "nothing is asked while it is closed"


def test_a_lost_worker_leaves_a_write_in_doubt(hub: Hub, erp: Erp) -> None:
    erp.serve()
    erp.answers = ["applied"]
    id_ = erp.enqueue()
    hub.publish_kinds("of-the-test")
    lost = claims.claim_one(hub.store, id_, worker="dies")
    assert lost is not None
    hub.clock.advance(60)
    assert transitions.end(hub.store, lost, endings.died(lost, hub.policy("order.create")), lapsed_only=True)
    assert erp.run(id_, 2).status == "done"
    assert (erp.sent_with, erp.asked) == ([], 1)


def test_a_worker_without_the_handler_knows_from_the_kind_that_a_lost_run_is_verified(
    hub: Hub, erp: Erp
) -> None:
    erp.serve()
    hub.publish_kinds("of-the-test")
    other = Hub(hub.settings)
    assert other.policy("order.create").on_unknown == "verify"
    other.close()


def test_a_hold_leaves_it_to_a_person_at_once(hub: Hub, erp: Erp) -> None:
    erp.serve(verifier=False, on_unknown="hold")
    erp.sends = [_raises(httpx.ReadTimeout("slow", request=REQUEST))]
    id_ = erp.enqueue()
    event = erp.run(id_)
    assert (event.status, event.reason, event.doubts) == ("dead", "in_doubt", 1)


@pytest.mark.parametrize("policy", [{"unique_at_provider": True}, {"writes": False}], ids=["unique", "reads"])
def test_what_may_be_repeated_is_tried_again_without_asking(
    hub: Hub, erp: Erp, policy: dict[str, Any]
) -> None:
    erp.serve(**policy)
    erp.sends = [_raises(httpx.ReadTimeout("slow", request=REQUEST))]
    id_ = erp.enqueue()
    assert erp.run(id_, 2).status == "done"
    assert (len(erp.sent_with), erp.asked) == (2, 0)


def test_the_effect_key_stays_while_an_earlier_call_is_in_doubt(hub: Hub, erp: Erp) -> None:
    erp.serve(unique_at_provider=True)
    erp.sends = [_raises(httpx.ReadTimeout("slow", request=REQUEST)), _raises(PermanentError("no stock"))]
    id_ = erp.enqueue()
    before = row(hub.store, id_)["effect_key"]
    assert erp.run(id_, 2).status == "dead"
    assert row(hub.store, id_)["effect_key"] == before


def test_the_effect_key_changes_once_a_call_is_known_to_be_refused(hub: Hub, erp: Erp) -> None:
    erp.serve()
    erp.sends = [_raises(TransientError("busy")), _raises(PermanentError("no stock")), lambda: None]
    id_ = erp.enqueue()
    erp.run(id_, 2)
    assert erp.sent_with[0] == erp.sent_with[1], "a retry is the same call"
    hub.reprocess(id_, actor="ana")
    assert hub.run(id_).status == "done"
    assert len(set(erp.sent_with)) == 2


def test_what_the_provider_says_it_has_already_is_verified_or_held(hub: Hub, erp: Erp) -> None:
    body = {"faultcode": "SOAP-ENV:Client-102", "faultstring": "Já cadastrado, nCod [8841]"}
    error = httpx.HTTPStatusError(
        "500", request=REQUEST, response=httpx.Response(500, json=body, request=REQUEST)
    )
    erp.serve(provider="omie")
    erp.sends = [_raises(error)]
    erp.answers = ["applied"]
    id_ = erp.enqueue()
    assert erp.run(id_, 2).status == "done"
    assert len(erp.sent_with) == 1


# Refused log-in


def test_a_refused_log_in_buries_its_event_pauses_the_account_and_says_so_once(hub: Hub, erp: Erp) -> None:
    body = {"retorno": {"status": "Erro", "codigo_erro": "1", "erros": [{"erro": "token invalido"}]}}
    error = httpx.HTTPStatusError(
        "200", request=REQUEST, response=httpx.Response(200, json=body, request=REQUEST)
    )

    @hub.handler("order.create", policy=Policy(provider="tiny"))
    def send(event: Event) -> None:
        raise error

    ids = [
        hub.enqueue("order.create", account="filial-sp", entity_id=str(n), payload={"n": n}).id
        for n in range(4)
    ]
    assert hub.run_due() == 1
    assert (hub.get(ids[0]).status, hub.get(ids[0]).reason) == ("dead", "auth")
    assert [hub.get(id_).status for id_ in ids[1:]] == ["pending"] * 3
    hub.clock.advance(86_400)
    assert hub.run_due() == 0
    door, now = doors.read(hub.store, account_scope("filial-sp"))
    assert [cause.name for cause in doors.causes(door, now)] == ["auth"]
    hub.resume_account("filial-sp", actor="ana", note="new token")
    assert hub.run_due() == 1, "the next one meets the same, and the account is paused again"
    assert [kept["action"] for kept in rows(hub.store, "audit")] == ["resume_account"]


def test_a_lapsed_session_is_renewed_once_before_the_account_is_paused(hub: Hub, erp: Erp) -> None:
    error = httpx.HTTPStatusError("401", request=REQUEST, response=httpx.Response(401, request=REQUEST))
    erp.serve()
    erp.sends = [_raises(error)]
    id_ = erp.enqueue()
    assert erp.run(id_).status == "failed"
    hub.clock.advance(2)
    assert hub.run(id_).status == "done"
    erp.sends = [_raises(error), _raises(error)]
    again = hub.enqueue("order.create", account="filial-sp", entity_id="2", payload={"n": 2}).id
    event = erp.run(again, 2)
    assert (event.status, event.reason) == ("dead", "auth")


# What is told


def test_an_attempt_keeps_what_was_said_and_which_rule_decided(hub: Hub, erp: Erp) -> None:
    body = {"faultcode": "SOAP-ENV:Client-5001", "faultstring": "Pedido não encontrado"}
    error = httpx.HTTPStatusError(
        "500", request=REQUEST, response=httpx.Response(500, json=body, request=REQUEST)
    )
    erp.serve(provider="omie")
    erp.sends = [_raises(error)]
    id_ = erp.enqueue()
    erp.run(id_)
    [attempt] = _timeline(hub, id_)
    assert attempt.answer is not None
    assert attempt.error == hub.get(id_).last_error == "Pedido não encontrado"
    assert "HTTPStatusError" in str(attempt.traceback)
    assert (attempt.answer["status"], attempt.answer["code"]) == (500, "SOAP-ENV:Client-5001")
    assert "Pedido" in attempt.answer["excerpt"]
    assert attempt.rule is not None
    assert attempt.rule.startswith("omie.")
    assert (attempt.verdict, attempt.effect, attempt.rules_version) == (
        "permanent",
        "not_applied",
        hub.registry.rules.version,
    )


# Wrong programs


def test_on_unknown_verify_without_a_verifier_is_refused_when_a_worker_starts(hub: Hub) -> None:
    hub.handler("order.create", policy=Policy(on_unknown="verify"))(lambda event: None)
    with pytest.raises(ConfigurationError, match=r"hub\.verifier"):
        hub.publish_kinds("of-the-test")


def test_a_kind_has_one_verifier(hub: Hub) -> None:
    hub.verifier("order.create")(lambda event: "unknown")
    with pytest.raises(ConfigurationError, match="a verifier already"):
        hub.verifier("order.create")(lambda event: "unknown")


def test_a_verifier_may_stand_before_its_handler(hub: Hub) -> None:
    hub.verifier("order.create")(lambda event: "unknown")
    hub.handler("order.create")(lambda event: None)
    assert hub.policy("order.create").on_unknown == "verify"


def test_a_wrong_rule_file_keeps_a_worker_from_starting(hub: Hub, tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text("[[rule]]\nid = \n")
    hub.registry.rules_path = rules
    hub.handler("order.create")(lambda event: None)
    with pytest.raises(ConfigurationError, match=rules.name):
        hub.publish_kinds("of-the-test")


def test_a_verifier_past_the_time_limit_has_not_answered_and_costs_no_attempt(hub: Hub, erp: Erp) -> None:
    erp.serve()
    erp.sends = [_raises(OutcomeUnknown("no answer"))]
    erp.answers = [TimeLimitReached()]
    id_ = erp.enqueue()
    event = erp.run(id_, 2)
    assert (event.status, event.doubts, event.attempts, len(erp.sent_with)) == ("failed", 2, 1, 1)


def test_what_the_provider_answered_is_kept_where_the_handler_says_what_it_means(hub: Hub, erp: Erp) -> None:
    response = httpx.Response(422, json={"message": "Cliente bloqueado"}, request=REQUEST)

    def refuse() -> object:
        try:
            response.raise_for_status()
        except httpx.HTTPStatusError as error:
            raise PermanentError("The customer is blocked.") from error
        return None

    erp.serve()
    erp.sends = [refuse]
    id_ = erp.enqueue()
    erp.run(id_)
    [attempt] = _timeline(hub, id_)
    assert (attempt.verdict, attempt.effect, attempt.rule) == ("permanent", "not_applied", "handler")
    assert attempt.answer is not None
    assert attempt.answer["status"] == 422
    assert "Cliente bloqueado" in attempt.answer["excerpt"]


def test_a_verifier_that_always_finds_nothing_leaves_the_event_its_attempts_and_no_more(
    hub: Hub, erp: Erp
) -> None:
    erp.serve(max_attempts=3)
    erp.sends = [_raises(OutcomeUnknown("no answer"))] * 9
    erp.answers = ["not_applied"] * 9
    id_ = erp.enqueue()
    event = erp.run(id_, 14)
    assert (event.status, event.reason, event.doubts) == ("dead", "exhausted", 0)
    assert (len(erp.sent_with), erp.asked) == (3, 3)


def test_a_run_that_kills_its_worker_is_verified_and_its_attempts_end(hub: Hub, erp: Erp) -> None:
    erp.serve(max_attempts=2)
    erp.answers = ["not_applied"] * 9
    id_ = erp.enqueue()
    hub.publish_kinds("of-the-test")
    for _ in range(2):
        lost = claims.claim_one(hub.store, id_, worker="dies")
        assert lost is not None
        assert transitions.end(hub.store, lost, endings.died(lost, hub.policy("order.create")))
        hub.clock.advance(4000)
        hub.run(id_)
    assert (hub.get(id_).status, hub.get(id_).reason) == ("dead", "exhausted")


@pytest.mark.parametrize("how", ["dies", "hangs"])
def test_a_verifier_that_takes_its_worker_along_is_asked_a_bounded_number_of_times(
    hub: Hub, erp: Erp, how: str
) -> None:
    erp.serve(max_attempts=2)
    erp.sends = [_raises(OutcomeUnknown("no answer"))]
    id_ = erp.enqueue()
    erp.run(id_)
    policy = hub.policy("order.create")
    for asked in range(MOST_UNKNOWN):
        hub.clock.advance(4000)
        lost = claims.claim_one(hub.store, id_, worker="dies")
        assert lost is not None, asked
        ending = endings.died(lost, policy) if how == "dies" else endings.timed_out(lost, policy)
        assert transitions.end(hub.store, lost, ending)
    assert (hub.get(id_).status, hub.get(id_).reason) == ("dead", "in_doubt")


class _Odd:
    def __eq__(self, other: object) -> bool:
        raise ValueError("cannot be compared")

    __hash__ = None  # type: ignore[assignment]  # compared by nothing


@pytest.mark.parametrize(
    "answer", [SystemExit(1), GeneratorExit(), _Odd(), 7], ids=["exit", "generator", "odd", "7"]
)
def test_whatever_a_verifier_does_instead_of_answering_is_no_answer(
    hub: Hub, erp: Erp, answer: object
) -> None:
    erp.serve()
    erp.sends = [_raises(OutcomeUnknown("no answer"))]
    erp.answers = [answer]
    id_ = erp.enqueue()
    event = erp.run(id_, 2)
    assert (event.status, event.doubts, len(erp.sent_with)) == ("failed", 2, 1)
