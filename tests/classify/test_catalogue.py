"""Does every answer that providers are known to give get the verdict that it deserves?"""

from __future__ import annotations

import re

import pytest

from dlq_console.classify import Call, Effect, Evidence, Reach, Reading, RuleSet, VerdictClass
from tests.classify.catalogue import CASES, NOW, Case


@pytest.fixture(scope="module")
def rules() -> RuleSet:
    return RuleSet.load(clock=lambda: NOW)


def test_the_catalogue_is_large_and_its_names_are_unique() -> None:
    assert len(CASES) >= 150
    assert len({case.name for case in CASES}) == len(CASES)


def test_every_row_that_holds_an_answer_has_a_case() -> None:
    rows = {int(found[0]) for case in CASES if (found := re.match(r"\d\d", case.name))}
    without_an_answer = {5, 6, 39, 44}
    # The TLS that broke: tests/classify/test_recognise.py has a real one.
    broken = {59}
    assert rows | without_an_answer | broken == set(range(1, 81))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_answer_of_the_catalogue_gets_its_verdict(case: Case, rules: RuleSet) -> None:
    verdict = rules.judge(case.error(), Call(case.kind, case.provider, writes=case.writes))
    told = (verdict.class_, verdict.effect, verdict.reach, verdict.wait, verdict.wait_source, verdict.block)
    assert told == (
        VerdictClass(case.class_),
        Effect(case.effect),
        Reach(case.reach),
        case.wait,
        case.source,
        case.block,
    ), verdict.rule
    assert (verdict.adopt, verdict.renew) == (case.adopt, case.renew)
    assert case.counts is None or verdict.counts is Evidence(case.counts)
    assert verdict.answer is not None
    assert verdict.answer.status == case.status


@pytest.mark.parametrize("case", [case for case in CASES if case.headers is None], ids=lambda case: case.name)
def test_a_stored_attempt_gets_the_verdict_it_got_when_it_was_fresh(case: Case, rules: RuleSet) -> None:
    call = Call(case.kind, case.provider, writes=case.writes)
    fresh = rules.judge(case.error(), call)
    assert fresh.answer is not None
    answer = fresh.answer
    again = rules.judge_reading(
        Reading.from_attempt(
            status=answer.status,
            code=answer.code,
            content_type=answer.content_type,
            excerpt=answer.excerpt,
            phase=answer.phase,
        ),
        call,
    )
    assert (again.class_, again.rule, again.effect, again.reach) == (
        fresh.class_,
        fresh.rule,
        fresh.effect,
        fresh.reach,
    )


def test_nothing_personal_of_a_known_customer_is_kept(rules: RuleSet) -> None:
    case = next(case for case in CASES if case.name == "11-customer-known-portuguese")
    answer = rules.judge(case.error(), Call("customer.create", "omie")).answer
    assert answer is not None
    assert "00000000000191" not in answer.excerpt
    assert "77" in answer.excerpt
