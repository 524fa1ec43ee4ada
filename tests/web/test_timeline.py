"""The timeline tells, attempt by attempt: what was said, how it was understood, by which rule, and what it waited for."""

from __future__ import annotations

import pytest

from dlq_console.errors import OutcomeUnknown, PermanentError, TransientError
from dlq_console.hub.policy import Policy
from dlq_console.store.events import Event
from tests.web.desk import Desk
from tests.web.refusals import BLOCKED, OMIE, refusal
from tests.web.visitor import Tags, Visitor, read

RETRIED = Policy(max_attempts=6, base_delay=30, jitter=0)


def timeline(visitor: Visitor, event_id: int) -> str:
    page = visitor.get(f"/events/{event_id}").text
    return read(page[page.index('id="event-history"') : page.index('id="payload-title"')])


def test_a_block_of_the_provider_is_told_with_its_words_its_rule_and_its_wait(
    desk: Desk, maria: Visitor
) -> None:
    desk.answers["1"] = refusal(425, BLOCKED)
    event_id = desk.add("1", policy=OMIE)
    desk.hub.run(event_id)
    text = timeline(maria, event_id)
    assert "given back, not counted" in text
    assert "HTTP 425 · code MISUSE_API_PROCESS" in text
    assert BLOCKED["faultstring"] in text
    assert "The ERP asked for fewer calls. Nothing was changed in the ERP." in text
    assert "It concerns this kind of event in this account." in text
    assert "Rule omie.blocked decided (rule set " + desk.hub.registry.rules.version in text
    assert (
        "it waits for this kind of call in the account to open, until the time that was named (text of the answer)"
        in text
    )

    desk.hub.clock.advance(1900)
    del desk.answers["1"]
    desk.hub.run(event_id)
    assert "it waited 31 min" in timeline(maria, event_id)


def test_a_wait_names_where_it_came_from(desk: Desk, maria: Visitor) -> None:
    asked = desk.failed("1", error=refusal(503, {}, {"Retry-After": "90"}), policy=RETRIED)
    assert (
        "Wait before the next attempt: 1 min 30 s, no less than the answer asked for (header Retry-After)."
        in (timeline(maria, asked))
    )
    own = desk.failed("2", error=TransientError("fora do ar"), kind="order.other", policy=RETRIED)
    assert "Wait before the next attempt: 30 s, as the policy of its kind says." in timeline(maria, own)


def test_what_the_handler_said_itself_is_not_put_down_to_a_rule(desk: Desk, maria: Visitor) -> None:
    text = timeline(maria, desk.dead("1", error=PermanentError("sem cadastro")))
    assert "No rule was asked: the program that sends it said what it means." in text
    unknown = timeline(maria, desk.dead("2", error=KeyError("cfop")))
    assert "No rule knows this answer (rule set " in unknown


def test_a_call_that_never_left_and_one_without_an_answer_are_told_apart(desk: Desk, maria: Visitor) -> None:
    never = desk.failed("1", error=ConnectionRefusedError(111, "Connection refused"), policy=RETRIED)
    assert "No connection was made; nothing was sent. It may pass by itself." in timeline(maria, never)
    lost = desk.failed("2", error=TimeoutError("read timed out"), policy=RETRIED)
    assert "It may have been applied or not." in timeline(maria, lost)


def test_only_a_verdict_that_closed_something_says_what_it_concerns(desk: Desk, maria: Visitor) -> None:
    timed_out = desk.failed("1", error=TimeoutError("read timed out"), policy=RETRIED)
    assert "It concerns" not in timeline(maria, timed_out)
    desk.answers["2"] = refusal(401, {"error": "invalid_client"})
    log_in = desk.add("2", account="filial-rj", policy=RETRIED)
    desk.hub.run(log_in)
    # Where the session is made anew first, nothing is paused yet.
    assert "It concerns" not in timeline(maria, log_in)
    desk.hub.clock.advance(5)
    assert desk.hub.run(log_in).reason == "auth"
    assert timeline(maria, log_in).count("It concerns the whole account.") == 1


def test_the_verifier_and_what_it_found_are_told(desk: Desk, maria: Visitor) -> None:
    found = {"answer": "unknown"}
    hub = desk.hub

    @hub.handler("payment.register", policy=Policy(max_attempts=3, base_delay=5, jitter=0))
    def register(event: Event) -> None:
        raise OutcomeUnknown("no answer within 30 s")

    @hub.verifier("payment.register")
    def verify(event: Event) -> str:
        return found["answer"]

    event_id = desk.add("1", kind="payment.register")
    hub.run(event_id)
    assert "the verifier asks the ERP before anything is sent again" in read(
        maria.get(f"/events/{event_id}").text
    )
    for answer in ("unknown", "not_applied", None, "applied"):
        hub.clock.advance(3600)
        found["answer"] = answer or found["answer"]
        hub.run(event_id)
    text = timeline(maria, event_id)
    told = [
        "The verifier found it in the ERP: taken over as done, not sent again.",
        "The answer never came, so it may have been applied or not.",
        "The verifier did not find it in the ERP, so it is sent again, under a new key.",
        "The verifier could not tell whether the ERP has it, so nothing was sent. No attempt is spent.",
        "The answer never came, so it may have been applied or not.",
    ]
    places, start = [], 0
    for sentence in told:
        start = text.index(sentence, start) + 1
        places.append(start)
    assert places == sorted(places)
    assert text.count("verifier asked") == 2
    assert "outside system" not in text


def test_what_stays_in_doubt_says_how_often_it_was_asked(desk: Desk, maria: Visitor) -> None:
    hub = desk.hub

    @hub.handler("payment.register", policy=Policy(max_attempts=3, base_delay=5, jitter=0))
    def register(event: Event) -> None:
        raise OutcomeUnknown("no answer within 30 s")

    @hub.verifier("payment.register")
    def verify(event: Event) -> str:
        return "unknown"

    event_id = desk.add("1", kind="payment.register")
    for _ in range(8):
        if hub.run(event_id).status == "dead":
            break
        hub.clock.advance(3600)
    assert hub.get(event_id).reason == "in_doubt"
    text = read(maria.get(f"/events/{event_id}").text)
    assert "The verifier was asked 5 times and could not tell whether the ERP has it." in text
    assert "Look in the ERP: if the record is there, discard this event; if it is not, reprocess it." in text


def test_the_attempt_that_opened_the_circuit_and_the_probes_say_so(desk: Desk, maria: Visitor) -> None:
    ids = []
    for number in range(5):
        desk.answers[str(number)] = ConnectionRefusedError(111, "Connection refused")
        ids.append(desk.add(str(number), policy=RETRIED))
        desk.hub.run(ids[-1])
    last = ids[-1]
    assert "circuit" not in timeline(maria, ids[0])
    text = read(maria.get(f"/events/{desk.add('9')}").text)
    assert "Waiting for: account closed until " in text
    assert ", probe next. No attempt is spent." in text
    desk.hub.clock.advance(130)
    desk.hub.run(last)
    desk.hub.clock.advance(600)
    desk.answers.clear()
    desk.hub.run(last)
    text = timeline(maria, last)
    told = [
        "This was the probe: the circuit closed (normal).",
        "This was the probe: the circuit stays open (blocking calls).",
        "With this failure the circuit opened (blocking calls).",
    ]
    places = [text.index(sentence) for sentence in told]
    assert places == sorted(places)


@pytest.mark.parametrize("language", ["en", "pt-BR"])
def test_what_a_provider_answers_stays_text(desk: Desk, maria: Visitor, language: str) -> None:
    hostile = "<script>alert(1)</script><img src=x onerror=alert(1)> \u202egnp.exe {{7*7}}"
    body = {"faultcode": hostile, "faultstring": hostile}
    event_id = desk.dead("1", error=refusal(422, body), kind="customer.upsert", policy=OMIE)
    maria.language = language
    page = maria.get(f"/events/{event_id}").text
    tags = Tags(page)
    assert all(script.get("src", "").startswith("/static/") for script in tags.named("script"))
    assert not [image for image in tags.named("img") if image.get("src") == "x"]
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "{{7*7}}" in page
    # The mark that turns the direction of writing is shown as a sign wherever it stands.
    assert "\u202e" not in page
    assert page.count("[U+202E]gnp.exe") >= 2


def test_the_words_of_the_erp_stand_on_top_rather_than_those_of_the_client_library(
    desk: Desk, maria: Visitor
) -> None:
    event_id = desk.dead("1", error=refusal(422, {"message": "CFOP 5102 inválido"}))
    text = read(maria.get(f"/events/{event_id}").text)
    assert "The ERP said: CFOP 5102 inválido" in text
    assert "Error 422" not in text.partition("Technical details")[0]
