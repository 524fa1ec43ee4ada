"""Which of several rules decides? The most telling fact, whatever the order of files."""

from __future__ import annotations

from pathlib import Path

import pytest

from dlq_console.classify import Call, Evidence, Phase, Reading, RuleSet, VerdictClass
from dlq_console.classify.rules import Rank

RULES = """\
name = "shop"
providers = ["shop"]

[read]
code = "error.code"
message = "error.text"

[[rule]]
id = "status"
when = { status = 400 }
then = { class = "permanent" }

[[rule]]
id = "header"
when = { header = { x-again = '^yes$' } }
then = { class = "transient" }

[[rule]]
id = "body"
when = { has = "error.retry" }
then = { class = "transient" }

[[rule]]
id = "message"
when = { message = '^.*stock is locked.*$' }
then = { class = "transient" }

[[rule]]
id = "code"
when = { code = "E1" }
then = { class = "permanent" }

[[rule]]
id = "code-of-a-kind"
when = { code = "E1", kind = "stock.*" }
then = { class = "benign" }

[[rule]]
id = "limit"
when = { message = '^.*too fast.*$' }
then = { class = "rate_limited" }

[[rule]]
id = "masked"
when = { message_masked = '^order # of # is unknown$' }
then = { class = "permanent" }

[[rule]]
id = "unique"
when = { code = "E2", unique_at_provider = true }
then = { class = "duplicate" }
"""


@pytest.fixture
def rules(tmp_path: Path) -> RuleSet:
    file = tmp_path / "shop.toml"
    file.write_text(RULES, encoding="utf-8")
    return RuleSet.load(file)


def decided(
    rules: RuleSet, body: str, call: Call | None = None, headers: dict[str, str] | None = None
) -> str:
    """Id of the rule that decided about an answer of 400."""
    reading = Reading.of_text(body, status=400, headers=headers)
    return rules.judge_reading(reading, call or Call("order.create", "shop")).rule


def test_every_kind_of_fact_has_its_rank(rules: RuleSet) -> None:
    own = {rule.id.partition(".")[2]: rule.rank for rule in rules.rules if rule.own}
    assert own == {
        "limit": Rank.BLOCK,
        "code": Rank.CODE,
        "code-of-a-kind": Rank.CODE,
        "unique": Rank.CODE,
        "message": Rank.MESSAGE,
        "masked": Rank.MESSAGE,
        "body": Rank.BODY,
        "header": Rank.HEADER,
        "status": Rank.STATUS,
    }


@pytest.mark.parametrize(
    ("body", "headers", "rule"),
    [
        ("{}", {}, "shop.status"),
        ("{}", {"x-again": "yes"}, "shop.header"),
        ("{}", {"x-again": "yes please"}, "shop.status"),
        ('{"error": {"retry": 1}}', {"x-again": "yes"}, "shop.body"),
        ('{"error": {"retry": null}}', {}, "shop.status"),
        ('{"error": {"retry": 1, "text": "The stock is LOCKED now"}}', {}, "shop.message"),
        ('{"error": {"code": "e1", "text": "stock is locked"}}', {}, "shop.code"),
        ('{"error": {"code": "E1", "text": "too fast, stock is locked"}}', {}, "shop.limit"),
        ('{"error": {"text": "Order 55-A1 of 2026-01-01 is unknown"}}', {}, "shop.status"),
        ('{"error": {"text": "Order 5512 of A17 is unknown"}}', {}, "shop.masked"),
    ],
)
def test_the_more_telling_fact_decides(body: str, headers: dict[str, str], rule: str, rules: RuleSet) -> None:
    assert decided(rules, body, headers=headers) == rule


def test_of_two_of_one_rank_the_one_that_asks_more_decides(rules: RuleSet) -> None:
    body = '{"error": {"code": "E1"}}'
    assert decided(rules, body, Call("stock.count", "shop")) == "shop.code-of-a-kind"
    assert decided(rules, body, Call("order.create", "shop")) == "shop.code"


def test_a_rule_may_ask_whether_the_provider_refuses_a_second_record(rules: RuleSet) -> None:
    body = '{"error": {"code": "E2"}}'
    assert decided(rules, body, Call("order.create", "shop", unique_at_provider=True)) == "shop.unique"
    assert decided(rules, body) == "shop.status"


def test_rules_of_one_provider_say_nothing_about_another(rules: RuleSet) -> None:
    body = '{"error": {"code": "E1", "text": "too fast"}}'
    assert decided(rules, body, Call("order.create", "omie")) == "http.refused"
    assert decided(rules, body, Call("order.create")) == "http.refused"


def test_the_name_of_a_provider_is_compared_without_capitals(rules: RuleSet) -> None:
    assert decided(rules, "{}", Call("order.create", "SHOP")) == "shop.status"


def test_a_rule_of_ones_own_comes_before_one_of_the_packs_that_rests_on_as_much(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        'providers = ["omie"]\n[[rule]]\nid = "x"\nwhen = { code = "Client-1880" }\nthen = { class = "permanent" }\n'
    )
    said = Reading.of_text('{"faultcode": "SOAP-ENV:Client-1880", "faultstring": "x"}', status=500)
    assert RuleSet.load().judge_reading(said, Call("k", "omie")).class_ is VerdictClass.TRANSIENT
    mine = RuleSet.load(file).judge_reading(said, Call("k", "omie"))
    assert (mine.class_, mine.rule) == (VerdictClass.PERMANENT, "mine.x")


def test_nothing_that_matched_is_said_aloud(rules: RuleSet) -> None:
    verdict = rules.judge_reading(Reading.of_text("{}", status=299), Call("k", "shop"))
    assert (verdict.class_, verdict.rule, verdict.counts) == (VerdictClass.UNKNOWN, "none", Evidence.SUCCESS)
    assert verdict.answer is not None
    assert (verdict.answer.status, verdict.answer.phase) == (299, Phase.RESPONSE)
