"""Is every mistake in a file of rules refused, with file, line and one sentence?"""

from __future__ import annotations

from pathlib import Path

import pytest

from dlq_console.classify import Call, ErrorBudget, Rate, Reach, Reading, RuleSet
from dlq_console.classify.rules import Proof
from dlq_console.classify.ruleset import PACKS
from dlq_console.errors import ConfigurationError

RULE = """\
name = "shop"
providers = ["shop"]

[[rule]]
id = "busy"
when = { code = "BUSY" }
then = { class = "transient", effect = "not_applied" }
"""


def load(folder: Path, text: str, name: str = "shop.toml") -> RuleSet:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return RuleSet.load(file)


def with_line(line: int, text: str) -> str:
    """The sample with another text in one line, from 1."""
    lines = RULE.splitlines()
    lines[line - 1] = text
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        # No TOML
        (with_line(6, "when = { code = BUSY }"), 6, "this is no TOML"),
        (with_line(4, "[[rule"), 4, "this is no TOML"),
        ('name = "shop\n', 1, "this is no TOML"),
        (RULE + "[[rule]]\nid = ", 9, "this is no TOML"),
        # Unknown keys
        (with_line(2, 'provider = "shop"'), 2, '"provider" is unknown; did you mean "providers"?'),
        (with_line(6, 'when = { cod = "BUSY" }'), 6, '"cod" is unknown in "when"; did you mean "code"?'),
        (with_line(7, 'then = { class = "transient", efect = "applied" }'), 7, 'did you mean "effect"?'),
        (with_line(5, 'id = "busy"\nseverity = 3'), 6, '"severity" is unknown'),
        (RULE + "[limits]\nper_minutes = 3\n", 9, '"per_minutes" is unknown in "limits"'),
        (RULE + "[limits]\naccount = { per_hour = 3 }\n", 9, '"per_hour" is unknown'),
        (RULE + '[read]\ncodes = ["a"]\n', 9, 'did you mean "code"?'),
        # Missing keys
        (with_line(5, ""), 4, '"id" is missing'),
        (
            with_line(7, 'then = { effect = "applied" }'),
            7,
            '"class" is missing in "then"; it is one of "transient"',
        ),
        (with_line(6, ""), 4, '"when" must name at least one fact'),
        (with_line(6, "when = { writes = true }"), 6, '"when" must name at least one fact'),
        (with_line(6, 'when = { kind = "order.*" }'), 6, '"when" must name at least one fact'),
        # Wrong values
        (with_line(1, 'name = "My Shop"'), 1, "small letters"),
        (with_line(5, 'id = "Busy!"'), 5, "small letters"),
        (with_line(5, "id = 7"), 5, '"id" must be a text'),
        (with_line(4, "[rule]"), 4, "two brackets"),
        (with_line(5, 'id = "busy"\nevidence = "Q"'), 6, '"evidence" must be one of "V", "C", "P"'),
        (with_line(5, 'id = "busy"\nenabled = "yes"'), 6, "true or false"),
        (with_line(6, "when = { status = 99 }"), 6, '"99" is no status'),
        (with_line(6, 'when = { status = "4xy" }'), 6, "is no status"),
        (with_line(6, "when = { status = [500, true] }"), 6, "must be a number or a text"),
        (with_line(6, 'when = { phase = "before" }'), 6, '"before" is no phase'),
        (with_line(6, 'when = { has = "a..b" }'), 6, '"a..b" is no path'),
        (with_line(6, 'when = { path = "a" }'), 6, '"path" must be a table'),
        (with_line(6, 'when = { code = [] , status = "5xx", writes = 1 }'), 6, "true or false"),
        (with_line(7, 'then = { class = "transiant" }'), 7, 'did you mean "transient"?'),
        (with_line(7, 'then = { class = "transient", effect = "maybe" }'), 7, '"effect" must be one of'),
        (with_line(7, 'then = { class = "transient", reach = "shop" }'), 7, '"reach" must be one of'),
        (
            with_line(7, 'then = { class = "transient", wait = -1 }'),
            7,
            '"wait" must be a number of at least 0',
        ),
        (with_line(7, 'then = { class = "transient", wait = inf }'), 7, '"wait" must be a number'),
        (
            with_line(7, 'then = { class = "transient", wait_from = "head Retry" }'),
            7,
            "is no place of a wait",
        ),
        (
            with_line(7, 'then = { class = "transient", wait_from = "header X as weeks" }'),
            7,
            '"weeks" is no unit',
        ),
        (
            with_line(7, 'then = { class = "transient", block = true, wait = 5 }'),
            7,
            'Only the class "rate_limited"',
        ),
        (with_line(7, 'then = { class = "rate_limited", block = true }'), 7, 'A block needs "wait"'),
        (with_line(7, 'then = { class = "duplicate", adopt = "^[0-9]{1,9}$" }'), 7, '"(?P<id>...)"'),
        (with_line(2, 'timezone = "Sao Paulo"'), 2, "is no time zone"),
        (RULE + "[limits]\nwrites_at_once = 0\n", 9, "whole number of at least 1"),
        (RULE + "[limits]\nerror_budget = { failures = 3 }\n", 8, 'needs "failures" and "seconds"'),
        (
            RULE + "[limits]\nerror_budget = { failures = 3, seconds = 9, keep = 4 }\n",
            9,
            '"keep" must not exceed',
        ),
        # Ids
        (RULE + RULE[RULE.index("[[rule]]") :], 9, 'The id "shop.busy" is used already'),
        ('enable = ["omie.nothing"]\n' + RULE, 1, 'names the rule "omie.nothing", which does not exist'),
        ('disable = ["nothing"]\n' + RULE, 1, "which does not exist"),
    ],
)
def test_a_mistake_is_told_with_its_line(text: str, line: int, words: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as refused:
        load(tmp_path, text)
    message = refused.value.message
    assert message.startswith(f"{tmp_path / 'shop.toml'}, line {line}: "), message
    assert words in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("^(a$", "is no regular expression"),
        ("busy", 'must begin with "^" and end with "$"'),
        ("^busy", 'must begin with "^" and end with "$"'),
        ("busy$", 'must begin with "^" and end with "$"'),
        ("^busy\\\\$", 'must begin with "^" and end with "$"'),
        ("^Busy$", "small letters without accents"),
        ("^não$", "small letters without accents"),
        ("^(a+)+$", "repeats what can vary itself"),
        ("^(a|aa)*$", "repeats what can vary itself"),
        ("^(?:a{0,5}){2,9}$", "repeats what can vary itself"),
        ("^.*a.*b.*c$", "could take very long"),
        ("^.*.*.*a$", "could take very long"),
        ("^.*a.*a.{0,8}b$", "could take very long"),
        ("^a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?b$", "could take very long"),
        ("^a+b+c+d$", "could take very long"),
        ("^.{0,200}.{0,200}.{0,200}a$", "could take very long"),
        ("^.{0,5000}a$", "repeats more than 200 times"),
        ("^(a)\\\\1$", "refers back to a group"),
        ("^(?=a)a$", 'may have groups "(...)"'),
        ("^(?i)a$", "is no regular expression"),
        ("^a^b$", "belongs at the very end or beginning"),
        ("^" + "a" * 1_000 + "$", "is longer than"),
    ],
)
@pytest.mark.parametrize("key", ["message", "message_masked"])
def test_an_expression_that_misfires_or_could_be_slow_is_refused(
    pattern: str, words: str, key: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigurationError) as refused:
        load(tmp_path, with_line(6, f'when = {{ {key} = "{pattern}" }}'))
    assert f'line 6: The expression of "{key}" ' in refused.value.message
    assert words in refused.value.message


@pytest.mark.parametrize(
    "pattern",
    [
        "^busy$", "^.*busy.*$", "^order [0-9]{1,9} (?:is|was) busy.*$", "^(?:a|b)?c$", "^.*(?:one|two).*(?:three|four).*$",
        "^[^\\\\]]{1,9}]$", "^[a-z\\\\]]{1,3}$", "^a{3}$", "^a\\\\.*$", "^a?b*?c{2,4}d$",
    ],
)  # fmt: skip
def test_a_plain_expression_is_taken(pattern: str, tmp_path: Path) -> None:
    assert load(tmp_path, with_line(6, f'when = {{ message = "{pattern}" }}')).rules[-1].id == "shop.busy"


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"rules cannot be read from .*none\.toml"):
        RuleSet.load(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"name = '\xff\xfe'")
    with pytest.raises(ConfigurationError, match=r"rules cannot be read from .*bytes\.toml"):
        RuleSet.load(tmp_path / "bytes.toml")


def test_all_files_of_a_folder_are_loaded(tmp_path: Path) -> None:
    load(tmp_path, RULE)
    (tmp_path / "second.toml").write_text(RULE.replace('name = "shop"\n', ""), encoding="utf-8")
    (tmp_path / "notes.txt").write_text("not rules", encoding="utf-8")
    own = [rule.id for rule in RuleSet.load(tmp_path).rules if rule.own]
    assert own == ["second.busy", "shop.busy"]


def test_a_rule_that_sources_only_make_plausible_is_off_unless_it_is_switched_on(tmp_path: Path) -> None:
    guesses = [rule for rule in RuleSet.load().rules if rule.proof is Proof.PLAUSIBLE]
    assert guesses
    assert not any(rule.enabled for rule in guesses)
    on = load(tmp_path, 'enable = ["tiny.exists-already"]\ndisable = ["omie.blocked"]\n' + RULE)
    switched = {rule.id: rule.enabled for rule in on.rules}
    assert (switched["tiny.exists-already"], switched["omie.blocked"]) == (True, False)
    said = Reading.of_text('{"retorno": {"codigo_erro": 30, "erros": [{"erro": "x"}]}}', status=200)
    assert on.judge_reading(said, Call("order.create", "tiny")).rule == "tiny.exists-already"


def test_every_rule_of_the_packs_says_how_sure_it_is() -> None:
    for file in PACKS.glob("*.toml"):
        text = file.read_text(encoding="utf-8")
        assert text.count("[[rule]]") == text.count("\nevidence = "), file.name


def test_the_version_tells_one_set_of_rules_from_another(tmp_path: Path) -> None:
    packs, again, more = RuleSet.load(), RuleSet.load(), load(tmp_path, RULE)
    assert packs.version == again.version != more.version
    assert len(packs.version) == 12


def test_the_limits_of_a_provider_are_carried() -> None:
    limits = RuleSet.load().limits("omie")
    assert limits is not None
    assert limits.rates == {
        Reach.PROVIDER: Rate(per_minute=960),
        Reach.METHOD: Rate(per_minute=240, at_once=4),
    }
    assert limits.writes_at_once == 1
    assert limits.error_budget == ErrorBudget(failures=9, seconds=1800, keep=2, reach=Reach.METHOD)
    assert RuleSet.load().limits("nobody") is None
    assert RuleSet.load().limits(None) is None
